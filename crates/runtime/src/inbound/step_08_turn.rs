//! Steps 8 and 9: the model is asked, and the tools that it calls pass the gate.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use ostler_domain::gate::Authority;
use ostler_domain::id::{AgentId, OrgId, ReservationId};
use ostler_domain::money::Credits;
use ostler_domain::scope::ToolScope;
use ostler_engine::driver::{Commands, Driver, Place, Progress, commands};
use ostler_engine::history::Item;
use ostler_engine::outcome::{Effect, Status};
use ostler_engine::turn::{End, ITSELF, Known, Models, Question, Rules, Spent, Turn};
use ostler_store::{Settle, StoreError};
use serde::{Deserialize, Serialize};

use super::case::Case;
use super::host::TurnHost;
use super::live::LiveTurn;
use super::saved::{Open, SoFar};
use crate::org_view::AgentView;
use crate::talk::run::TurnRecord;
use crate::talk::session::Session;

/// A turn that is over, and what it leaves behind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Finished {
    /// The agent.
    pub(super) agent: AgentId,
    /// What it added to the conversation.
    pub(super) said: Vec<Item>,
    /// What its tools want stored.
    pub(super) effects: Vec<Effect>,
    /// Calls that people are to decide on.
    pub(super) put_off: Vec<Question>,
    /// The session's failures, those of this turn included.
    pub(super) errors: ostler_domain::session::errors::ErrorState,
    /// Who pays.
    pub(super) payer: OrgId,
    /// What colleagues have spent who worked beside the agent.
    #[serde(default)]
    pub(super) consulted: BTreeMap<AgentId, Credits>,
    /// Calls outside of which nobody knows what became.
    #[serde(default)]
    pub(super) unknown: u32,
    /// What was held for it.
    pub(super) reservation: ReservationId,
    /// Its record.
    pub(super) record: TurnRecord,
}

impl Finished {
    /// All that it cost.
    pub(super) fn credits(&self) -> Credits {
        self.record.charges.iter().map(|charge| charge.amount).sum()
    }

    /// Counts what it cost against its session, and the team: what a colleague
    /// has spent is the colleague's.
    pub(super) fn count_against(&self, session: &mut Session) {
        session.budget.record(self.credits());
        let Some(team) = &mut session.team else { return };
        let others: Credits = self.consulted.values().copied().sum();
        team.budget.record(self.agent, self.credits().saturating_sub(others));
        for (colleague, spent) in &self.consulted {
            team.budget.record(*colleague, *spent);
        }
    }

    /// What it cost, for the commit.
    pub(super) fn settle(&self) -> Settle {
        Settle {
            payer: self.payer,
            reservation: self.reservation,
            budget_owner: self.agent,
            charges: self.record.charges.clone(),
        }
    }
}

/// What a turn runs with.
pub(super) struct Setting<'a> {
    pub(super) agent: &'a AgentView,
    pub(super) session: &'a Session,
    pub(super) scope: Arc<ToolScope>,
    pub(super) models: Arc<dyn Models>,
    /// What the run has come to.
    pub(super) so_far: SoFar<'a>,
    /// How long it may take.
    pub(super) timeout: Duration,
    /// Who sees what is written.
    pub(super) shown: Shown,
}

/// Who sees what is written while it is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shown {
    /// Whoever follows the conversation.
    ToAll,
    /// Nobody: it is not for the customer.
    ToNobody,
}

