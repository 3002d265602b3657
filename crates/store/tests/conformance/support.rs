//! Test data.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use ostler_domain::agent::Agent;
use ostler_domain::id::{AgentId, BindingId, OrgId};
use ostler_domain::org::{Org, OrgPlace};
use ostler_store::{
    AcceptOutcome, Author, ClaimPolicy, ClaimedConversation, LeaseAction, NewEvent, NewInboxEntry,
    NewMessage, NewOutboxEntry, NewRun, SessionState, Store, TurnCommit, TurnSideEffects,
};
use ostler_testkit as testkit;
pub(crate) use ostler_testkit::TestDatabase;

/// Returns a number for an id: larger than earlier ones, and unique among processes.
pub(crate) fn next() -> u128 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    static STARTED: OnceLock<u128> = OnceLock::new();
    let started = STARTED.get_or_init(|| {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        since.expect("the clock is set").as_nanos() << 32
    });
    started + u128::from(NEXT.fetch_add(1, Ordering::Relaxed))
}

/// The claim policy of most tests.
pub(crate) const POLICY: ClaimPolicy = ClaimPolicy {
    lease: Duration::from_secs(30),
    max_per_org: 8,
    max_attempts: 5,
    max_checkpoint_version: 1,
};

pub(crate) fn org(id: u128) -> Org {
    testkit::org(OrgId::from_u128(id), &format!("org{id}"))
}

pub(crate) async fn with_org(store: &Store, id: u128) -> OrgId {
    store.create_org(org(id)).await.expect("a new org");
    OrgId::from_u128(id)
}

/// Creates the platform's org.
pub(crate) async fn with_platform(store: &Store, id: u128) -> OrgId {
    let platform = Org { place: OrgPlace::Platform, ..org(id) };
    store.create_org(platform).await.expect("a new org");
    OrgId::from_u128(id)
}

pub(crate) fn agent(org: OrgId, slug: &str) -> Agent {
    testkit::agent(org, AgentId::from_u128(next()), slug)
}

/// A message of a person.
pub(crate) fn message(org: OrgId, person: &str, provider_id: &str) -> NewInboxEntry {
    NewInboxEntry {
        id: ostler_domain::id::InboxId::from_u128(next()),
        key: testkit::customer_key(org, BindingId::from_u128(1), person),
        new_conversation: ostler_domain::id::ConversationId::from_u128(next()),
        provider_id: provider_id.into(),
        payload: format!("{{\"text\":\"{provider_id}\"}}"),
    }
}

pub(crate) async fn accept(store: &Store, org: OrgId, person: &str, id: &str) -> AcceptOutcome {
    store.org(org).accept_inbound(message(org, person, id), 1000).await.expect("accepted")
}

pub(crate) async fn claim(store: &Store) -> Option<ClaimedConversation> {
    store.claim_conversation(POLICY).await.expect("claiming works")
}

/// A turn that answers all claimed messages with one reply.
pub(crate) fn turn(claimed: &ClaimedConversation) -> TurnCommit {
    let inputs = claimed.messages.iter().map(|message| message.payload.clone());
    let reply = "{\"text\":\"reply\"}".to_owned();
    // Session and thread have the same number as the conversation.
    let number = claimed.lease.conversation().as_u128();
    TurnCommit {
        lease: claimed.lease,
        start_epoch: claimed.lease.epoch(),
        read_epoch: claimed.lease.epoch(),
        session: SessionState {
            id: ostler_domain::id::SessionId::from_u128(number),
            thread: ostler_domain::id::ThreadId::from_u128(number),
            status: "active".into(),
            data: "{}".into(),
        },
        run: NewRun {
            id: ostler_domain::id::RunId::from_u128(next()),
            data: "{}".into(),
            harness: None,
        },
        messages: inputs
            .chain([reply.clone()])
            .map(|data| NewMessage { id: ostler_domain::id::MessageId::from_u128(next()), data })
            .collect(),
        charges: vec![],
        outbox: vec![NewOutboxEntry {
            binding: None,
            id: ostler_domain::id::OutboxId::from_u128(next()),
            author: Author::Agent,
            payload: reply,
        }],
        events: vec![NewEvent { kind: "turn_done".into(), data: "{}".into() }],
        changes: vec![],
        side_effects: TurnSideEffects::default(),
        answered: claimed.messages.iter().map(|message| message.id).collect(),
        has_checkpoint: true,
        lease_action: LeaseAction::Release,
    }
}

/// The same turn with a session read after a takeover.
pub(crate) fn after_takeover(turn: TurnCommit) -> TurnCommit {
    TurnCommit { read_epoch: turn.read_epoch + 1, ..turn }
}

/// Returns the messages of a conversation's thread.
pub(crate) async fn thread_messages(store: &Store, claimed: &ClaimedConversation) -> Vec<String> {
    let thread = ostler_domain::id::ThreadId::from_u128(claimed.lease.conversation().as_u128());
    let messages = store.org(claimed.lease.org()).last_messages(thread, 100).await.unwrap();
    messages.into_iter().map(|message| message.data).collect()
}
