//! What happens in a conversation without anybody writing: its session ends,
//! somebody is reminded, a team is put together.

use ostler_domain::human::escalation::Event;
use ostler_domain::id::{AgentId, InboxId, UserId};
use ostler_domain::session::lifetime::{CloseReason, due_to_close};
use ostler_domain::session::status::SessionStatus;
use ostler_domain::team::TeamSession;
use ostler_store::{AfterTurn, GiveBack, StoreError};
use serde_json::json;

use super::accept::inbound;
use super::case::Case;
use super::draft::Draft;
use super::run::Run;
use super::step_06_history as history_step;
use super::step_08_turn::Finished;
use super::step_12_record as record_step;
use super::step_13_reply::Way;
use super::summary;
use super::trace::Trace;
use super::worker::RunError;
use crate::talk::read;
use crate::talk::run::RunOutcome;
use crate::talk::session::Session;
use crate::team;

/// Does something in the conversation's session, and commits that.
pub(super) async fn with(
    case: &Case<'_>,
    row: InboxId,
    what: &str,
    then: AfterTurn,
    change: impl FnOnce(&Case<'_>, &mut Run),
) -> Result<(), RunError> {
    let Some(stored) = &case.beginning.session else {
        return no_session(case, row).await;
    };
    let session: Box<Session> = read("session", &stored.data)?;
    let way = Way::of(&case.view, &session, None);
    let earlier = history_step::so_far(case).await?;
    let (trace, draft, done) = (Trace::new(), Draft::default(), Vec::new());
    let (beside, old) = (Vec::new(), None);
    let mut run = Run { trace, draft, session, earlier, done, beside, old, way };
    change(case, &mut run);
    recount(case, &mut run.session).await?;
    let outcome = RunOutcome::Housekeeping { what: what.to_owned() };
    Box::pin(record_step::commit(case, Box::new(run), outcome, vec![row], then)).await
}

/// Counts what people are still to decide on or to find out: they may have done
/// so since the session was stored.
pub(super) async fn recount(case: &Case<'_>, session: &mut Session) -> Result<(), StoreError> {
    if session.pending_approvals > 0 {
        let pending = case.store().count_pending_approvals(Some(session.id)).await?;
        session.pending_approvals = u32::try_from(pending).unwrap_or(u32::MAX);
    }
    if session.unknown_outcomes > 0 {
        let unknown = case.store().count_unknown_calls(session.conversation).await?;
        session.unknown_outcomes = u32::try_from(unknown).unwrap_or(u32::MAX);
    }
    Ok(())
}

/// There is nothing to do; the row is answered all the same.
pub(super) async fn nothing(
    case: &Case<'_>,
    row: InboxId,
    what: &str,
    then: AfterTurn,
) -> Result<(), RunError> {
    with(case, row, what, then, |_, _| {}).await
}

/// A row that belongs to no session says nothing to anybody.
async fn no_session(case: &Case<'_>, row: InboxId) -> Result<(), RunError> {
    let why = "there is no session that it could belong to";
    case.desk.parts.store.make_dead_letter(case.lease, row, why).await?;
    case.desk.parts.store.release_lease(case.lease, GiveBack::Untried).await?;
    Ok(())
}

/// Time has passed.
pub(super) async fn tick(case: &Case<'_>, row: InboxId, then: AfterTurn) -> Result<(), RunError> {
    let Some(stored) = &case.beginning.session else { return no_session(case, row).await };
    let mut session: Session = read("session", &stored.data)?;
    let config = case.view.settings.team.clone().unwrap_or_default();
    let mut after = session.escalation.clone();
    let effects = match &mut after {
        Some(one) if session.open_escalation().is_some() => {
            one.state.on(&Event::Tick, &config, case.now).unwrap_or_default()
        }
        _ => Vec::new(),
    };
    let earlier = history_step::so_far(case).await?;
    for (repeat, entry) in team::go_on(&mut session, &earlier, &effects) {
        // It waits behind this row, and is known again if this is done again.
        let go_on = inbound(case.key.clone(), &repeat, &entry);
        case.store().accept_inbound(go_on, u32::MAX).await?;
    }
    let lifetime = case.view.settings.lifetime(&session.channel);
    let close = due_to_close(&session.current(), lifetime, case.now);
    let ended = Box::pin(ended(case, &session, close)).await?;
    with(case, row, "time passed", then, |case, run| {
        if session.open_escalation().is_some() {
            run.session.escalation = after;
            run.session.decided.clone_from(&session.decided);
            team::notify_people(&case.view, &run.session, &mut run.draft, &effects);
            team::settle(&mut run.session, &mut run.draft, &run.earlier, &effects, case.now);
        }
        if let Some((session, summing_up)) = ended {
            run.ended(&session, summing_up, close.is_some());
            *run.session = session;
        }
    })
    .await
}

/// The session as it is once it has ended, and the turn that summed it up. One
/// that somebody closed is summed up now.
async fn ended(
    case: &Case<'_>,
    session: &Session,
    close: Option<CloseReason>,
) -> Result<Option<(Session, Option<Finished>)>, RunError> {
    let mut session = session.clone();
    let over = match close {
        Some(reason) => session.close(reason),
        None => matches!(session.status, SessionStatus::Closed(_)),
    };
    if !over {
        return Ok(None);
    }
    let messages = history_step::so_far(case).await?;
    let summing_up = summary::write(case, &mut session, &messages).await?;
    Ok(Some((session, summing_up)))
}

/// An operator made these agents a team.
pub(super) async fn assign(
    case: &Case<'_>,
    row: InboxId,
    agents: &[AgentId],
    by: UserId,
    then: AfterTurn,
) -> Result<(), RunError> {
    let view = case.view.clone();
    with(case, row, "a team was assigned", then, |_, run| {
        let chosen: Vec<_> =
            agents.iter().filter_map(|id| view.agent(*id)).map(|one| &one.agent).collect();
        let config = view.settings.team.clone().unwrap_or_default();
        match TeamSession::assemble(run.session.id, run.session.org, &chosen, config.budget) {
            Ok(team) => {
                run.draft.happened(
                    "team_assigned",
                    json!({"session": run.session.id, "agents": team.participants(), "by": by}),
                );
                run.session.team = Some(team);
            }
            Err(refused) => tracing::warn!(%refused, "a team could not be put together"),
        }
    })
    .await
}
