//! Keys, and the actions they begin.

use crossterm::event::{KeyCode, KeyModifiers};
use ostler_domain::id::SessionId;

use super::drafts::DraftKind;
use super::holder::{Group, Holder};
use super::keys::InboxKey;
use super::protocol::{InboxAction, InboxRequest};
use super::{Composing, Inbox, InboxEffect, PendingAction};
use crate::keymap::{Action, KeyPress};
use crate::text::theme::Tone;

/// How many rows a key scrolls.
const PAGE: usize = 10;

impl Inbox {
    /// Handles a key at a time in milliseconds.
    pub(crate) fn key(&mut self, key: KeyPress, now: u64) -> Vec<InboxEffect> {
        self.hint = None;
        let was_quitting = std::mem::take(&mut self.is_quitting);
        if std::mem::take(&mut self.show_help) {
            return Vec::new();
        }
        let mut effects = match (self.composing.clone(), self.keys.find(key)) {
            (Some(composing), _) => self.composer_key(&composing, key),
            (None, Some(InboxKey::Quit)) => self.quit(was_quitting),
            (None, Some(key)) => self.act(key, now),
            (None, None) => Vec::new(),
        };
        effects.extend(self.request_shown());
        effects
    }

    /// Ends the inbox when nothing is being sent any more; at once if it is asked again.
    fn quit(&mut self, is_again: bool) -> Vec<InboxEffect> {
        if is_again || self.pending.is_empty() {
            return vec![InboxEffect::Quit];
        }
        self.is_quitting = true;
        let key = self.keys.shown(InboxKey::Quit);
        self.say(Tone::Accent, format!("Finishing what was begun; {key} again quits at once."));
        Vec::new()
    }

    /// Takes text that was pasted; it is lost only if nothing is being written.
    pub(crate) fn pasted(&mut self, text: &str) {
        if self.composing.is_some() {
            self.composer.paste(text);
            self.keep_draft();
        } else {
            self.say(Tone::Warning, "Press r to write a reply, and paste then.");
        }
    }

    pub(super) fn say(&mut self, tone: Tone, text: impl Into<String>) {
        self.hint = Some((tone, text.into()));
    }

    fn act(&mut self, key: InboxKey, now: u64) -> Vec<InboxEffect> {
        match key {
            InboxKey::Up => self.choose_beside(false),
            InboxKey::Down => self.choose_beside(true),
            InboxKey::NextWaiting => self.choose_waiting(),
            // In the place of the list, where there is no room for both.
            InboxKey::Open => self.shows_conversation = self.selected.is_some(),
            InboxKey::Back if self.fold_card() => {}
            InboxKey::Back => self.shows_conversation = false,
            InboxKey::TakeOver => return self.take_over(),
            InboxKey::Reply => self.compose_reply(),
            InboxKey::Note => self.compose(DraftKind::Note),
            InboxKey::HandBack => self.compose_resolution(),
            InboxKey::Dismiss => return self.dismiss(),
            InboxKey::Approve => return self.approve(false, now),
            InboxKey::ApproveNow => return self.approve(true, now),
            InboxKey::Reject => self.compose_reason(now),
            InboxKey::ExpandCall => self.toggle_card(),
            InboxKey::PageUp => self.scroll(false),
            InboxKey::PageDown => self.scroll(true),
            InboxKey::Reload => return vec![InboxEffect::Request(InboxRequest::Reload)],
            InboxKey::Help => self.show_help = true,
            InboxKey::Quit => {}
        }
        Vec::new()
    }

    /// Scrolls the call that is expanded, or the transcript.
    fn scroll(&mut self, is_below: bool) {
        if self.scroll_card(is_below) {
            return;
        }
        self.scrolled = match is_below {
            true => self.scrolled.saturating_sub(PAGE),
            false => self.scrolled + PAGE,
        };
    }

    fn position(&self) -> Option<usize> {
        let selected = self.selected?;
        self.rows().iter().position(|one| one.listed.session.id == selected)
    }

