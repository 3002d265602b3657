//! What the tools do: each calls operations on behalf of the caller, as the routes do.

use ostler_domain::id::OrgId;
use ostler_domain::message::MessagePart;
use ostler_runtime::operations::{AgentRequest, OrgOperations, RequestContext};
use ostler_runtime::records::run::RunOutcome;
use ostler_store::{DecisionState, SessionFilter};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::tools::{
    ApproveArguments, AskArguments, ListSessionsArguments, OrgArguments, RejectArguments,
    SessionArguments,
};
use crate::agent_reply::PendingReply;
use crate::caller::Caller;
use crate::error::{ApiError, Result};
use crate::orgs::find_org;
use crate::server::Server;
use crate::transcript::timeline;
use crate::wire;
use ostler_api::problem::ProblemCode;
use ostler_runtime::operations::OperationError;

const MAX_SESSIONS: u32 = 100;
const DEFAULT_SESSIONS: u32 = 20;
const MAX_APPROVALS: u32 = 200;
/// Longest message, in bytes, and longest name of a conversation, in characters.
const MAX_MESSAGE: usize = 64 * 1024;
const MAX_NAME: usize = 128;

/// A caller who calls tools.
pub(super) struct ToolCaller<'a> {
    pub(super) server: &'a Server,
    pub(super) caller: &'a Caller,
}

