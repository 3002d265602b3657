//! How a person enters a conversation: as a customer, as the org's owner, or as the agency's
//! owner sender tests a client's agents.

use ostler_channels::inbound::{InboundContent, InboundMessage};
use ostler_domain::channel::Channel;
use ostler_domain::contact::SenderProof;
use ostler_domain::id::{AgentId, RecordId};
use ostler_domain::org::Relation;
use ostler_domain::session::key::{ConversationEntry, EntryPath, conversation_entry};
use ostler_store::StoreError;
use serde::{Deserialize, Serialize};

use super::{BindingContext, InboundReceiver};
use crate::ids::derived;
use crate::org_view::OrgView;
use crate::records::{decode, encode};

/// The record kind of [`StoredEntryPoint`].
const KIND: &str = "arrival";

/// How a person enters a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct EntryPoint {
    pub(super) entry: ConversationEntry,
    /// The agent that a deep link names.
    pub(super) agent: Option<AgentId>,
}

impl EntryPoint {
    pub(super) const CUSTOMER: Self = Self { entry: ConversationEntry::Customer, agent: None };
}

/// How the agency's owner entered last; it applies until their next `/start`.
#[derive(Debug, Default, Serialize, Deserialize)]
struct StoredEntryPoint {
    testing: bool,
    #[serde(default)]
    agent: Option<AgentId>,
}

impl InboundReceiver {
    /// Returns how the sender enters. A deep link applies until the next `/start`.
    pub(super) async fn entry_point(
        &self,
        context: &BindingContext<'_>,
        inbound: &InboundMessage,
    ) -> Result<EntryPoint, StoreError> {
        let owned = match inbound.from.proof {
            SenderProof::Proven => {
                self.owned_org_relation(context, &inbound.from.identifier).await?
            }
            SenderProof::Unproven => None,
        };
        let link = match &inbound.content {
            InboundContent::Command { name, payload } if name == "start" => {
                Some(payload.as_deref().and_then(|payload| parse_deep_link(&context.view, payload)))
            }
            _ => None,
        };
        if owned != Some(Relation::Child) {
            let agent = link.flatten().and_then(|link| link.agent);
            return Ok(EntryPoint {
                entry: conversation_entry(owned, EntryPath::OrgSwitch),
                agent,
            });
        }
        let stored = match link {
            Some(link) => save(context, &inbound.from.identifier, link).await?,
            None => load(context, &inbound.from.identifier).await?,
        };
        let path = if stored.testing { EntryPath::DeepLink } else { EntryPath::OrgSwitch };
        Ok(EntryPoint { entry: conversation_entry(owned, path), agent: stored.agent })
    }

    /// Returns how the org is related to the one that the sender owns, if any.
    async fn owned_org_relation(
        &self,
        context: &BindingContext<'_>,
        sender: &str,
    ) -> Result<Option<Relation>, StoreError> {
        if is_owner(&context.view, context, sender) {
            return Ok(Some(Relation::Own));
        }
        let Some(parent) = &context.view.parent else { return Ok(None) };
        let parent = self.view(parent.id).await?;
        Ok(is_owner(&parent, context, sender).then_some(Relation::Child))
    }
}

/// Returns whether the sender is the owner of an org. A mail never proves that, because its
/// sender can be forged.
fn is_owner(view: &OrgView, context: &BindingContext<'_>, sender: &str) -> bool {
    let (binding, channel) = (context.bound.binding.id, &context.bound.binding.channel);
    let Some(owner) = &view.settings.people.owner else { return false };
    if owner.identifier != sender || *channel == Channel::Email {
        return false;
    }
    // A person has the same Telegram id with every bot.
    let owner_binding = view.bindings.iter().find(|one| one.binding.id == owner.binding);
    owner.binding == binding
        || (*channel == Channel::Telegram
            && owner_binding.is_some_and(|one| one.binding.channel == Channel::Telegram))
}

/// A deep link to the org, or to one of its agents.
#[derive(Debug, Clone, Copy)]
struct DeepLink {
    agent: Option<AgentId>,
}

/// Parses the payload of a deep link: the org, or one of its agents.
fn parse_deep_link(view: &OrgView, payload: &str) -> Option<DeepLink> {
    let payload = payload.trim();
    if let Some(found) = view.find_agent(payload) {
        return Some(DeepLink { agent: Some(found.agent.id) });
    }
    let org = payload == view.org.slug || payload == view.org.id.to_string();
    org.then_some(DeepLink { agent: None })
}

fn record_id(context: &BindingContext<'_>, sender: &str) -> RecordId {
    derived(RecordId::from_u128, context.bound.binding.id.as_u128(), &format!("{KIND} {sender}"))
}

async fn load(context: &BindingContext<'_>, sender: &str) -> Result<StoredEntryPoint, StoreError> {
    match context.store.record(KIND, record_id(context, sender)).await {
        Ok(found) => Ok(decode("entry point", &found.data).unwrap_or_default()),
        Err(StoreError::NotFound(_)) => Ok(StoredEntryPoint::default()),
        Err(other) => Err(other),
    }
}

/// Stores how the sender entered. If two are stored at the same moment, one of them wins.
async fn save(
    context: &BindingContext<'_>,
    sender: &str,
    link: Option<DeepLink>,
) -> Result<StoredEntryPoint, StoreError> {
    let entry =
        StoredEntryPoint { testing: link.is_some(), agent: link.and_then(|link| link.agent) };
    let (id, data) = (record_id(context, sender), encode(&entry));
    let stored = match context.store.record(KIND, id).await {
        Ok(found) => context.store.update_record(KIND, &found, data).await,
        Err(StoreError::NotFound(_)) => context.store.create_record(KIND, id, data).await,
        Err(other) => Err(other),
    };
    match stored {
        Ok(()) | Err(StoreError::Conflict(_)) => Ok(entry),
        Err(other) => Err(other),
    }
}
