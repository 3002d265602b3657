//! A run: the steps in order.

use std::sync::Arc;

use ostler_domain::gate::approval::ApprovalError;
use ostler_domain::human::escalation::EscalationRequest;
use ostler_domain::id::AgentId;
use ostler_engine::turn::{Known, Models, Turn};
use ostler_store::StoreError;

use super::assemble::{Assembled, assemble};
use super::case::Case;
use super::draft::Draft;
use super::housekeeping::recount;
use super::input::Input;
use super::run::Run;
use super::saved::Open;
use super::step_01_agent as agent_step;
use super::step_03_session::{self as session_step, Found};
use super::step_06_history as history_step;
use super::step_07_tools as tools_step;
use super::step_08_turn::{self as turn_step, Finished, Setting, Shown};
use super::step_10_messages::{self as messages_step, Next};
use super::step_12_record as record_step;
use super::step_13_reply::Way;
use super::trace::Trace;
use super::worker::{Recovered, RunError};
use super::{interview, texts, triggers};
use crate::org_view::AgentView;
use crate::talk::message::Purpose;
use crate::talk::run::RunOutcome;
use crate::team;

/// The most turns of one run: agents may hand over, but not for ever.
const MOST_TURNS: usize = 4;

/// Answers, and commits.
pub(super) async fn answer(
    case: &Case<'_>,
    input: Input<'_>,
    mut saved: Option<Recovered>,
) -> Result<(), RunError> {
    let mut trace = Trace::new();
    let began = Trace::begin("3", "session");
    let Found { current, old } = session_step::find(case)?;
    let mut earlier = history_step::so_far(case).await?;
    let mut session = match current {
        Some(mut session) => {
            recount(case, &mut session).await?;
            session
        }
        None => Box::new(session_step::open(case, &input)),
    };
    if let Some((saved, _)) = saved.as_deref() {
        // A session that was new when the run was stored is the same one now.
        (session.id, session.thread) = (saved.session.id, saved.session.thread);
    }
    session.clock.touch(case.now);
    trace.end(began);

    if let Some(asked) = input.arrived.last().and_then(|one| one.wrote.asked.as_ref()) {
        session.asked = Some(asked.clone());
    }
    let way = Way::of(&case.view, &session, input.arrived.last().map(|one| &one.wrote));
    let before = if old.is_some() { std::mem::take(&mut earlier) } else { Vec::new() };
    let (draft, done, beside) = (Draft::default(), Vec::new(), Vec::new());
    let run = Run { trace, draft, session, earlier, done, beside, old: None, way };
    let mut run = Box::new(run);
    if let Some(old) = old {
        let known = saved.as_mut().and_then(|saved| saved.0.old.take());
        Box::pin(session_step::follow(case, &mut run, old, &before, known)).await?;
    }
    messages_step::receive(case, &mut run, input.arrived);
    let outcome = if run.session.status.agent_answers() {
        Box::pin(turns(case, &mut run, &input, &mut saved)).await?
    } else if input.arrived.is_empty() {
        RunOutcome::Housekeeping { what: "a person has the conversation".into() }
    } else {
        messages_step::with_human(case, &mut run)
    };
    Box::pin(record_step::commit(case, run, outcome, input.rows, input.then)).await
}

/// Steps 1 to 9, once for each agent that has the conversation.
async fn turns(
    case: &Case<'_>,
    run: &mut Run,
    input: &Input<'_>,
    saved: &mut Option<Recovered>,
) -> Result<RunOutcome, RunError> {
    if let Some(recovered) = saved.take() {
        let (saved, known) = *recovered;
        take_up(case, run, saved.before, saved.beside)?;
        let completed = run.session.is_completed();
        run.session = saved.session;
        if !completed && run.session.is_completed() {
            interview::completed(run);
        }
        let agent = agent_of(case, saved.open.agent)?;
        let finished = go_on(case, run, &agent, saved.open, saved.turn, &known).await?;
        if let Next::Done(outcome) = messages_step::after_turn(case, run, &agent, finished) {
            return Ok(outcome);
        }
    }
    while run.done.len() < MOST_TURNS {
        let began = Trace::begin("1", "agent");
        let asked = input.agent.filter(|_| run.done.is_empty()).and_then(|id| case.view.agent(id));
        let agent = match asked.filter(|one| one.agent.receives_messages()) {
            Some(agent) => Some(agent.clone()),
            None => agent_step::answering(case, &run.session).await?,
        };
        run.trace.end(began);
        let Some(agent) = agent else {
            run.tell(case, texts::NOBODY, Purpose::Notice);
            return Ok(RunOutcome::NoAgent);
        };
        if run.session.agent.is_none() {
            run.session.agent = Some(agent.agent.id);
        }
        match before_model(case, run, input, &agent) {
            Before::GoOn => {}
            Before::Another => continue,
            Before::Escalated(reason) => return Ok(RunOutcome::Escalated { reason }),
        }
        let finished = match Box::pin(assemble(case, run, input, &agent)).await? {
            Assembled::Ready(open, turn) => {
                use_up(case, run, input).await?;
                go_on(case, run, &agent, *open, *turn, &Known::new()).await?
            }
            Assembled::Stopped(outcome) => return Ok(outcome),
        };
        if let Next::Done(outcome) = messages_step::after_turn(case, run, &agent, finished) {
            return Ok(outcome);
        }
    }
    run.tell(case, texts::APOLOGY, Purpose::Notice);
    Ok(RunOutcome::Failed { why: "agents kept handing over to each other".into() })
}

