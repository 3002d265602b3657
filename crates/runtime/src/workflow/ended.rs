//! What came of the turn of a task: a result, a failure or questions; and what it
//! cost.

use ostler_domain::money::ledger::{Charge, Expense};
use ostler_domain::workflow::Came;
use ostler_engine::driver::Progress;
use ostler_engine::history::{CallResult, Item, ToolCall};
use ostler_engine::outcome::{Outcome, Status};
use ostler_engine::turn::{End, Path, Question, Turn};
use ostler_store::Settle;

use super::job::{Job, Todo};
use super::perform::Performed;
use super::question::OpenQuestion;
use super::saved::{Saved, TaskRecord};
use crate::inbound::case::Desk;
use crate::inbound::step_07b_credits::Purse;
use crate::org_view::AgentView;

/// What came of the turn, and what it costs.
pub(super) fn came(
    desk: &Desk,
    job: &Job,
    agent: &AgentView,
    turn: &Turn,
    progress: Progress,
    saved: Saved,
    purse: &Purse,
) -> Performed {
    let mut charges = turn.account().charges();
    if matches!(job.todo, Todo::Call { .. }) {
        // No model was asked.
        charges.retain(|charge| charge.expense != Expense::Model);
    }
    let settle = Settle {
        payer: purse.payer,
        reservation: purse.reservation,
        budget_owner: agent.agent.id,
        charges: saved.unpaid(&charges),
    };
    let record = TaskRecord {
        at: desk.parts.clock.now(),
        trust: turn.trust(),
        decisions: turn.account().decisions.clone(),
        charges: charges.clone(),
    };
    let reached_out = saved.has_effects();
    let mut performed = match progress {
        Progress::Suspended(questions) => suspended(job, turn, questions, saved, charges),
        Progress::Ended(End::Answer { text, .. }) => match &job.todo {
            Todo::Call { .. } => called(job, turn),
            _ => Performed::done(text, turn.trust()),
        },
        Progress::Ended(end) => ended(&end),
    };
    if let Came::Failed { why, again: again @ true } = &mut performed.came
        && reached_out
    {
        *again = false;
        why.push_str(" (it had reached outside before, so that it is not tried again)");
    }
    let effects = match performed.came {
        Came::Done => turn.account().effects.clone(),
        _ => Vec::new(),
    };
    Performed { record: Some(record), settle: Some(settle), effects, ..performed }
}

fn suspended(
    job: &Job,
    turn: &Turn,
    questions: Vec<(Path, Question)>,
    saved: Saved,
    paid: Vec<Charge>,
) -> Performed {
    let turn = match turn.store() {
        Ok(turn) => turn,
        Err(error) => return Performed::failed(error.to_string(), false),
    };
    let open = questions.into_iter();
    let open = open.map(|(path, question)| OpenQuestion::of_turn(&job.part, path, question));
    let saved = Saved { turn: Some(turn), questions: open.collect(), paid, calls: saved.calls };
    Performed { saved: Some(saved), ..Performed::of(Came::Suspended) }
}

/// What a single call came to.
fn called(job: &Job, turn: &Turn) -> Performed {
    let last = turn.said().iter().rev().find_map(|item| match item {
        Item::Results { results } => results.first(),
        _ => None,
    });
    let Some(CallResult { call, outcome: Outcome { status, content, trust, .. } }) = last else {
        return Performed::failed("the tool was not called", false);
    };
    match status {
        Status::Ok => Performed::done(content.clone(), job.trust.after_reading(*trust)),
        Status::OutcomeUnknown => {
            let made = turn.said().iter().find_map(|item| match item {
                Item::Assistant { calls, .. } => calls.iter().find(|one| one.id == *call),
                _ => None,
            });
            let (tool, arguments) = made.map_or_else(Default::default, |made: &ToolCall| {
                (made.name.clone(), made.arguments.clone())
            });
            Performed::asks(vec![OpenQuestion::of_outcome(&job.part, tool, arguments)])
        }
        Status::Failed | Status::TimedOut => Performed::failed(content.clone(), true),
        _ => Performed::failed(content.clone(), false),
    }
}

/// Why a turn came to no answer.
fn ended(end: &End) -> Performed {
    match end {
        End::Answer { text, .. } => Performed::failed(text.clone(), false),
        End::Aborted => Performed::failed("it was stopped", false),
        End::TimedOut => Performed::failed("it took too long", true),
        End::StepLimit { most } => {
            Performed::failed(format!("it did not come to an answer within {most} steps"), true)
        }
        End::Loop { tool } => {
            Performed::failed(format!("its agent called `{tool}` again and again"), true)
        }
        End::CreditsExhausted(short) => Performed::failed(short.to_string(), false),
        End::ModelFailed(error) => {
            Performed::failed(format!("no model answered: {error}"), error.kind.is_retryable())
        }
    }
}
