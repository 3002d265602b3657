//! The explanation of an agent's tools, and how it is printed.

use anstyle::Style;
use anyhow::bail;
use ostler_api::run::{ExplainedTool, MissingTool};
use ostler_api::transcript::RuleSetting;
use ostler_domain::gate::{DenyReason, GateDecision};
use ostler_domain::org::layer::BusinessLayer;
use ostler_domain::scope::ScopedTool;
use ostler_domain::scope::removal::{PolicyLayer, Removal, ScopeStage};
use ostler_domain::tool::ToolSpec;
use ostler_world::unknown_name;
use serde::Serialize;

use crate::commands::rule_view::{describe_setting, past_calls};
use crate::screen::{
    Cell, DIM, GOOD, HEADER, NextCommand, WARNING, print_fields, print_next, print_paragraph,
    print_rows,
};

/// Every tool with the decision on it, for an agent in a session.
#[derive(Serialize)]
pub(super) struct Explanation {
    pub(super) agent: String,
    pub(super) org: String,
    pub(super) session: Option<String>,
    pub(super) business_layer: BusinessLayer,
    pub(super) guarded_as_business_layer: BusinessLayer,
    pub(super) tools: Vec<ToolReport>,
    /// The org's own tools that cannot be used at the moment.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) unavailable: Vec<MissingTool>,
}

/// A tool with the decision on it.
#[derive(Serialize)]
pub(super) struct ToolReport {
    #[serde(flatten)]
    spec: ToolSpec,
    #[serde(flatten)]
    state: ToolState,
    /// The setting that the tool was removed by, or that its calls wait or are refused for.
    #[serde(skip_serializing_if = "Option::is_none")]
    setting: Option<RuleReport>,
}

/// A setting behind a decision, from an installation or from a file.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum RuleReport {
    Live(RuleSetting),
    /// In a world file, where nothing has been set yet.
    File {
        resource: String,
        field: &'static str,
        place: Option<String>,
    },
}

impl RuleReport {
    fn describe(&self) -> String {
        match self {
            Self::Live(rule) => describe_setting(rule),
            Self::File { resource, field, place } => {
                let place = place.as_ref().map_or_else(String::new, |place| format!(", {place}"));
                format!("{field} of {resource}{place}")
            }
        }
    }
}

/// The decision on a tool. `why` is for people, the other fields are for programs.
#[derive(Serialize)]
#[serde(tag = "state", rename_all = "snake_case")]
enum ToolState {
    Active { verdict: GateDecision, why: String },
    Removed { stage: ScopeStage, policy_layer: Option<PolicyLayer>, removal: Removal, why: String },
}

/// The org of the agent, as reports name it.
#[derive(Debug, Clone, Copy)]
pub(super) struct NamedOrg<'a> {
    pub(super) name: &'a str,
    pub(super) slug: &'a str,
}

impl ToolReport {
    /// Reports the rule that removed a tool, or the decision of the gate on a call.
    pub(super) fn new(
        tool: &ScopedTool,
        org: NamedOrg<'_>,
        verdict: impl FnOnce(&str) -> GateDecision,
    ) -> Self {
        let spec = tool.spec.clone();
        let state = match &tool.removed {
            None => active(verdict(spec.name.as_str())),
            Some(removal) => removed(org, removal),
        };
        Self { spec, state, setting: None }
    }

    /// Reports a tool that an installation has explained.
    pub(super) fn of_explained(tool: ExplainedTool, org: NamedOrg<'_>) -> Self {
        let state = match &tool.removal {
            None => active(tool.verdict),
            Some(removal) => removed(org, removal),
        };
        Self { spec: tool.spec, state, setting: tool.setting.map(RuleReport::Live) }
    }

    /// Returns the decision on a call now: a tool that was removed is refused.
    pub(super) fn decision(&self) -> GateDecision {
        match &self.state {
            ToolState::Active { verdict, .. } => verdict.clone(),
            ToolState::Removed { removal, .. } => {
                GateDecision::Deny(DenyReason::OutOfScope(removal.clone()))
            }
        }
    }

    pub(super) fn set_rule(&mut self, setting: Option<RuleReport>) {
        self.setting = setting;
    }
}

fn active(verdict: GateDecision) -> ToolState {
    let why = match &verdict {
        GateDecision::Allow(_) => format!("runs: {verdict}"),
        GateDecision::Ask(_) => format!("asks first: {verdict}"),
        GateDecision::Deny(_) => format!("refused: {verdict}"),
    };
    ToolState::Active { verdict, why }
}

fn removed(org: NamedOrg<'_>, removal: &Removal) -> ToolState {
    let stage = removal.stage();
    let source = match stage {
        ScopeStage::Org => format!("org {}", org.name),
        other => other.name().to_owned(),
    };
    ToolState::Removed {
        stage,
        policy_layer: stage.policy_layer(),
        removal: removal.clone(),
        why: format!("{source}: {removal}{}", fix(org, removal)),
    }
}

