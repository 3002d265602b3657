//! Requests over the API: a message to a named agent, whose answer the caller waits for. The
//! message goes the way of every message, through the inbox of a conversation; the run has
//! the answer.

use ostler_domain::agent::Agent;
use ostler_domain::contact::SenderProof;
use ostler_domain::id::{AgentId, ApprovalId, BindingId, BlobId, InboxId, RunId, SessionId};
use ostler_domain::message::MessagePart;
use ostler_domain::money::Credits;
use ostler_domain::org::permission::OrgPermission;
use ostler_domain::session::key::{ConversationEntry, ConversationKey, Peer};
use ostler_engine::model::{StopReason, Usage};
use ostler_engine::turn::TurnEnd;
use ostler_store::{AcceptOutcome, NewBlob, StoreError};

use super::runs::MAX_MESSAGES;
use super::sessions::decode_each;
use super::{OperationError, OrgOperations, Result};
use crate::conversation::run_of;
use crate::ids::{derived, fresh};
use crate::inbox::Intake;
use crate::records::api_request::{ApiRequest, TranscriptMessage};
use crate::records::decode;
use crate::records::entry::{InboxEntry, IncomingMessage, MessageSender};
use crate::records::message::{MessageAuthor, ThreadMessage};
use crate::records::run::{RunOutcome, RunRecord};
use crate::records::session::Session;

/// Returns the id of a new file of a request.
pub fn new_blob_id() -> BlobId {
    fresh(BlobId::from_u128)
}

/// A message to an agent.
#[derive(Debug, Clone, Default)]
pub struct AgentRequest {
    pub message: Vec<MessagePart>,
    pub context: RequestContext,
    /// The files among the parts.
    pub files: Vec<NewBlob>,
    /// Who writes, according to the caller.
    pub sender: Option<String>,
    /// The most tokens of an answer, if fewer than the agent's own limit.
    pub max_tokens: Option<u64>,
    /// Whether it is a test: its costs are marked as such, and nobody is a customer.
    pub is_test: bool,
}

/// What an agent knows of the conversation before a message.
#[derive(Debug, Clone)]
pub enum RequestContext {
    /// The caller keeps the conversation and sends all of it.
    Transcript(Vec<TranscriptMessage>),
    /// The conversation with this name, which is kept here.
    Conversation(String),
}

impl Default for RequestContext {
    fn default() -> Self {
        Self::Transcript(Vec::new())
    }
}

/// The answer to a request.
#[derive(Debug, Clone)]
pub struct AgentAnswer {
    pub run: RunId,
    pub session: SessionId,
    pub outcome: RunOutcome,
    /// What was said, in order.
    pub texts: Vec<String>,
    pub end: AnswerEnd,
    pub usage: Usage,
    pub credits: Credits,
    /// Calls that wait for a person.
    pub approvals: Vec<ApprovalId>,
}

/// How the text of an answer ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnswerEnd {
    Complete,
    /// The limit of tokens was reached.
    TooLong,
    /// The provider withheld it.
    Withheld,
}

