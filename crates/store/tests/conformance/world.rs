//! Databases for tests, and a small world in them.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use ostler_domain::agent::autonomy::AutonomyLevel;
use ostler_domain::agent::limits::AgentLimits;
use ostler_domain::agent::subtype::Subtype;
use ostler_domain::agent::{Agent, AgentKind, AgentStatus, Protection, ToolChoice};
use ostler_domain::id::{AgentId, BindingId, OrgId};
use ostler_domain::org::plan::Plan;
use ostler_domain::org::{Org, Place};
use ostler_domain::scope::policy::ToolPolicy;
use ostler_domain::session::key::{ConversationKey, Entry, Peer};
use ostler_domain::time::Timestamp;
use ostler_domain::tool::profile::Profile;
use ostler_store::{
    Accepted, AfterTurn, Aside, Author, ClaimPolicy, Claimed, Inbound, NewEvent, NewMessage,
    NewOutbound, NewRun, SessionState, Store, TurnCommit,
};
use tokio_postgres::NoTls;

/// The next number, which makes ids that sort in the order they were made, and
/// that no other process makes.
pub(crate) fn next() -> u128 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    static STARTED: OnceLock<u128> = OnceLock::new();
    let started = STARTED.get_or_init(|| {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        since.expect("the clock is set").as_nanos() << 32
    });
    started + u128::from(NEXT.fetch_add(1, Ordering::Relaxed))
}

/// A database of a test's own.
pub(crate) struct Backend {
    pub(crate) url: String,
    _folder: Option<tempfile::TempDir>,
}

impl Backend {
    pub(crate) fn sqlite_file() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let url = format!("sqlite:{}", folder.path().join("ostler.db").display());
        Self { url, _folder: Some(folder) }
    }

    pub(crate) fn sqlite_memory() -> Self {
        Self { url: "sqlite::memory:".into(), _folder: None }
    }

    /// A new database on the server that `make test` started, and a role of
    /// its own that owns it: no superuser, so that row-level security holds it.
    pub(crate) async fn postgres() -> Self {
        let server = std::env::var("OSTLER_TEST_POSTGRES_URL")
            .expect("OSTLER_TEST_POSTGRES_URL is not set; run the tests with `make test`");
        let (client, connection) =
            tokio_postgres::connect(&server, NoTls).await.expect("the server answers");
        tokio::spawn(connection);
        let name = format!("t{}_{}", std::process::id(), next());
        let role = format!("CREATE ROLE {name} LOGIN PASSWORD '{name}'");
        client.batch_execute(&role).await.expect("a new role");
        let database = format!("CREATE DATABASE {name} OWNER {name}");
        client.batch_execute(&database).await.expect("a new database");
        let (_, place) = server.rsplit_once('@').expect("the address names a server");
        let (place, _) = place.rsplit_once('/').expect("the address names a database");
        Self { url: format!("postgres://{name}:{name}@{place}/{name}"), _folder: None }
    }

    /// Changes the database behind the store's back.
    pub(crate) async fn execute(&self, sql: &str) {
        if let Some(path) = self.url.strip_prefix("sqlite:") {
            rusqlite::Connection::open(path).unwrap().execute_batch(sql).unwrap();
        } else {
            let (client, connection) = tokio_postgres::connect(&self.url, NoTls).await.unwrap();
            tokio::spawn(connection);
            let everywhere = format!("SET ostler.scope = 'all'; {sql}");
            client.batch_execute(&everywhere).await.unwrap();
        }
    }

    /// An id, as the database's own language writes it.
    pub(crate) fn id(&self, bits: u128) -> String {
        if self.url.starts_with("sqlite:") {
            format!("x'{bits:032x}'")
        } else {
            format!("decode('{bits:032x}', 'hex')")
        }
    }

    /// Writes an org as a program of the first schema did.
    pub(crate) async fn with_old_org(&self, id: u128) -> OrgId {
        let data = serde_json::to_string(&org(id)).unwrap();
        let key = self.id(id);
        let sql = format!("INSERT INTO orgs (id, slug, data) VALUES ({key}, 'org{id}', '{data}')");
        self.execute(&sql).await;
        OrgId::from_u128(id)
    }

    /// The two whose rows a test can reach beside the store.
    pub(crate) async fn both() -> [Self; 2] {
        [Self::sqlite_file(), Self::postgres().await]
    }

    /// How many rows there are, seen from beside the store.
    pub(crate) async fn count(&self, of: &str) -> i64 {
        let sql = format!("SELECT count(*) FROM {of}");
        if let Some(path) = self.url.strip_prefix("sqlite:") {
            let file = rusqlite::Connection::open(path).expect("the file opens");
            return file.query_row(&sql, [], |row| row.get(0)).expect("a number");
        }
        let (client, connection) =
            tokio_postgres::connect(&self.url, NoTls).await.expect("the server answers");
        tokio::spawn(connection);
        client.batch_execute("SET ostler.scope = 'all'").await.expect("a scope");
        client.query_one(&sql, &[]).await.expect("a number").get(0)
    }

    pub(crate) async fn migrated(&self) -> Store {
        let store = Store::connect(&self.url).expect("the database opens");
        store.migrate().await.expect("the schema is made");
        store
    }
}

