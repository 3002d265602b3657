//! What a run answers.

use ostler_domain::gate::approval::ArgumentsHash;
use ostler_domain::human::triggers::Trigger;
use ostler_domain::id::{AgentId, ApprovalId, InboxId, UserId};
use ostler_engine::history::ToolCall;
use ostler_store::LeaseAction;

use super::run_context::ReceivedMessage;
use crate::records::entry::IncomingMessage;
use crate::records::message::{MessageAuthor, ThreadMessage};

/// What a run answers.
pub(crate) struct Input<'a> {
    /// The inbox entries that the run's commit answers.
    pub(crate) inbox_ids: Vec<InboxId>,
    pub(crate) messages: &'a [ReceivedMessage],
    /// A note to the agent, where nobody wrote.
    pub(crate) note: Option<String>,
    /// Whether the note is kept for the agent while a person has the conversation.
    pub(crate) keeps_note: bool,
    pub(crate) approved_call: Option<ApprovedCall>,
    /// The agent that has to answer; `None` means the session's active agent.
    pub(crate) agent: Option<AgentId>,
    /// Triggers that a person has dealt with.
    pub(crate) handled_triggers: &'a [Trigger],
    /// What happens to the lease after the commit.
    pub(crate) lease_action: LeaseAction,
}

/// A call that a person approved.
pub(crate) struct ApprovedCall {
    pub(crate) approval: ApprovalId,
    /// Who approved it.
    pub(crate) by: UserId,
    /// The inbox entry of the decision, to which the use of the approval is bound.
    pub(crate) entry: InboxId,
    /// The arguments that the approval is bound to.
    pub(crate) arguments: ArgumentsHash,
    pub(crate) call: ToolCall,
}

impl<'a> Input<'a> {
    /// Creates the input of messages that are answered together.
    pub(crate) fn from_messages(
        messages: &'a [ReceivedMessage],
        lease_action: LeaseAction,
    ) -> Self {
        let inbox_ids = messages.iter().map(|one| one.inbox_id).collect();
        Self { inbox_ids, messages, ..Self::empty(lease_action) }
    }

    /// Creates the input of an entry that the agent learns of by a note.
    pub(crate) fn from_note(entry: InboxId, note: String, lease_action: LeaseAction) -> Self {
        Self { inbox_ids: vec![entry], note: Some(note), ..Self::empty(lease_action) }
    }

    /// Creates the input of an entry with news that no agent may miss.
    pub(crate) fn from_news(entry: InboxId, news: String, lease_action: LeaseAction) -> Self {
        Self { keeps_note: true, ..Self::from_note(entry, news, lease_action) }
    }

    const fn empty(lease_action: LeaseAction) -> Self {
        Self {
            inbox_ids: Vec::new(),
            messages: &[],
            note: None,
            keeps_note: false,
            approved_call: None,
            agent: None,
            handled_triggers: &[],
            lease_action,
        }
    }

    /// Returns the newest message of the input.
    pub(crate) fn last_message(&self) -> Option<&'a IncomingMessage> {
        self.messages.last().map(|one| &one.message)
    }

    /// Returns the text to answer: that of the messages, or of the customer's last message
    /// before them if there are none.
    pub(crate) fn text(&self, earlier: &[ThreadMessage]) -> String {
        if self.messages.is_empty() {
            let last = earlier.iter().rev();
            let mut last = last.filter(|one| matches!(one.author, MessageAuthor::Customer { .. }));
            return last.next().map(ThreadMessage::text).unwrap_or_default().into_owned();
        }
        let texts: Vec<_> = self.messages.iter().map(|one| one.message.text()).collect();
        texts.join("\n")
    }
}
