//! Requests of the org's own people from their chats: they press the buttons of a notice,
//! write to a customer, and hand a conversation back.
//!
//! Which customer is meant follows from the notice that they reply to; without a reply, it
//! is the newest session that is handed off.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use ostler_channels::inbound::{InboundContent, InboundMessage, InboundPart};
use ostler_domain::audit::AuditActor;
use ostler_domain::contact::{SenderProof, normalize_email};
use ostler_domain::human::escalation::is_resume_command;
use ostler_domain::id::{NoticeId, OrgId, SessionId, UserId};
use ostler_domain::message::MessagePart;
use ostler_domain::org::Relation;
use ostler_domain::org::permission::{OrgPermission, role_permits};
use ostler_domain::org::role::Role;
use ostler_domain::org::settings::ChannelAddress;
use ostler_store::StoreError;

use super::reply::reply;
use super::{BindingContext, InboundOutcome, InboundReceiver, answer_press, files};
use crate::channel_binding::peer_address;
use crate::colleagues;
use crate::ids::derived;
use crate::records::outgoing::ACKNOWLEDGE;

/// The maximum number of members among which the owner is searched.
const MAX_MEMBERS: u32 = 200;

/// A request of one of the org's people about a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TeamRequest {
    pub org: OrgId,
    pub session: SessionId,
    pub by: Colleague,
    /// Identifies the request, because providers deliver things twice.
    pub idempotency_key: String,
}

/// One of the org's people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Colleague {
    /// The org's owner in the owner's chat, else an id derived from the channel's identifier.
    pub user: UserId,
    pub name: Option<String>,
}

/// Why a request failed.
#[derive(Debug, thiserror::Error)]
pub enum TeamRequestError {
    /// It is not allowed; the sender is told this reason.
    #[error("{0}")]
    Refused(String),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// What a request that was carried out could not stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TeamRequestResult {
    /// How many replies of the agent were being sent already.
    pub in_flight: usize,
}

/// The result of a request.
pub type TeamRequestFuture<'a> = BoxFuture<'a, Result<TeamRequestResult, TeamRequestError>>;

/// Carries out requests of the org's people. A request with the same
/// [`TeamRequest::idempotency_key`] as an earlier one succeeds and changes nothing.
pub trait TeamRequestHandler: Send + Sync {
    /// Takes the conversation over from its agents.
    fn take_over<'a>(&'a self, request: &'a TeamRequest) -> TeamRequestFuture<'a>;
    /// Sends a person's message to the customer verbatim, which also takes the conversation
    /// over. Refused if no person was asked for.
    fn human_message<'a>(
        &'a self,
        request: &'a TeamRequest,
        parts: Vec<MessagePart>,
    ) -> TeamRequestFuture<'a>;
    /// Hands the conversation back to its agents.
    fn resume<'a>(&'a self, request: &'a TeamRequest) -> TeamRequestFuture<'a>;
    /// Dismisses the escalation as a false alarm.
    fn dismiss<'a>(&'a self, request: &'a TeamRequest) -> TeamRequestFuture<'a>;
}

/// A chat of the org's people.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TeamChat {
    /// The team's group, where every message is meant for a customer.
    Group,
    /// The owner's own chat, where the owner also talks to agents.
    Owner,
}

/// What one of the org's people wants done.
enum TeamAction {
    TakeOver,
    Dismiss,
    Resume,
    SendMessage(Vec<InboundPart>),
}

