//! What the org's own people do in their chats: they press buttons below what
//! they were told, write to a customer whom they took over, and hand back.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use ostler_channels::inbound::{Content, Inbound, InboundPart};
use ostler_channels::outbound::{Files, Outbound, Sending, Writing};
use ostler_domain::human::escalation::is_resume_command;
use ostler_domain::id::{OrgId, SessionId, UserId};
use ostler_domain::message::Part;
use ostler_domain::org::role::Role;
use ostler_domain::org::settings::Address;
use ostler_domain::time::Timestamp;
use ostler_store::StoreError;

use super::{Place, Reception, Taken, answer_press, files};
use crate::delivery::address;
use crate::ids::derived;

/// The most members of an org among whom its owner is looked for.
const MEMBERS: u32 = 200;

/// What one of the org's people wants done with a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wish {
    /// The org.
    pub org: OrgId,
    /// The session.
    pub session: SessionId,
    /// Who.
    pub by: Colleague,
    /// What the wish is known by: providers bring things twice.
    pub once: String,
}

/// One of the org's people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Colleague {
    /// Who they are: the org's owner in the owner's chat, else somebody who is
    /// known by what the channel calls them, always under the same id.
    pub user: UserId,
    /// Their name, if the channel knows it.
    pub name: Option<String>,
}

/// Why a wish was not done.
#[derive(Debug, thiserror::Error)]
pub enum NotDone {
    /// It cannot be done; whoever wished it is told why.
    #[error("{0}")]
    Refused(String),
    /// The store failed; it may be wished again.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// What becomes of a wish.
pub type Doing<'a> = BoxFuture<'a, Result<(), NotDone>>;

/// Does what the org's people want. A wish that was done before, by
/// [`Wish::once`], is not done again and is no error.
pub trait People: Send + Sync {
    /// Takes the conversation over: its agents fall silent.
    fn take_over<'a>(&'a self, wish: &'a Wish) -> Doing<'a>;
    /// Sends a person's words to the customer as they are; whoever writes takes
    /// over. Refused where no person was asked for.
    fn human_message<'a>(&'a self, wish: &'a Wish, parts: Vec<Part>) -> Doing<'a>;
    /// Hands the conversation back to its agents.
    fn resume<'a>(&'a self, wish: &'a Wish) -> Doing<'a>;
    /// Calls it a false alarm.
    fn dismiss<'a>(&'a self, wish: &'a Wish) -> Doing<'a>;
}

/// A chat of the org's people.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Room {
    /// The team's group: what is said there is said to a customer.
    Team,
    /// The owner's own chat: the owner also talks to agents there.
    Owner,
}

/// What somebody in a room wants.
enum Want {
    TakeOver,
    Dismiss,
    Resume,
    Say(Vec<InboundPart>),
}

impl Reception {
    /// Does what the org's people want, if it is they who want something.
    pub(super) async fn from_people(
        &self,
        place: &Place<'_>,
        inbound: &Inbound,
    ) -> Result<Option<Taken>, StoreError> {
        let Some(room) = room(place, inbound) else { return Ok(None) };
        match &inbound.content {
            Content::Press { data, callback } => {
                let Some((want, session)) = pressed(data) else { return Ok(None) };
                let done = self.wish(place, inbound, room, session, want).await?;
                let words = done.as_ref().map_or_else(|why| why.as_str(), |()| "Done");
                answer_press(place.connection, callback.as_deref(), words).await;
                Ok(Some(Taken::Done))
            }
            Content::Message(parts) => self.said(place, inbound, room, parts).await,
            Content::Command { .. } if room == Room::Team => {
                Ok(Some(Taken::Ignored("commands mean nothing in the team's group".into())))
            }
            Content::Command { .. } | Content::Membership { .. } => Ok(None),
        }
    }

