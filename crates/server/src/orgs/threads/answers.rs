//! Answers to questions, tool calls that need approval, and plans.

use axum::http::StatusCode;
use ostler_api::problem::ProblemCode;
use ostler_api::thread::{ApprovalDecision, AskAnswer, PlanDecision};
use ostler_harness::{ApprovalResponse, PlanResponse};
use ostler_runtime::operations::ThreadAccess;

use super::super::{OrgRequest, PathId};
use crate::body::JsonBody;
use crate::error::{ApiError, Result};

pub(crate) async fn answer(
    request: OrgRequest,
    PathId(thread): PathId,
    JsonBody(answer): JsonBody<AskAnswer>,
) -> Result<StatusCode> {
    let (_, _, live) = request.open_thread(ThreadAccess::Work, &thread).await?;
    let harness = live.harness;
    match answer {
        AskAnswer::Question { id, text } => harness.respond_to_question(&id, text).await?,
        AskAnswer::Approval { id, decision, arguments, reason } => {
            let response = approval(decision, arguments, reason)?;
            harness.respond_to_tool_approval(&id, response).await?;
        }
        AskAnswer::Plan { id, decision, feedback } => {
            let response = match decision {
                PlanDecision::Approve => PlanResponse::Approve,
                PlanDecision::Reject => {
                    PlanResponse::Reject { feedback: feedback.unwrap_or_default() }
                }
            };
            harness.respond_to_plan_approval(&id, response).await?;
        }
    }
    Ok(StatusCode::NO_CONTENT)
}

fn approval(
    decision: ApprovalDecision,
    arguments: Option<serde_json::Value>,
    reason: Option<String>,
) -> Result<ApprovalResponse> {
    match (decision, arguments) {
        (ApprovalDecision::Approve, None) => Ok(ApprovalResponse::Approve),
        (ApprovalDecision::Approve, Some(arguments)) => {
            Ok(ApprovalResponse::ApproveWith(arguments))
        }
        (ApprovalDecision::Decline, None) => Ok(ApprovalResponse::Decline { reason }),
        (ApprovalDecision::Always, None) => Ok(ApprovalResponse::AlwaysAllowCategory),
        (_, Some(_)) => Err(ApiError::new(
            ProblemCode::Invalid,
            "`arguments` can be changed only together with `approve`",
        )),
    }
}
