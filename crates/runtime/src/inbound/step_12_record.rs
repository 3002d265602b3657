//! Step 12: the record of the run, and the one commit.

use std::time::Duration;

use ostler_domain::agent::limits::AgentLimits;
use ostler_domain::id::{AgentId, InboxId, RunId, SessionId};
use ostler_domain::money::Credits;
use ostler_domain::scope::ToolScope;
use ostler_domain::session::key::{Entry, Peer};
use ostler_domain::session::status::SessionStatus;
use ostler_domain::soul::soul_owner;
use ostler_domain::time::Timestamp;
use ostler_store::{AfterTurn, Committed, Due, NewRun, StoreError, TurnCommit};
use serde::Serialize;

use super::case::Case;
use super::run::Run;
use super::step_02_rate::Rate;
use super::step_03_session::state;
use super::step_06_history as history_step;
use super::step_07b_credits::Purse;
use super::step_08_turn::Finished;
use super::worker::RunError;
use crate::deltas::{Delta, Piece};
use crate::library::Read;
use crate::org_view::{AgentView, OrgView};
use crate::talk::run::{RunOutcome, RunRecord};
use crate::talk::session::Session;
use crate::talk::snapshot::{
    Autonomy, BudgetGroup, Errors, EscalationView, Identity, RateLimits, ScopeView, SessionContext,
    SessionMode, Snapshot, SoulRef,
};
use crate::talk::{read, write};

/// The form of runs that this program writes.
pub(crate) const VERSION: u32 = 1;
/// How often changes are worked out anew when somebody else was faster.
const TRIES: usize = 5;

/// A run is over, for those who follow.
#[derive(Serialize)]
struct Over {
    agents: Vec<AgentId>,
    credits: Credits,
    outcome: &'static str,
    run: RunId,
    session: SessionId,
}

/// Commits a run: all of it, or nothing.
pub(super) async fn commit(
    case: &Case<'_>,
    mut run: Box<Run>,
    outcome: RunOutcome,
    rows: Vec<InboxId>,
    then: AfterTurn,
) -> Result<(), RunError> {
    run.session.sync_clock(case.now);
    let before = case.beginning.session.as_ref();
    let before = before.filter(|stored| stored.id == run.session.id).and_then(|one| one.due_at);
    run.draft.aside.due = due(&case.view, &run.session, before, case.now);
    let began = case.beginning.session.as_ref().map_or(case.lease.epoch(), |one| one.epoch);
    let credits: Credits = run.done.iter().chain(&run.beside).map(Finished::credits).sum();
    let ended = Over {
        agents: run.done.iter().map(|one| one.agent).collect(),
        credits,
        outcome: outcome.word(),
        run: case.run,
        session: run.session.id,
    };
    run.draft.happened("run", ended);
    let session = state(&run.session);
    let agent = run.session.active_agent();
    let record = RunRecord {
        v: VERSION,
        id: case.run,
        session: run.session.id,
        at: case.now,
        input: rows.clone(),
        outcome,
        steps: run.trace.into_steps(),
        turns: run.done.into_iter().map(|one| one.record).collect(),
        beside: run.beside.into_iter().map(|one| one.record).collect(),
        credits,
    };
    let (draft, thread) = (run.draft, run.session.thread);
    let sends = !draft.outbox.is_empty();
    let mut commit = TurnCommit {
        lease: case.lease,
        began,
        read: began,
        session,
        run: NewRun { id: case.run, data: write(&record) },
        messages: draft.messages,
        settle: draft.settle,
        outbox: draft.outbox,
        events: draft.events,
        changes: Vec::new(),
        aside: draft.aside,
        answered: rows,
        then,
    };
    let store = &case.desk.parts.store;
    crate::faults::point("before_commit");
    for _ in 0..TRIES {
        if !draft.effects.is_empty() {
            let planned = (case.desk.parts.effects)(case.org(), draft.effects.clone()).await;
            commit.changes = planned.map_err(|error| match error {
                StoreError::Outdated(why) => RunError::Outdated(why.to_string()),
                error => RunError::Store(error),
            })?;
        }
        match store.commit_turn(commit.clone()).await {
            Err(StoreError::Outdated(_)) => {}
            Err(StoreError::Moved) => overtaken(case, &run.session, &mut commit).await?,
            Err(other) => return Err(other.into()),
            Ok(committed) => {
                crate::faults::point("after_commit");
                if sends {
                    case.desk.outbox.ring();
                }
                match committed {
                    Committed::Whole => {
                        history_step::remember(case, thread, run.earlier, draft.said);
                    }
                    Committed::Overtaken => {
                        tracing::info!(run = %case.run, "a person took over while this was answered");
                    }
                    Committed::Before => {}
                }
                over(case, record.session, agent);
                return Ok(());
            }
        }
    }
    Err(RunError::Outdated("others kept changing the same records".into()))
}

