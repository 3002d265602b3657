//! Changes of a session without a message: it expires, people are reminded of an
//! escalation, a team is assigned.

use ostler_domain::event::{OrgEvent, TeamAssigned};
use ostler_domain::human::escalation::EscalationEvent;
use ostler_domain::id::{AgentId, InboxId, UserId};
use ostler_domain::session::lifetime::{CloseReason, due_to_close};
use ostler_domain::session::status::SessionStatus;
use ostler_domain::team::TeamSession;
use ostler_store::{LeaseAction, ReleaseReason};

use super::run::Run;
use super::run_context::RunContext;
use super::steps::turn::FinishedTurn;
use super::trace::Trace;
use super::{steps, summary, thread};
use crate::inbox::new_inbox_entry;
use crate::records::decode;
use crate::records::run::RunOutcome;
use crate::records::session::Session;
use crate::run_error::RunError;
use crate::team;

/// Changes the conversation's session and commits that.
pub(crate) async fn change_session(
    context: &RunContext<'_>,
    entry: InboxId,
    what: &str,
    lease_action: LeaseAction,
    change: impl FnOnce(&RunContext<'_>, &mut Run),
) -> Result<(), RunError> {
    let Some(stored) = &context.start.session else {
        return bury_without_session(context, entry).await;
    };
    let session: Box<Session> = decode("session", &stored.data)?;
    let reply_route = steps::reply::run(&context.view, &session, None);
    let earlier = thread::load(context).await?;
    let mut run = Run::new(Trace::new(), session, earlier, reply_route);
    change(context, &mut run);
    run.session.refresh_counts(context.store()).await?;
    let outcome = RunOutcome::Housekeeping { what: what.to_owned() };
    Box::pin(steps::record::run(context, Box::new(run), outcome, vec![entry], lease_action)).await
}

/// Commits an entry that needs nothing done.
pub(crate) async fn skip(
    context: &RunContext<'_>,
    entry: InboxId,
    what: &str,
    lease_action: LeaseAction,
) -> Result<(), RunError> {
    change_session(context, entry, what, lease_action, |_, _| {}).await
}

/// Makes an entry a dead letter that belongs to no session.
async fn bury_without_session(context: &RunContext<'_>, entry: InboxId) -> Result<(), RunError> {
    let why = "there is no session that it could belong to";
    context.services.deps.store.make_dead_letter(context.lease, entry, why).await?;
    context.services.deps.store.release_lease(context.lease, ReleaseReason::Untried).await?;
    Ok(())
}

/// Applies the passing of time: expires the session, or reminds people of its escalation.
pub(crate) async fn tick(
    context: &RunContext<'_>,
    entry: InboxId,
    lease_action: LeaseAction,
) -> Result<(), RunError> {
    let Some(stored) = &context.start.session else {
        return bury_without_session(context, entry).await;
    };
    let mut session: Session = decode("session", &stored.data)?;
    let config = context.view.settings.team.clone().unwrap_or_default();
    let mut escalation = session.escalation.clone();
    let effects = match &mut escalation {
        Some(one) if session.open_escalation().is_some() => {
            one.state.apply(&EscalationEvent::Tick, &config, context.now).unwrap_or_default()
        }
        _ => Vec::new(),
    };
    let earlier = thread::load(context).await?;
    for (key, entry) in team::follow_up_entries(&mut session, &earlier, &effects) {
        // It waits behind this entry; a repeat is recognized by its idempotency key.
        let follow_up = new_inbox_entry(context.key.clone(), &key, &entry);
        context.store().accept_inbound(follow_up, u32::MAX).await?;
    }
    let lifetime = context.view.settings.lifetime(&session.channel);
    let close = due_to_close(&session.lifetime_facts(), lifetime, context.now);
    let ended = Box::pin(end_session(context, &session, close)).await?;
    change_session(context, entry, "time passed", lease_action, |context, run| {
        if session.open_escalation().is_some() {
            run.session.escalation = escalation;
            run.session.pending_decisions.clone_from(&session.pending_decisions);
            team::notify_people(&run.session, &mut run.pending, &effects);
            team::end_escalation(
                &mut run.session,
                &mut run.pending,
                &run.earlier,
                &effects,
                context.now,
            );
        }
        if let Some((session, summary_turn)) = ended {
            run.record_session_end(&session, summary_turn, close.is_some());
            *run.session = session;
        }
    })
    .await
}

/// Returns the session after its end, with the turn that summarized it, or `None` if it
/// does not end. A session that was closed before is summarized now.
async fn end_session(
    context: &RunContext<'_>,
    session: &Session,
    close: Option<CloseReason>,
) -> Result<Option<(Session, Option<FinishedTurn>)>, RunError> {
    let mut session = session.clone();
    let ended = match close {
        Some(reason) => session.close(reason),
        None => matches!(session.status, SessionStatus::Closed(_)),
    };
    if !ended {
        return Ok(None);
    }
    let messages = thread::load(context).await?;
    let summary_turn = summary::write(context, &mut session, &messages).await?;
    Ok(Some((session, summary_turn)))
}

/// Makes these agents the team of the session.
pub(crate) async fn assign(
    context: &RunContext<'_>,
    entry: InboxId,
    agents: &[AgentId],
    by: UserId,
    lease_action: LeaseAction,
) -> Result<(), RunError> {
    let view = context.view.clone();
    change_session(context, entry, "a team was assigned", lease_action, |_, run| {
        let chosen: Vec<_> =
            agents.iter().filter_map(|id| view.agent(*id)).map(|one| &one.agent).collect();
        let config = view.settings.team.clone().unwrap_or_default();
        match TeamSession::assemble(run.session.id, run.session.org, &chosen, config.budget) {
            Ok(team) => {
                let (session, agents) = (run.session.id, team.participants().to_vec());
                let event = OrgEvent::TeamAssigned(TeamAssigned { session, agents, by });
                run.pending.add_event(&event);
                run.session.team = Some(team);
            }
            Err(error) => tracing::warn!(session_id = %run.session.id, %error, "team not assigned"),
        }
    })
    .await
}
