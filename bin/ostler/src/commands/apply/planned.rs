//! A plan of the API: shown to a person or a program, and applied.

use ostler_api::resource::{AppliedPlan, PlanRequest, ResourcePlan};
use serde_json::Value;

use super::{data_view, plan_view};
use crate::api_client::ApiClient;
use crate::commands::policy::{print_replay, replay_json};
use crate::screen::print_notes;

/// A change with its plan.
pub(crate) struct PlannedChange {
    api: ApiClient,
    request: PlanRequest,
    pub(crate) plan: ResourcePlan,
}

impl PlannedChange {
    /// Has a change planned.
    pub(crate) async fn request(api: &ApiClient, request: PlanRequest) -> anyhow::Result<Self> {
        let plan = api.change("POST", &["resources", "plan"], &request).await?;
        Ok(Self { api: api.clone(), request, plan })
    }

    /// Returns whether nothing is to be made.
    pub(crate) fn is_empty(&self) -> bool {
        let data = &self.plan.data;
        self.plan.changes.is_empty() && !data.iter().any(|data| data.created + data.changed > 0)
    }

    /// Shows the plan, with what it would have meant for the tool calls of the last days.
    pub(crate) fn show(&self, json: bool) -> anyhow::Result<()> {
        if json {
            return crate::commands::print_json(&self.to_json()?);
        }
        if let Some(replay) = &self.plan.what_if {
            print_replay(replay);
        }
        plan_view::print_plan(&self.plan);
        data_view::print(&self.plan.data);
        let counts = data_view::summary(&self.plan.data);
        anstream::println!("{}", plan_view::summary(&self.plan, counts));
        print_notes(&self.plan.notes);
        Ok(())
    }

    fn to_json(&self) -> anyhow::Result<Value> {
        let mut shown = serde_json::to_value(&self.plan)?;
        if let (Some(fields), Some(replay)) = (shown.as_object_mut(), &self.plan.what_if) {
            fields.insert("what_if".to_owned(), replay_json(replay));
        }
        Ok(shown)
    }

    /// Applies the plan. Fails if it is another one by now.
    pub(crate) async fn apply(&self, quiet: bool) -> anyhow::Result<()> {
        let request =
            PlanRequest { version: Some(self.plan.version.clone()), ..self.request.clone() };
        let applied: AppliedPlan =
            self.api.change("POST", &["resources", "apply"], &request).await?;
        if !quiet && !self.is_empty() {
            anstream::println!("applied");
        }
        print_notes(&applied.notes);
        Ok(())
    }
}