/// Returns the commands that would bring a tool back, if there are any.
fn fix(org: NamedOrg<'_>, removal: &Removal) -> String {
    match removal {
        Removal::NotConnected { integrations } => integrations
            .iter()
            .map(|service| format!("; ostler integration connect {service} --org {}", org.slug))
            .collect(),
        _ => String::new(),
    }
}

impl Explanation {
    /// Prints all tools, or only one of them.
    pub(super) fn print(mut self, tool: Option<&str>, json: bool) -> anyhow::Result<()> {
        if let Some(tool) = tool {
            self.retain(tool)?;
        }
        match (tool, json) {
            (_, true) => crate::commands::print_json(&self)?,
            (Some(_), false) => self.print_stages(),
            (None, false) => self.print_table(),
        }
        Ok(())
    }

    /// Removes all tools but one, or fails if it is unknown.
    fn retain(&mut self, name: &str) -> anyhow::Result<()> {
        let known: Vec<String> = self.tools.iter().map(|tool| tool.spec.name.to_string()).collect();
        self.tools.retain(|tool| tool.spec.name.as_str() == name);
        if let Some(tool) = self.unavailable.iter().find(|tool| tool.name == name) {
            bail!("`{name}` is not available: {}", tool.reason);
        }
        if self.tools.is_empty() {
            bail!(unknown_name("tool", name, known.iter().map(String::as_str)));
        }
        Ok(())
    }

    fn title(&self) -> String {
        let session = self
            .session
            .as_ref()
            .map_or("a fresh session".to_owned(), |name| format!("session {name}"));
        let layer = self.guarded_as_business_layer;
        format!("{} of {} · {layer} · {session}", self.agent, self.org)
    }

    /// Prints one line per tool, active tools first.
    fn print_table(&self) {
        let mut rows = vec![["tool", "state", "why"].map(|text| Cell::styled(text, HEADER))];
        let (active, removed): (Vec<_>, Vec<_>) =
            self.tools.iter().partition(|tool| matches!(tool.state, ToolState::Active { .. }));
        for tool in active.iter().chain(&removed) {
            let name = tool.spec.name.as_str().into();
            rows.push(match &tool.state {
                ToolState::Active { verdict, why } => {
                    let style =
                        if matches!(verdict, GateDecision::Allow(_)) { GOOD } else { WARNING };
                    [name, Cell::styled("active", style), why.as_str().into()]
                }
                ToolState::Removed { why, .. } => {
                    [name, Cell::styled("removed", DIM), Cell::styled(why.as_str(), DIM)]
                }
            });
        }
        rows.extend(self.unavailable.iter().map(|tool| {
            let state = Cell::styled("unavailable", WARNING);
            [tool.name.as_str().into(), state, tool.reason.as_str().into()]
        }));
        print_paragraph(&self.title(), Style::new());
        anstream::println!();
        print_rows(&rows);
        anstream::println!(
            "{} active, {} removed · the model is offered exactly the {}",
            active.len(),
            removed.len(),
            active.len()
        );
        print_paragraph("--tool TOOL shows the setting behind a decision and who set it", DIM);
    }

    /// Prints the stages that a tool passed, and the one that removed it.
    fn print_stages(&self) {
        anstream::println!("{}", self.title());
        for tool in &self.tools {
            let spec = &tool.spec;
            anstream::println!(
                "{HEADER}{}{HEADER:#} · {} · {} · {}\n",
                spec.name,
                spec.risk.name(),
                spec.reach.name(),
                spec.price_text()
            );
            let removed_at = match &tool.state {
                ToolState::Removed { stage, .. } => Some(*stage),
                ToolState::Active { .. } => None,
            };
            let mut rows: Vec<[Cell; 2]> = ScopeStage::ALL
                .into_iter()
                .filter(|stage| removed_at.is_none_or(|at| *stage < at))
                .map(|stage| [stage.name().into(), Cell::styled("passes", GOOD)])
                .collect();
            rows.push(match &tool.state {
                ToolState::Active { why, .. } => ["gate".into(), why.as_str().into()],
                ToolState::Removed { stage, removal, .. } => {
                    [stage.name().into(), Cell::styled(format!("removed: {removal}"), WARNING)]
                }
            });
            if let Some(setting) = &tool.setting {
                rows.push(["rule".into(), setting.describe().into()]);
            }
            if let Some(RuleReport::Live(rule)) = &tool.setting {
                rows.push(["past calls".into(), past_calls(rule).into()]);
            }
            print_fields(&rows);
            if let Some(RuleReport::Live(RuleSetting { allow_with: Some(command), .. })) =
                &tool.setting
            {
                print_next([NextCommand::new(command.clone(), "the smallest change")]);
            }
        }
    }
}
