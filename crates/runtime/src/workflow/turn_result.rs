//! Converts the end of a turn into the result of a step: an output, a failure
//! or questions, and the charges.

use ostler_domain::money::ledger::{Charge, Expense};
use ostler_domain::workflow::StepOutcome;
use ostler_engine::driver::TurnProgress;
use ostler_engine::history::{CallResult, Item, ToolCall};
use ostler_engine::outcome::{OutcomeStatus, ToolOutcome};
use ostler_engine::turn::{AgentPath, Question, Turn, TurnEnd};
use ostler_store::TurnCharges;

use super::checkpoint::{StepCheckpoint, TaskRecord};
use super::job::{StepAction, StepJob};
use super::perform::StepResult;
use super::question::OpenQuestion;
use crate::assembly::Services;
use crate::assembly::credits::TurnFunds;
use crate::org_view::AgentView;

/// Returns the result of a step after its turn ended or was suspended.
pub(super) fn complete(
    services: &Services,
    job: &StepJob,
    agent: &AgentView,
    turn: &Turn,
    progress: TurnProgress,
    checkpoint: StepCheckpoint,
    funds: &TurnFunds,
) -> StepResult {
    let mut charges = turn.account().charges();
    if matches!(job.action, StepAction::Call { .. }) {
        // No model was called.
        charges.retain(|charge| charge.expense != Expense::Model);
    }
    let turn_charges = TurnCharges {
        payer: funds.payer,
        reservation: funds.reservation,
        budget_owner: agent.agent.id,
        charges: checkpoint.unpaid(&charges),
    };
    let record = TaskRecord {
        at: services.deps.clock.now(),
        trust: turn.trust(),
        decisions: turn.account().decisions.clone(),
        charges: charges.clone(),
    };
    let had_effects = checkpoint.has_effects();
    let mut result = match progress {
        TurnProgress::Suspended(questions) => suspended(job, turn, questions, checkpoint, charges),
        TurnProgress::Ended(TurnEnd::Answer { text, .. }) => match &job.action {
            StepAction::Call { .. } => call_result(job, turn),
            _ => StepResult::done(text, turn.trust()),
        },
        TurnProgress::Ended(end) => failed_turn(&end),
    };
    if let StepOutcome::Failed { reason, retryable: retryable @ true } = &mut result.outcome
        && had_effects
    {
        *retryable = false;
        reason.push_str(" (not retried, because it already had an external effect)");
    }
    let effects = match result.outcome {
        StepOutcome::Done => turn.account().effects.clone(),
        _ => Vec::new(),
    };
    StepResult { record: Some(record), charges: Some(turn_charges), effects, ..result }
}

fn suspended(
    job: &StepJob,
    turn: &Turn,
    questions: Vec<(AgentPath, Question)>,
    checkpoint: StepCheckpoint,
    paid: Vec<Charge>,
) -> StepResult {
    let turn = match turn.store() {
        Ok(turn) => turn,
        Err(error) => return StepResult::failed(error.to_string(), false),
    };
    let questions = questions.into_iter();
    let questions =
        questions.map(|(path, question)| OpenQuestion::from_turn(&job.part, path, question));
    let checkpoint = StepCheckpoint {
        turn: Some(turn),
        questions: questions.collect(),
        paid,
        calls: checkpoint.calls,
    };
    StepResult { checkpoint: Some(checkpoint), ..StepResult::new(StepOutcome::Suspended) }
}

/// Returns the result of a single call.
fn call_result(job: &StepJob, turn: &Turn) -> StepResult {
    let last = turn.new_items().iter().rev().find_map(|item| match item {
        Item::Results { results } => results.first(),
        _ => None,
    });
    let Some(CallResult { call, outcome: ToolOutcome { status, content, trust, .. } }) = last
    else {
        return StepResult::failed("the tool was not called", false);
    };
    match status {
        OutcomeStatus::Ok => StepResult::done(content.clone(), job.trust.after_reading(*trust)),
        OutcomeStatus::OutcomeUnknown => {
            let made = turn.new_items().iter().find_map(|item| match item {
                Item::Assistant { calls, .. } => {
                    calls.iter().find(|candidate| candidate.id == *call)
                }
                _ => None,
            });
            let (tool, arguments) = made.map_or_else(Default::default, |made: &ToolCall| {
                (made.name.clone(), made.arguments.clone().into())
            });
            StepResult::suspended(vec![OpenQuestion::unknown_outcome(&job.part, tool, arguments)])
        }
        OutcomeStatus::Failed | OutcomeStatus::TimedOut => {
            StepResult::failed(content.clone(), true)
        }
        _ => StepResult::failed(content.clone(), false),
    }
}

/// Returns the failure of a turn that ended without an answer.
fn failed_turn(end: &TurnEnd) -> StepResult {
    match end {
        TurnEnd::Answer { text, .. } => StepResult::failed(text.clone(), false),
        TurnEnd::Aborted => StepResult::failed("the turn was stopped", false),
        TurnEnd::TimedOut => StepResult::failed("the turn timed out", true),
        TurnEnd::StepLimit { limit } => {
            StepResult::failed(format!("no answer within {limit} steps"), true)
        }
        TurnEnd::Loop { tool } => {
            StepResult::failed(format!("the agent kept calling `{tool}`"), true)
        }
        TurnEnd::CreditsExhausted(short) => StepResult::failed(short.to_string(), false),
        TurnEnd::ModelFailed(error) => {
            StepResult::failed(format!("no model answered: {error}"), error.kind.is_retryable())
        }
    }
}