/// Runs a turn to its end. While it runs, the conversation is kept.
pub(super) async fn run(
    case: &Case<'_>,
    setting: Setting<'_>,
    open: Open,
    turn: Turn,
    known: &Known,
) -> Result<Finished, StoreError> {
    let mut turn = super::media::load(case, turn).await;
    let Setting { agent, session, scope, models, so_far, timeout, shown } = setting;
    let place = Place {
        org: case.org(),
        agent: agent.agent.id,
        session: Some(session.id),
        contact: session.contact,
        key: format!("{}/{}", case.run, so_far.before.len()),
        timeout,
    };
    let rules = Rules {
        scope: &scope,
        tools: &case.desk.parts.tools,
        require_approval_for: &agent.agent.require_approval_for,
        authority: Authority::Conversation(agent.agent.autonomy),
        errors: case.view.settings.errors,
        models: &*models,
        now: case.now,
    };
    let (handle, mut commands) = commands();
    let available = open.harness.credit_budget.turn.tightest().0;
    let (view, tools) = (case.view.clone(), case.desk.parts.tools.clone());
    let live = LiveTurn { session: Arc::new(session.clone()), view, tools, available, handle };
    let running = case.desk.live.enter(session.id, live);
    let host = TurnHost::new(case, session, so_far, open, shown);
    let driver = Driver { place: &place, rules, host: &host };
    let progress = kept(case, driver.drive(&mut turn, known, &mut commands)).await?;
    drop(running);
    crate::faults::point("after_model");
    let end = match progress {
        Progress::Ended(end) => end,
        // In a conversation nobody is kept waiting; a tool that asks the person
        // at the keyboard has nobody to ask.
        Progress::Suspended(_) => stop(&driver, &mut turn, known).await?,
    };
    Ok(finished(case, agent, host.into_open(), &turn, end))
}

/// Keeps the conversation while something takes its time.
async fn kept<T>(
    case: &Case<'_>,
    work: impl Future<Output = Result<T, StoreError>>,
) -> Result<T, StoreError> {
    let policy = case.desk.parts.settings.claims;
    let every = (policy.lease / 3).max(Duration::from_millis(100));
    tokio::pin!(work);
    loop {
        match tokio::time::timeout(every, &mut work).await {
            Ok(done) => return done,
            Err(_) => case.desk.parts.store.renew_lease(case.lease, policy).await?,
        }
    }
}

/// Stops a turn that waits for somebody who is not there.
async fn stop(
    driver: &Driver<'_, TurnHost<'_, '_>>,
    turn: &mut Turn,
    known: &Known,
) -> Result<End, StoreError> {
    let (handle, mut commands): (_, Commands) = commands();
    handle.abort();
    match driver.drive(turn, known, &mut commands).await? {
        Progress::Ended(end) => Ok(end),
        Progress::Suspended(_) => Ok(End::Aborted),
    }
}

fn finished(case: &Case<'_>, agent: &AgentView, open: Open, turn: &Turn, end: End) -> Finished {
    let account = turn.account();
    let unknown = unknown(&open, turn.said());
    let mut harness = open.harness;
    harness.error_state.llm_retries_used =
        u32::try_from(account.restarts.len()).unwrap_or(u32::MAX);
    Finished {
        agent: agent.agent.id,
        said: turn.said().to_vec(),
        effects: account.effects.clone(),
        put_off: account.put_off.clone(),
        errors: account.errors.clone(),
        payer: open.payer,
        consulted: consulted(case, &account.spent),
        unknown,
        reservation: open.reservation,
        record: TurnRecord {
            agent: agent.agent.id,
            harness,
            decisions: account.decisions.clone(),
            approvals: Vec::new(),
            usage: account.usage,
            spent: account.spent.clone(),
            cost: account.model_cost(),
            charges: account.charges(),
            models: agent.agent.models.clone(),
            restarts: account.restarts.clone(),
            end,
        },
    }
}

/// What was spent by agents of the org that worked inside the turn.
fn consulted(case: &Case<'_>, spent: &BTreeMap<String, Spent>) -> BTreeMap<AgentId, Credits> {
    let mut of_agents = BTreeMap::new();
    for (slug, spent) in spent.iter().filter(|(slug, _)| *slug != ITSELF) {
        if let Some(one) = case.view.agents.iter().find(|one| one.agent.slug == *slug) {
            of_agents.insert(one.agent.id, spent.credits);
        }
    }
    of_agents
}

/// How many of the calls that were written down have an unknown outcome.
fn unknown(open: &Open, said: &[Item]) -> u32 {
    let results = said.iter().flat_map(|item| match item {
        Item::Results { results } => results.as_slice(),
        _ => &[],
    });
    let unknown = results.filter(|one| {
        one.outcome.status == Status::OutcomeUnknown
            && open.calls.iter().any(|outside| outside.call == one.call)
    });
    u32::try_from(unknown.count()).unwrap_or(u32::MAX)
}