    fn choose_beside(&mut self, is_below: bool) {
        let last = self.rows().len().saturating_sub(1);
        let to = match (self.position(), is_below) {
            (None, _) => 0,
            (Some(at), true) => (at + 1).min(last),
            (Some(at), false) => at.saturating_sub(1),
        };
        let to = self.rows().get(to).map(|one| one.listed.session.id);
        self.choose(to);
    }

    fn choose_waiting(&mut self) {
        let needs_person = |one: &super::Conversation| {
            let session = &one.listed.session;
            Holder::of(session).group() == Group::Waiting || session.pending_approvals > 0
        };
        let waiting: Vec<usize> = (0..self.rows().len())
            .filter(|at| self.rows().get(*at).is_some_and(needs_person))
            .collect();
        let after = self.position().map_or(0, |at| at + 1);
        let next = waiting.iter().find(|at| **at >= after).or_else(|| waiting.first());
        match next.and_then(|at| self.rows().get(*at)).map(|one| one.listed.session.id) {
            None => self.say(Tone::Good, "Nobody waits for a person."),
            next => self.choose(next),
        }
    }

    pub(super) fn choose(&mut self, chosen: Option<SessionId>) {
        if chosen.is_none() || chosen == self.selected {
            return;
        }
        self.selected = chosen;
        self.not_opened = None;
        self.card = None;
        self.scrolled = 0;
    }

    /// Returns who has the conversation that is chosen.
    fn holder(&self) -> Option<Holder> {
        let shown = self.shown().map(|opened| &opened.transcript.session);
        shown.or(self.chosen().map(|one| &one.listed.session)).map(Holder::of)
    }

    pub(super) fn begin(
        &mut self,
        action: InboxAction,
        kind: Option<DraftKind>,
    ) -> Vec<InboxEffect> {
        let chosen = self.chosen().map(|one| (one.listed.session.id, one.org.clone()));
        match chosen {
            Some((session, org)) => self.begin_in(session, org, action, kind),
            None => {
                let text = match self.selected {
                    Some(_) => "This conversation is closed.",
                    None => "No conversation is open.",
                };
                self.say(Tone::Warning, text);
                Vec::new()
            }
        }
    }

    fn begin_in(
        &mut self,
        session: SessionId,
        org: String,
        action: InboxAction,
        kind: Option<DraftKind>,
    ) -> Vec<InboxEffect> {
        if self.pending.iter().any(|one| one.session == session && one.action == action) {
            self.say(Tone::Warning, "This is being done.");
            return Vec::new();
        }
        let number = self.next_number;
        self.next_number += 1;
        let pending = PendingAction { number, session, action: action.clone(), kind };
        self.pending.push(pending);
        vec![InboxEffect::Request(InboxRequest::Act { number, org, session, action })]
    }

    fn take_over(&mut self) -> Vec<InboxEffect> {
        match self.holder() {
            Some(Holder::Agent(_) | Holder::Waiting { .. }) => {
                self.begin(InboxAction::TakeOver, None)
            }
            Some(Holder::Person { user, .. }) => {
                let who = self.person(user);
                let verb = if who == "you" { "have" } else { "has" };
                self.say(Tone::Warning, format!("{who} {verb} this conversation."));
                Vec::new()
            }
            Some(Holder::Closed) | None => Vec::new(),
        }
    }

    fn dismiss(&mut self) -> Vec<InboxEffect> {
        if let Some(Holder::Waiting { .. }) = self.holder() {
            return self.begin(InboxAction::Dismiss, None);
        }
        self.say(Tone::Warning, "Only a customer who waits can be a false alarm.");
        Vec::new()
    }

    fn compose_reply(&mut self) {
        match self.holder() {
            Some(Holder::Waiting { .. } | Holder::Person { .. }) => self.compose(DraftKind::Reply),
            Some(Holder::Agent(agent)) => {
                let (name, key) = (self.agent(agent), self.keys.shown(InboxKey::TakeOver));
                self.say(Tone::Warning, format!("{name} answers; {key} takes it over."));
            }
            Some(Holder::Closed) => self.say(Tone::Warning, "This conversation is closed."),
            None => {}
        }
    }

    fn compose_resolution(&mut self) {
        match self.holder() {
            Some(Holder::Person { .. }) => self.compose(DraftKind::Resolution),
            Some(_) => self.say(Tone::Warning, "No person has this conversation."),
            None => {}
        }
    }

