//! What the client says.

use ostler_api::approval::CallTiming;
use ostler_api::event::AgentDelta;
use ostler_domain::id::SessionId;

use super::protocol::{
    ConnectionState, Conversation, InboxRequest, InboxResult, InboxUpdate, OpenedConversation,
};
use super::{Inbox, InboxEffect};
use super::{holder, writing};
use crate::text::sanitize::one_line;
use crate::text::theme::Tone;

impl Inbox {
    /// Takes an update.
    pub(crate) fn update(&mut self, update: InboxUpdate) -> Vec<InboxEffect> {
        match update {
            InboxUpdate::Conversations(all) => return self.list_changed(all),
            InboxUpdate::Names(names) => {
                self.agents.extend(names.agents.into_iter().map(|one| (one.id, one.name)));
                self.people.extend(names.people.into_iter().map(|one| (one.id, one.name)));
            }
            InboxUpdate::Opened(opened) => self.conversation_changed(*opened),
            InboxUpdate::NotOpened { session, why } => {
                if self.selected == Some(session) {
                    self.not_opened = Some(one_line(&why));
                }
            }
            InboxUpdate::Connection(state) => self.connection_changed(state),
            InboxUpdate::Writing(delta) => self.written(delta),
            InboxUpdate::Done { number, result } => self.done(number, result),
            InboxUpdate::Refused { number, why } => self.refused(number, &why),
        }
        Vec::new()
    }

    /// The conversation that is chosen stays chosen, wherever it stands now.
    fn list_changed(&mut self, mut all: Vec<Conversation>) -> Vec<InboxEffect> {
        all.sort_by_cached_key(|one| holder::order(&one.listed.session));
        let is_first = self.conversations.is_none();
        self.conversations = Some(all);
        let is_open = |id: SessionId| self.rows().iter().any(|one| one.listed.session.id == id);
        match self.selected {
            Some(id) if is_open(id) => Vec::new(),
            // One that was closed meanwhile is read to its end.
            Some(_) if self.shown().is_some() => Vec::new(),
            None if self.is_linear => Vec::new(),
            _ => {
                let first = self.rows().first().map(|one| one.listed.session.id);
                self.selected = first;
                if !is_first {
                    self.opened = None;
                }
                self.open_selected()
            }
        }
    }

    /// Asks for the conversation that is chosen.
    pub(super) fn open_selected(&self) -> Vec<InboxEffect> {
        let chosen = self.chosen().map(|one| (one.org.clone(), one.listed.session.id));
        let is_seen = self.is_wide || self.shows_conversation;
        let open = |(org, session)| InboxRequest::Open { org, session, is_seen };
        chosen.map(|chosen| InboxEffect::Request(open(chosen))).into_iter().collect()
    }

    fn conversation_changed(&mut self, opened: OpenedConversation) {
        if self.selected != Some(opened.transcript.session.id) {
            return;
        }
        self.not_opened = None;
        let first = opened.approvals.first().map(|one| one.approval.id);
        if self.card.map(|(id, _)| id) != first {
            self.card = first.map(|id| (id, None));
        }
        let (id, unread) = (opened.transcript.session.id, opened.work.unread);
        self.opened = Some(opened);
        for one in self.conversations.iter_mut().flatten() {
            if one.listed.session.id == id {
                one.listed.unread = unread;
            }
        }
    }

    fn written(&mut self, delta: AgentDelta) {
        let session = delta.session;
        if let Some(draft) = writing::apply(self.writing.remove(&session), delta) {
            self.writing.insert(session, draft);
        }
    }

    fn connection_changed(&mut self, state: ConnectionState) {
        // What was missed is told from its beginning.
        self.writing.clear();
        let was_lost = matches!(self.connection, ConnectionState::Lost { .. });
        if was_lost && state == ConnectionState::Live {
            self.hint = Some((Tone::Good, "The connection is back.".to_owned()));
        }
        if let ConnectionState::Lost { why, .. } = &state
            && self.is_linear
            && !was_lost
        {
            self.hint = Some((Tone::Bad, format!("No connection: {}", one_line(why))));
        }
        self.connection = state;
    }

    fn done(&mut self, number: u64, result: InboxResult) {
        let Some(at) = self.pending.iter().position(|one| one.number == number) else { return };
        let action = self.pending.remove(at);
        if let Some(kind) = action.kind {
            self.drafts.set(action.session, kind, "");
        }
        self.hint = Some((Tone::Good, describe(result)));
    }

    /// The text is still a draft; it is shown again unless another one is being written.
    fn refused(&mut self, number: u64, why: &str) {
        let Some(at) = self.pending.iter().position(|one| one.number == number) else { return };
        let action = self.pending.remove(at);
        self.hint = Some((Tone::Bad, format!("Not done: {}", one_line(why))));
        if let Some(kind) = action.kind
            && self.selected == Some(action.session)
            && self.composing.is_none()
        {
            self.compose(kind);
        }
    }
}

/// Says how an action ended.
fn describe(result: InboxResult) -> String {
    let replies = |count: usize| match count {
        1 => "1 reply".to_owned(),
        count => format!("{count} replies"),
    };
    match result {
        InboxResult::TakenOver { still_sending: count @ 1.., .. } => {
            format!("You have it. {} of the agent may still arrive.", replies(count))
        }
        InboxResult::TakenOver { in_flight: count @ 1.., .. } => {
            format!("You have it. {} of the agent could not be stopped.", replies(count))
        }
        InboxResult::TakenOver { withdrawn: count @ 1.., .. } => {
            let count = replies(usize::try_from(count).unwrap_or(usize::MAX));
            format!("You have it. {count} of the agent will not be sent.")
        }
        InboxResult::TakenOver { .. } => "You have it; the agents are silent.".to_owned(),
        InboxResult::Sent => "Sent.".to_owned(),
        InboxResult::Noted => "Noted.".to_owned(),
        InboxResult::HandedBack => "Handed back; the agent reads what you wrote.".to_owned(),
        InboxResult::Dismissed => "Dismissed as a false alarm; the agent answers.".to_owned(),
        InboxResult::Approved(CallTiming::Now) => "Approved; the agent makes the call.".to_owned(),
        InboxResult::Approved(CallTiming::AfterTurn) => {
            "Approved; the call is made after what the agent is answering.".to_owned()
        }
        InboxResult::Approved(CallTiming::AfterTakeover | CallTiming::AfterResume) => {
            "Approved; the call is made when an agent has the conversation again.".to_owned()
        }
        InboxResult::Rejected => "Rejected; the agent learns why.".to_owned(),
    }
}
