//! Groups: which of the org's bots are members. Several bots are several bound agents, which
//! answer as a team in one conversation.

use ostler_channels::inbound::{GroupMember, InboundMessage, MembershipChange};
use ostler_domain::agent::Agent;
use ostler_domain::channel::Channel;
use ostler_domain::id::{AgentId, BindingId, RecordId};
use ostler_domain::team::group_order;
use ostler_store::{OrgBinding, StoreError};
use serde::{Deserialize, Serialize};

use super::{BindingContext, InboundOutcome};
use crate::channel_binding::peer_address;
use crate::ids::derived;
use crate::records::{decode, encode};

/// The record kind of [`GroupBots`].
const KIND: &str = "group";
/// How often a change is tried when others change the record at the same time.
const MAX_ATTEMPTS: usize = 8;

/// A group with bots of the org.
pub(super) struct Group {
    /// The binding of the conversation's key, through which it is answered.
    pub(super) conversation_binding: BindingId,
    /// The agents of its bots by binding priority; empty if there is only one.
    pub(super) agents: Vec<AgentId>,
}

/// The bots of a group, in the order in which they were seen.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
struct GroupBots {
    bindings: Vec<BindingId>,
}

impl Group {
    /// Returns the idempotency key of a message, or `None` if another bot delivers it. In a
    /// supergroup all bots see the same message ids; in a small group each bot has its own.
    pub(super) fn message_key(
        &self,
        bound: &OrgBinding,
        inbound: &InboundMessage,
    ) -> Option<String> {
        let chat = peer_address(&inbound.peer);
        let shared = bound.binding.channel == Channel::Telegram && chat.starts_with("-100");
        match &inbound.message_id {
            Some(message) if shared => Some(format!("{chat}/{message}")),
            _ => (bound.binding.id == self.conversation_binding).then(|| inbound.id.clone()),
        }
    }
}

/// Returns the group of a chat. The bot that delivers a message is added to it.
pub(super) async fn find(context: &BindingContext<'_>, chat: &str) -> Result<Group, StoreError> {
    let binding = context.bound.binding.id;
    let bots = change_bots(context, chat, |bots| {
        if !bots.bindings.contains(&binding) {
            bots.bindings.push(binding);
        }
    })
    .await?;
    let enabled: Vec<&OrgBinding> = bots
        .bindings
        .iter()
        .filter_map(|id| context.view.bindings.iter().find(|one| one.binding.id == *id))
        .filter(|one| one.binding.enabled)
        .collect();
    let conversation_binding = enabled.first().map_or(binding, |one| one.binding.id);
    let bound: Vec<(&Agent, u32)> = enabled
        .iter()
        .filter_map(|one| Some((&context.view.agent(one.agent)?.agent, one.binding.priority)))
        .collect();
    let mut agents: Vec<AgentId> = Vec::new();
    for agent in group_order(&bound) {
        if !agents.contains(&agent.id) {
            agents.push(agent.id);
        }
    }
    if agents.len() < 2 {
        agents.clear();
    }
    Ok(Group { conversation_binding, agents })
}

/// Updates the bots of a group after somebody joined or left it.
pub(super) async fn update_membership(
    context: &BindingContext<'_>,
    chat: &str,
    member: &GroupMember,
    membership: MembershipChange,
) -> Result<InboundOutcome, StoreError> {
    let binding = context.bound.binding.id;
    if *member == GroupMember::Bot {
        change_bots(context, chat, |bots| {
            bots.bindings.retain(|id| *id != binding || membership == MembershipChange::Joined);
            if membership == MembershipChange::Joined && !bots.bindings.contains(&binding) {
                bots.bindings.push(binding);
            }
        })
        .await?;
    }
    Ok(InboundOutcome::Ignored("a membership change".into()))
}

/// Changes the stored bots of a group, unless nothing changes.
async fn change_bots(
    context: &BindingContext<'_>,
    chat: &str,
    change: impl Fn(&mut GroupBots),
) -> Result<GroupBots, StoreError> {
    let channel = &context.bound.binding.channel;
    let key = format!("{KIND} {channel} {chat}");
    let id = derived(RecordId::from_u128, context.org.as_u128(), &key);
    let mut last = StoreError::Conflict("a group".into());
    for _ in 0..MAX_ATTEMPTS {
        let found = match context.store.record(KIND, id).await {
            Ok(found) => Some(found),
            Err(StoreError::NotFound(_)) => None,
            Err(other) => return Err(other),
        };
        let before: Option<GroupBots> =
            found.as_ref().and_then(|found| decode("group", &found.data).ok());
        let mut after = before.clone().unwrap_or_default();
        change(&mut after);
        if before.as_ref() == Some(&after) {
            return Ok(after);
        }
        let stored = match &found {
            Some(found) => context.store.update_record(KIND, found, encode(&after)).await,
            None => context.store.create_record(KIND, id, encode(&after)).await,
        };
        match stored {
            Ok(()) => return Ok(after),
            Err(error @ StoreError::Conflict(_)) => last = error,
            Err(other) => return Err(other),
        }
    }
    Err(last)
}
