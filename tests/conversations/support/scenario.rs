//! An org with agents, a scripted model, and customers who write.

use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

use ostler_domain::agent::subtype::Subtype;
use ostler_domain::agent::{Agent, AgentStatus};
use ostler_domain::channel::Channel;
use ostler_domain::contact::SenderProof;
use ostler_domain::id::{AgentId, BindingId, OrgId, UserId};
use ostler_domain::message::MessagePart;
use ostler_domain::org::plan::LicencePlan;
use ostler_domain::org::role::Role;
use ostler_domain::org::settings::{ChannelAddress, NotifyAddresses, OrgSettings};
use ostler_domain::org::{Org, OrgPlace};
use ostler_domain::session::key::{ConversationEntry, ConversationKey, Peer};
use ostler_domain::team::config::TeamConfig;
use ostler_domain::time::Timestamp;
use ostler_domain::tool::org_tools::OrgTool;
use ostler_engine::secret::OrgSecrets;
use ostler_engine::tool::{Tool, ToolSet};
use ostler_models::catalogue::SharedCatalogue;
use ostler_runtime::conversation::Worker;
use ostler_runtime::delivery::NoticeDispatcher;
use ostler_runtime::deltas::Deltas;
use ostler_runtime::deps::{Clock, Deps, Settings};
use ostler_runtime::inbox::Intake;
use ostler_runtime::metrics::RuntimeMetrics;
use ostler_runtime::operations::sweep::{SweepReport, Sweeper};
use ostler_runtime::operations::{Actor, BotHost, Operations};
use ostler_runtime::org_view::{SETTINGS, settings_record};
use ostler_runtime::records::entry::{InboxEntry, IncomingMessage, MessageSender};
use ostler_runtime::records::outgoing::OutgoingMessage;
use ostler_runtime::running_turns::RunningTurns;
use ostler_runtime::toolbox::{OrgToolSource, Toolbox};
use ostler_store::{AcceptOutcome, OrgStore, OutboxDelivery, Store, User};
use ostler_testkit as testkit;
use ostler_testkit::claim_send;
use ostler_tools::org_tools::{OrgToolOptions, OrgToolRegistry};
use ostler_tools::web::FetchPolicy;

use super::{ModelCalls, TestHost, catalogue, recording_catalogue, text_of};

/// The org of every test, unless it creates another.
pub(crate) const ORG: OrgId = OrgId::from_u128(0x0b);
/// Customer service.
pub(crate) const GIA: AgentId = AgentId::from_u128(0x61a);
/// Billing.
pub(crate) const ENZO: AgentId = AgentId::from_u128(0xe20);
pub(crate) const WEBCHAT: BindingId = BindingId::from_u128(0xb1);
pub(crate) const TELEGRAM: BindingId = BindingId::from_u128(0xb2);
pub(crate) const EMAIL: BindingId = BindingId::from_u128(0xb3);
pub(crate) const OWNER: UserId = UserId::from_u128(0x0a);

/// A script with a different answer to every message.
pub(crate) const ECHO: &str = "default: 'About {{ user }}: yes.'";

/// A store with one org, and a process that answers its customers. Its clock stands
/// still until [`Scenario::advance`].
pub(crate) struct Scenario {
    pub(crate) store: Store,
    pub(crate) worker: Worker,
    pub(crate) intake: Intake,
    now: Arc<AtomicI64>,
    numbers: AtomicU64,
}

/// Returns the folder with the secrets of orgs in this process.
pub(crate) fn secrets_folder() -> PathBuf {
    std::env::temp_dir().join(format!("ostler-test-secrets-{}", std::process::id()))
}

/// Returns a source of the tools that orgs define. They reach this machine at 127.0.0.1, and
/// no other private address.
fn org_tools(store: &Store, tools: &ToolSet) -> OrgToolSource {
    let network = FetchPolicy::public_any_port().allow(Ipv4Addr::LOCALHOST.into(), 0, &[]);
    let secrets = OrgSecrets::default().with_folder(secrets_folder());
    let mut registry =
        OrgToolRegistry::new(OrgToolOptions { secrets, network }).expect("HTTP works");
    registry = registry.with_contacts(store.clone());
    if let Some(refunds) = tools.get("refund_payment") {
        registry = registry.with_refunds(refunds.clone());
    }
    let registry = Arc::new(registry);
    Arc::new(move |org, definitions| {
        let registry = registry.clone();
        Box::pin(async move { registry.tools(org, &definitions).await })
    })
}

/// Returns an agent of the org. Agents with larger ids are younger.
pub(crate) fn agent(id: AgentId, slug: &str, subtype: Subtype) -> Agent {
    Agent {
        subtype,
        blocked_topics: vec!["medical advice".into()],
        created_at: Timestamp::from_millis(i64::try_from(id.as_u128()).unwrap()),
        ..testkit::agent(ORG, id, slug)
    }
}

