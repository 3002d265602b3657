//! Bindings: the channels of an org.

use ostler_channels::Channels;
use ostler_channels::error::OpenError;
use ostler_domain::agent::routing::{AgentBinding, RoutingCandidate, choose};
use ostler_domain::channel::Channel;
use ostler_domain::channel::binding::{Binding, binding_of_same_bot};
use ostler_domain::id::{AgentId, BindingId};
use ostler_domain::org::permission::OrgPermission;
use ostler_domain::secret::SecretRef;
use ostler_domain::session::key::ConversationEntry;
use ostler_store::{BindingFailure, OrgBinding};
use ostler_world::unknown_name;
use serde_json::{Value, json};

use super::world::ApplyHost;
use super::{OperationError, OrgOperations, Result};
use crate::channel_binding::binding_config;
use crate::ids::fresh;

/// The maximum number of bindings that are listed.
const MAX_BINDINGS: u32 = 1000;

/// A binding to create.
#[derive(Debug, Clone)]
pub struct NewBinding {
    pub channel: Channel,
    /// The channel's settings, as JSON; `None` for an empty object.
    pub settings: Option<String>,
    pub secret: Option<SecretRef>,
    /// The agent that answers, by id, slug or subtype. `None` means the agent that customers
    /// reach first.
    pub agent: Option<String>,
    /// The binding with the lowest number is used first.
    pub priority: u32,
}

/// A change of a binding. `None` leaves a field as it is.
#[derive(Debug, Clone, Default)]
pub struct BindingChange {
    /// The channel's settings, as JSON.
    pub settings: Option<String>,
    pub secret: Option<SecretRef>,
    /// The agent that answers, by id, slug or subtype.
    pub agent: Option<String>,
    /// The binding with the lowest number is used first.
    pub priority: Option<u32>,
    pub enabled: Option<bool>,
}

