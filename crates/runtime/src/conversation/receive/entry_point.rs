//! How a person enters a conversation, and of which org: as a customer, as the org's owner, or
//! as the agency's owner who tests a client's agents.

use ostler_channels::inbound::{InboundContent, InboundMessage};
use ostler_domain::contact::SenderProof;
use ostler_domain::hierarchy::chat::{BotOwner, ChatFacts, reached_org, resolve};
use ostler_domain::hierarchy::deep_link::DeepLinkRefused;
use ostler_domain::id::{AgentId, BindingId, OrgId, RecordId};
use ostler_domain::org::account_link::owned_relation;
use ostler_domain::org::{OrgPlace, Relation};
use ostler_domain::session::key::{ConversationEntry, EntryPath, conversation_entry};
use ostler_store::{OrgStore, StoreError, UserAccount};
use serde::{Deserialize, Serialize};

use super::{BindingContext, InboundReceiver};
use crate::deep_links::{self, OpenedLink};
use crate::ids::derived;
use crate::org_view::OrgView;
use crate::records::{decode, encode};
use crate::shared_bot::is_shareable;

/// The record kind of [`StoredEntryPoint`].
const KIND: &str = "arrival";

/// How a person enters a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct EntryPoint {
    pub(super) org: OrgId,
    pub(super) entry: ConversationEntry,
    /// The agent that a deep link names.
    pub(super) agent: Option<AgentId>,
}

impl EntryPoint {
    pub(super) const fn customer(org: OrgId) -> Self {
        Self { org, entry: ConversationEntry::Customer, agent: None }
    }
}

/// How a person entered last, by a deep link or by switching to an org. It applies until they
/// leave, or enter elsewhere.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct StoredEntryPoint {
    /// Whether a deep link was opened.
    pub(super) testing: bool,
    #[serde(default)]
    pub(super) agent: Option<AgentId>,
    /// The org that was entered on the platform's bot or web chat.
    #[serde(default)]
    pub(super) org: Option<OrgId>,
    /// The deep link, which ends when it is revoked.
    #[serde(default)]
    pub(super) link: Option<RecordId>,
    /// The message by which they left, because providers deliver things twice, and the org
    /// that they left.
    #[serde(default)]
    pub(super) exit: Option<(String, OrgId)>,
}

impl InboundReceiver {
    /// Returns how the sender enters. A deep link applies until `/exit` or another one. The
    /// inner error is a link that does not open, which the sender is told.
    pub(super) async fn entry_point(
        &self,
        context: &BindingContext<'_>,
        inbound: &InboundMessage,
    ) -> Result<Result<EntryPoint, DeepLinkRefused>, StoreError> {
        let account = self.sender_account(context, inbound).await?;
        let bot = match context.view.org.place {
            OrgPlace::Platform if is_shareable(&context.bound.binding.channel) => {
                BotOwner::Platform(context.org)
            }
            _ => BotOwner::Client(context.org),
        };
        let opened = match self.opened_link(context, inbound).await? {
            Ok(opened) => opened,
            Err(refused) => return Ok(Err(refused)),
        };
        let is_shared = matches!(bot, BotOwner::Platform(_));
        let owned_here = match inbound.from.proof {
            SenderProof::Proven => {
                let (view, sender) = (&context.view, &inbound.from.identifier);
                self.relation_to(view, context.bound, sender, account.as_ref()).await?
            }
            SenderProof::Unproven => None,
        };
        if !is_shared && owned_here != Some(Relation::Child) {
            let entry = conversation_entry(owned_here, EntryPath::OrgSwitch);
            let agent = opened.and_then(|link| link.agent);
            return Ok(Ok(EntryPoint { org: context.org, entry, agent }));
        }
        let (stored, known) = self.stored_entry(context, inbound, opened).await?;
        let deep_link = stored.testing.then(|| stored.org.unwrap_or(context.org));
        let own_org = match &account {
            Some(account) if is_shared => self.home_org(account, stored.org).await?,
            _ => None,
        };
        let org = reached_org(bot, deep_link, own_org);
        let owned = if org == context.org {
            owned_here
        } else {
            self.relation_to_other(org, account.as_ref()).await?
        };
        let chat = resolve(&ChatFacts { bot, deep_link, own_org, owned, known });
        tracing::debug!(org_id = %chat.organization_id, is_new = chat.is_new,
            route_to_system_bot = chat.route_to_system_bot, testing_mode = chat.testing_mode,
            "chat resolved");
        let path = if deep_link.is_some() { EntryPath::DeepLink } else { EntryPath::OrgSwitch };
        let (org, entry) = (chat.organization_id, conversation_entry(owned, path));
        Ok(Ok(EntryPoint { org, entry, agent: stored.agent }))
    }