impl InboundReceiver {
    /// Handles a message from a chat of the org's people. Returns `None` if it is not one, if
    /// nothing proves who sent it, or if it is not meant as a request.
    pub(super) async fn receive_from_team(
        &self,
        context: &BindingContext<'_>,
        inbound: &InboundMessage,
    ) -> Result<Option<InboundOutcome>, StoreError> {
        if inbound.from.proof == SenderProof::Unproven {
            return Ok(None);
        }
        if let InboundContent::Press { data, callback_id } = &inbound.content
            && let Some(notice) = parse_acknowledgement(data)
        {
            let done = acknowledge(context, inbound, notice).await?;
            let text = if done { "Done" } else { "This notice does not exist any more" };
            answer_press(context.connection, callback_id.as_deref(), text).await;
            return Ok(Some(InboundOutcome::Done));
        }
        let Some(chat) = team_chat(context, inbound) else { return Ok(None) };
        match &inbound.content {
            InboundContent::Press { data, callback_id } => {
                let Some((action, session)) = parse_button(data) else { return Ok(None) };
                let done = self.request(context, inbound, chat, session, action).await?;
                let text = done.map_or_else(|why| why, describe);
                answer_press(context.connection, callback_id.as_deref(), &text).await;
                Ok(Some(InboundOutcome::Done))
            }
            InboundContent::Message(parts) => {
                self.receive_team_message(context, inbound, chat, parts).await
            }
            InboundContent::Command { .. } if chat == TeamChat::Group => {
                Ok(Some(InboundOutcome::Ignored("a command in the team's group".into())))
            }
            InboundContent::Command { .. } | InboundContent::Membership { .. } => Ok(None),
        }
    }

    /// Handles a message in a team chat. In the owner's chat only a reply to a notice about a
    /// session is meant for its customer.
    async fn receive_team_message(
        &self,
        context: &BindingContext<'_>,
        inbound: &InboundMessage,
        chat: TeamChat,
        parts: &[InboundPart],
    ) -> Result<Option<InboundOutcome>, StoreError> {
        let resumes = matches!(parts, [InboundPart::Text(text)] if is_resume_command(text));
        let (binding, address) = (context.bound.binding.id, peer_address(&inbound.peer));
        let replied = match &inbound.reply_to {
            Some(message) => context.store.session_replied_to(binding, address, message).await?,
            None => None,
        };
        let session = match replied {
            Some(session) => Some(session),
            None if chat == TeamChat::Group || resumes => {
                context.store.last_handed_off_session(binding, address).await?
            }
            None => None,
        };
        let Some(session) = session else {
            let ignored = InboundOutcome::Ignored("no session is handed off".into());
            return Ok((chat == TeamChat::Group || resumes).then_some(ignored));
        };
        let action =
            if resumes { TeamAction::Resume } else { TeamAction::SendMessage(parts.to_vec()) };
        if let Err(why) = self.request(context, inbound, chat, session, action).await? {
            return Ok(Some(reply(context, inbound, &why, self.shared.clock.now()).await));
        }
        Ok(Some(InboundOutcome::Done))
    }

    /// Carries out a request. The inner error is the refusal, as text for the sender.
    async fn request(
        &self,
        context: &BindingContext<'_>,
        inbound: &InboundMessage,
        chat: TeamChat,
        session: SessionId,
        action: TeamAction,
    ) -> Result<Result<TeamRequestResult, String>, StoreError> {
        let binding = context.bound.binding.id;
        let request = TeamRequest {
            org: context.org,
            session,
            by: colleague(context, inbound, chat).await?,
            idempotency_key: format!("{binding}/{}", inbound.id),
        };
        let handler: &Arc<dyn TeamRequestHandler> = &self.shared.team_requests;
        let done = match action {
            TeamAction::TakeOver => handler.take_over(&request).await,
            TeamAction::Dismiss => handler.dismiss(&request).await,
            TeamAction::Resume => handler.resume(&request).await,
            TeamAction::SendMessage(parts) => {
                let stored = files::store_parts(context, binding, &inbound.id, parts).await?;
                handler.human_message(&request, stored.parts).await
            }
        };
        match done {
            Ok(result) => Ok(Ok(result)),
            Err(TeamRequestError::Refused(why)) => Ok(Err(why)),
            Err(TeamRequestError::Store(error)) => Err(error),
        }
    }
}

/// Says that a request was carried out.
fn describe(result: TeamRequestResult) -> String {
    match result.in_flight {
        0 => "Done".to_owned(),
        1 => "Done. A reply of the agent was already being sent.".to_owned(),
        count => format!("Done. {count} replies of the agent were already being sent."),
    }
}

/// Returns the team chat that a message comes from, if it does.
fn team_chat(context: &BindingContext<'_>, inbound: &InboundMessage) -> Option<TeamChat> {
    let people = &context.view.settings.people;
    let is = |at: Option<&ChannelAddress>| is_address(context, inbound, at);
    if is(people.team_group.as_ref()) {
        Some(TeamChat::Group)
    } else if is(people.owner.as_ref()) {
        Some(TeamChat::Owner)
    } else {
        None
    }
}

