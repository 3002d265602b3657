//! An org with agents, a scripted model, and customers who write.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

use ostler_domain::agent::autonomy::AutonomyLevel;
use ostler_domain::agent::limits::AgentLimits;
use ostler_domain::agent::subtype::Subtype;
use ostler_domain::agent::{Agent, AgentKind, AgentStatus, Protection, ToolChoice};
use ostler_domain::channel::Channel;
use ostler_domain::channel::binding::Binding;
use ostler_domain::id::{AgentId, BindingId, OrgId, UserId};
use ostler_domain::message::Part;
use ostler_domain::money::Credits;
use ostler_domain::money::pools::PoolKind;
use ostler_domain::notice::Recipient;
use ostler_domain::org::plan::Plan;
use ostler_domain::org::role::Role;
use ostler_domain::org::settings::{Address, OrgSettings, Whereabouts};
use ostler_domain::org::{Org, Place};
use ostler_domain::scope::policy::ToolPolicy;
use ostler_domain::session::key::{ConversationKey, Entry as EntryKind, Peer};
use ostler_domain::soul::{Soul, SoulOrigin, SoulVersion};
use ostler_domain::team::config::TeamConfig;
use ostler_domain::time::Timestamp;
use ostler_domain::tool::profile::Profile;
use ostler_engine::tool::{Tool, ToolSet};
use ostler_models::catalogue::{Catalogue, Options, SharedCatalogue, Uses};
use ostler_models::chance::Chance;
use ostler_models::cooldown::{Clock as RestClock, Cooldowns};
use ostler_models::http::{Http, Limits as HttpLimits};
use ostler_models::price::PriceList;
use ostler_models::scripted::{Script, ScriptedModel};
use ostler_runtime::deltas::Deltas;
use ostler_runtime::inbound::Worker;
use ostler_runtime::inbound::accept::Intake;
use ostler_runtime::inbound::live::Live;
use ostler_runtime::operations::Operations;
use ostler_runtime::org_view::{SETTINGS, settings_record};
use ostler_runtime::parts::{Clock, Parts, Settings};
use ostler_runtime::sweep::{Sweeper, Swept};
use ostler_runtime::talk::entry::{Entry, Writer, Wrote};
use ostler_runtime::talk::message::ThreadMessage;
use ostler_runtime::talk::outgoing::Outgoing;
use ostler_runtime::talk::run::RunRecord;
use ostler_runtime::talk::session::Session;
use ostler_store::{
    Accepted, Delivery, EventCursor, NewGrant, OrgBinding, OrgStore, Store, StoredNotice, User,
    Which,
};

/// The org of every test, unless it makes another.
pub(crate) const ORG: OrgId = OrgId::from_u128(0x0b);
/// Customer service.
pub(crate) const GIA: AgentId = AgentId::from_u128(0x61a);
/// Billing.
pub(crate) const ENZO: AgentId = AgentId::from_u128(0xe20);
/// The web chat.
pub(crate) const WEBCHAT: BindingId = BindingId::from_u128(0xb1);

/// A bot on Telegram.
pub(crate) const TELEGRAM: BindingId = BindingId::from_u128(0xb2);
/// A mailbox.
pub(crate) const EMAIL: BindingId = BindingId::from_u128(0xb3);
/// The owner.
pub(crate) const OWNER: UserId = UserId::from_u128(0x0a);

/// A script that answers everybody with something else.
pub(crate) const ECHO: &str = "default: 'About {user}: yes.'";

/// A world in which time passes when a test says so.
pub(crate) struct World {
    pub(crate) store: Store,
    pub(crate) worker: Worker,
    pub(crate) intake: Intake,
    now: Arc<AtomicI64>,
    sent: AtomicU64,
}

/// What a script says.
pub(crate) fn catalogue(script: &str) -> SharedCatalogue {
    let script = Script::parse("test.yaml", script).expect("the script can be read");
    let catalogue = Catalogue::new(Options {
        http: Http::new(HttpLimits::default()).unwrap(),
        providers: Vec::new(),
        prices: PriceList::built_in().unwrap(),
        default: Some("scripted".into()),
        fallbacks: Vec::new(),
        chance: Chance::random(),
        cooldowns: Cooldowns::new(RestClock::system()),
        uses: Uses::default(),
    });
    SharedCatalogue(Arc::new(catalogue.with("scripted", Arc::new(ScriptedModel::new(script)))))
}

