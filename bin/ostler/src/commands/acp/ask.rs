//! Approvals, plans and questions of a turn as permission requests to the client.

use agent_client_protocol::v1::schema::{
    PermissionOption, PermissionOptionKind, RequestPermissionOutcome, RequestPermissionRequest,
    ToolCall, ToolKind,
};
use ostler_engine::tool::UserQuestion;
use ostler_engine::turn::QuestionKind;
use ostler_harness::{ApprovalResponse, HarnessError, OpenAsk, PlanResponse};

use super::session::AcpSession;
use super::tool_call::{as_update, text_content};

const ALLOW: &str = "allow";
const ALLOW_ALWAYS: &str = "allow_always";
const REJECT: &str = "reject";

/// What a turn reads if the client has no way to enter a text.
const ANSWER_LATER: &str = "The user was shown the question and answers it with the next message. \
    End your turn now.";

/// A question as a client can show it.
pub(super) struct ClientQuestion {
    pub(super) call: ToolCall,
    pub(super) options: Vec<PermissionOption>,
}

/// Returns a question for the client; `None` if it needs a text as its answer. `call` is the
/// call that needs approval.
pub(super) fn client_question(ask: &OpenAsk, call: ToolCall) -> Option<ClientQuestion> {
    let option = |id: &str, name: &str, kind| PermissionOption::new(id.to_owned(), name, kind);
    Some(match &ask.question.kind {
        QuestionKind::Approval { .. } => ClientQuestion {
            call,
            options: vec![
                option(ALLOW, "Allow", PermissionOptionKind::AllowOnce),
                option(
                    ALLOW_ALWAYS,
                    "Always allow tools of this kind in this session",
                    PermissionOptionKind::AllowAlways,
                ),
                option(REJECT, "Reject", PermissionOptionKind::RejectOnce),
            ],
        },
        QuestionKind::Ask(UserQuestion::Plan { title, plan }) => ClientQuestion {
            call: ToolCall::new(
                call.tool_call_id,
                title.as_deref().unwrap_or("Carry out this plan?"),
            )
            .kind(ToolKind::SwitchMode)
            .content(vec![text_content(plan)]),
            options: vec![
                option(ALLOW, "Carry it out", PermissionOptionKind::AllowOnce),
                option(REJECT, "Keep planning", PermissionOptionKind::RejectOnce),
            ],
        },
        QuestionKind::Ask(UserQuestion::Question { options, .. }) if options.is_empty() => {
            return None;
        }
        QuestionKind::Ask(UserQuestion::Question { question, options }) => {
            let answers = options.iter().enumerate().map(|(number, text)| {
                option(&number.to_string(), text.as_str(), PermissionOptionKind::AllowOnce)
            });
            let no_answer = option(REJECT, "No answer", PermissionOptionKind::RejectOnce);
            ClientQuestion {
                call: ToolCall::new(call.tool_call_id, question.as_str()).kind(ToolKind::Other),
                options: answers.chain([no_answer]).collect(),
            }
        }
    })
}

impl AcpSession {
    /// Asks the client, and passes the answer on. A question that the client cannot answer
    /// because it is gone stays open.
    pub(super) async fn ask(&self, ask: OpenAsk, question: Option<ClientQuestion>) {
        let chosen = match question {
            None => Some(None),
            Some(ClientQuestion { call, options }) => {
                self.request_permission(&ask, call, options).await
            }
        };
        let Some(chosen) = chosen else { return };
        match self.answer(&ask, chosen.as_deref()).await {
            // The turn has ended meanwhile.
            Ok(()) | Err(HarnessError::AskNotOpen(_)) => {}
            Err(error) => tracing::warn!(%error, "an answer was not stored"),
        }
    }

    /// Returns the option that was chosen; `None` if there is nothing to pass on.
    async fn request_permission(
        &self,
        ask: &OpenAsk,
        call: ToolCall,
        options: Vec<PermissionOption>,
    ) -> Option<Option<String>> {
        let request = RequestPermissionRequest::new(self.id.clone(), as_update(call), options);
        match self.client.send_request(request).block_task().await {
            Ok(response) => match response.outcome {
                RequestPermissionOutcome::Selected(selected) => {
                    Some(Some(selected.option_id.0.to_string()))
                }
                _ => {
                    // The client has stopped the turn; if not, it stops it by this answer.
                    let open = self.harness.open_asks().await;
                    if open.iter().any(|other| other.id == ask.id) {
                        self.harness.abort().await;
                    }
                    None
                }
            },
            Err(_) if self.client.is_incoming_closed() => None,
            Err(error) => {
                tracing::warn!(%error, "the client did not answer a permission request");
                Some(Some(REJECT.to_owned()))
            }
        }
    }

    async fn answer(&self, ask: &OpenAsk, chosen: Option<&str>) -> Result<(), HarnessError> {
        match &ask.question.kind {
            QuestionKind::Approval { .. } => {
                let response = match chosen {
                    Some(ALLOW) => ApprovalResponse::Approve,
                    Some(ALLOW_ALWAYS) => ApprovalResponse::AlwaysAllowCategory,
                    _ => ApprovalResponse::Decline { reason: None },
                };
                self.harness.respond_to_tool_approval(&ask.id, response).await
            }
            QuestionKind::Ask(UserQuestion::Plan { .. }) => {
                let response = match chosen {
                    Some(ALLOW) => PlanResponse::Approve,
                    _ => PlanResponse::Reject { feedback: "The user wants another plan.".into() },
                };
                self.harness.respond_to_plan_approval(&ask.id, response).await
            }
            QuestionKind::Ask(UserQuestion::Question { options, .. }) => {
                let number = chosen.and_then(|chosen| chosen.parse::<usize>().ok());
                let text = match (number.and_then(|number| options.get(number)), chosen) {
                    (Some(option), _) => option.as_str(),
                    (None, Some(_)) => "The user did not answer.",
                    (None, None) => ANSWER_LATER,
                };
                self.harness.respond_to_question(&ask.id, text).await
            }
        }
    }
}