/// Parses the data of a button.
fn parse_button(data: &str) -> Option<(TeamAction, SessionId)> {
    let (action, session) = data.split_once(':')?;
    let action = match action {
        "take_over" => TeamAction::TakeOver,
        "dismiss" => TeamAction::Dismiss,
        "resume" => TeamAction::Resume,
        _ => return None,
    };
    Some((action, session.parse().ok()?))
}

/// Parses the data of a button that acknowledges a notice.
fn parse_acknowledgement(data: &str) -> Option<NoticeId> {
    let (action, notice) = data.split_once(':')?;
    (action == ACKNOWLEDGE).then(|| notice.parse().ok())?
}

/// Acknowledges a notice for the person who pressed its button. Returns false if there is no
/// such notice, or if the chat belongs to nobody who is notified.
async fn acknowledge(
    context: &BindingContext<'_>,
    inbound: &InboundMessage,
    notice: NoticeId,
) -> Result<bool, StoreError> {
    let user = match team_chat(context, inbound) {
        Some(chat) => Some(colleague(context, inbound, chat).await?.user),
        None => notified_member(context, inbound).await?,
    };
    let Some(user) = user else { return Ok(false) };
    match context.store.acknowledge_notice(notice, &AuditActor::User(user)).await {
        Ok(()) => Ok(true),
        Err(StoreError::NotFound(_)) => Ok(false),
        Err(other) => Err(other),
    }
}

/// Returns the member whose chat for notices a message comes from, if they may work in the
/// inbox.
async fn notified_member(
    context: &BindingContext<'_>,
    inbound: &InboundMessage,
) -> Result<Option<UserId>, StoreError> {
    let mut people = context.view.settings.notices.iter();
    let person = people.find(|(_, own)| is_address(context, inbound, own.chat.as_ref()));
    let Some((email, _)) = person else { return Ok(None) };
    let email = normalize_email(email);
    let members = context.store.members(None, MAX_MEMBERS).await?;
    let member = members.into_iter().find(|one| normalize_email(&one.user.email) == email);
    let may = |role| role_permits(role, Relation::Own, OrgPermission::Operate);
    Ok(member.filter(|one| may(one.role)).map(|one| one.user.id))
}

/// Returns whether a message comes from an address.
fn is_address(
    context: &BindingContext<'_>,
    inbound: &InboundMessage,
    at: Option<&ChannelAddress>,
) -> bool {
    at.is_some_and(|at| {
        at.binding == context.bound.binding.id && at.identifier == peer_address(&inbound.peer)
    })
}

/// Returns the colleague who sent a message.
async fn colleague(
    context: &BindingContext<'_>,
    inbound: &InboundMessage,
    chat: TeamChat,
) -> Result<Colleague, StoreError> {
    let sender = inbound.from.identifier.as_str();
    let owner = context.view.settings.people.owner.as_ref();
    let is_owner = chat == TeamChat::Owner
        || owner
            .is_some_and(|at| at.binding == context.bound.binding.id && at.identifier == sender);
    let name = inbound.from.name.clone();
    if is_owner {
        let members = context.store.members(None, MAX_MEMBERS).await?;
        if let Some(owner) = members.into_iter().find(|one| one.role == Role::Owner) {
            return Ok(Colleague { user: owner.user.id, name });
        }
    }
    let key = format!("colleague {} {sender}", context.bound.binding.channel);
    let user = derived(UserId::from_u128, context.org.as_u128(), &key);
    if let Some(name) = &name {
        colleagues::store_name(context.store, user, name).await?;
    }
    Ok(Colleague { user, name })
}

#[cfg(test)]
mod tests {
    use super::{TeamRequestResult, describe};

    /// Z08: a person in a chat reads how many replies could not be stopped.
    #[test]
    fn z08_a_chat_reads_what_could_not_be_stopped() {
        let check = |in_flight, expected: &str| {
            assert_eq!(describe(TeamRequestResult { in_flight }), expected);
        };
        check(0, "Done");
        check(1, "Done. A reply of the agent was already being sent.");
        check(3, "Done. 3 replies of the agent were already being sent.");
    }
}