    /// Something was said in a room. In the owner's chat only what replies to a
    /// message about a session is meant for its customer.
    async fn said(
        &self,
        place: &Place<'_>,
        inbound: &Inbound,
        room: Room,
        parts: &[InboundPart],
    ) -> Result<Option<Taken>, StoreError> {
        let resumes = matches!(parts, [InboundPart::Text(text)] if is_resume_command(text));
        let (binding, chat) = (place.bound.binding.id, address(&inbound.peer));
        let replied = match &inbound.reply_to {
            Some(message) => place.here.announced_by(binding, chat, message).await?,
            None => None,
        };
        let session = match replied {
            Some(session) => Some(session),
            None if room == Room::Team || resumes => {
                place.here.last_announced(binding, chat).await?
            }
            None => None,
        };
        let Some(session) = session else {
            let quiet = Taken::Ignored("no conversation is handed over here".into());
            return Ok((room == Room::Team || resumes).then_some(quiet));
        };
        let want = if resumes { Want::Resume } else { Want::Say(parts.to_vec()) };
        if let Err(why) = self.wish(place, inbound, room, session, want).await? {
            say_back(place, inbound, &why, self.shared.clock.now()).await;
        }
        Ok(Some(Taken::Done))
    }

    /// Has something done; says why not in words for whoever wanted it.
    async fn wish(
        &self,
        place: &Place<'_>,
        inbound: &Inbound,
        room: Room,
        session: SessionId,
        want: Want,
    ) -> Result<Result<(), String>, StoreError> {
        let binding = place.bound.binding.id;
        let wish = Wish {
            org: place.org,
            session,
            by: colleague(place, inbound, room).await?,
            once: format!("{binding}/{}", inbound.id),
        };
        let people: &Arc<dyn People> = &self.shared.people;
        let done = match want {
            Want::TakeOver => people.take_over(&wish).await,
            Want::Dismiss => people.dismiss(&wish).await,
            Want::Resume => people.resume(&wish).await,
            Want::Say(parts) => {
                let kept = files::keep(place, binding, &inbound.id, parts).await?;
                people.human_message(&wish, kept.parts).await
            }
        };
        match done {
            Ok(()) => Ok(Ok(())),
            Err(NotDone::Refused(why)) => Ok(Err(why)),
            Err(NotDone::Store(error)) => Err(error),
        }
    }
}

/// The room that something came from.
fn room(place: &Place<'_>, inbound: &Inbound) -> Option<Room> {
    let people = &place.view.settings.people;
    let is = |at: Option<&Address>| {
        at.is_some_and(|at| {
            at.binding == place.bound.binding.id && at.identifier == address(&inbound.peer)
        })
    };
    if is(people.team_group.as_ref()) {
        Some(Room::Team)
    } else if is(people.owner.as_ref()) {
        Some(Room::Owner)
    } else {
        None
    }
}

/// What a button says.
fn pressed(data: &str) -> Option<(Want, SessionId)> {
    let (what, session) = data.split_once(':')?;
    let want = match what {
        "take_over" => Want::TakeOver,
        "dismiss" => Want::Dismiss,
        "resume" => Want::Resume,
        _ => return None,
    };
    Some((want, session.parse().ok()?))
}

/// Who wants something.
async fn colleague(
    place: &Place<'_>,
    inbound: &Inbound,
    room: Room,
) -> Result<Colleague, StoreError> {
    let who = inbound.from.identifier.as_str();
    let owner = place.view.settings.people.owner.as_ref();
    let is_owner = room == Room::Owner
        || owner.is_some_and(|at| at.binding == place.bound.binding.id && at.identifier == who);
    let name = inbound.from.name.clone();
    if is_owner {
        let members = place.here.members(None, MEMBERS).await?;
        if let Some(owner) = members.into_iter().find(|one| one.role == Role::Owner) {
            return Ok(Colleague { user: owner.user.id, name });
        }
    }
    let word = format!("colleague {} {who}", place.bound.binding.channel);
    let user = derived(UserId::from_u128, place.org.as_u128(), &word);
    Ok(Colleague { user, name })
}

/// Tells a room why something was not done. It is a courtesy.
async fn say_back(place: &Place<'_>, inbound: &Inbound, why: &str, now: Timestamp) {
    let message = Outbound {
        to: address(&inbound.peer).to_owned(),
        parts: vec![Part::text(why)],
        writing: Writing::Verbatim,
        buttons: Vec::new(),
        reply_to: inbound.message.clone(),
        thread: inbound.thread.clone(),
    };
    let how = Sending { key: &format!("refused-{}", inbound.id), plain: false, again: false };
    for piece in place.connection.pieces(&message) {
        place.connection.send(&piece, how, &Files::new(), now).await;
    }
}