/// Takes up the turns that were over when the run was stored: what they said,
/// changed and cost is committed with the rest. What they did to the session is
/// in the session that was stored.
fn take_up(
    case: &Case<'_>,
    run: &mut Run,
    before: Vec<Finished>,
    beside: Vec<Finished>,
) -> Result<(), StoreError> {
    for turn in beside {
        run.beside(turn);
    }
    for mut finished in before {
        finished.record.approvals.clear();
        let agent = agent_of(case, finished.agent)?;
        messages_step::after_turn(case, run, &agent, finished);
    }
    Ok(())
}

fn agent_of(case: &Case<'_>, id: AgentId) -> Result<AgentView, StoreError> {
    case.view.agent(id).cloned().ok_or(StoreError::NotFound("agent"))
}

/// Uses up the approval that the run goes on with, now that nothing stands in the
/// way of the call: the credits are held and the tools are known.
async fn use_up(case: &Case<'_>, run: &Run, input: &Input<'_>) -> Result<(), StoreError> {
    let Some(approved) = input.approved.as_ref().filter(|_| run.done.is_empty()) else {
        return Ok(());
    };
    match case.store().use_approval(approved.id, approved.arguments).await {
        // A try before this one had got so far.
        Ok(_) | Err(StoreError::Approval(ApprovalError::NotUsable(_))) => Ok(()),
        Err(other) => Err(other),
    }
}

/// What becomes of a message before any model is asked.
enum Before {
    GoOn,
    /// Another agent has it now.
    Another,
    Escalated(String),
}

/// Whether the message goes to a person, or to a specialist.
fn before_model(case: &Case<'_>, run: &mut Run, input: &Input<'_>, agent: &AgentView) -> Before {
    if !run.done.is_empty() || (input.arrived.is_empty() && input.settled.is_empty()) {
        return Before::GoOn;
    }
    let (session, settled) = (&run.session, input.settled);
    let text = input.words(&run.earlier);
    let Some(sent) = triggers::look(case, agent, session, &run.earlier, &text, settled) else {
        return Before::GoOn;
    };
    let reason = sent.fired.to_string();
    if let Some(to) = sent.to {
        let from = agent.agent.id;
        let view = &case.view;
        let handed = team::to_specialist(
            view,
            &mut run.session,
            &mut run.draft,
            from,
            to,
            &reason,
            case.now,
        );
        if handed.is_ok() {
            return Before::Another;
        }
    }
    let request = EscalationRequest {
        reason: reason.clone(),
        urgency: sent.fired.urgency(),
        context_summary: text,
    };
    let triggers = sent.fired.triggers().to_vec();
    let view = &case.view;
    if team::begin(view, &mut run.session, &mut run.draft, request, triggers, case.now) {
        run.tell(case, texts::HOLD, Purpose::Hold);
    }
    Before::Escalated(reason)
}

/// Steps 8 and 9.
async fn go_on(
    case: &Case<'_>,
    run: &mut Run,
    agent: &AgentView,
    open: Open,
    turn: Turn,
    known: &Known,
) -> Result<Finished, RunError> {
    let began = Trace::begin("8", "model and tools");
    let scope = tools_step::scope(&case.view, agent, &run.session, &case.desk.parts.tools);
    let models: Arc<dyn Models> = case.desk.parts.models.chain(&agent.agent.models);
    let timeout = case.desk.parts.settings.turn_timeout;
    let (session, so_far) = (&run.session, run.so_far());
    let shown = Shown::ToAll;
    let setting = Setting { agent, session, scope, models, so_far, timeout, shown };
    let finished = Box::pin(turn_step::run(case, setting, open, turn, known)).await?;
    run.trace.end(began);
    Ok(finished)
}