impl OrgOperations<'_> {
    /// Returns the bindings of the org, including disabled ones.
    pub async fn bindings(&self) -> Result<Vec<OrgBinding>> {
        Ok(self.authorize(OrgPermission::View).await?.bindings(None, MAX_BINDINGS).await?)
    }

    /// Returns the bindings that cannot receive messages at the moment, as the process that
    /// receives for them reported it.
    pub async fn binding_failures(&self) -> Result<Vec<BindingFailure>> {
        Ok(self.authorize(OrgPermission::View).await?.binding_failures().await?)
    }

    /// Creates a binding, with a secret if its channel needs one and none is named. Returns it
    /// with what keeps it from working on the machine. Fails if it cannot be opened.
    pub async fn create_binding(
        &self,
        new: NewBinding,
        channels: &Channels,
        host: &dyn ApplyHost,
    ) -> Result<(OrgBinding, Option<String>)> {
        self.authorize(OrgPermission::Configure).await?;
        if let (Channel::Named(name), None) = (&new.channel, &new.settings) {
            let unknown = unknown_name("channel", name, Channel::KNOWN);
            let detail =
                format!("{unknown}\na webhook of that name needs --settings with its `url`");
            return Err(OperationError::BadResource(detail));
        }
        let mut bound = self.new_binding(new).await?;
        let opened = channels.open(&binding_config(self.org, &bound));
        // A secret is created only after the settings are known to be valid.
        if matches!(opened, Err(OpenError::MissingSecret { .. })) {
            let (id, channel) = (bound.binding.id, &bound.binding.channel);
            let secret = host.channel_secret(self.org, id, channel);
            bound.secret = secret.map_err(OperationError::BadResource)?;
        }
        let note = self.check_usable(&bound, host)?;
        self.store_binding(bound.clone()).await?;
        Ok((bound, note))
    }

    /// Returns what keeps a binding from working on the machine. Fails if it cannot be opened
    /// for another reason than a secret that is not there.
    fn check_usable(&self, bound: &OrgBinding, host: &dyn ApplyHost) -> Result<Option<String>> {
        host.check_channel(self.org, bound).map_err(OperationError::BadResource)?;
        Ok(host.channel_note(self.org, bound))
    }

    /// Returns the binding that would be created, for a caller who is authorized.
    pub(super) async fn new_binding(&self, new: NewBinding) -> Result<OrgBinding> {
        let NewBinding { channel, settings, secret, agent, priority } = new;
        let agent = match agent {
            Some(name) => self.find_agent(&name).await?,
            None => self.customer_agent().await?,
        };
        let id = fresh(BindingId::from_u128);
        let known = self.inner().store.org(self.org).bindings(None, MAX_BINDINGS).await?;
        let name = Binding::free_name(&channel, known.iter().map(|one| &one.binding));
        let binding = Binding { id, name, channel, enabled: true, priority };
        let settings = settings.unwrap_or_else(|| "{}".to_owned());
        Ok(OrgBinding { binding, agent, settings, secret })
    }

    /// Changes a binding. Returns it with what keeps it from working on the machine. Fails if it
    /// is on and cannot be opened, or if another binding uses the same bot.
    pub async fn change_binding(
        &self,
        id: BindingId,
        change: BindingChange,
        host: &dyn ApplyHost,
    ) -> Result<(OrgBinding, Option<String>)> {
        let mut bound = self.authorize(OrgPermission::Configure).await?.binding(id).await?;
        if let Some(name) = change.agent {
            bound.agent = self.find_agent(&name).await?;
        }
        bound.secret = change.secret.or(bound.secret);
        bound.settings = change.settings.unwrap_or(bound.settings);
        bound.binding.priority = change.priority.unwrap_or(bound.binding.priority);
        bound.binding.enabled = change.enabled.unwrap_or(bound.binding.enabled);
        let note = match bound.binding.enabled {
            true => self.check_usable(&bound, host)?,
            false => None,
        };
        self.store_binding(bound.clone()).await?;
        Ok((bound, note))
    }

    /// Creates or changes a binding, for a caller who is authorized. Fails if another binding
    /// uses the same bot.
    pub(super) async fn store_binding(&self, bound: OrgBinding) -> Result<()> {
        let store = self.inner().store.org(self.org);
        let known = store.bindings(None, MAX_BINDINGS).await?;
        let others = known.iter().map(|one| (&one.binding, one.secret.as_ref()));
        if let Some(other) = binding_of_same_bot((&bound.binding, bound.secret.as_ref()), others) {
            return Err(OperationError::AlreadyBound(other));
        }
        let id = bound.binding.id;
        let before = known.iter().find(|one| one.binding.id == id).map(audit_data);
        let after = audit_data(&bound);
        let audit = self.audit_change("save_binding", &id, &before.unwrap_or_default(), &after);
        Ok(store.audited(audit).save_binding(bound).await?)
    }

    async fn find_agent(&self, name: &str) -> Result<AgentId> {
        let view = self.view().await?;
        let found = view.find_agent(name).map(|one| one.agent.id);
        found.ok_or_else(|| OperationError::NoAgent(name.to_owned()))
    }

    /// Returns the agent that a new customer reaches.
    async fn customer_agent(&self) -> Result<AgentId> {
        let view = self.view().await?;
        let agents = view.agents.iter();
        let binding = AgentBinding::None;
        let candidates = agents.map(|one| RoutingCandidate { agent: &one.agent, binding });
        let chosen = choose(ConversationEntry::Customer, None, candidates);
        chosen.map(|agent| agent.id).map_err(|_| OperationError::NoAnsweringAgent)
    }
}

/// Returns what the audit log keeps of a binding.
fn audit_data(bound: &OrgBinding) -> Value {
    let Binding { name, channel, enabled, priority, .. } = &bound.binding;
    json!({
        "name": name,
        "channel": channel,
        "enabled": enabled,
        "priority": priority,
        "agent": bound.agent,
        "settings": bound.settings,
        "secret": bound.secret,
    })
}
