//! A platform, an agency and its client, with agents in each.

use std::sync::Arc;

use ostler_domain::agent::autonomy::AutonomyLevel;
use ostler_domain::agent::subtype::Subtype;
use ostler_domain::agent::{Agent, AgentKind};
use ostler_domain::channel::Channel;
use ostler_domain::id::{AgentId, BindingId, OrgId, RecordId};
use ostler_domain::message::MessagePart;
use ostler_domain::org::plan::LicencePlan;
use ostler_domain::org::settings::{ChannelAddress, NotifyAddresses, OrgSettings};
use ostler_domain::org::{Org, OrgPlace};
use ostler_domain::session::key::{ConversationEntry, ConversationKey, Peer};
use ostler_domain::time::Timestamp;
use ostler_engine::tool::Tool;
use ostler_runtime::org_view::{SETTINGS, settings_record};
use ostler_store::Store;
use ostler_testkit as testkit;
use serde::de::DeserializeOwned;

use crate::support::{
    GIA, ModelCalls, ORG, Scenario, WEBCHAT, agent, lenient_settings, org, scenario, scenario_in,
    text_of,
};

pub(super) const PLATFORM: OrgId = OrgId::from_u128(0x01);
pub(super) const AGENCY: OrgId = OrgId::from_u128(0x0a);
/// An agency that has nothing to do with the others.
pub(super) const STRANGER: OrgId = OrgId::from_u128(0x0c);
/// How many orgs there are.
pub(super) const ORG_COUNT: usize = 4;
/// The client's PM.
pub(super) const LUCA: AgentId = AgentId::from_u128(0x10ca);
/// The agency's PM.
pub(super) const MARA: AgentId = AgentId::from_u128(0x3a2a);
/// The platform's system agent.
pub(super) const QUINN: AgentId = AgentId::from_u128(0x9011);
/// The stranger's PM.
pub(super) const OTTO: AgentId = AgentId::from_u128(0x0770);
pub(super) const CORA: AgentId = AgentId::from_u128(0xc02a);

/// An installation with three business layers. Bella Pizza is a client of Harbour.
pub(super) struct Tree {
    pub(super) scenario: Scenario,
    pub(super) seen: ModelCalls,
}

/// Returns the binding of an org on which its owner writes.
pub(super) fn chat_of(org: OrgId) -> BindingId {
    if org == ORG { WEBCHAT } else { BindingId::from_u128(org.as_u128() << 8) }
}

impl Tree {
    pub(super) async fn new(script: &str) -> Self {
        let (scenario, seen) = scenario(script).await;
        Self { scenario, seen }.grow().await
    }

    pub(super) async fn in_store(store: Store, script: &str) -> Self {
        Self::with_tools(store, script, Vec::new()).await
    }

    /// Like [`Tree::in_store`], with more business tools.
    pub(super) async fn with_tools(store: Store, script: &str, more: Vec<Arc<dyn Tool>>) -> Self {
        let (scenario, seen) = scenario_in(store, script, more, Default::default()).await;
        Self { scenario, seen }.grow().await
    }

    async fn grow(self) -> Self {
        let store = &self.scenario.store;
        let tops = [
            org(PLATFORM, "platform", OrgPlace::Platform, LicencePlan::Agency),
            org(AGENCY, "harbour", OrgPlace::TopLevel, LicencePlan::Agency),
            org(STRANGER, "stranger", OrgPlace::TopLevel, LicencePlan::Agency),
        ];
        for top in tops {
            store.create_org(top).await.unwrap();
        }
        let bella = store.org(ORG).org().await.unwrap();
        let place = OrgPlace::SubOrg { parent: AGENCY };
        store.org(ORG).update_org(Org { place, ..bella }).await.unwrap();
        self.scenario.change_agent(GIA, |gia| gia.autonomy = AutonomyLevel::Autonomous).await;
        for (at, id, slug, subtype) in [
            (ORG, LUCA, "luca", Subtype::Pm),
            (AGENCY, MARA, "mara", Subtype::Pm),
            (STRANGER, OTTO, "otto", Subtype::Pm),
            (PLATFORM, QUINN, "quinn", Subtype::System),
        ] {
            self.save_agent(at, agent(id, slug, subtype)).await;
        }
        for (at, id) in [(AGENCY, MARA), (STRANGER, OTTO), (PLATFORM, QUINN)] {
            let there = store.org(at);
            testkit::bind_channel(&there, chat_of(at), Channel::Webchat, id).await;
            testkit::grant_credits(&there, "tree", 1000).await;
            let owner = Some(ChannelAddress {
                binding: chat_of(at),
                identifier: format!("owner-of-{}", at.as_u128()),
            });
            let people = NotifyAddresses { owner, ..NotifyAddresses::default() };
            self.save_settings(at, &OrgSettings { people, ..lenient_settings() }).await;
        }
        let owner = Some(ChannelAddress {
            binding: WEBCHAT,
            identifier: format!("owner-of-{}", ORG.as_u128()),
        });
        let people = NotifyAddresses { owner, ..NotifyAddresses::default() };
        self.scenario.save_settings(&OrgSettings { people, ..lenient_settings() }).await;
        self
    }