    fn compose_reason(&mut self, now: u64) {
        if self.card_to_answer(now).is_some() {
            self.compose(DraftKind::Reason);
        }
    }

    /// Begins to write, or continues a draft.
    pub(super) fn compose(&mut self, kind: DraftKind) {
        let shown = self.shown().map(|opened| opened.transcript.session.id);
        let chosen = self.chosen().map(|one| (one.listed.session.id, one.org.clone()));
        let (session, org) = match (shown, chosen) {
            (Some(_), Some(chosen)) => chosen,
            (Some(_), None) => return self.say(Tone::Warning, "This conversation is closed."),
            (None, _) => return self.say(Tone::Warning, "The conversation is not shown yet."),
        };
        let is_sending =
            self.pending.iter().any(|one| one.session == session && one.kind == Some(kind));
        if is_sending {
            return self.say(Tone::Warning, "This is still being sent.");
        }
        self.shows_conversation = true;
        let card = self.card.filter(|_| kind == DraftKind::Reason);
        let approval = card.map(|card| card.approval);
        self.composing = Some(Composing { session, org, kind, approval });
        let text = self.drafts.read(session, kind);
        self.composer.set(&text);
    }

    fn leave_composer(&mut self) -> Vec<InboxEffect> {
        self.composing = None;
        if !self.composer.is_empty() {
            self.say(Tone::Dim, "The draft is kept.");
        }
        Vec::new()
    }

    fn keep_draft(&mut self) {
        if let Some(Composing { session, kind, .. }) = &self.composing {
            self.drafts.set(*session, *kind, &self.composer.whole_text());
        }
    }

    fn composer_key(&mut self, composing: &Composing, key: KeyPress) -> Vec<InboxEffect> {
        match self.editing.action(key) {
            Some(Action::Submit) => return self.submit(composing),
            Some(Action::Newline) => self.composer.insert("\n"),
            // What is written stays a draft.
            Some(Action::Interrupt | Action::ClearOrQuit) => return self.leave_composer(),
            Some(Action::UnfoldPaste) => self.composer.unfold_paste(),
            Some(Action::Older) => {
                self.composer.edit(crate::composer::Edit::Up);
            }
            Some(Action::Newer) => {
                self.composer.edit(crate::composer::Edit::Down);
            }
            Some(Action::PageUp) => self.scroll(false),
            Some(Action::PageDown) => self.scroll(true),
            Some(Action::Edit(edit)) => {
                self.composer.edit(edit);
            }
            _ => {
                if let KeyCode::Char(c) = key.code
                    && (key.modifiers - KeyModifiers::SHIFT).is_empty()
                {
                    self.composer.insert(c.encode_utf8(&mut [0; 4]));
                }
            }
        }
        self.keep_draft();
        Vec::new()
    }

    fn submit(&mut self, composing: &Composing) -> Vec<InboxEffect> {
        let text = self.composer.whole_text().trim().to_owned();
        let is_optional = composing.kind == DraftKind::Resolution;
        if text.is_empty() && !is_optional {
            let what = match composing.kind {
                DraftKind::Reason => "Write why; the agent learns it. Esc goes back.",
                _ => "Nothing is written. Esc goes back.",
            };
            self.say(Tone::Warning, what);
            return Vec::new();
        }
        let action = match (composing.kind, composing.approval) {
            (DraftKind::Reply, _) => InboxAction::Reply { text },
            (DraftKind::Note, _) => InboxAction::Note { text },
            (DraftKind::Reason, Some(approval)) => InboxAction::Reject { approval, reason: text },
            (DraftKind::Reason, None) => return Vec::new(),
            (DraftKind::Resolution, _) => {
                InboxAction::HandBack { resolution: Some(text).filter(|text| !text.is_empty()) }
            }
        };
        let (session, org) = (composing.session, composing.org.clone());
        let effects = self.begin_in(session, org, action, Some(composing.kind));
        if !effects.is_empty() {
            self.composing = None;
            self.scrolled = 0;
        }
        effects
    }
}