/// A person has stepped in since the run began: the session is what they made of
/// it, and has spent what the run has cost.
async fn overtaken(
    case: &Case<'_>,
    ours: &Session,
    commit: &mut TurnCommit,
) -> Result<(), RunError> {
    let now = case.desk.parts.store.begin_turn(case.lease).await?.session;
    let now = now.ok_or(StoreError::Moved)?;
    commit.read = now.epoch;
    let before = case.beginning.session.as_ref().filter(|one| one.id == ours.id);
    if let Some(before) = before {
        let mut theirs: Session = read("session", &now.data)?;
        theirs.spend_as(&read("session", &before.data)?, ours);
        commit.session = state(&theirs);
        commit.aside.due = None;
    }
    Ok(())
}

/// Says to those who follow that the run is over.
fn over(case: &Case<'_>, session: SessionId, agent: Option<AgentId>) {
    let deltas = &case.desk.parts.deltas;
    if let Some(agent) = agent.filter(|_| deltas.is_followed()) {
        let (org, conversation, run) = (case.org(), case.lease.conversation(), case.run);
        let (attempt, piece) = (0, Piece::Over);
        deltas.send(Delta { org, conversation, session, run, agent, attempt, piece });
    }
}

/// When the session is to be looked at again. A time that is only a little later
/// than the one that is written down is left alone: whoever looks then sees that
/// there is nothing to do yet. A time that is over never stays.
fn due(
    view: &OrgView,
    session: &Session,
    before: Option<Timestamp>,
    now: Timestamp,
) -> Option<Due> {
    let idle = view.settings.lifetime(&session.channel).idle;
    match (next_look(view, session, now), before) {
        (Some(next), Some(before))
            if before > now && next >= before && next.since(before) < idle / 8 =>
        {
            None
        }
        (Some(next), _) => Some(Due::At(next)),
        (None, Some(_)) => Some(Due::Never),
        (None, None) => None,
    }
}

/// When time does something to the session next: always later than now, so that
/// nobody looks at the same moment twice.
pub(crate) fn next_look(view: &OrgView, session: &Session, now: Timestamp) -> Option<Timestamp> {
    let next = match session.status {
        SessionStatus::Closed(_) => None,
        SessionStatus::Active => session.clock.ends_at(view.settings.lifetime(&session.channel)),
        SessionStatus::HandedOff => {
            let config = view.settings.team.clone().unwrap_or_default();
            session.escalation.as_ref().and_then(|one| one.state.next_tick(&config))
        }
    };
    next.map(|at| at.max(now + Duration::from_millis(1)))
}

/// The harness of a turn, but for what its session context is.
pub(super) fn snapshot(
    case: &Case<'_>,
    session: &Session,
    agent: &AgentView,
    scope: &ToolScope,
    purse: &Purse,
    rate: &Rate,
) -> Snapshot {
    let AgentView { agent, version, standing, soul_version, .. } = agent;
    let policy = case.view.settings.errors;
    let degraded = session.errors.degraded(session.budget.spending(), policy);
    let open = session.open_escalation();
    let limits: AgentLimits = rate.limits;
    Snapshot {
        identity: Identity {
            agent_id: agent.id,
            agent_version: *version,
            display_name: agent.display_name.clone(),
            subtype: agent.subtype.clone(),
            protected: agent.protection,
            organization_id: agent.org,
            business_layer: standing.business_layer,
        },
        soul: SoulRef { owner: soul_owner(agent), version: *soul_version },
        tool_scope: ScopeView {
            active_tools: scope.active().map(|spec| spec.name.clone()).collect(),
            disabled_for_session: scope.disabled_for_session().cloned().collect(),
            integration_requirements: scope
                .integration_requirements()
                .map(|(tool, service)| (tool.clone(), service.clone()))
                .collect(),
            platform_policy: case.view.platform_policy.version,
            org_policy: case.view.policy.version,
        },
        credit_budget: BudgetGroup { left: purse.view, turn: purse.budget, budget_owner: agent.id },
        autonomy: Autonomy {
            autonomy_level: agent.autonomy,
            require_approval_for: agent.require_approval_for.clone(),
            blocked_topics: agent.blocked_topics.clone(),
        },
        rate_limits: RateLimits { limits, today: rate.today },
        session_context: context(session, 0, &[]),
        error_state: Errors {
            failed_tools_this_session: session.errors.failures().clone(),
            llm_retries_used: 0,
            is_degraded_mode: degraded.is_some(),
            degraded_reason: degraded,
        },
        escalation_state: EscalationView {
            human_escalation_requested: open.is_some(),
            escalation_reason: open.map(|one| one.state.request.reason.clone()),
            pending_approvals: session.pending_approvals,
            team_budget_remaining: session.team.as_ref().map(|team| team.budget.remaining()),
        },
    }
}

/// With whom an agent talks, and knowing what.
pub(super) fn context(session: &Session, history: usize, documents: &[Read]) -> SessionContext {
    let identifier = match &session.peer {
        Peer::Person(name) | Peer::Group(name) => name.clone(),
    };
    SessionContext {
        session_id: session.id,
        channel: session.channel.clone(),
        external_contact_identifier: identifier,
        conversation_history: history,
        crm_contact: session.contact,
        knowledge_base_docs: documents.iter().map(|one| one.id).collect(),
        session_mode: match session.interview {
            Some(_) => SessionMode::Guided,
            None => SessionMode::Freeform,
        },
        testing_mode: session.entry == Entry::Testing,
    }
}
