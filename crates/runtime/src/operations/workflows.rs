//! Workflows: starting and cancelling them, answering their questions, and publishing
//! events.

use ostler_domain::id::{EventId, WorkflowId};
use ostler_domain::org::permission::OrgPermission;
use ostler_domain::workflow::{EventName, Step, StepWork, Task, WorkflowDefinition};
use ostler_engine::turn::{Answer, Decision};
use ostler_store::{PublishOutcome, StoreError, WorkflowAnswer};
use serde_json::{Value, json};

use super::error::WorkflowRefused;
use super::{OperationError, OrgOperations, Result};
use crate::ids::fresh;
use crate::records::encode;
use crate::workflow::question::StoredAnswer;
use crate::workflow::schedule::workflow_of;
use crate::workflow::view::{WorkflowDetail, WorkflowSummary};
use crate::workflow::{OpenQuestion, QuestionBody, check_expressions};

impl OrgOperations<'_> {
    /// Starts a workflow with an input. A workflow runner of any process performs it.
    pub async fn start_workflow(
        &self,
        definition: &WorkflowDefinition,
        input: &Value,
    ) -> Result<WorkflowId> {
        let store = self.authorize(OrgPermission::Operate).await?;
        check_expressions(definition).map_err(WorkflowRefused::from)?;
        check_input(definition, input)?;
        self.check_steps(definition).await?;
        let new = workflow_of(definition, input);
        let (id, data) = (new.id, json!({"name": new.name, "input": input}));
        let audit = self.audit_entry("start_workflow", &id, &data);
        store.audited(audit).start_workflow(new).await?;
        Ok(id)
    }

    /// Returns a page of workflows, newest first. `before` is the last one of the page before.
    pub async fn workflows(
        &self,
        before: Option<WorkflowId>,
        limit: u32,
    ) -> Result<Vec<WorkflowSummary>> {
        let all = self.authorize(OrgPermission::View).await?.workflows(before, limit).await?;
        Ok(all.iter().map(WorkflowSummary::of).collect::<std::result::Result<_, _>>()?)
    }

    /// Returns a workflow with all its steps.
    pub async fn workflow(&self, id: WorkflowId) -> Result<WorkflowDetail> {
        let store = self.authorize(OrgPermission::View).await?;
        let (stored, tasks) = store.workflow(id).await?;
        let children = store.workflow_children(id).await?;
        Ok(WorkflowDetail::of(&stored, tasks)?.with_children(children))
    }

    /// Approves the call or the plan that a task waits with; a call also with other arguments.
    pub async fn approve_task(
        &self,
        id: WorkflowId,
        task: &Task,
        with: Option<Value>,
    ) -> Result<()> {
        if let Some(changed) = &with {
            self.check_arguments(id, task, changed).await?;
        }
        self.answer_question(id, task, "approve_task", "an approval", |question| match question {
            QuestionBody::Approval { seen, .. } => Some(Ok(StoredAnswer::Decision {
                decision: Decision::Approve { seen: *seen, arguments: with.clone() },
            })),
            QuestionBody::Plan { .. } if with.is_none() => Some(Ok(StoredAnswer::Answer {
                answer: Answer::Plan { approved: true, feedback: None },
            })),
            _ => None,
        })
        .await
    }

    /// Rejects what a task waits with. An agent is told the reason and continues; a question of
    /// the workflow itself fails.
    pub async fn reject_task(&self, id: WorkflowId, task: &Task, reason: &str) -> Result<()> {
        let reason = reason.trim().to_owned();
        if reason.is_empty() {
            return Err(OperationError::Empty("a reason"));
        }
        self.answer_question(id, task, "reject_task", "a rejection", |question| {
            let reason = reason.clone();
            Some(Ok(match question {
                QuestionBody::Approval { .. } => {
                    StoredAnswer::Decision { decision: Decision::Reject { reason } }
                }
                QuestionBody::Plan { .. } => {
                    let answer = Answer::Plan { approved: false, feedback: Some(reason) };
                    StoredAnswer::Answer { answer }
                }
                QuestionBody::Question { .. } | QuestionBody::Unknown { .. } => {
                    StoredAnswer::Refused { reason }
                }
            }))
        })
        .await
    }

    /// Answers the question of a task, or records the outcome of a call whose outcome is
    /// unknown.
    pub async fn answer_task(&self, id: WorkflowId, task: &Task, text: &str) -> Result<()> {
        let text = text.trim().to_owned();
        if text.is_empty() {
            return Err(OperationError::Empty("an answer"));
        }
        self.answer_question(id, task, "answer_task", "an answer", |question| match question {
            QuestionBody::Question { options, .. }
                if !options.is_empty() && !options.contains(&text) =>
            {
                let (answer, options) = (text.clone(), options.join(", "));
                Some(Err(WorkflowRefused::NotAnOption { answer, options }))
            }
            QuestionBody::Question { .. } | QuestionBody::Unknown { .. } => {
                Some(Ok(StoredAnswer::Text { text: text.clone() }))
            }
            QuestionBody::Plan { .. } => {
                let feedback = Some(text.clone());
                Some(Ok(StoredAnswer::Answer {
                    answer: Answer::Plan { approved: false, feedback },
                }))
            }
            QuestionBody::Approval { .. } => None,
        })
        .await
    }

    /// Cancels a workflow. Finished steps are undone as far as they define how.
    pub async fn cancel_workflow(&self, id: WorkflowId) -> Result<()> {
        let store = self.authorize(OrgPermission::Operate).await?;
        let audit = self.audit_entry("cancel_workflow", &id, &json!({}));
        if !store.audited(audit).cancel_workflow(id).await? {
            return Err(WorkflowRefused::AlreadyEnded.into());
        }
        Ok(())
    }

    /// Publishes an event to workflows. A repeat with the same id changes nothing.
    pub async fn publish_event(
        &self,
        id: Option<EventId>,
        name: EventName,
        payload: &Value,
    ) -> Result<PublishOutcome> {
        let store = self.authorize(OrgPermission::Operate).await?;
        let id = id.unwrap_or_else(|| fresh(EventId::from_u128));
        let audit = self.audit_entry("publish_event", &id, &json!({"name": name}));
        let payload = match payload {
            Value::String(text) => text.clone(),
            Value::Null => String::new(),
            other => other.to_string(),
        };
        Ok(store.audited(audit).publish_event(id, name, payload).await?)
    }

    /// Stores an answer to the first open question of a task that `answer` fits.
    async fn answer_question(
        &self,
        id: WorkflowId,
        task: &Task,
        action: &str,
        what: &'static str,
        answer: impl Fn(&QuestionBody) -> Option<std::result::Result<StoredAnswer, WorkflowRefused>>,
    ) -> Result<()> {
        let store = self.authorize(OrgPermission::Operate).await?;
        let (stored, tasks) = store.workflow(id).await?;
        let detail = WorkflowDetail::of(&stored, tasks)?;
        let questions = detail.task(task).map_or(&[][..], |one| one.questions.as_slice());
        let mut refused = WorkflowRefused::NotWaiting { task: task.to_string(), what };
        for OpenQuestion { key, body, call, .. } in questions {
            let Some(answer) = answer(body) else { continue };
            let answer = address_answer(answer?, call.is_some());
            let subject = format!("{id}/{task}");
            let audit =
                self.audit_entry(action, &subject, &json!({"question": body, "given": answer}));
            let stored = WorkflowAnswer {
                task: task.to_string(),
                question: key.clone(),
                data: encode(&answer),
            };
            match store.audited(audit).answer_workflow(id, stored).await {
                Err(StoreError::Conflict(_)) => {
                    refused = WorkflowRefused::AlreadyAnswered(task.to_string());
                }
                Err(StoreError::NotFound(_)) => return Err(WorkflowRefused::AlreadyEnded.into()),
                result => return Ok(result?),
            }
        }
        Err(refused.into())
    }

    async fn check_arguments(&self, id: WorkflowId, task: &Task, changed: &Value) -> Result<()> {
        let detail = self.workflow(id).await?;
        let questions = detail.task(task).into_iter().flat_map(|one| &one.questions);
        let view = self.view().await?;
        let tools = &view.tools;
        for question in questions {
            if let QuestionBody::Approval { tool, .. } = &question.body
                && let Some(problem) = tools.argument_problems(tool, changed)
            {
                return Err(OperationError::BadArguments { tool: tool.clone(), problem });
            }
        }
        Ok(())
    }

    /// Checks that the agents and tools of all steps exist.
    async fn check_steps(&self, definition: &WorkflowDefinition) -> Result<()> {
        let view = self.view().await?;
        let tools = &view.tools;
        // Collected: closures over borrowed steps cannot live across an await.
        let works: Vec<(&Step, &StepWork)> = definition
            .steps()
            .iter()
            .flat_map(|step| {
                std::iter::once(&step.work).chain(&step.undo).map(move |work| (step, work))
            })
            .collect();
        for (Step { id, .. }, work) in works {
            let agent = match work {
                StepWork::Agent { agent, .. } => agent,
                StepWork::Tool { agent, tool, .. } => {
                    if tools.definition(tool.as_str()).is_none() {
                        let (step, tool) = (id.clone(), tool.as_str().to_owned());
                        return Err(WorkflowRefused::NoTool { step, tool }.into());
                    }
                    agent
                }
                StepWork::Workflow { workflow, .. } => {
                    self.stored_definition(workflow).await?;
                    continue;
                }
                StepWork::Ask { .. } | StepWork::Wait { .. } | StepWork::Value { .. } => continue,
            };
            let name = agent.as_deref().or_else(|| definition.agent());
            let name = name.ok_or_else(|| WorkflowRefused::NoStepAgent(id.clone()))?;
            if view.find_agent(name).is_none() {
                return Err(OperationError::NoAgent(name.to_owned()));
            }
        }
        Ok(())
    }
}

/// Returns the answer in the form for an agent, if an agent asked, else for the step itself.
fn address_answer(answer: StoredAnswer, asked_by_agent: bool) -> StoredAnswer {
    match answer {
        StoredAnswer::Text { text } if asked_by_agent => {
            StoredAnswer::Answer { answer: Answer::Text { text } }
        }
        StoredAnswer::Refused { reason } if asked_by_agent => {
            let text = format!("The person does not want to answer this: {reason}");
            StoredAnswer::Answer { answer: Answer::Text { text } }
        }
        other => other,
    }
}

fn check_input(definition: &WorkflowDefinition, input: &Value) -> Result<()> {
    let Value::Object(answer) = input else { return Err(WorkflowRefused::InputShape.into()) };
    let names = answer.keys().map(String::as_str);
    Ok(definition.check_input(names).map_err(WorkflowRefused::from)?)
}