impl OrgOperations<'_> {
    /// Returns the agents that answer requests, by slug.
    pub async fn answering_agents(&self) -> Result<Vec<Agent>> {
        let store = self.authorize(OrgPermission::View).await?;
        let mut agents = store.agents().await?;
        agents.retain(Agent::receives_messages);
        agents.sort_by(|one, other| one.slug.cmp(&other.slug));
        Ok(agents)
    }

    /// Accepts a request to an agent, named by id or slug, and returns the run that will
    /// answer it. Fails if no such agent takes messages, or the org's backlog is full.
    pub async fn ask_agent(
        &self,
        intake: &Intake,
        agent: &str,
        request: AgentRequest,
    ) -> Result<RunId> {
        self.authorize(OrgPermission::Operate).await?;
        let agents = self.answering_agents().await?;
        let named = |one: &&Agent| one.slug == agent || one.id.to_string() == agent;
        let no_agent = || OperationError::NoAgent(agent.to_owned());
        let agent = agents.iter().find(named).ok_or_else(no_agent)?.id;
        let AgentRequest { message, context, files, sender, max_tokens, is_test } = request;
        let id = fresh(InboxId::from_u128);
        // Only a kept conversation has a name that the caller vouches for.
        let (peer, history, proof) = match context {
            RequestContext::Conversation(name) => (name, None, SenderProof::Proven),
            RequestContext::Transcript(history) => {
                (format!("request-{id}"), Some(history), SenderProof::Unproven)
            }
        };
        let entry = InboxEntry::Message(IncomingMessage {
            parts: message,
            from: MessageSender {
                identifier: sender.unwrap_or_else(|| peer.clone()),
                proof,
                ..MessageSender::default()
            },
            named_agent: Some(agent),
            api_request: Some(Box::new(ApiRequest { history, max_tokens })),
            ..IncomingMessage::default()
        });
        let key = ConversationKey {
            entry: if is_test { ConversationEntry::Testing } else { ConversationEntry::Customer },
            ..self.conversation_with(agent, peer)
        };
        let accepted = intake.accept_with_files(key, &id.to_string(), &entry, files).await?;
        let (AcceptOutcome::New(id) | AcceptOutcome::Duplicate(id)) = accepted;
        Ok(run_of(id))
    }

    /// Returns the conversation of callers with an agent. Those of different keys and users
    /// are apart.
    fn conversation_with(&self, agent: AgentId, peer: String) -> ConversationKey {
        let caller = format!("api {}", self.actor.user_id());
        ConversationKey {
            org: self.org,
            binding: derived(BindingId::from_u128, agent.as_u128(), &caller),
            peer: Peer::Person(peer),
            entry: ConversationEntry::Customer,
        }
    }

    /// Returns the answer of a run, or `None` if it has not ended yet.
    pub async fn agent_reply(&self, id: RunId) -> Result<Option<AgentAnswer>> {
        let store = self.authorize(OrgPermission::Operate).await?;
        let run = match store.run(id).await {
            Ok(run) => RunRecord::from_stored(&run)?,
            Err(StoreError::NotFound(_)) => return Ok(None),
            Err(other) => return Err(other.into()),
        };
        let session: Session = decode("session", &store.session(run.session).await?.data)?;
        let messages = store.last_messages(session.thread, MAX_MESSAGES).await?;
        let messages: Vec<ThreadMessage> =
            decode_each("message", messages.iter().map(|one| one.data.as_str()))?;
        Ok(Some(reply(run, &messages)))
    }

    /// Aborts a run whose caller has gone, if this process runs it or is going to.
    pub fn abandon_request(&self, run: RunId) {
        self.inner().running_turns.abandon(run);
    }
}

/// Returns the answer of a run whose session has these messages.
fn reply(run: RunRecord, messages: &[ThreadMessage]) -> AgentAnswer {
    let said = messages.iter().filter(|one| {
        one.run == Some(run.id) && !matches!(one.author, MessageAuthor::Customer { .. })
    });
    let texts = said.map(|one| one.text().into_owned()).filter(|text| !text.trim().is_empty());
    let mut usage = Usage::default();
    for turn in &run.turns {
        usage = usage.plus(turn.usage);
    }
    let end = match run.turns.last().map(|turn| &turn.end) {
        Some(TurnEnd::Answer { stop: StopReason::MaxTokens, .. }) => AnswerEnd::TooLong,
        Some(TurnEnd::Answer { stop: StopReason::Filtered, .. }) => AnswerEnd::Withheld,
        _ => AnswerEnd::Complete,
    };
    AgentAnswer {
        run: run.id,
        session: run.session,
        texts: texts.collect(),
        end,
        usage,
        credits: run.credits,
        approvals: run.turns.iter().flat_map(|turn| turn.approvals.clone()).collect(),
        outcome: run.outcome,
    }
}
