//! Runs a task and returns its result. Commits nothing.

use ostler_domain::tool::Trust;
use ostler_domain::workflow::{EventName, StepOutcome};
use ostler_engine::outcome::ToolEffect;
use ostler_store::{MAX_WORKFLOW_BYTES, NewWorkflow, StoreError, TurnCharges, WorkflowLease};

use super::checkpoint::{StepCheckpoint, TaskRecord};
use super::child;
use super::job::{StepAction, StepJob};
use super::question::{
    EVENT_QUESTION, OpenQuestion, STEP_QUESTION, StoredAnswer, UNKNOWN_OUTCOME, question_key,
};
use super::tools::StepTools;
use super::turn;
use super::values::StepOutput;
use crate::assembly::Services;
use crate::records::decode;

/// The result of running a task.
#[derive(Debug)]
pub(super) struct StepResult {
    pub(super) outcome: StepOutcome,
    pub(super) output: Option<StepOutput>,
    /// Set if the task is suspended.
    pub(super) checkpoint: Option<StepCheckpoint>,
    pub(super) record: Option<TaskRecord>,
    /// Keys of the answers that were used.
    pub(super) consumed_answers: Vec<String>,
    /// Changes that its tools want to store.
    pub(super) effects: Vec<ToolEffect>,
    pub(super) charges: Option<TurnCharges>,
    /// The event to wait for, and the key of its answer.
    pub(super) wait: Option<(EventName, String)>,
    /// The workflow to start.
    pub(super) child: Option<NewWorkflow>,
    /// What the workflow that it started has cost, in credits.
    pub(super) spent: u64,
}

impl StepResult {
    pub(super) const fn new(outcome: StepOutcome) -> Self {
        Self {
            outcome,
            output: None,
            checkpoint: None,
            record: None,
            consumed_answers: Vec::new(),
            effects: Vec::new(),
            charges: None,
            wait: None,
            child: None,
            spent: 0,
        }
    }

    /// The task is done, with this output.
    pub(super) fn done(text: String, trust: Trust) -> Self {
        Self { output: Some(StepOutput::new(text, trust)), ..Self::new(StepOutcome::Done) }
    }

    /// The task failed; `retryable` if another attempt may succeed.
    pub(super) fn failed(reason: impl Into<String>, retryable: bool) -> Self {
        Self::new(StepOutcome::Failed { reason: reason.into(), retryable })
    }

    /// Returns the failure of the task with what it has cost and used, and nothing else.
    pub(super) fn into_failed(self, reason: String) -> Self {
        let Self { consumed_answers, charges, spent, .. } = self;
        Self { consumed_answers, charges, spent, ..Self::failed(reason, false) }
    }

    /// The task waits for people.
    pub(super) fn suspended(questions: Vec<OpenQuestion>) -> Self {
        let checkpoint = StepCheckpoint { questions, ..StepCheckpoint::default() };
        Self { checkpoint: Some(checkpoint), ..Self::new(StepOutcome::Suspended) }
    }
}

/// Runs a task.
pub(super) async fn perform(
    services: &Services,
    tools: &StepTools,
    lease: WorkflowLease,
    job: StepJob,
) -> Result<StepResult, StoreError> {
    crate::faults::point("step_begins");
    let consumed_answers: Vec<String> =
        job.answers.iter().map(|(question, _)| question.clone()).collect();
    let result = match &job.action {
        StepAction::Value { text } => StepResult::done(text.clone(), job.trust),
        StepAction::Invalid { reason } => StepResult::failed(reason.clone(), false),
        StepAction::Wait { event } => wait(&job, event),
        StepAction::Workflow { name, input } => {
            child::run(services, lease, &job, name, input).await?
        }
        StepAction::Ask { question, options } => ask(&job, question, options),
        StepAction::Prompt { .. } | StepAction::Call { .. } => match unknown_outcome_answer(&job) {
            Some(result) => result,
            None => turn::run(services, tools, lease, job).await?,
        },
    };
    Ok(StepResult { consumed_answers, ..limit_output(result) })
}

/// Fails a task whose output cannot be stored.
fn limit_output(result: StepResult) -> StepResult {
    match &result.output {
        Some(output) if output.text.len() > MAX_WORKFLOW_BYTES => {
            let reason = format!("its result is longer than {MAX_WORKFLOW_BYTES} bytes");
            let outcome = StepOutcome::Failed { reason, retryable: false };
            StepResult { outcome, output: None, effects: Vec::new(), ..result }
        }
        _ => result,
    }
}

/// Returns the answer under a name, if there is one.
fn find_answer<'j>(job: &'j StepJob, name: &str) -> Option<&'j str> {
    let name = question_key(&job.part, name);
    job.answers.iter().find(|(question, _)| *question == name).map(|(_, data)| data.as_str())
}

fn wait(job: &StepJob, event: &EventName) -> StepResult {
    match find_answer(job, EVENT_QUESTION) {
        // Events come from outside.
        Some(payload) => StepResult::done(payload.to_owned(), Trust::Untrusted),
        None => {
            let wait = Some((event.clone(), question_key(&job.part, EVENT_QUESTION)));
            StepResult { wait, ..StepResult::new(StepOutcome::Suspended) }
        }
    }
}

fn ask(job: &StepJob, question: &str, options: &[String]) -> StepResult {
    match find_answer(job, STEP_QUESTION).map(|data| decode::<StoredAnswer>("answer", data)) {
        None => {
            let question =
                OpenQuestion::from_step(&job.part, question.to_owned(), options.to_vec());
            StepResult::suspended(vec![question])
        }
        Some(Ok(StoredAnswer::Text { text })) => StepResult::done(text, Trust::Trusted),
        Some(Ok(StoredAnswer::Refused { reason })) => StepResult::failed(refusal(&reason), false),
        Some(Ok(_)) => StepResult::failed("the answer does not fit the question", false),
        Some(Err(error)) => StepResult::failed(error.to_string(), false),
    }
}

/// Returns the result that a person gave for a call whose outcome was unknown.
fn unknown_outcome_answer(job: &StepJob) -> Option<StepResult> {
    let answer = find_answer(job, UNKNOWN_OUTCOME)?;
    Some(match decode::<StoredAnswer>("answer", answer) {
        Ok(StoredAnswer::Text { text }) => StepResult::done(text, Trust::Trusted),
        Ok(StoredAnswer::Refused { reason }) => StepResult::failed(refusal(&reason), false),
        Ok(_) => StepResult::failed("the answer does not fit the question", false),
        Err(error) => StepResult::failed(error.to_string(), false),
    })
}

fn refusal(reason: &str) -> String {
    format!("a person refused: {reason}")
}
