//! The events of an organization: what its event log holds, its event stream sends and its
//! webhooks deliver. This is the one list of them; documents and subscriptions follow it.
//!
//! Events are added, and their data gets more fields. Neither is renamed or removed, because
//! programs of other people read them.

mod conversation;
mod other;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};

pub use conversation::{
    ApprovalDecided, ApprovalExpired, ApprovalWanted, ApprovedCallReport, CustomerWaits,
    EscalationChanged, FalsePositive, InterviewCompleted, MessageAdded, RunFinished, SessionClosed,
    SessionHandedOver, SessionOpened, SessionTakenOver, TeamAssigned, ToolDisabled,
};
pub use other::{
    NoteChanged, NoticeStored, OrgSignedUp, OutreachSent, SessionAssigned, SoulProposed,
    WebhookTested, WorkflowEnded, WorkflowStarted, WorkflowStepEnded, WorkflowWaits,
};

/// Each event with its name on the wire, what it means, and those fields of its data that hold
/// words of people or agents.
macro_rules! org_events {
    ($($kind:ident($data:ident) = $name:literal, $about:literal, $words:expr;)*) => {
        /// Something that happened in an organization.
        #[derive(Debug, Clone, PartialEq, Serialize)]
        #[serde(untagged)]
        pub enum OrgEvent {
            $(#[doc = $about] $kind($data),)*
        }

        /// The kind of an event.
        #[derive(
            Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
            JsonSchema,
        )]
        pub enum OrgEventKind {
            $(#[doc = $about] #[serde(rename = $name)] $kind,)*
        }

        impl OrgEvent {
            /// Returns the kind of the event.
            pub const fn kind(&self) -> OrgEventKind {
                match self { $(Self::$kind(_) => OrgEventKind::$kind,)* }
            }
        }

        impl OrgEventKind {
            /// All kinds, in the order of the document.
            pub const ALL: &'static [Self] = &[$(Self::$kind,)*];

            /// Returns the name on the wire.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$kind => $name,)* }
            }

            /// Returns a sentence that says when the event happens.
            pub const fn description(self) -> &'static str {
                match self { $(Self::$kind => $about,)* }
            }

            /// Returns the fields of the data that hold words of people or agents. A dot leads
            /// into an object.
            pub const fn word_fields(self) -> &'static [&'static str] {
                match self { $(Self::$kind => &$words,)* }
            }

            /// Returns the JSON Schema of the data.
            pub fn data_schema(self, generator: &mut SchemaGenerator) -> Schema {
                match self { $(Self::$kind => generator.subschema_for::<$data>(),)* }
            }
        }
    };
}

org_events! {
    Message(MessageAdded) = "message", "A message was added to a session, from anybody.",
        ["text", "author.name"];
    SessionOpened(SessionOpened) = "session_opened", "A session began with a first message.", [];
    SessionClosed(SessionClosed) = "session_closed", "A session ended.", [];
    SessionAssigned(SessionAssigned) = "session_assigned",
        "A person looks after a session, or nobody in particular does any more.", [];
    Escalation(EscalationChanged) = "escalation",
        "A person was asked for, or an escalation ended.", ["reason"];
    TakenOver(SessionTakenOver) = "taken_over", "A person took a session over.", [];
    CustomerWaits(CustomerWaits) = "customer_waits",
        "A customer wrote while a person has the session or is asked for.", [];
    FalsePositive(FalsePositive) = "false_positive",
        "A person dismissed an escalation as a false alarm.", [];
    Handoff(SessionHandedOver) = "handoff", "An agent handed a session to another.", ["reason"];
    TeamAssigned(TeamAssigned) = "team_assigned", "A person gave a session to other agents.", [];
    ApprovalWanted(ApprovalWanted) = "approval_wanted", "A tool call waits for a person.",
        ["arguments"];
    ApprovalDecided(ApprovalDecided) = "approval_decided",
        "A person approved or rejected a tool call.", [];
    ApprovalExpired(ApprovalExpired) = "approval_expired",
        "A tool call was not decided, or not made, in time.", [];
    ApprovedCallMade(ApprovedCallReport) = "approved_call_made",
        "An approved call was made while a person has the session.", ["why"];
    ApprovedCallFailed(ApprovedCallReport) = "approved_call_failed",
        "An approved call did not do what was asked.", ["why"];
    ToolDisabled(ToolDisabled) = "tool_disabled",
        "A tool failed too often and is disabled for a session.", [];
    Run(RunFinished) = "run", "A message was answered, or could not be.", [];
    InterviewCompleted(InterviewCompleted) = "interview_completed",
        "All questions of an interview are answered.", ["fields"];
    NoteAdded(NoteChanged) = "note_added", "A person wrote a note about a session.", [];
    NoteDeleted(NoteChanged) = "note_deleted", "A person deleted their note about a session.", [];
    Outreach(OutreachSent) = "outreach", "An agent wrote to a contact on its own account.",
        ["to", "subject"];
    SoulProposed(SoulProposed) = "soul_proposed", "A change of an agent's soul was proposed.",
        ["reason", "before", "after"];
    SignedUp(OrgSignedUp) = "signed_up", "A stranger got an organization of their own.",
        ["name", "slug"];
    Notice(NoticeStored) = "notice",
        "The owner got a notice, for instance that credits are low or a message is a dead letter.",
        [];
    WorkflowStarted(WorkflowStarted) = "workflow_started", "A workflow was started.", [];
    WorkflowStep(WorkflowStepEnded) = "workflow_step", "A step of a workflow ended.", [];
    WorkflowWaiting(WorkflowWaits) = "workflow_waiting",
        "A workflow waits for a person or an event.", [];
    WorkflowEnded(WorkflowEnded) = "workflow_ended", "A workflow is over.", [];
    WebhookTest(WebhookTested) = "webhook_test",
        "Somebody tests a webhook. Only that webhook gets it, whatever it subscribes to.", [];
}

impl OrgEvent {
    /// Returns the data as JSON.
    pub fn to_json(&self) -> serde_json::Value {
        serde_json::to_value(self).unwrap_or_default()
    }
}

impl std::str::FromStr for OrgEventKind {
    type Err = UnknownEventKind;

    fn from_str(name: &str) -> Result<Self, UnknownEventKind> {
        let found = Self::ALL.iter().find(|kind| kind.name() == name);
        found.copied().ok_or_else(|| UnknownEventKind(name.to_owned()))
    }
}

/// The text is not the kind of an event.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a kind of event; docs/EVENTS.md lists them")]
pub struct UnknownEventKind(String);

#[cfg(test)]
mod tests;
