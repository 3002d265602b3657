//! Stored workflow definitions and schedules: what they start and when. Both are created and
//! changed as resources, like everything that files describe.

use ostler_domain::id::WorkflowId;
use ostler_domain::org::permission::OrgPermission;
use ostler_domain::time::Timestamp;
use ostler_domain::workflow::WorkflowDefinition;
use ostler_domain::workflow::schedule::WorkflowSchedule;
use ostler_store::{OrgStore, ScheduledStart};
use ostler_world::Kind;
use serde_json::{Value, json};

use super::error::WorkflowRefused;
use super::{OperationError, OrgOperations, Result};
use crate::workflow::schedule::{new_workflow, next_due_times};

/// The most next due times of a schedule that are shown.
const NEXT_TIMES: usize = 5;
/// The most past due times of a schedule that are shown.
const PAST_STARTS: u32 = 20;

/// A schedule with its times.
#[derive(Debug, Clone)]
pub struct ScheduleStatus {
    pub schedule: WorkflowSchedule,
    /// The time zone that applies.
    pub time_zone: String,
    /// The next due times; none if it is paused.
    pub next: Vec<Timestamp>,
    /// What happened at the last due times, newest first.
    pub starts: Vec<ScheduledStart>,
}

impl OrgOperations<'_> {
    /// Returns all schedules with their next and their last due time.
    pub async fn schedules(&self) -> Result<Vec<ScheduleStatus>> {
        let store = self.authorize(OrgPermission::View).await?;
        let mut all = Vec::new();
        for stored in store.workflow_schedules().await? {
            all.push(self.schedule_status(store, stored.schedule, 1, 1).await?);
        }
        Ok(all)
    }

    /// Returns a schedule with its next and last due times.
    pub async fn schedule(&self, name: &str) -> Result<ScheduleStatus> {
        let store = self.authorize(OrgPermission::View).await?;
        let schedule = find(store, name).await?;
        self.schedule_status(store, schedule, NEXT_TIMES, PAST_STARTS).await
    }

    async fn schedule_status(
        &self,
        store: OrgStore<'_>,
        schedule: WorkflowSchedule,
        next: usize,
        past: u32,
    ) -> Result<ScheduleStatus> {
        let org_zone = store.org().await?.time_zone;
        let now = self.inner().clock.now();
        Ok(ScheduleStatus {
            next: next_due_times(&schedule, &org_zone, now, next),
            starts: store.workflow_starts(&schedule.name, past).await?,
            time_zone: schedule.zone_name(&org_zone).to_owned(),
            schedule,
        })
    }

    /// Starts the workflow of a schedule now, besides its due times, also while it is paused
    /// or another one runs.
    pub async fn run_schedule(&self, name: &str) -> Result<WorkflowId> {
        let store = self.authorize(OrgPermission::Operate).await?;
        let schedule = find(store, name).await?;
        let new = new_workflow(store, &schedule).await?.map_err(WorkflowRefused::Schedule)?;
        let data = json!({"name": schedule.workflow, "schedule": schedule.name});
        let audit = self.audit_entry("start_workflow", &new.id, &data);
        let (id, now) = (new.id, self.inner().clock.now());
        store.audited(audit).start_scheduled_workflow(name, now, new).await?;
        Ok(id)
    }

    /// Deletes a schedule. Workflows that it has started go on.
    pub async fn remove_schedule(&self, name: &str) -> Result<()> {
        let store = self.authorize(OrgPermission::Configure).await?;
        let before = self.resource(Kind::Schedule, name).await?;
        let audit = self.audit_change("remove_schedule", &name, &before, &Value::Null);
        Ok(store.audited(audit).delete_workflow_schedule(name).await?)
    }

    /// Deletes a workflow definition. Fails if a schedule or another definition starts it.
    pub async fn remove_workflow_definition(&self, name: &str) -> Result<()> {
        let store = self.authorize(OrgPermission::Configure).await?;
        let before = self.resource(Kind::Workflow, name).await?;
        let audit = self.audit_change("remove_workflow", &name, &before, &Value::Null);
        Ok(store.audited(audit).delete_workflow_definition(name).await?)
    }

    /// Starts a workflow of the org's stored definition with this name.
    pub async fn start_stored_workflow(&self, name: &str, input: &Value) -> Result<WorkflowId> {
        self.authorize(OrgPermission::Operate).await?;
        let definition = self.stored_definition(name).await?;
        self.start_workflow(&definition, input).await
    }

    /// Returns the org's stored definition with this name.
    pub(super) async fn stored_definition(&self, name: &str) -> Result<WorkflowDefinition> {
        let found = self.inner().store.org(self.org).workflow_definition(name).await?;
        found.ok_or_else(|| WorkflowRefused::NoDefinition(name.to_owned()).into())
    }
}

async fn find(store: OrgStore<'_>, name: &str) -> Result<WorkflowSchedule> {
    let mut all = store.workflow_schedules().await?.into_iter().map(|stored| stored.schedule);
    all.find(|schedule| schedule.name == name).ok_or_else(|| OperationError::NoRecord {
        kind: "schedule".to_owned(),
        key: name.to_owned(),
    })
}
