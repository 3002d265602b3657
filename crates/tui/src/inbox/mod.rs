//! The inbox: the conversations of an organization in the terminal, what waits for a person,
//! and the answer. Keys and updates change the state and return effects; nothing here touches
//! the terminal.
//!
//! | module | owns |
//! |---|---|
//! | [`protocol`] | what the inbox and the client of the API tell each other |
//! | `holder` | who has a conversation, and the order of the list |
//! | `drafts` | what is being written, by conversation, in files |
//! | `keys` | keys and what they do |
//! | `input` | keys, and the actions they begin |
//! | `update` | what the client says |
//! | `writing` | what agents are writing at the moment |
//! | `card` | the call that waits for a decision |
//! | `list`, `conversation` | the two panes as lines |
//! | `screen` | the panes in the size of the terminal |
//! | `linear` | the same for pipes and screen readers: lines, and commands in lines |

mod card;
mod conversation;
mod drafts;
mod holder;
mod input;
mod keys;
mod linear;
mod list;
pub mod protocol;
mod screen;
#[cfg(test)]
mod tests;
mod update;
mod writing;

use std::collections::BTreeMap;
use std::path::PathBuf;

use ostler_domain::id::{AgentId, ApprovalId, SessionId, UserId};
use ostler_domain::time::Timestamp;

use self::card::CallCard;
use self::drafts::{DraftKind, Drafts};
use self::keys::InboxKeys;
use self::linear::PrintedLines;
use self::protocol::{
    ConnectionState, Conversation, InboxAction, InboxRequest, InboxSetting, OpenedConversation,
    UnreadableOrg,
};
use self::writing::AgentDraft;
use crate::composer::Composer;
use crate::keymap::{KeyFile, Keymap};
use crate::text::theme::Tone;

/// The id under which the operator at the machine acts.
const TERMINAL: u128 = 1;

/// What the terminal or the client is to do.
#[derive(Debug, PartialEq)]
pub(crate) enum InboxEffect {
    Request(InboxRequest),
    Quit,
}

/// The state of the inbox.
#[derive(Debug)]
pub(crate) struct Inbox {
    setting: InboxSetting,
    editing: Keymap,
    keys: InboxKeys,
    /// Formats a time of day.
    clock: fn(Timestamp) -> String,
    /// In the order of the list; `None` before the first answer.
    conversations: Option<Vec<Conversation>>,
    /// The organizations whose conversations are missing there, or old.
    unreadable: Vec<UnreadableOrg>,
    agents: BTreeMap<AgentId, String>,
    people: BTreeMap<UserId, String>,
    connection: ConnectionState,
    /// The conversation that is chosen, and what is known of it.
    selected: Option<SessionId>,
    /// What the client was asked to show.
    requested: Option<InboxRequest>,
    opened: Option<OpenedConversation>,
    not_opened: Option<String>,
    /// What agents are writing, by conversation.
    writing: BTreeMap<SessionId, AgentDraft>,
    /// Whether the list and the conversation are shown together.
    is_wide: bool,
    /// In a narrow terminal, the conversation is shown instead of the list.
    shows_conversation: bool,
    /// Lines are printed: no conversation is chosen by itself, and everything is said once.
    is_linear: bool,
    printed: PrintedLines,
    /// How many rows the window is above the end of the transcript.
    scrolled: usize,
    composing: Option<Composing>,
    composer: Composer,
    drafts: Drafts,
    /// The actions that were begun and have no answer.
    pending: Vec<PendingAction>,
    next_number: u64,
    card: Option<CallCard>,
    hint: Option<(Tone, String)>,
    show_help: bool,
    /// The inbox ends when no action is left without an answer.
    is_quitting: bool,
}

/// What is being written, and about which conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Composing {
    session: SessionId,
    org: String,
    kind: DraftKind,
    /// The call that is rejected.
    approval: Option<ApprovalId>,
}

/// An action that was begun.
#[derive(Debug, Clone, PartialEq, Eq)]
struct PendingAction {
    number: u64,
    session: SessionId,
    action: InboxAction,
    /// The text that it sends, which is kept until the answer.
    kind: Option<DraftKind>,
}

impl Inbox {
    pub(crate) fn new(
        setting: InboxSetting,
        file: &KeyFile,
        drafts: Option<PathBuf>,
        clock: fn(Timestamp) -> String,
    ) -> Result<Self, String> {
        Ok(Self {
            setting,
            editing: Keymap::of_file(file)?,
            keys: InboxKeys::of_file(file)?,
            clock,
            conversations: None,
            unreadable: Vec::new(),
            agents: BTreeMap::new(),
            people: BTreeMap::new(),
            connection: ConnectionState::default(),
            selected: None,
            requested: None,
            opened: None,
            not_opened: None,
            writing: BTreeMap::new(),
            is_wide: true,
            shows_conversation: false,
            is_linear: false,
            printed: PrintedLines::default(),
            scrolled: 0,
            composing: None,
            composer: Composer::default(),
            drafts: Drafts::open(drafts),
            pending: Vec::new(),
            next_number: 1,
            card: None,
            hint: None,
            show_help: false,
            is_quitting: false,
        })
    }

    fn rows(&self) -> &[Conversation] {
        self.conversations.as_deref().unwrap_or_default()
    }

    /// Returns the conversation that is chosen, if it is in the list.
    fn chosen(&self) -> Option<&Conversation> {
        let selected = self.selected?;
        self.rows().iter().find(|one| one.listed.session.id == selected)
    }

    /// Returns what is known of the conversation that is chosen.
    fn shown(&self) -> Option<&OpenedConversation> {
        let selected = self.selected?;
        self.opened.as_ref().filter(|opened| opened.transcript.session.id == selected)
    }

    fn person(&self, user: Option<UserId>) -> String {
        match user {
            None => "a person".to_owned(),
            Some(user) if Some(user) == self.setting.me => "you".to_owned(),
            Some(user) => match self.people.get(&user) {
                Some(name) => crate::text::sanitize::one_line(name),
                None if user.as_u128() == TERMINAL => "the terminal".to_owned(),
                None => format!("a person ({})", user.short()),
            },
        }
    }

    fn agent(&self, agent: Option<AgentId>) -> String {
        let name = agent.and_then(|agent| self.agents.get(&agent));
        name.map_or_else(|| "an agent".to_owned(), |name| crate::text::sanitize::one_line(name))
    }

    /// Returns whether something is stored that has changed.
    pub(crate) fn has_new_drafts(&self) -> bool {
        self.drafts.is_changed()
    }

    pub(crate) fn store_drafts(&mut self) {
        self.drafts.store();
    }

    /// Takes note that what is shown now was drawn.
    pub(crate) fn drawn(&mut self, now: u64) {
        if let Some(card) = &mut self.card {
            card.drawn(now);
        }
    }

    /// Returns when the screen changes though nothing happens: times pass, a wait ends.
    pub(crate) fn next_change(&self, now: u64) -> Option<u64> {
        match &self.connection {
            ConnectionState::Lost { retry_at, .. } if *retry_at > now => Some(now + 1000),
            _ if self.rows().is_empty() => None,
            _ => Some(now + 15_000),
        }
    }
}
