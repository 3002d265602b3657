//! A person takes a conversation over, writes in it, and hands it back.

use std::time::{Duration, Instant};

use ostler_domain::event::{FalsePositive, OrgEvent, SessionTakenOver};
use ostler_domain::human::escalation::{
    Escalation, EscalationEffect, EscalationError, EscalationEvent, EscalationStatus,
};
use ostler_domain::id::{EscalationId, OutboxId, SessionId, UserId};
use ostler_domain::message::MessagePart;
use ostler_domain::session::status::StatusChange;
use ostler_store::{Author, OutboxState};
use serde_json::json;

use super::session_change::SessionChange;
use super::{Actor, OperationError, OrgOperations, Result, follow_up_entry};
use crate::conversation::{reply_route, team_message};
use crate::ids::fresh;
use crate::pending_commit::DraftMessage;
use crate::records::entry::text_of;
use crate::records::message::MessageAuthor;
use crate::records::session::{OpenEscalation, Session};
use crate::team;

/// A session that a person has taken over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Takeover {
    pub session: Session,
    /// How many agent replies were withdrawn before they were sent.
    pub withdrawn: u64,
    /// Agent replies that were being sent at that moment.
    pub in_flight: Vec<OutboxId>,
    /// Those of them whose sending had not ended after a short wait.
    pub still_sending: Vec<OutboxId>,
}

/// Who works at the terminal has no name.
const AT_TERMINAL: &str = "somebody at the terminal";
/// How long a takeover waits for replies that are being sent, and how often it looks.
const SEND_WAIT: Duration = Duration::from_secs(2);
const SEND_POLL: Duration = Duration::from_millis(50);
/// The longest resolution; it is part of the next prompt.
const MAX_RESOLUTION_BYTES: usize = 4_000;

impl OrgOperations<'_> {
    /// Takes a conversation over, whether or not a person was asked for. A reply that an agent
    /// is writing is not sent. One that is being sent already is waited for, for two seconds at
    /// most.
    pub async fn take_over(&self, id: SessionId) -> Result<Takeover> {
        let user = self.actor.user_id();
        let data = json!({"user": user});
        let change = |change: &mut SessionChange| {
            begin_takeover(change, user)?;
            self.offer_resume(change);
            Ok(())
        };
        let changed = self.change_session(id, "take_over", &data, change).await;
        let (session, withdrawn_messages) = self.name_holder(changed).await?;
        let (withdrawn, in_flight) = (withdrawn_messages.withdrawn, withdrawn_messages.in_flight);
        let still_sending = self.wait_for_sends(&in_flight).await?;
        Ok(Takeover { session, withdrawn, in_flight, still_sending })
    }

    /// Waits until the sending of these messages has ended. Returns those that are still being
    /// sent.
    async fn wait_for_sends(&self, sending: &[OutboxId]) -> Result<Vec<OutboxId>> {
        let store = self.inner().store.org(self.org);
        let deadline = Instant::now() + SEND_WAIT;
        let mut left = sending.to_vec();
        loop {
            let mut still = Vec::new();
            for id in left {
                if store.outbox_state(id).await? == OutboxState::Sending {
                    still.push(id);
                }
            }
            if still.is_empty() || Instant::now() >= deadline {
                return Ok(still);
            }
            left = still;
            tokio::time::sleep(SEND_POLL).await;
        }
    }

    /// Sends a person's message to the customer, verbatim. If a person was asked for and nobody
    /// has come yet, this takes the conversation over.
    pub async fn say(&self, id: SessionId, parts: Vec<MessagePart>) -> Result<Session> {
        let only_words = parts.iter().all(|part| matches!(part, MessagePart::Text { .. }));
        if only_words && text_of(&parts).trim().is_empty() {
            return Err(OperationError::Empty("a message"));
        }
        let user = self.actor.user_id();
        let data = json!({"user": user});
        let change = |change: &mut SessionChange| {
            let was_answered = is_taken_over(change);
            send_message(change, user, &parts)?;
            if !was_answered {
                self.offer_resume(change);
            }
            Ok(())
        };
        let changed = self.change_session(id, "human_message", &data, change).await;
        Ok(self.name_holder(changed).await?.0)
    }

    /// Names the person in the error that somebody else has taken the conversation over.
    async fn name_holder<T>(&self, changed: Result<T>) -> Result<T> {
        use EscalationError::TakenOverByOther;
        match changed {
            Err(OperationError::Escalation(TakenOverByOther(user))) => {
                let terminal = user == Actor::Terminal.user_id();
                let name = if terminal { AT_TERMINAL.into() } else { self.user_name(user).await? };
                Err(OperationError::TakenOverBy(name))
            }
            other => other,
        }
    }

    /// Hands the conversation back to the agent it began with, which is told what the person
    /// wrote to the customer.
    pub async fn resume(&self, id: SessionId) -> Result<Session> {
        self.resume_with(id, None).await
    }

    /// Hands the conversation back; the agent is told a resolution too, if there is one.
    pub async fn resume_with(&self, id: SessionId, resolution: Option<&str>) -> Result<Session> {
        let resolution = resolution.map(str::trim).filter(|text| !text.is_empty());
        if resolution.is_some_and(|text| text.len() > MAX_RESOLUTION_BYTES) {
            let (what, max_bytes) = ("a resolution", MAX_RESOLUTION_BYTES);
            return Err(OperationError::TooLong { what, max_bytes });
        }
        let mut data = json!({"user": self.actor.user_id()});
        if let Some(text) = resolution {
            data["resolution"] = text.into();
        }
        let change = |change: &mut SessionChange| {
            let note = resolution.map(|text| format!("They add for you: {text}"));
            change.session.pending_notes.extend(note);
            end_escalation(change, &EscalationEvent::Resume)
        };
        Ok(self.change_session(id, "resume", &data, change).await?.0)
    }

    /// Dismisses the escalation as a false alarm: the agent answers.
    pub async fn dismiss(&self, id: SessionId) -> Result<Session> {
        let data = json!({"user": self.actor.user_id(), "false_positive": true});
        let change = |change: &mut SessionChange| end_escalation(change, &EscalationEvent::Dismiss);
        Ok(self.change_session(id, "dismiss_escalation", &data, change).await?.0)
    }
}

