//! Answers one input of a conversation: the steps of [`super::steps`], in order.
//!
//! An input leads to one run and one commit. A run has several turns if agents hand the
//! conversation over to each other.

use futures_util::future::try_join;
use ostler_domain::id::AgentId;
use ostler_domain::tool::Trust;
use ostler_engine::turn::{KnownOutcomes, NewTurn, Turn};
use ostler_store::StoreError;

use super::checkpoint::{OpenTurn, RecoveredRun};
use super::input::{ApprovedCall, Input};
use super::run::Run;
use super::run_context::RunContext;
use super::steps::credits::CreditsOutcome;
use super::steps::messages::NextAction;
use super::steps::rate_limit::DailyStatus;
use super::steps::triggers::TriggerOutcome;
use super::steps::turn::FinishedTurn;
use super::trace::Trace;
use super::{decision, steps, texts};
use crate::assembly::history::history_trust;
use crate::assembly::{AgentBriefing, AgentHarness};
use crate::hierarchy;
use crate::org_view::AgentView;
use crate::records::message::Purpose;
use crate::records::run::RunOutcome;
use crate::records::run_step::RunStep;
use crate::run_error::RunError;

/// The maximum number of turns of one run, so that handovers end.
const MAX_TURNS: usize = 4;

/// Answers an input and commits the run.
pub(crate) async fn answer(
    context: &RunContext<'_>,
    input: Input<'_>,
    mut recovered: Option<Box<RecoveredRun>>,
) -> Result<(), RunError> {
    let mut trace = Trace::new();
    let found = steps::session::run(context, &input, recovered.as_deref(), &mut trace).await?;
    let reply_route = steps::reply::run(&context.view, &found.session, input.last_message());
    let mut run = Box::new(Run::new(trace, found.session, found.earlier, reply_route));
    if let Some(previous) = found.previous {
        let closed = recovered.as_mut().and_then(|one| one.checkpoint.previous_session.take());
        Box::pin(steps::session::close_previous(context, &mut run, previous, closed)).await?;
    }
    steps::messages::receive(context, &mut run, input.messages);
    let outcome = if run.session.status.agent_answers() {
        Box::pin(run_turns(context, &mut run, &input, recovered)).await?
    } else if input.approved_call.is_some() {
        run.is_silent = true;
        Box::pin(run_turns(context, &mut run, &input, recovered)).await?
    } else if input.messages.is_empty() {
        run.session.pending_notes.extend(input.note.clone().filter(|_| input.keeps_note));
        RunOutcome::Housekeeping { what: "a person has the conversation".into() }
    } else {
        steps::messages::forward_to_human(context, &mut run)
    };
    if let Some(approved) = &input.approved_call {
        decision::report_call(&mut run, approved, &outcome);
    }
    steps::request::run(context, &mut run, &input);
    let (inbox_ids, lease_action) = (input.inbox_ids, input.lease_action);
    Box::pin(steps::record::run(context, run, outcome, inbox_ids, lease_action)).await
}

/// Runs one turn for each agent that has the conversation, until nobody hands it over.
async fn run_turns(
    context: &RunContext<'_>,
    run: &mut Run,
    input: &Input<'_>,
    recovered: Option<Box<RecoveredRun>>,
) -> Result<RunOutcome, RunError> {
    if let Some(recovered) = recovered
        && let NextAction::Finish(outcome) = resume_turn(context, run, *recovered).await?
    {
        return Ok(outcome);
    }
    while run.finished_turns.len() < MAX_TURNS {
        let Some(agent) = steps::agent::run(context, run, input).await? else {
            run.send_text(context, texts::NO_AGENT, Purpose::Notice);
            return Ok(RunOutcome::NoAgent);
        };
        match steps::triggers::run(context, run, input, &agent) {
            TriggerOutcome::Continue => {}
            TriggerOutcome::HandedOver => continue,
            TriggerOutcome::Escalated(reason) => return Ok(RunOutcome::Escalated { reason }),
        }
        let (harness, open, turn) =
            match Box::pin(prepare_turn(context, run, input, &agent)).await? {
                PreparedTurn::Ready { harness, open, turn } => (harness, *open, *turn),
                PreparedTurn::Stopped(outcome) => return Ok(outcome),
            };
        use_approval(context, run, input).await?;
        let known = KnownOutcomes::new();
        let turn = steps::turn::run(context, run, &harness, open, turn, &known);
        let finished = Box::pin(turn).await?;
        if let NextAction::Finish(outcome) = finish_turn(context, run, &agent, finished) {
            return Ok(outcome);
        }
    }
    let why = "agents kept handing over to each other";
    steps::messages::apologize(context, run, why);
    Ok(RunOutcome::Failed { why: why.into() })
}

/// What the steps before the model lead to.
enum PreparedTurn<'c> {
    Ready {
        harness: AgentHarness<'c>,
        open: Box<OpenTurn>,
        turn: Box<Turn>,
    },
    /// The turn does not begin, and the customer was told why.
    Stopped(RunOutcome),
}

