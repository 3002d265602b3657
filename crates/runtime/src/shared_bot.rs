//! The platform's bots and web chats, through which people reach other orgs too: owners who
//! have no bot of their own, and customers who follow a deep link. Such an org has a binding of
//! its own that names the bot, so that its conversations stay in its own tables.

use ostler_channels::BindingConfig;
use ostler_domain::agent::routing::{AgentBinding, RoutingCandidate, choose};
use ostler_domain::channel::Channel;
use ostler_domain::channel::binding::Binding;
use ostler_domain::id::{AgentId, BindingId, OrgId};
use ostler_domain::org::OrgPlace;
use ostler_domain::session::key::ConversationEntry;
use ostler_store::{OrgBinding, OrgStore, Store, StoreError};
use serde::{Deserialize, Serialize};

use crate::channel_binding::binding_config;
use crate::ids::derived;
use crate::org_view::OrgView;

/// The bindings of an org's own bots are preferred.
const PRIORITY: u32 = 1000;

/// The settings of a binding that uses the platform's bot or web chat. No channel accepts them, so only
/// this module creates such a binding.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SharedBotSettings {
    shared_bot: BindingId,
}

/// Returns the platform's binding that a binding uses, if it does.
pub fn shared_bot(bound: &OrgBinding) -> Option<BindingId> {
    let settings: SharedBotSettings = serde_json::from_str(&bound.settings).ok()?;
    is_shareable(&bound.binding.channel).then_some(settings.shared_bot)
}

/// Returns whether people reach other orgs through the platform's bindings of a channel.
pub(crate) const fn is_shareable(channel: &Channel) -> bool {
    matches!(channel, Channel::Telegram | Channel::Webchat)
}

/// Returns the binding through which an org uses the platform's bot, and creates it if it is
/// missing. Returns `None` if the org has nobody who can answer.
pub(crate) async fn shared_binding(
    store: OrgStore<'_>,
    view: &OrgView,
    bot: &Binding,
) -> Result<Option<OrgBinding>, StoreError> {
    if let Some(known) = view.bindings.iter().find(|one| shared_bot(one) == Some(bot.id)) {
        return Ok(Some(known.clone()));
    }
    let agents = view.agents.iter();
    let candidates =
        agents.map(|one| RoutingCandidate { agent: &one.agent, binding: AgentBinding::None });
    let Ok(agent) = choose(ConversationEntry::Customer, None, candidates) else {
        return Ok(None);
    };
    let known = view.bindings.iter().map(|one| &one.binding);
    let bound = new_shared_binding(view.org.id, agent.id, bot, known);
    store.save_binding(bound.clone()).await?;
    Ok(Some(bound))
}

/// Returns the binding through which an org with the bindings `known` uses the platform's bot.
pub(crate) fn new_shared_binding<'b>(
    org: OrgId,
    agent: AgentId,
    bot: &Binding,
    known: impl Iterator<Item = &'b Binding>,
) -> OrgBinding {
    let channel = bot.channel.clone();
    OrgBinding {
        agent,
        binding: Binding {
            id: shared_binding_id(org, bot.id),
            name: Binding::free_name(&channel, known),
            channel,
            enabled: true,
            priority: PRIORITY,
        },
        settings: crate::records::encode(&SharedBotSettings { shared_bot: bot.id }),
        secret: None,
    }
}

/// Returns the id of the binding through which an org uses the platform's bot.
pub(crate) fn shared_binding_id(org: OrgId, bot: BindingId) -> BindingId {
    derived(BindingId::from_u128, org.as_u128(), &format!("shared {bot}"))
}

/// Returns the configuration that a binding connects with: its own, or that of the platform's
/// bot. Returns `None` if the bot is gone or switched off, or belongs to somebody else.
pub(crate) async fn connection_config(
    store: &Store,
    org: OrgId,
    bound: &OrgBinding,
) -> Result<Option<BindingConfig>, StoreError> {
    let Some(bot) = shared_bot(bound) else { return Ok(Some(binding_config(org, bound))) };
    let (owner, bot) = match store.binding(bot).await {
        Ok(found) => found,
        Err(StoreError::NotFound(_)) => return Ok(None),
        Err(other) => return Err(other),
    };
    let is_platforms = store.org(owner).org().await?.place == OrgPlace::Platform;
    Ok((is_platforms && bot.binding.enabled).then(|| binding_config(owner, &bot)))
}