/// Returns another org. A top-level org may have sub-orgs.
pub(crate) fn org(id: OrgId, slug: &str, place: OrgPlace, plan: LicencePlan) -> Org {
    let sub_orgs_enabled = place == OrgPlace::TopLevel;
    Org { place, plan, sub_orgs_enabled, ..testkit::org(id, slug) }
}

/// Returns settings with a team, whose agents may repeat themselves.
pub(crate) fn lenient_settings() -> OrgSettings {
    let mut settings = OrgSettings { team: Some(TeamConfig::default()), ..OrgSettings::default() };
    settings.triggers.policy.similarity_percent = 101;
    settings
}

/// Returns settings of a process that retries without waiting.
pub(crate) fn retry_at_once() -> Settings {
    Settings { retry_after: Duration::ZERO, ..Settings::default() }
}

/// Returns a seeded scenario with lenient settings, and the calls of its model.
pub(crate) async fn scenario(script: &str) -> (Scenario, ModelCalls) {
    scenario_with(script, Vec::new(), Settings::default()).await
}

/// Like [`scenario`], with tools that replace the business tools of the same name.
pub(crate) async fn scenario_with(
    script: &str,
    replaced: Vec<Arc<dyn Tool>>,
    settings: Settings,
) -> (Scenario, ModelCalls) {
    let store = testkit::TestDatabase::sqlite_memory().migrated().await;
    scenario_in(store, script, replaced, settings).await
}

/// Like [`scenario_with`], in an existing store.
pub(crate) async fn scenario_in(
    store: Store,
    script: &str,
    replaced: Vec<Arc<dyn Tool>>,
    settings: Settings,
) -> (Scenario, ModelCalls) {
    let (models, calls) = recording_catalogue(script);
    let scenario = Scenario::with_replaced_tools(store, models, settings, replaced);
    (scenario.seed_lenient().await, calls)
}

impl Scenario {
    /// Creates a store in memory with Bella Pizza: Gia and Enzo, 1,000 credits and a web
    /// chat.
    pub(crate) async fn new(script: &str) -> Self {
        Self::in_store(testkit::TestDatabase::sqlite_memory().migrated().await, script).await
    }

    /// Creates Bella Pizza in an existing store.
    pub(crate) async fn in_store(store: Store, script: &str) -> Self {
        Self::attach(store, script).seed().await
    }

    /// Starts another process on a store that has the org already.
    pub(crate) fn attach(store: Store, script: &str) -> Self {
        Self::with_models(store, catalogue(script), Settings::default())
    }

    pub(crate) fn with_models(store: Store, models: SharedCatalogue, settings: Settings) -> Self {
        Self::with_replaced_tools(store, models, settings, Vec::new())
    }

    /// Starts a process with tools that replace the business tools of the same name.
    pub(crate) fn with_replaced_tools(
        store: Store,
        models: SharedCatalogue,
        settings: Settings,
        replaced: Vec<Arc<dyn Tool>>,
    ) -> Self {
        let name = |tool: &Arc<dyn Tool>| tool.definition().spec.name.clone();
        let mut tools = ostler_tools::catalogue::store_tools(store.clone());
        tools.retain(|tool| replaced.iter().all(|other| name(other) != name(tool)));
        tools.extend(replaced);
        Self::with_tools(store, models, settings, tools)
    }

    /// Starts a process with these tools and no business tools.
    pub(crate) fn with_tools(
        store: Store,
        models: SharedCatalogue,
        settings: Settings,
        mut tools: Vec<Arc<dyn Tool>>,
    ) -> Self {
        let running_turns = RunningTurns::default();
        let host: Arc<dyn BotHost> = Arc::new(TestHost);
        let mut more = ostler_runtime::team::tools(&running_turns);
        more.extend(ostler_runtime::agent_changes::tools(&running_turns));
        more.extend(ostler_runtime::hierarchy::tools(&running_turns));
        more.extend(ostler_runtime::administration::tools(&running_turns, &host));
        more.extend(ostler_runtime::outreach::tools(&running_turns));
        let name = |tool: &Arc<dyn Tool>| tool.definition().spec.name.clone();
        more.retain(|tool| tools.iter().all(|other| name(other) != name(tool)));
        tools.extend(more);
        let now = Arc::new(AtomicI64::new(1_794_000_000_000));
        let clock = now.clone();
        let max_backlog = settings.max_backlog;
        let tools = Arc::new(ToolSet::new(tools).unwrap());
        let deps = Deps {
            store: store.clone(),
            tools: Toolbox::new(tools.clone()).with_org_tools(org_tools(&store, &tools)),
            models: Arc::new(models),
            plan_effects: Arc::new(ostler_tools::effect_planner(store.clone())),
            metrics: RuntimeMetrics::default(),
            deltas: Deltas::default(),
            clock: Clock::from_fn(move || Timestamp::from_millis(clock.load(Ordering::SeqCst))),
            settings,
        };
        let worker = Worker::new(deps, running_turns);
        let intake = Intake::new(store.clone(), worker.bell().clone(), max_backlog);
        Self { store, worker, intake, now, numbers: AtomicU64::new(0) }
    }