/// An agent of the org.
pub(crate) fn agent(id: AgentId, slug: &str, subtype: Subtype) -> Agent {
    let name = format!("{}{}", slug[..1].to_uppercase(), &slug[1..]);
    Agent {
        id,
        org: ORG,
        slug: slug.into(),
        display_name: name,
        subtype,
        protection: Protection::Open,
        status: AgentStatus::Active,
        kind: AgentKind::Conversational,
        template: None,
        tools: ToolChoice { profile: Profile::Everything, policy: ToolPolicy::default() },
        models: vec!["scripted".into()],
        brand: None,
        autonomy: AutonomyLevel::SemiAutonomous,
        require_approval_for: BTreeSet::new(),
        blocked_topics: vec!["medical advice".into()],
        limits: AgentLimits::ORG,
        knowledge_tags: BTreeSet::new(),
        created_at: Timestamp::from_millis(i64::try_from(id.as_u128()).unwrap()),
    }
}

impl World {
    /// Bella Pizza, with Gia and Enzo, 1,000 credits and a web chat.
    pub(crate) async fn new(script: &str) -> Self {
        let store = Store::connect("sqlite::memory:").unwrap();
        store.migrate().await.unwrap();
        Self::on(store, script).await
    }

    /// The same in a store that is there already.
    pub(crate) async fn on(store: Store, script: &str) -> Self {
        Self::again(store, script).furnished().await
    }

    /// The same world with the org and its agents in it.
    pub(crate) async fn furnished(self) -> Self {
        let org = Org {
            id: ORG,
            slug: "bella".into(),
            name: "Bella Pizza".into(),
            place: Place::TopLevel,
            plan: Plan::Pro,
            sub_orgs_enabled: false,
            time_zone: "Europe/Rome".into(),
            retention_days: None,
        };
        self.store.create_org(org).await.unwrap();
        let world = self;
        world.save_agent(agent(GIA, "gia", Subtype::CustomerService)).await;
        world.save_agent(agent(ENZO, "enzo", Subtype::from("billing_specialist"))).await;
        world.bind(WEBCHAT, Channel::Webchat, GIA).await;
        let settings = OrgSettings { team: Some(TeamConfig::default()), ..OrgSettings::default() };
        world.save_settings(&settings).await;
        world.grant(1000).await;
        world
    }

    /// Another process on the same store.
    pub(crate) fn again(store: Store, script: &str) -> Self {
        Self::with(store, catalogue(script), Settings::default())
    }

    /// All of it, as a test wants it.
    pub(crate) fn with(store: Store, models: SharedCatalogue, settings: Settings) -> Self {
        Self::made_of(store, models, settings, Vec::new())
    }

    /// The same, with tools in place of those of the business that have their
    /// names.
    pub(crate) fn made_of(
        store: Store,
        models: SharedCatalogue,
        settings: Settings,
        instead: Vec<Arc<dyn Tool>>,
    ) -> Self {
        let name = |tool: &Arc<dyn Tool>| tool.definition().spec.name.clone();
        let mut tools = ostler_tools::catalogue::business(store.clone());
        tools.retain(|tool| instead.iter().all(|other| name(other) != name(tool)));
        tools.extend(instead);
        Self::with_tools(store, models, settings, tools)
    }

    /// The same, with other tools than the business's.
    pub(crate) fn with_tools(
        store: Store,
        models: SharedCatalogue,
        settings: Settings,
        mut tools: Vec<Arc<dyn Tool>>,
    ) -> Self {
        let live = Live::default();
        tools.extend(ostler_runtime::team::tools(&live));
        let now = Arc::new(AtomicI64::new(1_794_000_000_000));
        let clock = now.clone();
        let backlog = settings.backlog;
        let parts = Parts {
            store: store.clone(),
            tools: Arc::new(ToolSet::new(tools).unwrap()),
            models: Arc::new(models),
            effects: Arc::new(ostler_tools::planner(store.clone())),
            deltas: Deltas::default(),
            clock: Clock::of(move || Timestamp::from_millis(clock.load(Ordering::SeqCst))),
            settings,
        };
        let worker = Worker::new(parts, live);
        let intake = Intake::new(store.clone(), worker.bell().clone(), backlog);
        Self { store, worker, intake, now, sent: AtomicU64::new(0) }
    }