    /// Returns the deep link that a message opens, if it does.
    async fn opened_link(
        &self,
        context: &BindingContext<'_>,
        inbound: &InboundMessage,
    ) -> Result<Result<Option<OpenedLink>, DeepLinkRefused>, StoreError> {
        let InboundContent::Command { name, payload: Some(payload) } = &inbound.content else {
            return Ok(Ok(None));
        };
        if name != "start" {
            return Ok(Ok(None));
        }
        let is_platform = context.view.org.place == OrgPlace::Platform;
        let Some(token) = deep_links::parse(payload) else {
            return Ok(Ok(parse_name(&context.view, payload).filter(|_| !is_platform)));
        };
        if !is_platform && token.org != context.org {
            return Ok(Err(DeepLinkRefused::Unknown));
        }
        let opened = deep_links::open(self.store(), token, self.shared.clock.now()).await?;
        Ok(opened.map(Some))
    }

    /// Returns how the sender entered, after a link that they open now, and whether they were
    /// here before.
    async fn stored_entry(
        &self,
        context: &BindingContext<'_>,
        inbound: &InboundMessage,
        opened: Option<OpenedLink>,
    ) -> Result<(StoredEntryPoint, bool), StoreError> {
        let sender = &inbound.from.identifier;
        let stored = load(context.store, context.bound.binding.id, sender).await?;
        let known = stored.is_some();
        if let Some(link) = opened {
            let OpenedLink { org, id, agent } = link;
            let exit = None;
            let entry = StoredEntryPoint { testing: true, agent, org: Some(org), link: id, exit };
            save(context, sender, &entry).await?;
            return Ok((entry, known));
        }
        let stored = stored.unwrap_or_default();
        if let (Some(org), Some(link)) = (stored.org, stored.link)
            && !deep_links::holds(self.store(), org, link).await?
        {
            return Ok((StoredEntryPoint::default(), known));
        }
        Ok((stored, known))
    }

    /// Returns how another org is related to those that a user owns.
    pub(super) async fn relation_to_other(
        &self,
        org: OrgId,
        account: Option<&UserAccount>,
    ) -> Result<Option<Relation>, StoreError> {
        let Some(account) = account else { return Ok(None) };
        let parent = self.store().org(org).org().await?.parent();
        let roles = account.memberships.iter().map(|one| (one.org, one.role));
        Ok(owned_relation(roles, org, parent))
    }
}

/// Parses the name of the org or of one of its agents. It opens nothing that the sender could
/// not reach without it, so it needs no secret.
fn parse_name(view: &OrgView, payload: &str) -> Option<OpenedLink> {
    let payload = payload.trim();
    let link = |agent| OpenedLink { org: view.org.id, id: None, agent };
    if let Some(found) = view.find_agent(payload) {
        return Some(link(Some(found.agent.id)));
    }
    let is_org = payload == view.org.slug || payload == view.org.id.to_string();
    is_org.then(|| link(None))
}

fn record_id(binding: BindingId, sender: &str) -> RecordId {
    derived(RecordId::from_u128, binding.as_u128(), &format!("{KIND} {sender}"))
}

/// Returns how the sender entered last, if they ever did by a link or a switch.
pub(super) async fn load(
    store: OrgStore<'_>,
    binding: BindingId,
    sender: &str,
) -> Result<Option<StoredEntryPoint>, StoreError> {
    match store.record(KIND, record_id(binding, sender)).await {
        Ok(found) => Ok(Some(decode("entry point", &found.data).unwrap_or_default())),
        Err(StoreError::NotFound(_)) => Ok(None),
        Err(other) => Err(other),
    }
}

/// Stores how the sender entered. If two are stored at the same moment, one of them wins.
pub(super) async fn save(
    context: &BindingContext<'_>,
    sender: &str,
    entry: &StoredEntryPoint,
) -> Result<(), StoreError> {
    let (id, data) = (record_id(context.bound.binding.id, sender), encode(entry));
    let stored = match context.store.record(KIND, id).await {
        Ok(found) => context.store.update_record(KIND, &found, data).await,
        Err(StoreError::NotFound(_)) => context.store.create_record(KIND, id, data).await,
        Err(other) => Err(other),
    };
    match stored {
        Ok(()) | Err(StoreError::Conflict(_)) => Ok(()),
        Err(other) => Err(other),
    }
}
