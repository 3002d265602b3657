//! Seeds a store from a world file.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Context as _;
use ostler_domain::channel::Channel;
use ostler_domain::channel::binding::Binding;
use ostler_domain::contact::Contact;
use ostler_domain::id::{AgentId, BindingId, DocumentId, IntegrationId, OrgId, RecordId};
use ostler_domain::knowledge::Document;
use ostler_domain::money::Credits;
use ostler_domain::money::pools::PoolKind;
use ostler_domain::org::OrgPlace;
use ostler_domain::org::settings::OrgSettings;
use ostler_domain::soul::{Soul, SoulOrigin, SoulVersion};
use ostler_domain::team::config::TeamConfig;
use ostler_runtime::org_view::{SETTINGS, settings_record};
use ostler_store::{IntegrationConnection, NewGrant, OrgBinding, OrgIntegration, Store};

use super::World;

/// The data of a world apart from orgs, agents and policies.
#[derive(Debug, Default)]
pub(crate) struct SeedData {
    pub(crate) credits: Vec<(OrgId, u64)>,
    pub(crate) souls: Vec<(AgentId, OrgId, Soul)>,
    pub(crate) bindings: Vec<(OrgId, Channel, AgentId)>,
    /// With the slug and the identifier on each channel.
    pub(crate) contacts: Vec<(String, OrgId, Contact, BTreeMap<String, String>)>,
    pub(crate) records: Vec<(OrgId, String, serde_json::Value)>,
    pub(crate) documents: Vec<(OrgId, String, BTreeSet<String>, String)>,
}

impl World {
    /// Creates everything in an empty store.
    pub(crate) async fn seed(&self, store: &Store) -> anyhow::Result<()> {
        // Parents before their children.
        let mut orgs: Vec<_> = self.orgs.iter().collect();
        orgs.sort_by_key(|org| match org.place {
            OrgPlace::Platform => 0,
            OrgPlace::TopLevel => 1,
            OrgPlace::SubOrg { .. } => 2,
        });
        for org in orgs {
            store.create_org(org.clone()).await?;
        }
        store.org(self.orgs.platform()).save_platform_policy(0, self.platform.clone()).await?;
        for world_agent in &self.agents {
            store.org(world_agent.agent.org).save_agent(world_agent.agent.clone()).await?;
        }
        for (org, settings) in &self.org_tools {
            let org_store = store.org(*org);
            org_store.save_policy(0, settings.policy.clone()).await?;
            for (number, service) in (1..).zip(&settings.integrations) {
                let connected = OrgIntegration {
                    id: IntegrationId::from_u128(org.as_u128() * 1000 + number),
                    service: service.clone(),
                    connection: IntegrationConnection::Connected,
                    settings: "{}".into(),
                    secret: None,
                };
                org_store.save_integration(connected).await?;
            }
            let team = settings.team_coordination.then(TeamConfig::default);
            let settings = OrgSettings { team, ..OrgSettings::default() };
            let data = serde_json::to_string(&settings)?;
            org_store.create_record(SETTINGS, settings_record(*org), data).await?;
        }
        self.seed_details(store).await
    }

    async fn seed_details(&self, store: &Store) -> anyhow::Result<()> {
        let now = ostler_runtime::deps::Clock::system().now();
        for (agent, org, soul) in &self.seed_data.souls {
            let soul = soul.clone();
            let version = SoulVersion { version: 1, soul, origin: SoulOrigin::Created, at: now };
            store.org(*org).push_soul(*agent, version).await?;
        }
        for (number, (org, channel, agent)) in (1..).zip(&self.seed_data.bindings) {
            let id = BindingId::from_u128(number);
            let binding = Binding { id, channel: channel.clone(), enabled: true, priority: 1 };
            let (settings, secret) = ("{}".to_owned(), None);
            store
                .org(*org)
                .save_binding(OrgBinding { binding, agent: *agent, settings, secret })
                .await?;
        }
        for (_, org, contact, identifiers) in &self.seed_data.contacts {
            store.org(*org).create_contact(contact.clone()).await?;
            for (channel, identifier) in identifiers {
                let channel = Channel::from(channel.as_str());
                store.org(*org).link_identifier(contact.id, &channel, identifier).await?;
            }
        }
        for (number, (org, kind, data)) in (1..).zip(&self.seed_data.records) {
            let id = RecordId::from_u128(number);
            store.org(*org).create_record(kind, id, data.to_string()).await?;
        }
        for (number, (org, title, tags, text)) in (1..).zip(&self.seed_data.documents) {
            let document = Document::new(title, text, tags.iter().map(String::as_str))
                .with_context(|| format!("the document `{title}`"))?;
            store.org(*org).create_document(DocumentId::from_u128(number), document).await?;
        }
        for (org, credits) in &self.seed_data.credits {
            let grant = NewGrant {
                reference: "world".into(),
                pool: PoolKind::Purchased,
                amount: Credits::new(*credits),
            };
            store.org(*org).grant_credits(grant).await?;
        }
        Ok(())
    }
}