    /// What belongs to the org.
    pub(crate) fn org(&self) -> OrgStore<'_> {
        self.store.org(ORG)
    }

    /// Creates an agent, or changes it.
    pub(crate) async fn save_agent(&self, agent: Agent) {
        let id = agent.id;
        self.org().save_agent(agent).await.unwrap();
        if self.org().soul_versions(id).await.unwrap().is_empty() {
            let soul = Soul { personality: format!("I am {id}."), ..Soul::default() };
            let at = Timestamp::from_millis(0);
            let version = SoulVersion { version: 1, soul, origin: SoulOrigin::Created, at };
            self.org().push_soul(id, version).await.unwrap();
        }
    }

    /// Connects the org to a channel.
    pub(crate) async fn bind(&self, id: BindingId, channel: Channel, agent: AgentId) {
        let binding = Binding { id, channel, enabled: true, priority: 1 };
        let bound = OrgBinding { binding, agent, settings: "{}".into(), secret: None };
        self.org().save_binding(bound).await.unwrap();
    }

    /// Changes what the org has set.
    pub(crate) async fn save_settings(&self, settings: &OrgSettings) {
        let (id, data) = (settings_record(ORG), serde_json::to_string(settings).unwrap());
        match self.org().record(SETTINGS, id).await {
            Ok(read) => self.org().update_record(SETTINGS, &read, data).await.unwrap(),
            Err(_) => self.org().create_record(SETTINGS, id, data).await.unwrap(),
        }
    }

    /// Gives the org credits.
    pub(crate) async fn grant(&self, amount: u64) {
        let new = NewGrant {
            reference: format!("test-{}", self.sent.fetch_add(1, Ordering::SeqCst)),
            pool: PoolKind::Purchased,
            amount: Credits::new(amount),
        };
        self.org().grant(new).await.unwrap();
    }

    /// The conversation of somebody on the web chat.
    pub(crate) fn key(&self, who: &str) -> ConversationKey {
        let peer = Peer::Person(who.to_owned());
        ConversationKey { org: ORG, binding: WEBCHAT, peer, entry: EntryKind::Customer }
    }

    /// Somebody writes.
    pub(crate) async fn write(&self, who: &str, text: &str) -> Accepted {
        let number = self.sent.fetch_add(1, Ordering::SeqCst);
        self.write_as(who, text, &format!("{who}-{number}")).await
    }

    /// A number that no message had before.
    pub(crate) fn next(&self) -> u64 {
        self.sent.fetch_add(1, Ordering::SeqCst)
    }

    /// Somebody writes, with the provider's own id of it.
    pub(crate) async fn write_as(&self, who: &str, text: &str, id: &str) -> Accepted {
        let from = Writer { identifier: who.into(), name: Some(who.into()), locale: None };
        let entry = Entry::Wrote(Wrote {
            parts: vec![Part::text(text)],
            from,
            provider_id: Some(id.into()),
            ..Wrote::default()
        });
        self.intake.accept(self.key(who), id, &entry).await.unwrap()
    }

    /// Gia works no more, and Enzo answers instead.
    pub(crate) async fn without_gia(&self) {
        let gia = agent(GIA, "gia", Subtype::CustomerService);
        self.save_agent(Agent { status: AgentStatus::Paused, ..gia }).await;
    }

    /// What an operator can do, as whoever sits at the machine.
    pub(crate) fn operations(&self) -> Operations {
        Operations::beside(&self.worker)
    }

    /// Makes somebody one of the org's people.
    pub(crate) async fn member(&self, id: UserId, role: Role) {
        let email = format!("{id}@example.org");
        let user = User { id, email, name: "Somebody".into() };
        self.store.create_user(user, "$test$hash".parse().unwrap()).await.unwrap();
        self.org().set_member(id, role).await.unwrap();
    }

    /// Tells the org where its people are: the owner on Telegram and by e-mail,
    /// the team in a group.
    pub(crate) async fn with_people(&self, team: TeamConfig) {
        self.bind(TELEGRAM, Channel::Telegram, GIA).await;
        self.bind(EMAIL, Channel::Email, GIA).await;
        let at = |binding, identifier: &str| {
            Some(Address { binding, identifier: identifier.to_owned() })
        };
        let people = Whereabouts {
            owner: at(TELEGRAM, "1001"),
            team_group: at(TELEGRAM, "-500"),
            owner_email: at(EMAIL, "owner@bella.example"),
        };
        let settings = OrgSettings { team: Some(team), people, ..OrgSettings::default() };
        self.save_settings(&settings).await;
    }

    /// Looks at all that is due, and does it.
    pub(crate) async fn sweep(&self) -> Swept {
        let sweeper = Sweeper::beside(&self.worker, Duration::from_secs(900));
        let swept = sweeper.sweep_once().await.unwrap();
        self.work().await;
        swept
    }

    /// What the owner has not read.
    pub(crate) async fn notices(&self) -> Vec<StoredNotice> {
        self.org().unread_notices(Recipient::Owner, None, 100).await.unwrap()
    }

    /// What happened, by name.
    pub(crate) async fn events(&self) -> Vec<String> {
        let events = self.org().events_after(EventCursor::default(), 1000).await.unwrap();
        events.into_iter().map(|one| one.kind).collect()
    }

    /// Answers all that waits.
    pub(crate) async fn work(&self) {
        while self.worker.answer_next().await.unwrap() {}
    }

    /// Sends all that waits, and says what that was.
    pub(crate) async fn deliver(&self) -> Vec<Outgoing> {
        let mut sent = Vec::new();
        while let Some(row) = self.store.claim_outbox(Duration::from_secs(10)).await.unwrap() {
            sent.push(serde_json::from_str(&row.payload).unwrap());
            self.store.org(row.org).record_delivery(&row, Delivery::Sent).await.unwrap();
        }
        sent
    }

    /// Somebody writes and hears this.
    pub(crate) async fn say(&self, who: &str, text: &str) -> Vec<String> {
        self.write(who, text).await;
        self.work().await;
        let sent = self.deliver().await;
        let to = Peer::Person(who.to_owned());
        sent.iter().filter(|one| one.to == to).map(text_of).collect()
    }

    /// The newest session of somebody.
    pub(crate) async fn session(&self, who: &str) -> Session {
        let all = self.sessions().await;
        let peer = Peer::Person(who.to_owned());
        all.into_iter().find(|one| one.peer == peer).expect("a session")
    }

    /// All sessions, newest first.
    pub(crate) async fn sessions(&self) -> Vec<Session> {
        let stored = self.org().sessions(Which::All, None, 100).await.unwrap();
        stored.iter().map(|one| serde_json::from_str(&one.data).unwrap()).collect()
    }

    /// The runs of somebody's newest session, oldest first.
    pub(crate) async fn runs(&self, who: &str) -> Vec<RunRecord> {
        let session = self.session(who).await;
        let stored = self.org().runs(session.id, None, 100).await.unwrap();
        stored.iter().rev().map(|one| serde_json::from_str(&one.data).unwrap()).collect()
    }

    /// The messages of somebody's newest session, oldest first.
    pub(crate) async fn thread(&self, who: &str) -> Vec<ThreadMessage> {
        let session = self.session(who).await;
        let stored = self.org().last_messages(session.thread, 100).await.unwrap();
        stored.iter().map(|one| serde_json::from_str(&one.data).unwrap()).collect()
    }

    /// Lets time pass for agents and sessions.
    pub(crate) fn pass(&self, time: Duration) {
        let millis = i64::try_from(time.as_millis()).unwrap();
        self.now.fetch_add(millis, Ordering::SeqCst);
    }
}

/// The words of a message that was sent.
pub(crate) fn text_of(outgoing: &Outgoing) -> String {
    let words = outgoing.parts.iter().filter_map(|part| match part {
        Part::Text { text } => Some(text.as_str()),
        _ => None,
    });
    words.collect::<Vec<_>>().join("\n")
}
