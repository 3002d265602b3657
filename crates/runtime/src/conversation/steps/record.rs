//! Step 12: commits the run with its record, in one transaction.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::Ordering;
use std::time::Duration;

use ostler_domain::audit::AuditActor;
use ostler_domain::event::{OrgEvent, RunFinished};
use ostler_domain::id::{AgentId, InboxId, SessionId};
use ostler_domain::money::Credits;
use ostler_domain::session::status::SessionStatus;
use ostler_domain::time::Timestamp;
use ostler_engine::outcome::ToolEffect;
use ostler_store::{
    CommitOutcome, LeaseAction, NewAuditEntry, RecordChange, SessionDue, StoreError, TurnCommit,
};
use tracing::{Instrument as _, Span, field};

use crate::change_audit::{audit_changes, refund_notices};
use crate::conversation::refusals::refused_calls;
use crate::conversation::run::Run;
use crate::conversation::run_context::RunContext;
use crate::conversation::sender_proof::{apply_identity_check, link_sender};
use crate::conversation::steps::turn::FinishedTurn;
use crate::conversation::thread;
use crate::conversation::trace::Trace;
use crate::deltas::{Delta, DeltaContent};
use crate::hierarchy::plan::ExchangeError;
use crate::hierarchy::{ExchangeEffect, ExchangePlan, Planner};
use crate::inbox::wake_informed;
use crate::org_view::OrgView;
use crate::records::decode;
use crate::records::message::{MessageAuthor, ThreadMessage};
use crate::records::run::{RunOutcome, RunRecord};
use crate::records::run_step::RunStep;
use crate::records::session::Session;
use crate::run_error::RunError;

/// The version of the run records that this program writes.
pub(crate) const RUN_RECORD_VERSION: u32 = 1;
/// How many messages of the conversation an issue quotes.
const DIGEST_MESSAGES: usize = 6;
/// The most characters of a quoted message.
const DIGEST_CHARS: usize = 200;
/// How often the commit is tried when others change the same records.
const MAX_COMMIT_ATTEMPTS: usize = 5;

/// Commits a run: all of it, or nothing. If a person changed the session meanwhile, the
/// commit is made again on top of their changes.
pub(crate) async fn run(
    context: &RunContext<'_>,
    mut run: Box<Run>,
    outcome: RunOutcome,
    inbox_ids: Vec<InboxId>,
    lease_action: LeaseAction,
) -> Result<(), RunError> {
    run.session.sync_clock(context.now);
    Span::current().record("ostler.outcome", outcome.as_str());
    Span::current().record("gen_ai.conversation.id", field::display(run.session.id));
    let stored = context.start.session.as_ref();
    let same = stored.filter(|stored| stored.id == run.session.id);
    let stored_due = same.and_then(|stored| stored.due_at);
    run.pending.side_effects.session_due =
        session_due(&context.view, &run.session, stored_due, context.now);
    if same.is_none() {
        run.pending.add_opening(&run.session);
    }
    let epoch = stored.map_or(context.lease.epoch(), |one| one.epoch);
    let credits: Credits =
        run.finished_turns.iter().chain(&run.side_turns).map(FinishedTurn::credits).sum();
    let finished = RunFinished {
        agents: run.finished_turns.iter().map(|one| one.agent).collect(),
        credits,
        outcome: outcome.as_str().into(),
        run: context.run_id,
        session: run.session.id,
    };
    run.pending.add_event(&OrgEvent::Run(finished));
    apply_identity_check(&mut run, context.run_id);
    run.pending.side_effects.refusals = run
        .finished_turns
        .iter()
        .flat_map(|turn| refused_calls(turn, &run.session, context.run_id, &context.view))
        .collect();
    let session = run.session.to_state();
    let agent = run.session.active_agent();
    let started = run.trace.started();
    let record = RunRecord {
        v: RUN_RECORD_VERSION,
        id: context.run_id,
        session: run.session.id,
        at: context.now,
        input: inbox_ids.clone(),
        outcome,
        steps: run.trace.into_steps(),
        turns: run.finished_turns.into_iter().map(|one| one.record).collect(),
        side_turns: run.side_turns.into_iter().map(|one| one.record).collect(),
        credits,
    };
    let (pending, thread_id) = (run.pending, run.session.thread);
    let sends = !pending.outbox.is_empty();
    let mut commit = TurnCommit {
        lease: context.lease,
        start_epoch: epoch,
        read_epoch: epoch,
        session,
        run: record.to_stored(),
        messages: pending.messages,
        charges: pending.charges,
        outbox: pending.outbox,
        events: pending.events,
        changes: Vec::new(),
        side_effects: pending.side_effects,
        answered: inbox_ids,
        has_checkpoint: context.has_checkpoint.load(Ordering::Relaxed),
        lease_action,
    };
    let own_audit = commit.side_effects.audit.len();
    let store = &context.services.deps.store;
    let notices = commit.side_effects.notices.clone();
    let digest = digest(&run.earlier, &pending.thread_messages);
    crate::faults::point("before_commit");
    for _ in 0..MAX_COMMIT_ATTEMPTS {
        if !pending.effects.is_empty() {
            commit.changes = plan_effects(context, &pending.effects).await?;
            let link = link_sender(&run.session, run.is_sender_proven, &commit.changes);
            commit.changes.extend(link);
            let changes = audit_entries(context, &pending.effects, &commit.changes).await?;
            commit.side_effects.audit.truncate(own_audit);
            commit.side_effects.audit.extend(changes);
            let exchange = plan_exchange(context, &pending.effects, &digest).await?;
            commit.side_effects.audit.extend(exchange.audit);
            commit.side_effects.shared_records = exchange.changes;
            let refunds = refund_notices(&commit.changes);
            commit.side_effects.notices = [notices.clone(), exchange.notices, refunds].concat();
        }
        let timer = Trace::start(RunStep::Record);
        let committed = store.commit_turn(&commit).instrument(timer.span()).await;
        drop(timer);
        match committed {
            Err(StoreError::StaleChanges(_)) => {}
            Err(StoreError::ConversationChanged) => {
                rebase_on_takeover(context, &run.session, &mut commit).await?;
            }
            Err(other) => return Err(other.into()),
            Ok(committed) => {
                crate::faults::point("after_commit");
                if sends {
                    context.services.outbox_bell.ring();
                }
                let informed = &commit.side_effects.shared_records;
                wake_informed(&context.services.bell, store, informed).await;
                match committed {
                    CommitOutcome::Complete => {
                        thread::remember(context, thread_id, run.earlier, pending.thread_messages);
                    }
                    CommitOutcome::RepliesWithdrawn => {
                        tracing::info!(run_id = %context.run_id, "replies withdrawn, a person took over");
                    }
                    CommitOutcome::AlreadyCommitted => {}
                }
                context.services.deps.metrics.record_run(&record, started.elapsed());
                publish_end(context, record.session, agent);
                return Ok(());
            }
        }
    }
    Err(RunError::Outdated("others kept changing the same records".into()))
}