impl ToolCaller<'_> {
    /// Calls a tool and returns its result. What the caller can correct is an error with a
    /// sentence.
    pub(super) async fn dispatch(&self, tool: &str, arguments: Value) -> Result<Value> {
        match tool {
            "list_agents" => self.list_agents(parse(arguments)?).await,
            "ask_agent" => self.ask_agent(parse(arguments)?).await,
            "list_sessions" => self.list_sessions(parse(arguments)?).await,
            "show_session" => self.show_session(parse(arguments)?).await,
            "list_approvals" => self.list_approvals(parse(arguments)?).await,
            "approve_call" => self.approve(parse(arguments)?).await,
            "reject_call" => self.reject(parse(arguments)?).await,
            _ => Err(ApiError::not_found("tool")),
        }
    }

    async fn org(&self, name: Option<&str>) -> Result<OrgId> {
        let Some(name) = name else {
            let detail = "you are in several organizations; say which one as `organization`";
            let only = self.caller.only_org();
            return only.ok_or_else(|| ApiError::new(ProblemCode::Invalid, detail));
        };
        find_org(self.server, name).await
    }

    fn operations(&self, org: OrgId) -> OrgOperations<'_> {
        self.server.deps.operations.as_actor(self.caller.actor(), org)
    }

    /// Converts the error of an operation. An org that the caller may not see does not exist.
    fn checked<T>(&self, org: OrgId, result: std::result::Result<T, OperationError>) -> Result<T> {
        result.map_err(|error| match error {
            OperationError::Forbidden { .. } if !self.caller.is_of(org) => {
                ApiError::not_found("organization")
            }
            other => other.into(),
        })
    }

    async fn list_agents(&self, OrgArguments { organization }: OrgArguments) -> Result<Value> {
        let org = self.org(organization.as_deref()).await?;
        let agents = self.checked(org, self.operations(org).answering_agents().await)?;
        let agent = |agent: &ostler_domain::agent::Agent| {
            json!({"slug": agent.slug, "id": agent.id, "name": agent.display_name,
                "subtype": agent.subtype, "autonomy": agent.autonomy})
        };
        Ok(json!({"agents": agents.iter().map(agent).collect::<Vec<_>>()}))
    }

    async fn ask_agent(&self, arguments: AskArguments) -> Result<Value> {
        let AskArguments { agent, message, conversation, organization } = arguments;
        if message.trim().is_empty() || message.len() > MAX_MESSAGE {
            let detail = format!("`message` has 1 to {MAX_MESSAGE} bytes");
            return Err(ApiError::new(ProblemCode::Invalid, detail));
        }
        let is_name = |name: &String| {
            let is_word = !name.contains(|c: char| c.is_whitespace() || c.is_control());
            (1..=MAX_NAME).contains(&name.chars().count()) && is_word
        };
        if !conversation.iter().all(is_name) {
            let detail =
                format!("`conversation` has 1 to {MAX_NAME} characters without white space");
            return Err(ApiError::new(ProblemCode::Invalid, detail));
        }
        let org = self.org(organization.as_deref()).await?;
        self.checked(org, self.operations(org).answering_agents().await)?;
        let context =
            conversation.map_or_else(RequestContext::default, RequestContext::Conversation);
        let message = vec![MessagePart::text(message)];
        let request = AgentRequest { message, context, ..AgentRequest::default() };
        let mut pending =
            PendingReply::begin(self.server, self.caller, org, &agent, request).await?;
        let reply = pending.ended().await?;
        let is_answered = matches!(
            reply.outcome,
            RunOutcome::Answered | RunOutcome::Escalated { .. } | RunOutcome::WaitingForHuman
        );
        let answer = json!({"outcome": reply.outcome.as_str(), "answer": reply.texts.join("\n\n"),
            "run": reply.run, "session": reply.session, "credits": reply.credits,
            "pending_approvals": reply.approvals});
        if is_answered {
            return Ok(answer);
        }
        let detail = format!("the agent did not answer: {answer}");
        Err(ApiError::new(ProblemCode::NotNow, detail))
    }

    async fn list_sessions(&self, arguments: ListSessionsArguments) -> Result<Value> {
        let ListSessionsArguments { handed_off, limit, organization } = arguments;
        let org = self.org(organization.as_deref()).await?;
        let which = if handed_off { SessionFilter::HandedOff } else { SessionFilter::All };
        let limit = limit.unwrap_or(DEFAULT_SESSIONS).clamp(1, MAX_SESSIONS);
        let found = self.operations(org).sessions(which, None, limit).await;
        let found = self.checked(org, found)?;
        Ok(json!({"sessions": found.iter().map(wire::session).collect::<Vec<_>>()}))
    }

    async fn show_session(&self, arguments: SessionArguments) -> Result<Value> {
        let SessionArguments { session, organization } = arguments;
        let org = self.org(organization.as_deref()).await?;
        let operations = self.operations(org);
        let found = self.checked(org, operations.session(session).await)?;
        let timeline = timeline::timeline(&operations, &found).await;
        Ok(json!(wire::detail(&found, self.checked(org, timeline)?)))
    }

    async fn list_approvals(&self, OrgArguments { organization }: OrgArguments) -> Result<Value> {
        let org = self.org(organization.as_deref()).await?;
        let pending = DecisionState::Pending;
        let found = self.operations(org).approvals(pending, None, MAX_APPROVALS).await;
        let found = self.checked(org, found)?;
        Ok(json!({"approvals": found.iter().map(wire::approval).collect::<Vec<_>>()}))
    }

    async fn approve(&self, arguments: ApproveArguments) -> Result<Value> {
        let ApproveArguments { approval, organization } = arguments;
        let org = self.org(organization.as_deref()).await?;
        let decided = self.checked(org, self.operations(org).approve(approval).await)?;
        Ok(json!(wire::approval(&decided)))
    }

    async fn reject(&self, arguments: RejectArguments) -> Result<Value> {
        let RejectArguments { approval, reason, organization } = arguments;
        let org = self.org(organization.as_deref()).await?;
        let decided = self.checked(org, self.operations(org).reject(approval, &reason).await)?;
        Ok(json!(wire::approval(&decided)))
    }
}

fn parse<T: DeserializeOwned>(arguments: Value) -> Result<T> {
    serde_json::from_value(arguments).map_err(|error| {
        ApiError::new(ProblemCode::Invalid, format!("the arguments are not valid: {error}"))
    })
}
