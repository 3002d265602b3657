//! A person takes a conversation over, writes in it, and hands it back.

use ostler_domain::human::escalation::{Effect, Escalation, Event};
use ostler_domain::id::{EscalationId, OutboxId, SessionId, UserId};
use ostler_domain::message::Part;
use ostler_domain::session::status::StatusChange;
use ostler_store::Author;
use serde_json::json;

use super::step_in::Step;
use super::{Office, OperationError, Result, goes_on};
use crate::ids::fresh;
use crate::inbound::draft::Saying;
use crate::inbound::step_13_reply::Way;
use crate::talk::entry::text_of;
use crate::talk::session::{OpenEscalation, Session};
use crate::team;

/// A conversation that a person has from now on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TakenOver {
    /// The session.
    pub session: Session,
    /// How many replies of agents were withdrawn before they were sent.
    pub withdrawn: u64,
    /// Replies of agents that were being sent at that moment.
    pub in_flight: Vec<OutboxId>,
}

impl Office<'_> {
    /// Takes a conversation over, whether anybody had asked for a person or not.
    /// From now on no agent writes in it, also if one is just doing so.
    pub async fn take_over(&self, id: SessionId) -> Result<TakenOver> {
        let user = self.actor.person();
        let data = json!({"user": user});
        let change = |step: &mut Step| taken_over(step, user);
        let (session, silenced) = self.step_in(id, "take_over", &data, change).await?;
        let (withdrawn, in_flight) = (silenced.withdrawn, silenced.in_flight);
        Ok(TakenOver { session, withdrawn, in_flight })
    }

    /// Writes to the customer, word for word. Where a person was asked for and
    /// nobody has come yet, this is coming.
    pub async fn say(&self, id: SessionId, parts: Vec<Part>) -> Result<Session> {
        let only_words = parts.iter().all(|part| matches!(part, Part::Text { .. }));
        if only_words && text_of(&parts).trim().is_empty() {
            return Err(OperationError::Empty("a message"));
        }
        let user = self.actor.person();
        let data = json!({"user": user});
        let change = |step: &mut Step| said(step, user, &parts);
        Ok(self.step_in(id, "human_message", &data, change).await?.0)
    }

    /// Hands the conversation back to the agent it began with, which learns what
    /// the person said.
    pub async fn resume(&self, id: SessionId) -> Result<Session> {
        let data = json!({"user": self.actor.person()});
        Ok(self.step_in(id, "resume", &data, |step| happens(step, &Event::Resume)).await?.0)
    }

    /// Calls it a false alarm: the agent answers what was written.
    pub async fn dismiss(&self, id: SessionId) -> Result<Session> {
        let data = json!({"user": self.actor.person(), "false_positive": true});
        let change = |step: &mut Step| happens(step, &Event::Dismiss);
        Ok(self.step_in(id, "dismiss_escalation", &data, change).await?.0)
    }
}

fn taken_over(step: &mut Step, user: UserId) -> Result<()> {
    let status = step.session.status.after(StatusChange::TakeOver)?;
    let current = step.session.escalation.as_ref().map(|one| &one.state);
    if let Some((state, _)) = Escalation::begin_taken_over(current, user, step.now) {
        let id = fresh(EscalationId::from_u128);
        step.session.escalation = Some(OpenEscalation { id, triggers: Vec::new(), state });
    } else {
        on(step, &Event::TakeOver(user))?;
    }
    step.session.status = status;
    let data = json!({"session": step.session.id, "user": user});
    step.draft.happened("taken_over", data);
    Ok(())
}

fn said(step: &mut Step, user: UserId, parts: &[Part]) -> Result<()> {
    on(step, &Event::HumanMessage(user))?;
    let way = Way::of(&step.view, &step.session, None);
    if !way.is_open() {
        return Err(OperationError::NoWay(step.session.channel.to_string()));
    }
    let saying = Saying::human(user, parts.to_vec());
    let message = step.draft.keep(&mut step.session, saying, Some(step.run), step.now);
    step.session.clock.touch(step.now);
    way.send(&mut step.draft, Author::Human, parts.to_vec(), Some(message));
    Ok(())
}

/// Something happens that ends the escalation.
fn happens(step: &mut Step, event: &Event) -> Result<()> {
    let effects = on(step, event)?;
    let Step { session, draft, earlier, inbox, now, .. } = step;
    team::settle(session, draft, earlier, &effects, *now);
    let next = team::go_on(session, earlier, &effects);
    inbox.extend(next.into_iter().map(|(repeat, entry)| goes_on(repeat, &entry)));
    if effects.contains(&Effect::RecordFalsePositive) {
        let data = json!({"session": session.id, "escalation":
            session.escalation.as_ref().map(|one| one.id)});
        draft.happened("false_positive", data);
    }
    Ok(())
}

/// Tells the session's escalation what happened.
fn on(step: &mut Step, event: &Event) -> Result<Vec<Effect>> {
    let config = step.view.settings.team.clone().unwrap_or_default();
    let escalation = step.session.escalation.as_mut();
    let escalation =
        escalation.ok_or(ostler_domain::human::escalation::EscalationError::NotOpen)?;
    Ok(escalation.state.on(event, &config, step.now)?)
}
