//! A world file brought to life in a store.

use std::collections::BTreeSet;

use anyhow::Context as _;
use ostler_domain::channel::Channel;
use ostler_domain::channel::binding::Binding;
use ostler_domain::id::{AgentId, BindingId, DocumentId, IntegrationId, OrgId, RecordId};
use ostler_domain::knowledge::Document;
use ostler_domain::money::Credits;
use ostler_domain::money::pools::PoolKind;
use ostler_domain::org::Place;
use ostler_domain::org::settings::OrgSettings as ConversationSettings;
use ostler_domain::soul::{Soul, SoulOrigin, SoulVersion};
use ostler_domain::team::config::TeamConfig;
use ostler_domain::time::Timestamp;
use ostler_runtime::org_view::{SETTINGS, settings_record};
use ostler_store::{Connection, NewGrant, OrgBinding, OrgIntegration, Store};

use super::World;

/// What a world has beside orgs and agents.
#[derive(Debug, Default)]
pub(crate) struct Furniture {
    pub(crate) credits: Vec<(OrgId, u64)>,
    pub(crate) souls: Vec<(AgentId, OrgId, Soul)>,
    pub(crate) bindings: Vec<(OrgId, Channel, AgentId)>,
    pub(crate) records: Vec<(OrgId, String, serde_json::Value)>,
    pub(crate) documents: Vec<(OrgId, String, BTreeSet<String>, String)>,
}

impl World {
    /// Makes all of it in a store that has nothing yet.
    pub(crate) async fn plant(&self, store: &Store) -> anyhow::Result<()> {
        // The platform first, then those above before those below.
        let mut orgs: Vec<_> = self.orgs.iter().collect();
        orgs.sort_by_key(|org| match org.place {
            Place::Platform => 0,
            Place::TopLevel => 1,
            Place::SubOrg { .. } => 2,
        });
        for org in orgs {
            store.create_org(org.clone()).await?;
        }
        store.org(self.orgs.platform()).save_platform_policy(0, self.platform.clone()).await?;
        for one in &self.agents {
            store.org(one.agent.org).save_agent(one.agent.clone()).await?;
        }
        for (org, settings) in &self.org_tools {
            let of = store.org(*org);
            of.save_policy(0, settings.policy.clone()).await?;
            for (number, service) in (1..).zip(&settings.integrations) {
                let connected = OrgIntegration {
                    id: IntegrationId::from_u128(org.as_u128() * 1000 + number),
                    service: service.clone(),
                    connection: Connection::Connected,
                    settings: "{}".into(),
                    secret: None,
                };
                of.save_integration(connected).await?;
            }
            let team = settings.team_coordination.then(TeamConfig::default);
            let settings = ConversationSettings { team, ..ConversationSettings::default() };
            let data = serde_json::to_string(&settings)?;
            of.create_record(SETTINGS, settings_record(*org), data).await?;
        }
        self.furnish(store).await
    }

    async fn furnish(&self, store: &Store) -> anyhow::Result<()> {
        let now = now_here();
        for (agent, org, soul) in &self.furniture.souls {
            let soul = soul.clone();
            let version = SoulVersion { version: 1, soul, origin: SoulOrigin::Created, at: now };
            store.org(*org).push_soul(*agent, version).await?;
        }
        for (number, (org, channel, agent)) in (1..).zip(&self.furniture.bindings) {
            let id = BindingId::from_u128(number);
            let binding = Binding { id, channel: channel.clone(), enabled: true, priority: 1 };
            let (settings, secret) = ("{}".to_owned(), None);
            store
                .org(*org)
                .save_binding(OrgBinding { binding, agent: *agent, settings, secret })
                .await?;
        }
        for (number, (org, kind, data)) in (1..).zip(&self.furniture.records) {
            let id = RecordId::from_u128(number);
            store.org(*org).create_record(kind, id, data.to_string()).await?;
        }
        for (number, (org, title, tags, text)) in (1..).zip(&self.furniture.documents) {
            let document = Document::new(title, text, tags.iter().map(String::as_str))
                .with_context(|| format!("the document `{title}`"))?;
            store.org(*org).create_document(DocumentId::from_u128(number), document).await?;
        }
        for (org, credits) in &self.furniture.credits {
            let grant = NewGrant {
                reference: "world".into(),
                pool: PoolKind::Purchased,
                amount: Credits::new(*credits),
            };
            store.org(*org).grant(grant).await?;
        }
        Ok(())
    }
}

fn now_here() -> Timestamp {
    ostler_runtime::parts::Clock::system().now()
}
