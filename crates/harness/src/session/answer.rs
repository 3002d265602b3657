//! Answers of people. An answer is stored before the turn is told, and is used once.

use std::sync::{Arc, PoisonError};

use ostler_domain::gate::permission::ApprovalAnswer;
use ostler_domain::tool::ToolCategory;
use ostler_engine::driver::{CommandRejected, TurnHandle};
use ostler_engine::history::CallId;
use ostler_engine::tool::UserQuestion;
use ostler_engine::turn::{AgentPath, Answer, Decision, Question, QuestionKind};
use ostler_store::{JournalEntry, JournalKind, ThreadCommit};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Core, OpenQuestion, RunningTurn, Session, TurnStatus, lost};
use crate::always::{AlwaysAllow, RuleProposal};
use crate::error::HarnessError;
use crate::event::{AskEvent, HeldEvent};

/// The answer to a call that needs approval.
#[derive(Debug, Clone, PartialEq)]
pub enum ApprovalResponse {
    Approve,
    /// Runs the call with other arguments.
    ApproveWith(Value),
    Decline {
        /// Shown to the model.
        reason: Option<String>,
    },
    /// Runs the call, and stops asking for its category until the harness ends.
    AlwaysAllowCategory,
    /// Runs the call, and writes a rule that allows it from now on.
    AlwaysAllow(AlwaysAllow),
}

/// The answer to a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PlanResponse {
    /// The agent carries the plan out, in the default mode.
    Approve,
    Reject {
        feedback: String,
    },
}

/// A question that waits for an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenAsk {
    pub id: String,
    pub question: Question,
}

/// What an answer tells the turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum AnswerInput {
    Decision(Decision),
    Answer(Answer),
}

impl AnswerInput {
    pub(super) fn send(
        self,
        handle: &TurnHandle,
        path: AgentPath,
        call: CallId,
    ) -> Result<(), CommandRejected> {
        match self {
            Self::Decision(decision) => handle.decide(path, call, decision),
            Self::Answer(answer) => handle.answer(path, call, answer),
        }
    }
}

/// An answer in the journal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct StoredAnswer {
    pub(super) path: AgentPath,
    pub(super) call: CallId,
    pub(super) answer: AnswerInput,
    /// Whether the mode changes after the turn.
    #[serde(default)]
    pub(super) approves_plan: bool,
}

impl Core {
    /// Answers a call that needs approval.
    pub(crate) async fn answer_approval(
        self: &Arc<Self>,
        id: &str,
        response: ApprovalResponse,
    ) -> Result<(), HarnessError> {
        self.answer(id, |running, question, path| {
            let QuestionKind::Approval { arguments: seen, .. } = question.kind else {
                return Err(other_kind(id, question));
            };
            let tool = &question.call.name;
            let decision = match response {
                ApprovalResponse::Approve => Decision::Approve { seen, arguments: None },
                ApprovalResponse::ApproveWith(arguments) => {
                    if let Some(why) = running.assembled.tools.argument_problems(tool, &arguments) {
                        return Err(HarnessError::InvalidArguments(why));
                    }
                    Decision::Approve { seen, arguments: Some(arguments) }
                }
                ApprovalResponse::Decline { reason } => {
                    let reason = reason.unwrap_or_else(|| "the user declined it".into());
                    Decision::Reject { reason }
                }
                ApprovalResponse::AlwaysAllowCategory => {
                    let scope = &running.assembled.scope;
                    let category =
                        scope.find(tool).map_or(ToolCategory::Other, |tool| tool.spec.category);
                    let answer = ApprovalAnswer::AlwaysAllowCategory;
                    self.permissions.write().grants.apply_answer(answer, category);
                    Decision::Approve { seen, arguments: None }
                }
                ApprovalResponse::AlwaysAllow(always) => {
                    self.write_rule(question, &running.assembled.scope, &always)?;
                    Decision::Approve { seen, arguments: None }
                }
            };
            Ok(StoredAnswer {
                path,
                call: question.call.id.clone(),
                answer: AnswerInput::Decision(decision),
                approves_plan: false,
            })
        })
        .await
    }

    /// Answers a question.
    pub(crate) async fn answer_question(
        self: &Arc<Self>,
        id: &str,
        text: String,
    ) -> Result<(), HarnessError> {
        self.answer(id, |_, question, path| {
            if !matches!(question.kind, QuestionKind::Ask(UserQuestion::Question { .. })) {
                return Err(other_kind(id, question));
            }
            Ok(StoredAnswer {
                path,
                call: question.call.id.clone(),
                answer: AnswerInput::Answer(Answer::Text { text }),
                approves_plan: false,
            })
        })
        .await
    }