    /// Adds a tool to an org, as its operator does at the terminal.
    pub(crate) async fn define_tool(&self, org: OrgId, tool: &str) {
        let tool = OrgTool::Http(toml::from_str(tool).expect("a definition"));
        let operations = self.operations();
        operations.as_actor(Actor::Terminal, org).save_tool(tool).await.expect("a valid tool");
    }

    /// Creates the org, its agents, its web chat, its settings and its credits.
    pub(crate) async fn seed(self) -> Self {
        let bella = Org { name: "Bella Pizza".into(), ..testkit::org(ORG, "bella") };
        self.store.create_org(bella).await.unwrap();
        self.save_agent(agent(GIA, "gia", Subtype::CustomerService)).await;
        self.save_agent(agent(ENZO, "enzo", Subtype::from("billing_specialist"))).await;
        self.bind(WEBCHAT, Channel::Webchat, GIA).await;
        let settings = OrgSettings { team: Some(TeamConfig::default()), ..OrgSettings::default() };
        self.save_settings(&settings).await;
        self.grant(1000).await;
        self
    }

    /// Like [`Scenario::seed`], with lenient settings.
    pub(crate) async fn seed_lenient(self) -> Self {
        let scenario = self.seed().await;
        scenario.save_settings(&lenient_settings()).await;
        scenario
    }