/// How tests claim conversations.
pub(crate) const POLICY: ClaimPolicy =
    ClaimPolicy { lease: Duration::from_secs(30), per_org: 8, max_attempts: 5, understands: 1 };

pub(crate) fn org(id: u128) -> Org {
    Org {
        id: OrgId::from_u128(id),
        slug: format!("org{id}"),
        name: format!("Org {id}"),
        place: Place::TopLevel,
        plan: Plan::Pro,
        sub_orgs_enabled: false,
        time_zone: "Europe/Rome".into(),
        retention_days: None,
    }
}

pub(crate) async fn with_org(store: &Store, id: u128) -> OrgId {
    store.create_org(org(id)).await.expect("a new org");
    OrgId::from_u128(id)
}

/// The platform's org.
pub(crate) async fn with_platform(store: &Store, id: u128) -> OrgId {
    let platform = Org { place: Place::Platform, ..org(id) };
    store.create_org(platform).await.expect("a new org");
    OrgId::from_u128(id)
}

pub(crate) fn agent(org: OrgId, slug: &str) -> Agent {
    Agent {
        id: AgentId::from_u128(next()),
        org,
        slug: slug.into(),
        display_name: slug.into(),
        subtype: Subtype::CustomerService,
        protection: Protection::Open,
        status: AgentStatus::Active,
        kind: AgentKind::Conversational,
        template: None,
        tools: ToolChoice { profile: Profile::Support, policy: ToolPolicy::default() },
        models: vec!["scripted/demo".into()],
        brand: None,
        autonomy: AutonomyLevel::Supervised,
        require_approval_for: [].into(),
        blocked_topics: vec![],
        limits: AgentLimits::default(),
        knowledge_tags: [].into(),
        created_at: Timestamp::from_millis(0),
    }
}

/// A message of one person; `provider_id` is what the channel calls it.
pub(crate) fn message(org: OrgId, person: &str, provider_id: &str) -> Inbound {
    Inbound {
        id: ostler_domain::id::InboxId::from_u128(next()),
        key: ConversationKey {
            org,
            binding: BindingId::from_u128(1),
            peer: Peer::Person(person.into()),
            entry: Entry::Customer,
        },
        new_conversation: ostler_domain::id::ConversationId::from_u128(next()),
        provider_id: provider_id.into(),
        payload: format!("{{\"text\":\"{provider_id}\"}}"),
    }
}

pub(crate) async fn accept(store: &Store, org: OrgId, person: &str, id: &str) -> Accepted {
    store.org(org).accept_inbound(message(org, person, id), 1000).await.expect("accepted")
}

pub(crate) async fn claim(store: &Store) -> Option<Claimed> {
    store.claim_conversation(POLICY).await.expect("claiming works")
}

/// A turn that answers all that was claimed with one reply.
pub(crate) fn turn(claimed: &Claimed) -> TurnCommit {
    let said = claimed.messages.iter().map(|message| message.payload.clone());
    let reply = "{\"text\":\"reply\"}".to_owned();
    // The thread of a test's conversation has the conversation's own number.
    let number = claimed.lease.conversation().as_u128();
    TurnCommit {
        lease: claimed.lease,
        began: claimed.lease.epoch(),
        read: claimed.lease.epoch(),
        session: SessionState {
            id: ostler_domain::id::SessionId::from_u128(number),
            thread: ostler_domain::id::ThreadId::from_u128(number),
            status: "active".into(),
            data: "{}".into(),
        },
        run: NewRun { id: ostler_domain::id::RunId::from_u128(next()), data: "{}".into() },
        messages: said
            .chain([reply.clone()])
            .map(|data| NewMessage { id: ostler_domain::id::MessageId::from_u128(next()), data })
            .collect(),
        settle: vec![],
        outbox: vec![NewOutbound {
            id: ostler_domain::id::OutboxId::from_u128(next()),
            author: Author::Agent,
            payload: reply,
        }],
        events: vec![NewEvent { kind: "turn_done".into(), data: "{}".into() }],
        changes: vec![],
        aside: Aside::default(),
        answered: claimed.messages.iter().map(|message| message.id).collect(),
        then: AfterTurn::Release,
    }
}

/// The same turn, worked out anew after a person has stepped in once.
pub(crate) fn overtaken(turn: TurnCommit) -> TurnCommit {
    TurnCommit { read: turn.read + 1, ..turn }
}

/// What the thread of a conversation says.
pub(crate) async fn said(store: &Store, claimed: &Claimed) -> Vec<String> {
    let thread = ostler_domain::id::ThreadId::from_u128(claimed.lease.conversation().as_u128());
    let messages = store.org(claimed.lease.org()).last_messages(thread, 100).await.unwrap();
    messages.into_iter().map(|message| message.data).collect()
}