    /// Answers a plan. If it is approved, the turn ends, and the agent of the default mode
    /// carries it out.
    pub(crate) async fn answer_plan(
        self: &Arc<Self>,
        id: &str,
        response: PlanResponse,
    ) -> Result<(), HarnessError> {
        self.answer(id, |_, question, path| {
            if !matches!(question.kind, QuestionKind::Ask(UserQuestion::Plan { .. })) {
                return Err(other_kind(id, question));
            }
            let of_main_agent = path.is_empty();
            let answer = match response {
                PlanResponse::Approve if of_main_agent => {
                    Answer::Final { text: "The plan was approved.".into() }
                }
                PlanResponse::Approve => Answer::Plan { approved: true, feedback: None },
                PlanResponse::Reject { ref feedback } => {
                    Answer::Plan { approved: false, feedback: Some(feedback.clone()) }
                }
            };
            Ok(StoredAnswer {
                approves_plan: of_main_agent && response == PlanResponse::Approve,
                path,
                call: question.call.id.clone(),
                answer: AnswerInput::Answer(answer),
            })
        })
        .await
    }

    /// Stores an answer and tells the turn.
    async fn answer(
        self: &Arc<Self>,
        id: &str,
        make: impl FnOnce(&RunningTurn, &Question, AgentPath) -> Result<StoredAnswer, HarnessError>,
    ) -> Result<(), HarnessError> {
        let mut session = self.session.lock().await;
        let lease = session.thread.as_ref().ok_or(HarnessError::NoThread)?.lease;
        let running = running(&mut session).ok_or_else(|| HarnessError::AskNotOpen(id.into()))?;
        let open = running.asks.lock().unwrap_or_else(PoisonError::into_inner).get(id).cloned();
        let OpenQuestion { path, question, .. } =
            open.ok_or_else(|| HarnessError::AskNotOpen(id.into()))?;
        let stored = make(running, &question, path)?;
        let (turn, data) = (running.id, super::json(&stored));
        let mut details = self.details(Some(lease.thread()));
        details.turn_id = Some(turn);
        let closed = AskEvent::AskClosed { ask_id: id.to_owned() };
        let entry = JournalEntry { turn, kind: JournalKind::Answer, data };
        let change = ThreadCommit { journal: vec![entry], ..ThreadCommit::new(turn) };
        let events = vec![(closed.into(), details)];
        let closed = self.commit_with_events(lease, change, events).await.map_err(lost)?;
        running.asks.lock().unwrap_or_else(PoisonError::into_inner).remove(id);
        closed.into_iter().for_each(HeldEvent::publish);
        running.plan_approved |= stored.approves_plan;
        let sent = stored.answer.send(&running.handle, stored.path, stored.call);
        running.answered.notify_one();
        sent.map_err(|_| HarnessError::AskNotOpen(id.into()))
    }

    /// Returns the narrowest rule that would have answered a question.
    pub(crate) async fn rule_proposal(&self, id: &str) -> Option<RuleProposal> {
        let mut session = self.session.lock().await;
        let running = running(&mut session)?;
        let open = running.asks.lock().unwrap_or_else(PoisonError::into_inner).get(id).cloned();
        self.propose_rule(&open?, &running.assembled.scope)
    }

    /// Returns the questions that wait for an answer.
    pub(crate) async fn open_asks(&self) -> Vec<OpenAsk> {
        let mut session = self.session.lock().await;
        let Some(running) = running(&mut session) else { return Vec::new() };
        let asks = running.asks.lock().unwrap_or_else(PoisonError::into_inner);
        asks.iter()
            .map(|(id, open)| OpenAsk { id: id.clone(), question: open.question.clone() })
            .collect()
    }
}

/// Returns the running turn.
pub(super) fn running(session: &mut Session) -> Option<&mut RunningTurn> {
    match &mut session.thread.as_mut()?.turn {
        TurnStatus::Running(running) => Some(running),
        TurnStatus::Idle | TurnStatus::Interrupted(_) => None,
    }
}

fn other_kind(id: &str, question: &Question) -> HarnessError {
    let expected = match &question.kind {
        QuestionKind::Approval { .. } => "a call that needs approval",
        QuestionKind::Ask(UserQuestion::Question { .. }) => "a question",
        QuestionKind::Ask(UserQuestion::Plan { .. }) => "a plan",
    };
    HarnessError::OtherKindOfAsk { ask: id.to_owned(), expected }
}