/// Runs the steps before the model.
async fn prepare_turn<'c>(
    context: &'c RunContext<'_>,
    run: &mut Run,
    input: &Input<'_>,
    agent: &'c AgentView,
) -> Result<PreparedTurn<'c>, RunError> {
    let timer = Trace::start(RunStep::RateLimit);
    // The store answers both in one round trip if they are asked together.
    let (DailyStatus { rate, notices }, contact) = try_join(
        steps::rate_limit::run(context, agent, &run.session),
        steps::context::recognize_contact(context, &run.session, input),
    )
    .await?;
    run.trace.finish(timer);
    run.is_sender_proven = steps::context::is_sender_proven(input);
    if let Some(outcome) = steps::messages::rate_limited(context, run, &rate) {
        return Ok(PreparedTurn::Stopped(outcome));
    }
    let text = input.text(&run.earlier);
    let documents = steps::context::run(context, run, agent, contact, &text).await?;
    Box::pin(steps::interview::run(context, run, agent, input, &rate, &text)).await?;
    if let Some(outcome) = Box::pin(steps::sign_up::run(context, run, agent)).await? {
        return Ok(PreparedTurn::Stopped(outcome));
    }
    let mut harness = steps::tools::run(context, run, agent);
    if run.is_silent {
        // The call is made, and no model is asked.
        harness.limits.max_steps = 0;
    }
    let mut briefing = AgentBriefing::new(&notices, context.lease.conversation());
    briefing.waiting = hierarchy::waiting_for(context.store(), agent, &run.session).await?;
    let system = steps::prompt::run(run, &harness, &documents, &briefing);
    let (history, earlier_items) = steps::history::run(run, input);
    let funds = match steps::credits::run(run, &harness, &system, &history).await? {
        CreditsOutcome::Reserved(funds) => funds,
        CreditsOutcome::NoModel => {
            return Ok(PreparedTurn::Stopped(steps::messages::no_model(context, run, agent)));
        }
        CreditsOutcome::Short(shortage) => {
            let outcome = steps::messages::credits_exhausted(context, run, shortage);
            return Ok(PreparedTurn::Stopped(outcome));
        }
    };
    run.pending.side_effects.read_notices.extend(&briefing.read);
    let snapshot = steps::turn::snapshot(
        context,
        &run.session,
        &harness,
        &funds,
        &rate,
        (earlier_items, &documents),
    );
    let most = input.last_message().and_then(|one| one.api_request.as_ref()?.max_tokens);
    harness.limits.max_tokens = harness.limits.max_tokens.min(most.unwrap_or(u64::MAX));
    let approved = input.approved_call.as_ref().filter(|_| run.finished_turns.is_empty());
    // What waits for a decision is in the words of others.
    let trust = match briefing.waiting.is_empty() {
        true => history_trust(&run.session.channel, &history),
        false => Trust::Untrusted,
    };
    let turn = Turn::new(NewTurn {
        system,
        trust,
        history,
        approved: approved.map(|approved| approved.call.clone()),
        budget: funds.budget,
        errors: run.session.errors.clone(),
        limits: harness.limits,
        now: context.now,
    });
    let open = Box::new(OpenTurn::new(agent, snapshot, &funds));
    Ok(PreparedTurn::Ready { harness, open, turn: Box::new(turn) })
}

/// Uses the approval of the run, now that the credits are reserved and the tools are known.
/// Fails if another entry's run has used it.
async fn use_approval(
    context: &RunContext<'_>,
    run: &mut Run,
    input: &Input<'_>,
) -> Result<(), StoreError> {
    let approved = input.approved_call.as_ref().filter(|_| run.finished_turns.is_empty());
    let Some(approved) = approved else { return Ok(()) };
    let ApprovedCall { approval, arguments, entry, .. } = approved;
    context.store().use_approval(*approval, *arguments, *entry).await?;
    run.session.pending_decisions.retain(|one| one != approval);
    crate::faults::point("after_approval");
    Ok(())
}

/// Runs the steps after the model.
fn finish_turn(
    context: &RunContext<'_>,
    run: &mut Run,
    agent: &AgentView,
    finished: FinishedTurn,
) -> NextAction {
    let next = steps::messages::run(context, run, agent, finished);
    steps::stats::run(run, context.lease.conversation());
    next
}

/// Continues the turn that an earlier attempt stored. The turns that were finished by then
/// are committed with the rest; what they did to the session is in the stored session.
async fn resume_turn(
    context: &RunContext<'_>,
    run: &mut Run,
    recovered: RecoveredRun,
) -> Result<NextAction, RunError> {
    let RecoveredRun { checkpoint, known_outcomes } = recovered;
    for turn in checkpoint.side_turns {
        run.add_side_turn(turn);
    }
    for mut finished in checkpoint.finished_turns {
        finished.record.approvals.clear();
        let agent = find_agent(context, finished.agent)?;
        finish_turn(context, run, &agent, finished);
    }
    let was_complete = run.session.interview_is_complete();
    run.session = checkpoint.session;
    if !was_complete && run.session.interview_is_complete() {
        steps::interview::record_completion(run);
    }
    let agent = find_agent(context, checkpoint.open_turn.agent)?;
    let (open, turn) = (checkpoint.open_turn, checkpoint.turn);
    let harness = steps::tools::assemble(context, &run.session, &agent);
    let turn = steps::turn::run(context, run, &harness, open, turn, &known_outcomes);
    let finished = Box::pin(turn).await?;
    Ok(finish_turn(context, run, &agent, finished))
}

fn find_agent(context: &RunContext<'_>, id: AgentId) -> Result<AgentView, StoreError> {
    context.view.agent(id).cloned().ok_or(StoreError::NotFound("agent"))
}
