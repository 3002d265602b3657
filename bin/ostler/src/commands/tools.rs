//! `ostler tools explain`: every tool of an agent, and why not the rest.

use anyhow::{anyhow, bail};
use ostler_domain::channel::Channel;
use ostler_domain::gate::{Authority, GateFacts, Verdict, decide};
use ostler_domain::money::Credits;
use ostler_domain::money::caps::{SessionBudget, TurnBudget};
use ostler_domain::org::Org;
use ostler_domain::org::layer::BusinessLayer;
use ostler_domain::scope::removal::{PolicyLayer, Removal, Stage};
use ostler_domain::scope::session::SessionTools;
use ostler_domain::scope::{AgentTools, OrgTools, ScopeFacts, ToolScope, resolve};
use ostler_domain::session::errors::ErrorState;
use ostler_domain::tool::{ToolSpec, Trust, catalogue};
use serde::Serialize;

use crate::cli::Explain;
use crate::screen::{Cell, GOOD, HEADER, QUIET, WAITS, print_rows};
use crate::world::{World, WorldAgent, WorldSession, unknown};

pub(crate) fn run(world: &World, command: &Explain) -> anyhow::Result<()> {
    let mut explanation = explain(world, &command.agent, command.session.as_deref())?;
    if let Some(tool) = &command.tool {
        explanation.keep(tool)?;
    }
    match (&command.tool, command.output.json) {
        (_, true) => super::print_json(&explanation)?,
        (Some(_), false) => explanation.print_stages(),
        (None, false) => explanation.print_table(),
    }
    Ok(())
}

/// What an agent may do in a session, tool by tool.
#[derive(Serialize)]
pub(crate) struct Explanation<'a> {
    agent: &'a str,
    org: &'a str,
    session: Option<&'a str>,
    business_layer: BusinessLayer,
    guarded_as_business_layer: BusinessLayer,
    tools: Vec<ToolReport>,
}

#[derive(Serialize)]
struct ToolReport {
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

/// Resolves the scope of an agent and asks the gate about each active tool.
pub(crate) fn explain<'a>(
    world: &'a World,
    agent: &str,
    session: Option<&str>,
) -> anyhow::Result<Explanation<'a>> {
    let agent = find_agent(world, agent)?;
    let org = world
        .orgs
        .get(agent.agent.org)
        .ok_or_else(|| anyhow!("the org of `{}` is missing", agent.agent.slug))?;
    let session = session.map(|name| find_session(world, org, name)).transpose()?;
    let scope = scope(world, agent, org, session)?;
    let budget = turn_budget(session);
    let clean = ErrorState::default();
    let facts = GateFacts {
        scope: &scope,
        errors: session.map_or(&clean, |session| &session.errors),
        budget: &budget,
        trust: session.map_or(Trust::Trusted, |session| session.trust),
        require_approval_for: &agent.agent.require_approval_for,
        authority: Authority::Conversation(agent.agent.autonomy),
    };
    let report = |spec: &ToolSpec, removed: &Option<Removal>| ToolReport {
        spec: spec.clone(),
        state: match removed {
            None => active(decide(spec.name.as_str(), &facts)),
            Some(removal) => removed_by(org, removal),
        },
    };
    Ok(Explanation {
        agent: &agent.agent.display_name,
        org: &org.name,
        session: session.map(|session| session.name.as_str()),
        business_layer: agent.standing.business_layer,
        guarded_as_business_layer: agent.standing.guarded_as,
        tools: scope.tools().iter().map(|tool| report(&tool.spec, &tool.removed)).collect(),
    })
}

fn find_agent<'a>(world: &'a World, slug: &str) -> anyhow::Result<&'a WorldAgent> {
    let known = world.agents.iter().map(|agent| agent.agent.slug.as_str());
    let found = world.agents.iter().find(|agent| agent.agent.slug == slug);
    found.ok_or_else(|| anyhow!(unknown("agent", slug, known)))
}

fn find_session<'a>(world: &'a World, org: &Org, name: &str) -> anyhow::Result<&'a WorldSession> {
    let of_org = || world.sessions.iter().filter(|session| session.org == org.id);
    let known: Vec<&str> = of_org().map(|session| session.name.as_str()).collect();
    let found = of_org().find(|session| session.name == name);
    found.ok_or_else(|| anyhow!(unknown(&format!("{} session", org.name), name, known)))
}

fn scope(
    world: &World,
    agent: &WorldAgent,
    org: &Org,
    session: Option<&WorldSession>,
) -> anyhow::Result<ToolScope> {
    let settings = world
        .org_tools
        .get(&org.id)
        .ok_or_else(|| anyhow!("the settings of `{}` are missing", org.slug))?;
    let fresh = SessionTools::new(Channel::Webchat);
    let facts = ScopeFacts {
        platform: &world.platform,
        org: OrgTools {
            policy: &settings.policy,
            integrations: &settings.integrations,
            sub_orgs_enabled: org.sub_orgs_enabled,
            team_coordination: settings.team_coordination,
        },
        agent: AgentTools::of(&agent.agent, &agent.standing),
        session: session.map_or(&fresh, |session| &session.tools),
    };
    Ok(resolve(catalogue::built_in(), &facts))
}

/// A world has no ledger, so only the session's cap binds.
fn turn_budget(session: Option<&WorldSession>) -> TurnBudget {
    let budget = session.map_or_else(SessionBudget::default, |session| session.budget);
    TurnBudget {
        reserved: Credits::new(u64::MAX),
        top_up: Credits::ZERO,
        session: budget.remaining(),
        kept_for_reading: budget.kept_for_reading(),
        team: None,
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
        why: format!("{source}: {removal}"),
    }
}

impl Explanation<'_> {
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
        let session =
            self.session.map_or("a fresh session".to_owned(), |name| format!("session {name}"));
        let layer = self.guarded_as_business_layer;
        format!("{} of {} · {layer} · {session}", self.agent, self.org)
    }

    /// Every tool in a line, the active ones first.
    pub(crate) fn print_table(&self) {
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
