//! Does what a task is, and says what came of it. Nothing is committed here.

use ostler_domain::tool::Trust;
use ostler_domain::workflow::{Came, EventName};
use ostler_engine::outcome::Effect;
use ostler_store::{Settle, StoreError, WorkflowLease};

use super::job::{Job, Todo};
use super::question::{EVENT, Given, OUTCOME, OWN, OpenQuestion, key};
use super::saved::{Saved, TaskRecord};
use super::tools::StepTools;
use super::turn;
use super::values::Ran;
use crate::inbound::case::Desk;
use crate::talk::read;

/// What came of a task.
#[derive(Debug)]
pub(super) struct Performed {
    pub(super) came: Came,
    pub(super) result: Option<Ran>,
    /// Where it stands while it waits.
    pub(super) saved: Option<Saved>,
    pub(super) record: Option<TaskRecord>,
    /// The answers that it went on with.
    pub(super) taken: Vec<String>,
    /// What its tools want stored.
    pub(super) effects: Vec<Effect>,
    pub(super) settle: Option<Settle>,
    /// The event that it begins to wait for, and the name of the answer.
    pub(super) waits: Option<(EventName, String)>,
}

impl Performed {
    pub(super) const fn of(came: Came) -> Self {
        Self {
            came,
            result: None,
            saved: None,
            record: None,
            taken: Vec::new(),
            effects: Vec::new(),
            settle: None,
            waits: None,
        }
    }

    /// A result.
    pub(super) fn done(text: String, trust: Trust) -> Self {
        Self { result: Some(Ran { text, trust }), ..Self::of(Came::Done) }
    }

    /// It failed.
    pub(super) fn failed(why: impl Into<String>, again: bool) -> Self {
        Self::of(Came::Failed { why: why.into(), again })
    }

    /// It waits for people.
    pub(super) fn asks(questions: Vec<OpenQuestion>) -> Self {
        let saved = Saved { questions, ..Saved::default() };
        Self { saved: Some(saved), ..Self::of(Came::Suspended) }
    }
}

/// Does what a task is.
pub(super) async fn perform(
    desk: &Desk,
    tools: &StepTools,
    lease: WorkflowLease,
    job: Job,
) -> Result<Performed, StoreError> {
    crate::faults::point("step_begins");
    let taken: Vec<String> = job.answers.iter().map(|(question, _)| question.clone()).collect();
    let performed = match &job.todo {
        Todo::Value { text } => Performed::done(text.clone(), job.trust),
        Todo::Wait { event } => wait(&job, event),
        Todo::Ask { question, options } => ask(&job, question, options),
        Todo::Prompt { .. } | Todo::Call { .. } => match outcome(&job) {
            Some(performed) => performed,
            None => turn::run(desk, tools, lease, job).await?,
        },
    };
    Ok(Performed { taken, ..performed })
}

/// What was answered under a name, if something was.
fn given<'j>(job: &'j Job, name: &str) -> Option<&'j str> {
    let name = key(&job.part, name);
    job.answers.iter().find(|(question, _)| *question == name).map(|(_, data)| data.as_str())
}

fn wait(job: &Job, event: &EventName) -> Performed {
    match given(job, EVENT) {
        // What happened outside is told by whoever says so.
        Some(payload) => Performed::done(payload.to_owned(), Trust::Untrusted),
        None => {
            let waits = Some((event.clone(), key(&job.part, EVENT)));
            Performed { waits, ..Performed::of(Came::Suspended) }
        }
    }
}

fn ask(job: &Job, question: &str, options: &[String]) -> Performed {
    match given(job, OWN).map(|data| read::<Given>("answer", data)) {
        None => {
            let asked = OpenQuestion::of_step(&job.part, question.to_owned(), options.to_vec());
            Performed::asks(vec![asked])
        }
        Some(Ok(Given::Text { text })) => Performed::done(text, Trust::Trusted),
        Some(Ok(Given::Refused { reason })) => Performed::failed(said_no(&reason), false),
        Some(Ok(_)) => Performed::failed("the answer does not fit the question", false),
        Some(Err(error)) => Performed::failed(error.to_string(), false),
    }
}

/// What a person says became of a call that had begun when its worker died.
fn outcome(job: &Job) -> Option<Performed> {
    let said = given(job, OUTCOME)?;
    Some(match read::<Given>("answer", said) {
        Ok(Given::Text { text }) => Performed::done(text, Trust::Trusted),
        Ok(Given::Refused { reason }) => Performed::failed(said_no(&reason), false),
        Ok(_) => Performed::failed("the answer does not fit the question", false),
        Err(error) => Performed::failed(error.to_string(), false),
    })
}

fn said_no(reason: &str) -> String {
    format!("a person said no: {reason}")
}
