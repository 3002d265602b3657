//! What the client says.

use ostler_api::approval::CallTiming;
use ostler_api::event::AgentDelta;

use super::protocol::{
    ConnectionState, Conversation, InboxAction, InboxRequest, InboxResult, InboxUpdate,
    OpenedConversation, UnreadableOrg,
};
use super::{Inbox, InboxEffect};
use super::{holder, writing};
use crate::text::sanitize::one_line;
use crate::text::theme::Tone;

impl Inbox {
    /// Takes an update.
    pub(crate) fn update(&mut self, update: InboxUpdate) -> Vec<InboxEffect> {
        match update {
            InboxUpdate::Conversations(all) => self.list_changed(all),
            InboxUpdate::Unreadable(orgs) => self.unreadable_changed(orgs),
            InboxUpdate::Names(names) => {
                self.agents.extend(names.agents.into_iter().map(|one| (one.id, one.name)));
                self.people.extend(names.people.into_iter().map(|one| (one.id, one.name)));
            }
            InboxUpdate::Opened(opened) => self.conversation_changed(*opened),
            InboxUpdate::NotOpened { session, why } => {
                if self.selected == Some(session) {
                    self.not_opened = Some(one_line(&why));
                    self.printed.is_outdated = false;
                }
            }
            InboxUpdate::Connection(state) => self.connection_changed(state),
            InboxUpdate::Writing(delta) => self.written(delta),
            InboxUpdate::Done { number, result } => self.done(number, result),
            InboxUpdate::Refused { number, why } => self.refused(number, &why),
        }
        match self.is_quitting && self.pending.is_empty() {
            true => vec![InboxEffect::Quit],
            false => self.request_shown().into_iter().collect(),
        }
    }

    /// The conversation that is chosen stays chosen, wherever it stands now.
    fn list_changed(&mut self, mut all: Vec<Conversation>) {
        all.sort_by_cached_key(|one| holder::order(&one.listed.session));
        self.conversations = Some(all);
        // What is written and what was printed belong to the one that is chosen; one that was
        // closed meanwhile is read to its end.
        let stays = self.is_linear
            || self.composing.is_some()
            || self.chosen().is_some()
            || self.shown().is_some();
        if !stays {
            self.selected = self.rows().first().map(|one| one.listed.session.id);
            (self.opened, self.not_opened, self.card) = (None, None, None);
        }
    }

    fn unreadable_changed(&mut self, orgs: Vec<UnreadableOrg>) {
        self.unreadable = orgs;
        if self.is_linear
            && let Some(text) = self.unreadable_text()
        {
            self.hint = Some((Tone::Bad, text));
        }
    }

    /// Says which conversations cannot be read, and why.
    pub(crate) fn unreadable_text(&self) -> Option<String> {
        let first = self.unreadable.first()?;
        let why = one_line(&first.why);
        Some(match self.unreadable.len() {
            1 => {
                format!("The conversations of {} cannot be read: {why}", one_line(&first.org_name))
            }
            count => format!("The conversations of {count} organizations cannot be read: {why}"),
        })
    }

    /// Asks for the conversation that is chosen, unless that was asked for.
    pub(crate) fn request_shown(&mut self) -> Option<InboxEffect> {
        let chosen = self.chosen()?;
        let request = InboxRequest::Open {
            org: chosen.org.clone(),
            session: chosen.listed.session.id,
            is_seen: self.is_wide || self.shows_conversation,
        };
        if self.requested.as_ref() == Some(&request) {
            return None;
        }
        self.requested = Some(request.clone());
        Some(InboxEffect::Request(request))
    }

    fn conversation_changed(&mut self, opened: OpenedConversation) {
        if self.selected != Some(opened.transcript.session.id) {
            return;
        }
        self.not_opened = None;
        self.printed.is_outdated = false;
        self.show_next_call(&opened);
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
        self.printed.is_outdated |= self.selected == Some(action.session);
        if let Some(kind) = action.kind {
            self.drafts.set(action.session, kind, "");
        }
        self.hint = Some((Tone::Good, describe(result)));
    }

    /// The text is still a draft; it is shown again unless another one is being written.
    fn refused(&mut self, number: u64, why: &str) {
        let Some(at) = self.pending.iter().position(|one| one.number == number) else { return };
        let action = self.pending.remove(at);
        self.printed.is_outdated |= self.selected == Some(action.session);
        self.printed.refused += 1;
        self.is_quitting = false;
        self.hint = Some((Tone::Bad, format!("Not done: {}", one_line(why))));
        let is_of_card = match action.action {
            InboxAction::Reject { approval, .. } => {
                self.card.is_some_and(|card| card.approval == approval)
            }
            _ => true,
        };
        if let Some(kind) = action.kind
            && is_of_card
            && self.shown().is_some_and(|shown| shown.transcript.session.id == action.session)
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