/// Plans the changes of effects against what is stored.
async fn plan_effects(
    context: &RunContext<'_>,
    effects: &[(AgentId, ToolEffect)],
) -> Result<Vec<RecordChange>, RunError> {
    let effects = effects.iter().map(|(_, effect)| effect.clone()).collect();
    let planned = (context.services.deps.plan_effects)(context.org(), effects).await;
    planned.map_err(|error| match error {
        StoreError::StaleChanges(why) => RunError::Outdated(why.to_string()),
        error => RunError::Store(error),
    })
}

/// Returns the audit entries of changes, each with the agent that made it. A change to which
/// several agents contributed is the system's.
async fn audit_entries(
    context: &RunContext<'_>,
    effects: &[(AgentId, ToolEffect)],
    changes: &[RecordChange],
) -> Result<Vec<NewAuditEntry>, RunError> {
    let mut makers: BTreeMap<(String, u128), BTreeSet<AgentId>> = BTreeMap::new();
    let agents: BTreeSet<AgentId> = effects.iter().map(|(agent, _)| *agent).collect();
    for agent in &agents {
        let own: Vec<_> = effects.iter().filter(|(maker, _)| maker == agent).cloned().collect();
        // Alone, the effects of one agent may build on those of another and fail.
        let planned = match agents.len() {
            1 => changes.to_vec(),
            _ => plan_effects(context, &own).await.unwrap_or_default(),
        };
        for change in &planned {
            makers.entry(change.subject()).or_default().insert(*agent);
        }
    }
    let store = context.services.deps.store.org(context.org());
    let mut entries = Vec::with_capacity(changes.len());
    for change in changes {
        let made_by: Vec<&AgentId> = makers.get(&change.subject()).into_iter().flatten().collect();
        let actor = match made_by.as_slice() {
            [agent] => AuditActor::Agent(**agent),
            _ => AuditActor::System,
        };
        let origin = ("run", context.run_id.to_string());
        entries.extend(audit_changes(store, actor, origin, std::slice::from_ref(change)).await?);
    }
    Ok(entries)
}