impl OrgOperations<'_> {
    /// Sends a person who took over from a chat the button that hands the conversation back.
    fn offer_resume(&self, change: &mut SessionChange) {
        if !matches!(self.actor, Actor::Chat(_)) {
            return;
        }
        let name = change.session.name.as_deref().unwrap_or("the customer");
        let text = format!("You have the conversation with {name}. The agent stays silent.");
        let parts = vec![MessagePart::text(text)];
        if let Some(message) = team_message(&change.view, &change.session, parts) {
            change.pending.add_outgoing(Author::Notice, &message);
        }
    }
}

/// Returns whether a person answers in the session.
fn is_taken_over(change: &SessionChange) -> bool {
    let open = change.session.open_escalation();
    open.is_some_and(|one| one.state.status == EscalationStatus::TakenOver)
}

fn begin_takeover(change: &mut SessionChange, user: UserId) -> Result<()> {
    let status = change.session.status.after(StatusChange::TakeOver)?;
    let current = change.session.escalation.as_ref().map(|one| &one.state);
    if let Some((state, _)) = Escalation::begin_takeover(current, user, change.now) {
        let id = fresh(EscalationId::from_u128);
        let (triggers, found_until) = (Vec::new(), None);
        change.session.escalation = Some(OpenEscalation { id, triggers, found_until, state });
    } else {
        apply_event(change, &EscalationEvent::TakeOver(user))?;
    }
    let newest = change.earlier.iter().map(|message| message.at).max();
    if let Some(escalation) = &mut change.session.escalation {
        escalation.found_until = escalation.found_until.or(newest);
    }
    change.session.status = status;
    let event = SessionTakenOver { session: change.session.id, user };
    change.pending.add_event(&OrgEvent::TakenOver(event));
    Ok(())
}

fn send_message(change: &mut SessionChange, user: UserId, parts: &[MessagePart]) -> Result<()> {
    apply_event(change, &EscalationEvent::HumanMessage(user))?;
    let route = reply_route(&change.view, &change.session, None);
    if !route.is_available() {
        return Err(OperationError::Unreachable(change.session.channel.to_string()));
    }
    let draft = DraftMessage::human(user, parts.to_vec());
    let message =
        change.pending.add_message(&mut change.session, draft, Some(change.run), change.now);
    change.session.clock.touch(change.now);
    let author = MessageAuthor::Human { user };
    route.send(&mut change.pending, &author, parts.to_vec(), Some(message));
    Ok(())
}

/// Applies an event that ends the escalation.
fn end_escalation(change: &mut SessionChange, event: &EscalationEvent) -> Result<()> {
    let effects = apply_event(change, event)?;
    let SessionChange { session, pending, earlier, inbox, now, .. } = change;
    team::end_escalation(session, pending, earlier, &effects, *now);
    let next = team::follow_up_entries(session, earlier, &effects);
    inbox.extend(next.into_iter().map(|(key, entry)| follow_up_entry(key, &entry)));
    if effects.contains(&EscalationEffect::RecordFalsePositive) {
        let escalation = session.escalation.as_ref().map(|one| one.id);
        let event = FalsePositive { session: session.id, escalation };
        pending.add_event(&OrgEvent::FalsePositive(event));
    }
    Ok(())
}

/// Applies an event to the session's escalation. Fails if none is open.
fn apply_event(
    change: &mut SessionChange,
    event: &EscalationEvent,
) -> Result<Vec<EscalationEffect>> {
    let config = change.view.settings.team.clone().unwrap_or_default();
    let escalation = change.session.escalation.as_mut();
    let escalation =
        escalation.ok_or(ostler_domain::human::escalation::EscalationError::NotOpen)?;
    Ok(escalation.state.apply(event, &config, change.now)?)
}
