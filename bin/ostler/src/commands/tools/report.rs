//! What an agent may do, tool by tool, as it is printed.

use anyhow::bail;
use ostler_domain::gate::Verdict;
use ostler_domain::org::Org;
use ostler_domain::org::layer::BusinessLayer;
use ostler_domain::scope::ScopedTool;
use ostler_domain::scope::removal::{PolicyLayer, Removal, Stage};
use ostler_domain::tool::ToolSpec;
use serde::Serialize;

use crate::screen::{Cell, GOOD, HEADER, QUIET, WAITS, print_rows};
use crate::world::unknown;

/// What an agent may do in a session, tool by tool.
#[derive(Serialize)]
pub(super) struct Explanation {
    pub(super) agent: String,
    pub(super) org: String,
    pub(super) session: Option<String>,
    pub(super) business_layer: BusinessLayer,
    pub(super) guarded_as_business_layer: BusinessLayer,
    pub(super) tools: Vec<ToolReport>,
}

/// A tool, and what became of it.
#[derive(Serialize)]
pub(super) struct ToolReport {
    #[serde(flatten)]
    spec: ToolSpec,
    #[serde(flatten)]
    state: State,
}

/// What became of a tool. `why` is for people, the rest for programs.
#[derive(Serialize)]
#[serde(tag = "state", rename_all = "snake_case")]
enum State {
    Active { verdict: Verdict, why: String },
    Removed { stage: Stage, policy_layer: Option<PolicyLayer>, removal: Removal, why: String },
}

impl ToolReport {
    /// Says of a tool what removed it, or else what the gate says to a call.
    pub(super) fn of(tool: &ScopedTool, org: &Org, verdict: impl FnOnce(&str) -> Verdict) -> Self {
        let spec = tool.spec.clone();
        let state = match &tool.removed {
            None => active(verdict(spec.name.as_str())),
            Some(removal) => removed_by(org, removal),
        };
        Self { spec, state }
    }
}

fn active(verdict: Verdict) -> State {
    let why = match &verdict {
        Verdict::Allow(_) => format!("runs: {verdict}"),
        Verdict::Ask(_) => format!("asks first: {verdict}"),
        Verdict::Deny(_) => format!("refused: {verdict}"),
    };
    State::Active { verdict, why }
}

fn removed_by(org: &Org, removal: &Removal) -> State {
    let stage = removal.stage();
    let source = match stage {
        Stage::Org => format!("org {}", org.name),
        other => other.name().to_owned(),
    };
    State::Removed {
        stage,
        policy_layer: stage.policy_layer(),
        removal: removal.clone(),
        why: format!("{source}: {removal}{}", fix(org, removal)),
    }
}

/// What would bring a tool back, where that is one command.
fn fix(org: &Org, removal: &Removal) -> String {
    match removal {
        Removal::NotConnected { integrations } => integrations
            .iter()
            .map(|service| format!("; ostler integration connect {service} --org {}", org.slug))
            .collect(),
        _ => String::new(),
    }
}

impl Explanation {
    /// Prints it, all of it or one tool only.
    pub(super) fn show(mut self, tool: Option<&str>, json: bool) -> anyhow::Result<()> {
        if let Some(tool) = tool {
            self.keep(tool)?;
        }
        match (tool, json) {
            (_, true) => crate::commands::print_json(&self)?,
            (Some(_), false) => self.print_stages(),
            (None, false) => self.print_table(),
        }
        Ok(())
    }

    /// Keeps one tool only.
    fn keep(&mut self, name: &str) -> anyhow::Result<()> {
        let known: Vec<String> = self.tools.iter().map(|tool| tool.spec.name.to_string()).collect();
        self.tools.retain(|tool| tool.spec.name.as_str() == name);
        if self.tools.is_empty() {
            bail!(unknown("tool", name, known.iter().map(String::as_str)));
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

    /// Every tool in a line, the active ones first.
    fn print_table(&self) {
        let mut rows = vec![["tool", "state", "why"].map(|text| Cell::styled(text, HEADER))];
        let (active, removed): (Vec<_>, Vec<_>) =
            self.tools.iter().partition(|tool| matches!(tool.state, State::Active { .. }));
        for tool in active.iter().chain(&removed) {
            let name = tool.spec.name.as_str().into();
            rows.push(match &tool.state {
                State::Active { verdict, why } => {
                    let style = if matches!(verdict, Verdict::Allow(_)) { GOOD } else { WAITS };
                    [name, Cell::styled("active", style), why.as_str().into()]
                }
                State::Removed { why, .. } => {
                    [name, Cell::styled("removed", QUIET), Cell::styled(why.as_str(), QUIET)]
                }
            });
        }
        anstream::println!("{}\n", self.title());
        print_rows(&rows);
        anstream::println!(
            "{} active, {} removed · the model is offered exactly the {}",
            active.len(),
            removed.len(),
            active.len()
        );
    }

    /// One tool, with every stage it passed or not.
    fn print_stages(&self) {
        anstream::println!("{}", self.title());
        for tool in &self.tools {
            let spec = &tool.spec;
            anstream::println!(
                "{HEADER}{}{HEADER:#} · {} risk · {} · {}\n",
                spec.name,
                spec.risk.level(),
                spec.reach.name(),
                spec.price
            );
            let removed_at = match &tool.state {
                State::Removed { stage, .. } => Some(*stage),
                State::Active { .. } => None,
            };
            let mut rows: Vec<[Cell; 2]> = Stage::ALL
                .into_iter()
                .filter(|stage| removed_at.is_none_or(|at| *stage < at))
                .map(|stage| [stage.name().into(), Cell::styled("passes", GOOD)])
                .collect();
            rows.push(match &tool.state {
                State::Active { why, .. } => ["gate".into(), why.as_str().into()],
                State::Removed { stage, removal, .. } => {
                    [stage.name().into(), Cell::styled(format!("removed: {removal}"), WAITS)]
                }
            });
            print_rows(&rows);
        }
    }
}