/// Plans what the run's agents exchange with other business layers.
async fn plan_exchange(
    context: &RunContext<'_>,
    effects: &[(AgentId, ToolEffect)],
    digest: &str,
) -> Result<ExchangePlan, RunError> {
    let planner = Planner::new(context.store(), AuditActor::System, context.current_time());
    let mut planner = planner.with_digest(digest.to_owned());
    let exchanged = effects.iter().filter_map(|(agent, effect)| {
        let effect = ExchangeEffect::select(std::slice::from_ref(effect)).pop()?;
        Some((*agent, effect))
    });
    for (agent, effect) in exchanged {
        planner.set_actor(AuditActor::Agent(agent));
        planner.add(effect).await.map_err(|error| match error {
            ExchangeError::Store(error @ StoreError::NotFound(_)) => {
                RunError::Outdated(error.to_string())
            }
            ExchangeError::Store(error) => RunError::Store(error),
            other => RunError::Outdated(other.to_string()),
        })?;
    }
    Ok(planner.finish())
}

/// Returns the last messages of the conversation in words, for readers at another layer.
fn digest(earlier: &[ThreadMessage], new: &[ThreadMessage]) -> String {
    let all: Vec<&ThreadMessage> = earlier.iter().chain(new).collect();
    let last = all.iter().rev().filter(|one| !one.text().trim().is_empty()).take(DIGEST_MESSAGES);
    let mut lines: Vec<String> = last
        .map(|one| {
            let who = match one.author {
                MessageAuthor::Customer { .. } => "customer",
                MessageAuthor::Agent { .. } => "agent",
                MessageAuthor::Human { .. } => "colleague",
                MessageAuthor::System => "system",
            };
            let text: String = one.text().trim().chars().take(DIGEST_CHARS).collect();
            format!("{who}: {text}")
        })
        .collect();
    lines.reverse();
    lines.join("\n")
}

/// Rebases the commit on the session that a person changed since the run began: their
/// session stays and gets the spending of this run.
async fn rebase_on_takeover(
    context: &RunContext<'_>,
    ours: &Session,
    commit: &mut TurnCommit,
) -> Result<(), RunError> {
    let now = context.services.deps.store.turn_start(context.lease).await?.session;
    let now = now.ok_or(StoreError::ConversationChanged)?;
    commit.read_epoch = now.epoch;
    let before = context.start.session.as_ref().filter(|one| one.id == ours.id);
    if let Some(before) = before {
        let mut theirs: Session = decode("session", &now.data)?;
        theirs.add_spending_between(&decode("session", &before.data)?, ours);
        commit.session = theirs.to_state();
        commit.side_effects.session_due = None;
    }
    Ok(())
}

/// Tells followers of the draft that the run is committed.
fn publish_end(context: &RunContext<'_>, session: SessionId, agent: Option<AgentId>) {
    let deltas = &context.services.deps.deltas;
    if let Some(agent) = agent.filter(|_| deltas.is_followed()) {
        let (org, conversation, run) =
            (context.org(), context.lease.conversation(), context.run_id);
        let (attempt, content) = (0, DeltaContent::Over);
        deltas.send(Delta { org, conversation, session, run, agent, attempt, content });
    }
}

/// Returns the session's next due time if it has to be stored. One that is only a little
/// later than the stored one is not: the sweeper then finds nothing to do and moves it. A
/// stored time in the past is always replaced.
fn session_due(
    view: &OrgView,
    session: &Session,
    stored: Option<Timestamp>,
    now: Timestamp,
) -> Option<SessionDue> {
    let idle = view.settings.lifetime(&session.channel).idle;
    match (next_due(view, session, now), stored) {
        (Some(next), Some(stored))
            if stored > now && next >= stored && next.since(stored) < idle / 8 =>
        {
            None
        }
        (Some(next), _) => Some(SessionDue::At(next)),
        (None, Some(_)) => Some(SessionDue::Never),
        (None, None) => None,
    }
}

/// Returns when the session next expires or its escalation needs a reminder. It is always
/// later than now, so that no session is due twice at the same moment.
pub(crate) fn next_due(view: &OrgView, session: &Session, now: Timestamp) -> Option<Timestamp> {
    let next = match session.status {
        SessionStatus::Closed(_) => None,
        SessionStatus::Active => session.clock.expires_at(view.settings.lifetime(&session.channel)),
        SessionStatus::HandedOff => {
            let config = view.settings.team.clone().unwrap_or_default();
            session.escalation.as_ref().and_then(|one| one.state.next_tick_at(&config))
        }
    };
    next.map(|at| at.max(now + Duration::from_millis(1)))
}
