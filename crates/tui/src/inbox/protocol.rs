//! What the inbox and the client of the API behind it tell each other.

use ostler_api::approval::{ApprovalDetail, CallTiming};
use ostler_api::event::AgentDelta;
use ostler_api::names::ActorNames;
use ostler_api::session_work::{ListedSession, SessionWork};
use ostler_api::transcript::Transcript;
use ostler_domain::id::{ApprovalId, SessionId, UserId};

/// What the person wants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InboxRequest {
    /// Show this conversation, and keep it up to date. What the person sees is read.
    Open { org: String, session: SessionId, is_seen: bool },
    /// Read everything again, and try the connection at once.
    Reload,
    /// Carry an action out. The answer has the number.
    Act { number: u64, org: String, session: SessionId, action: InboxAction },
}

/// What people do with a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InboxAction {
    TakeOver,
    /// Write to the customer, verbatim.
    Reply {
        text: String,
    },
    /// Add a note that neither the customer nor an agent reads.
    Note {
        text: String,
    },
    /// Hand the conversation back to its agent, which is told the resolution.
    HandBack {
        resolution: Option<String>,
    },
    /// Dismiss the escalation as a false alarm.
    Dismiss,
    Approve {
        approval: ApprovalId,
        /// Make the call also while a person has the conversation.
        at_once: bool,
    },
    Reject {
        approval: ApprovalId,
        reason: String,
    },
}

/// What the client says.
#[derive(Debug, Clone, PartialEq)]
pub enum InboxUpdate {
    /// All open conversations.
    Conversations(Vec<Conversation>),
    /// The organizations whose conversations cannot be read now.
    Unreadable(Vec<UnreadableOrg>),
    Names(ActorNames),
    Opened(Box<OpenedConversation>),
    /// A conversation cannot be shown.
    NotOpened {
        session: SessionId,
        why: String,
    },
    Connection(ConnectionState),
    /// An agent is writing.
    Writing(AgentDelta),
    Done {
        number: u64,
        result: InboxResult,
    },
    Refused {
        number: u64,
        why: String,
    },
}

/// An organization whose conversations cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnreadableOrg {
    pub org_name: String,
    pub why: String,
}

/// A conversation in the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conversation {
    /// The slug of the organization.
    pub org: String,
    pub org_name: String,
    pub listed: ListedSession,
}

/// A conversation that is shown.
#[derive(Debug, Clone, PartialEq)]
pub struct OpenedConversation {
    pub transcript: Transcript,
    pub work: SessionWork,
    /// The calls that wait for a decision, the oldest first.
    pub approvals: Vec<ApprovalDetail>,
}

/// Whether what is shown is what is.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum ConnectionState {
    #[default]
    Connecting,
    Live,
    /// The connection is tried again at this time, in milliseconds since 1970.
    Lost {
        why: String,
        retry_at: u64,
    },
}

/// How an action ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InboxResult {
    TakenOver {
        /// How many replies of agents were withdrawn, could not be stopped, and may still
        /// arrive.
        withdrawn: u64,
        in_flight: usize,
        still_sending: usize,
    },
    Sent,
    Noted,
    HandedBack,
    Dismissed,
    Approved(CallTiming),
    Rejected,
}

/// What the inbox knows from the beginning.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct InboxSetting {
    /// Whose conversations these are.
    pub title: String,
    /// Under which id the person acts.
    pub me: Option<UserId>,
    /// Whether rows name their organization.
    pub has_several_orgs: bool,
}