    pub(super) async fn save_agent(&self, at: OrgId, agent: Agent) {
        let agent = Agent { org: at, autonomy: AutonomyLevel::Autonomous, ..agent };
        testkit::save_agent(&self.scenario.store.org(at), agent).await;
    }

    /// Gives an org a coordinator.
    pub(super) async fn add_coordinator(&self, at: OrgId) {
        let cora = agent(CORA, "cora", Subtype::Coordinator);
        let created_at = Timestamp::from_millis(1);
        self.save_agent(at, Agent { kind: AgentKind::Internal, created_at, ..cora }).await;
    }

    async fn save_settings(&self, at: OrgId, settings: &OrgSettings) {
        let data = serde_json::to_string(settings).unwrap();
        let id = settings_record(at);
        self.scenario.store.org(at).create_record(SETTINGS, id, data).await.unwrap();
    }

    /// Writes to an org as its owner, who reaches the PM, and returns the answers.
    pub(super) async fn owner_says(&self, at: OrgId, text: &str) -> Vec<String> {
        self.scenario.say_in(&self.owner_key(at), text).await
    }

    /// Accepts a message of an org's owner without answering it.
    pub(super) async fn owner_sends(&self, at: OrgId, text: &str) {
        self.scenario.send(self.owner_key(at), vec![MessagePart::text(text)], None).await;
    }

    /// Returns the key of the conversation of an org's owner.
    pub(super) fn owner_key(&self, at: OrgId) -> ConversationKey {
        let peer = Peer::Person(format!("boss-of-{}", at.as_u128()));
        let (binding, entry) = (chat_of(at), ConversationEntry::Owner);
        ConversationKey { org: at, binding, peer, entry }
    }

    /// Returns the last system prompt of an agent.
    pub(super) fn prompt_of(&self, name: &str) -> String {
        let begin = format!("You are {name},");
        let calls = self.seen.all();
        calls.iter().rev().find(|one| one.system.starts_with(&begin)).expect("asked").system.clone()
    }

    /// Returns the tools that an agent was last offered.
    pub(super) fn offered_to(&self, name: &str) -> Vec<String> {
        let begin = format!("You are {name},");
        let calls = self.seen.all();
        calls
            .iter()
            .rev()
            .find(|one| one.system.starts_with(&begin))
            .expect("asked")
            .offered
            .clone()
    }

    /// Returns the records of a kind in an org, oldest first.
    pub(super) async fn records<T: DeserializeOwned>(
        &self,
        at: OrgId,
        kind: &str,
    ) -> Vec<(RecordId, T)> {
        let all = self.scenario.store.org(at).records(kind, None, 100).await.unwrap();
        all.into_iter().map(|one| (one.id, serde_json::from_str(&one.data).unwrap())).collect()
    }

    /// Sends the notices that are due, and returns what the owner of an org is sent.
    pub(super) async fn owner_hears(&self, at: OrgId) -> Vec<String> {
        let owner = Peer::Person(format!("owner-of-{}", at.as_u128()));
        let sent = self.scenario.deliver().await;
        sent.iter().filter(|one| one.to == owner).map(text_of).collect()
    }

    /// Returns the actions in the audit log of an org.
    pub(super) async fn audit(&self, at: OrgId) -> Vec<String> {
        let all = self.scenario.store.org(at).audit_entries(None, None, 100).await.unwrap();
        all.into_iter().rev().map(|one| one.entry.action).collect()
    }
}