    /// Returns the tables of the org.
    pub(crate) fn org(&self) -> OrgStore<'_> {
        self.store.org(ORG)
    }

    /// Creates or updates an agent.
    pub(crate) async fn save_agent(&self, agent: Agent) {
        testkit::save_agent(&self.org(), agent).await;
    }

    /// Changes an agent of the org.
    pub(crate) async fn change_agent(&self, id: AgentId, change: impl FnOnce(&mut Agent)) {
        let mut agent = self.org().agent(id).await.unwrap();
        change(&mut agent);
        self.save_agent(agent).await;
    }

    /// Pauses Gia, so that Enzo answers.
    pub(crate) async fn pause_gia(&self) {
        let gia = agent(GIA, "gia", Subtype::CustomerService);
        self.save_agent(Agent { status: AgentStatus::Paused, ..gia }).await;
    }

    /// Binds a channel to an agent.
    pub(crate) async fn bind(&self, id: BindingId, channel: Channel, agent: AgentId) {
        testkit::bind_channel(&self.org(), id, channel, agent).await;
    }

    /// Creates or replaces the org's settings.
    pub(crate) async fn save_settings(&self, settings: &OrgSettings) {
        let (id, data) = (settings_record(ORG), serde_json::to_string(settings).unwrap());
        match self.org().record(SETTINGS, id).await {
            Ok(read) => self.org().update_record(SETTINGS, &read, data).await.unwrap(),
            Err(_) => self.org().create_record(SETTINGS, id, data).await.unwrap(),
        }
    }

    /// Grants the org credits.
    pub(crate) async fn grant(&self, amount: u64) {
        let reference = format!("test-{}", self.next_number());
        testkit::grant_credits(&self.org(), &reference, amount).await;
    }

    /// Creates a user and makes them a member of the org.
    pub(crate) async fn add_member(&self, id: UserId, role: Role) {
        self.add_user(id).await;
        self.org().set_member(id, role).await.unwrap();
    }

    /// Adds an account.
    pub(crate) async fn add_user(&self, id: UserId) {
        let email = format!("{id}@example.org");
        let user = User { id, email, name: "Somebody".into() };
        self.store.create_user(user, &"$test$hash".parse().unwrap()).await.unwrap();
    }

    /// Gives the owner a Telegram chat and an e-mail address, and the team a group.
    pub(crate) async fn set_notify_addresses(&self, team: TeamConfig) {
        self.bind(TELEGRAM, Channel::Telegram, GIA).await;
        self.bind(EMAIL, Channel::Email, GIA).await;
        let at = |binding, identifier: &str| {
            Some(ChannelAddress { binding, identifier: identifier.to_owned() })
        };
        let people = NotifyAddresses {
            owner: at(TELEGRAM, "1001"),
            team_group: at(TELEGRAM, "-500"),
            owner_email: at(EMAIL, "owner@bella.example"),
        };
        let settings = OrgSettings { team: Some(team), people, ..OrgSettings::default() };
        self.save_settings(&settings).await;
    }

    /// Returns the operations of an operator at the terminal.
    pub(crate) fn operations(&self) -> Operations {
        Operations::for_worker(&self.worker)
    }

    /// Returns the key of a person's conversation on the web chat.
    pub(crate) fn key(&self, person: &str) -> ConversationKey {
        testkit::customer_key(ORG, WEBCHAT, person)
    }

    /// Returns the key of a conversation through another binding.
    pub(crate) fn key_on(
        &self,
        binding: BindingId,
        person: &str,
        entry: ConversationEntry,
    ) -> ConversationKey {
        ConversationKey { binding, entry, ..self.key(person) }
    }

    /// Returns a number that this scenario has not used.
    pub(crate) fn next_number(&self) -> u64 {
        self.numbers.fetch_add(1, Ordering::SeqCst)
    }

    /// Accepts a message of a person.
    pub(crate) async fn write(&self, person: &str, text: &str) -> AcceptOutcome {
        let id = format!("{person}-{}", self.next_number());
        self.write_with_id(person, text, &id).await
    }

    /// Accepts a message of a person with the provider's id of it.
    pub(crate) async fn write_with_id(&self, person: &str, text: &str, id: &str) -> AcceptOutcome {
        let entry = InboxEntry::Message(IncomingMessage {
            parts: vec![MessagePart::text(text)],
            from: MessageSender {
                identifier: person.into(),
                name: Some(person.into()),
                locale: None,
                proof: SenderProof::Proven,
            },
            provider_id: Some(id.into()),
            ..IncomingMessage::default()
        });
        self.intake.accept(self.key(person), id, &entry).await.unwrap()
    }

    /// Accepts a message in any conversation, perhaps for a named agent.
    pub(crate) async fn send(
        &self,
        key: ConversationKey,
        parts: Vec<MessagePart>,
        named_agent: Option<AgentId>,
    ) {
        let id = format!("sent-{}", self.next_number());
        let identifier = match &key.peer {
            Peer::Person(name) | Peer::Group(name) => name.clone(),
        };
        let entry = InboxEntry::Message(IncomingMessage {
            parts,
            from: MessageSender {
                identifier,
                name: None,
                locale: None,
                proof: SenderProof::Proven,
            },
            named_agent,
            provider_id: Some(id.clone()),
            ..IncomingMessage::default()
        });
        self.intake.accept(key, &id, &entry).await.unwrap();
    }

    /// Answers all waiting messages.
    pub(crate) async fn work(&self) {
        while self.worker.answer_next().await.unwrap() {}
    }

    /// Puts the notices that are due into the outbox.
    pub(crate) async fn dispatch_notices(&self) -> u64 {
        let clock = self.worker_clock();
        NoticeDispatcher::new(self.store.clone(), clock).dispatch().await.unwrap()
    }

    fn worker_clock(&self) -> Clock {
        let now = self.now.clone();
        Clock::from_fn(move || Timestamp::from_millis(now.load(Ordering::SeqCst)))
    }

    /// Marks all waiting messages of the outbox as sent, also notices that are due, and
    /// returns them.
    pub(crate) async fn deliver(&self) -> Vec<OutgoingMessage> {
        self.dispatch_notices().await;
        let mut sent = Vec::new();
        while let Some(row) = claim_send(&self.store, Duration::from_secs(10)).await {
            sent.push(serde_json::from_str(&row.payload).unwrap());
            self.store.org(row.org).record_delivery(&row, OutboxDelivery::Sent).await.unwrap();
        }
        sent
    }

    /// Accepts and answers a message, and returns what the person is sent.
    pub(crate) async fn say(&self, person: &str, text: &str) -> Vec<String> {
        self.write(person, text).await;
        self.answers_to(&Peer::Person(person.to_owned())).await
    }

    /// Like [`Scenario::say`] in any conversation.
    pub(crate) async fn say_in(&self, key: &ConversationKey, text: &str) -> Vec<String> {
        self.send(key.clone(), vec![MessagePart::text(text)], None).await;
        self.answers_to(&key.peer).await
    }

    async fn answers_to(&self, peer: &Peer) -> Vec<String> {
        self.work().await;
        let sent = self.deliver().await;
        sent.iter().filter(|message| message.to == *peer).map(text_of).collect()
    }

    /// Runs the sweeper once, and answers what it put into the inbox.
    pub(crate) async fn sweep(&self) -> SweepReport {
        let sweeper = Sweeper::for_worker(&self.worker, Duration::from_secs(900));
        let report = sweeper.sweep_once().await.unwrap();
        self.work().await;
        report
    }

    /// Returns the time on the clock of agents and sessions.
    pub(crate) fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.now.load(Ordering::SeqCst))
    }

    /// Advances the clock of agents and sessions.
    pub(crate) fn advance(&self, time: Duration) {
        let millis = i64::try_from(time.as_millis()).unwrap();
        self.now.fetch_add(millis, Ordering::SeqCst);
    }
}
