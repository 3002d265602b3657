//! Workflows: starting them, answering their steps, stopping them, and telling
//! them what happened.

use ostler_domain::id::{EventId, WorkflowId};
use ostler_domain::org::duty::Duty;
use ostler_domain::workflow::{Definition, EventName, Progress, Step, Task, Work};
use ostler_engine::turn::{Answer, Decision};
use ostler_store::{NewWorkflow, Published, StoreError, WorkflowAnswer};
use serde_json::{Value, json};

use super::error::WorkflowRefused;
use super::{Office, OperationError, Result};
use crate::ids::fresh;
use crate::talk::write;
use crate::workflow::question::Given;
use crate::workflow::view::{WorkflowDetail, WorkflowSummary};
use crate::workflow::{Asked, OpenQuestion};

impl Office<'_> {
    /// Starts a workflow with an input. Whoever works here brings it on.
    pub async fn start_workflow(
        &self,
        definition: &Definition,
        input: &Value,
    ) -> Result<WorkflowId> {
        let store = self.allowed(Duty::Work).await?;
        check_input(definition, input)?;
        self.check_workers(definition).await?;
        let id = fresh(WorkflowId::from_u128);
        let name = definition.name().to_owned();
        let line = self.line("start_workflow", &id, &json!({"name": name, "input": input}));
        let new = NewWorkflow {
            id,
            name,
            definition: write(definition),
            input: input.to_string(),
            state: write(&Progress::new(definition)),
        };
        store.audited(line).start_workflow(new).await?;
        Ok(id)
    }

    /// Workflows, newest first; those before the last one of the page before.
    pub async fn workflows(
        &self,
        before: Option<WorkflowId>,
        most: u32,
    ) -> Result<Vec<WorkflowSummary>> {
        let all = self.allowed(Duty::Look).await?.workflows(before, most).await?;
        Ok(all.iter().map(WorkflowSummary::of).collect::<std::result::Result<_, _>>()?)
    }

    /// A workflow with all its steps.
    pub async fn workflow(&self, id: WorkflowId) -> Result<WorkflowDetail> {
        let (stored, tasks) = self.allowed(Duty::Look).await?.workflow(id).await?;
        Ok(WorkflowDetail::of(&stored, tasks)?)
    }

    /// Says yes to the call or the plan that a task waits with; to a call also
    /// with other arguments.
    pub async fn approve_task(
        &self,
        id: WorkflowId,
        task: &Task,
        with: Option<Value>,
    ) -> Result<()> {
        if let Some(changed) = &with {
            self.check_arguments(id, task, changed).await?;
        }
        self.tell_task(id, task, "approve_task", "an approval", |asked| match asked {
            Asked::Approval { seen, .. } => Some(Ok(Given::Decision {
                decision: Decision::Approve { seen: *seen, arguments: with.clone() },
            })),
            Asked::Plan { .. } if with.is_none() => {
                Some(Ok(Given::Answer { answer: Answer::Plan { approved: true, feedback: None } }))
            }
            _ => None,
        })
        .await
    }

    /// Says no to what a task waits with, and why. An agent is told and goes on;
    /// a question of the workflow itself fails.
    pub async fn reject_task(&self, id: WorkflowId, task: &Task, reason: &str) -> Result<()> {
        let reason = reason.trim().to_owned();
        if reason.is_empty() {
            return Err(OperationError::Empty("a reason"));
        }
        self.tell_task(id, task, "reject_task", "a rejection", |asked| {
            let reason = reason.clone();
            Some(Ok(match asked {
                Asked::Approval { .. } => Given::Decision { decision: Decision::Reject { reason } },
                Asked::Plan { .. } => {
                    let answer = Answer::Plan { approved: false, feedback: Some(reason) };
                    Given::Answer { answer }
                }
                Asked::Question { .. } | Asked::Unknown { .. } => Given::Refused { reason },
            }))
        })
        .await
    }

    /// Answers what a task asks, or says what became of a call of which nobody
    /// knows it.
    pub async fn answer_task(&self, id: WorkflowId, task: &Task, text: &str) -> Result<()> {
        let text = text.trim().to_owned();
        if text.is_empty() {
            return Err(OperationError::Empty("an answer"));
        }
        self.tell_task(id, task, "answer_task", "an answer", |asked| match asked {
            Asked::Question { options, .. } if !options.is_empty() && !options.contains(&text) => {
                let (answer, options) = (text.clone(), options.join(", "));
                Some(Err(WorkflowRefused::NotAnOption { answer, options }))
            }
            Asked::Question { .. } | Asked::Unknown { .. } => {
                Some(Ok(Given::Text { text: text.clone() }))
            }
            Asked::Plan { .. } => {
                let feedback = Some(text.clone());
                Some(Ok(Given::Answer { answer: Answer::Plan { approved: false, feedback } }))
            }
            Asked::Approval { .. } => None,
        })
        .await
    }

    /// Stops a workflow; what was done is taken back as far as it can be.
    pub async fn cancel_workflow(&self, id: WorkflowId) -> Result<()> {
        let store = self.allowed(Duty::Work).await?;
        let line = self.line("cancel_workflow", &id, &json!({}));
        if !store.audited(line).cancel_workflow(id).await? {
            return Err(WorkflowRefused::Over.into());
        }
        Ok(())
    }

    /// Tells workflows that something happened. The same id again is the same
    /// event.
    pub async fn publish_event(
        &self,
        id: Option<EventId>,
        name: EventName,
        payload: &Value,
    ) -> Result<Published> {
        let store = self.allowed(Duty::Work).await?;
        let id = id.unwrap_or_else(|| fresh(EventId::from_u128));
        let line = self.line("publish_event", &id, &json!({"name": name}));
        let payload = match payload {
            Value::String(text) => text.clone(),
            Value::Null => String::new(),
            other => other.to_string(),
        };
        Ok(store.audited(line).publish_event(id, name, payload).await?)
    }

    /// Answers the first open question of a task that this is an answer to.
    async fn tell_task(
        &self,
        id: WorkflowId,
        task: &Task,
        action: &str,
        what: &'static str,
        given: impl Fn(&Asked) -> Option<std::result::Result<Given, WorkflowRefused>>,
    ) -> Result<()> {
        let store = self.allowed(Duty::Work).await?;
        let (stored, tasks) = store.workflow(id).await?;
        let detail = WorkflowDetail::of(&stored, tasks)?;
        let questions = detail.task(task).map_or(&[][..], |one| one.questions.as_slice());
        let mut refused = WorkflowRefused::NotWaiting { task: task.to_string(), what };
        for OpenQuestion { key, asked, call, .. } in questions {
            let Some(given) = given(asked) else { continue };
            let given = in_turn(given?, call.is_some());
            let subject = format!("{id}/{task}");
            let line = self.line(action, &subject, &json!({"question": asked, "given": given}));
            let answer = WorkflowAnswer {
                task: task.to_string(),
                question: key.clone(),
                data: write(&given),
            };
            match store.audited(line).answer_workflow(id, answer).await {
                Err(StoreError::Conflict(_)) => {
                    refused = WorkflowRefused::Answered(task.to_string());
                }
                Err(StoreError::NotFound(_)) => return Err(WorkflowRefused::Over.into()),
                result => return Ok(result?),
            }
        }
        Err(refused.into())
    }

    async fn check_arguments(&self, id: WorkflowId, task: &Task, changed: &Value) -> Result<()> {
        let detail = self.workflow(id).await?;
        let questions = detail.task(task).into_iter().flat_map(|one| &one.questions);
        let tools = &self.inner().tools;
        for question in questions {
            if let Asked::Approval { tool, .. } = &question.asked
                && let Some(problem) = tools.problem_with(tool, changed)
            {
                return Err(OperationError::BadArguments { tool: tool.clone(), problem });
            }
        }
        Ok(())
    }

    /// Everybody who is to work on a step is there, and so is every tool.
    async fn check_workers(&self, definition: &Definition) -> Result<()> {
        let view = self.view().await?;
        let tools = &self.inner().tools;
        let works = definition.steps().iter().flat_map(|step| {
            std::iter::once(&step.work).chain(&step.undo).map(move |work| (step, work))
        });
        for (Step { id, .. }, work) in works {
            let agent = match work {
                Work::Agent { agent, .. } => agent,
                Work::Tool { agent, tool, .. } => {
                    if tools.definition(tool.as_str()).is_none() {
                        let (step, tool) = (id.clone(), tool.as_str().to_owned());
                        return Err(WorkflowRefused::NoTool { step, tool }.into());
                    }
                    agent
                }
                Work::Ask { .. } | Work::Wait { .. } | Work::Value { .. } => continue,
            };
            let name = agent.as_deref().or_else(|| definition.agent());
            let name = name.ok_or_else(|| WorkflowRefused::Nobody(id.clone()))?;
            if view.find_agent(name).is_none() {
                return Err(OperationError::NoAgent(name.to_owned()));
            }
        }
        Ok(())
    }
}

/// What an agent asked is answered to the agent, what the step itself asked to
/// the step.
fn in_turn(given: Given, asked_by_agent: bool) -> Given {
    match given {
        Given::Text { text } if asked_by_agent => Given::Answer { answer: Answer::Text { text } },
        Given::Refused { reason } if asked_by_agent => {
            let text = format!("The person does not want to answer this: {reason}");
            Given::Answer { answer: Answer::Text { text } }
        }
        other => other,
    }
}

fn check_input(definition: &Definition, input: &Value) -> Result<()> {
    let Value::Object(given) = input else { return Err(WorkflowRefused::InputShape.into()) };
    if let Some(missing) = definition.inputs().iter().find(|name| !given.contains_key(*name)) {
        return Err(WorkflowRefused::MissingInput(missing.clone()).into());
    }
    if let Some(unknown) = given.keys().find(|name| !definition.inputs().contains(*name)) {
        return Err(WorkflowRefused::NoInput(unknown.clone()).into());
    }
    Ok(())
}
