//! Conversations and turns for the measurements.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use ostler_domain::id::{
    AgentId, BindingId, ConversationId, InboxId, MessageId, OrgId, OutboxId, ReservationId, RunId,
    SessionId, ThreadId,
};
use ostler_domain::money::Credits;
use ostler_domain::money::ledger::{Charge, Expense};
use ostler_domain::org::Org;
use ostler_domain::org::plan::LicencePlan;
use ostler_store::{
    Author, ClaimPolicy, Lease, LeaseAction, NewEvent, NewInboxEntry, NewMessage, NewOutboxEntry,
    NewRun, SessionState, Store, TurnCharges, TurnCommit, TurnSideEffects,
};
use ostler_testkit as testkit;
use tokio_postgres::NoTls;

use crate::BenchError;

/// Returns 256 bytes of JSON, the payload of each row.
pub(crate) fn payload() -> String {
    format!("{{\"text\":\"{}\"}}", "x".repeat(245))
}

pub(crate) fn next() -> u128 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    u128::from(NEXT.fetch_add(1, Ordering::Relaxed))
}

const ORG: OrgId = OrgId::from_u128(1);

async fn create_org(store: &Store) -> Result<(), BenchError> {
    let org = Org { plan: LicencePlan::Enterprise, ..testkit::org(ORG, "bench") };
    Ok(store.create_org(org).await?)
}

/// Creates `count` conversations, each leased to its own worker.
pub(crate) async fn conversations(store: &Store, count: usize) -> Result<Vec<Lease>, BenchError> {
    create_org(store).await?;
    let policy = ClaimPolicy {
        lease: Duration::from_secs(3600),
        max_per_org: u32::MAX,
        max_attempts: u32::MAX,
        max_checkpoint_version: 0,
    };
    let mut leases = Vec::with_capacity(count);
    for n in 0..count {
        let message = NewInboxEntry {
            id: InboxId::from_u128(next()),
            key: testkit::customer_key(ORG, BindingId::from_u128(1), &n.to_string()),
            new_conversation: ConversationId::from_u128(next()),
            provider_id: n.to_string(),
            payload: payload(),
        };
        store.org(ORG).accept_inbound(message, u32::MAX).await?;
        leases.extend(store.claim_conversation(policy).await?.map(|claimed| claimed.lease));
    }
    Ok(leases)
}

/// Returns a realistic turn: two messages, a run, an outbox entry, three events.
pub(crate) fn turn(lease: Lease) -> TurnCommit {
    let number = lease.conversation().as_u128();
    let message = || NewMessage { id: MessageId::from_u128(next()), data: payload() };
    let event = || NewEvent { kind: "message_end".into(), data: payload() };
    TurnCommit {
        lease,
        start_epoch: lease.epoch(),
        read_epoch: lease.epoch(),
        session: SessionState {
            id: SessionId::from_u128(number),
            thread: ThreadId::from_u128(number),
            status: "active".into(),
            data: payload(),
        },
        run: NewRun { id: RunId::from_u128(next()), data: payload(), harness: None },
        messages: vec![message(), message()],
        charges: vec![TurnCharges {
            payer: ORG,
            reservation: ReservationId::from_u128(next()),
            budget_owner: AgentId::from_u128(1),
            charges: vec![Charge { expense: Expense::Model, amount: Credits::new(1) }],
        }],
        outbox: vec![NewOutboxEntry {
            binding: None,
            id: OutboxId::from_u128(next()),
            author: Author::Agent,
            payload: payload(),
        }],
        events: vec![event(), event(), event()],
        changes: vec![],
        side_effects: TurnSideEffects::default(),
        answered: vec![],
        has_checkpoint: false,
        lease_action: LeaseAction::Keep,
    }
}

/// Creates a thread of `messages` messages.
pub(crate) async fn thread(
    store: &Store,
    messages: usize,
) -> Result<(OrgId, ThreadId), BenchError> {
    let leases = conversations(store, 1).await?;
    let mut left = messages;
    for lease in leases.iter().cycle() {
        if left == 0 {
            break;
        }
        let some = left.min(1000);
        let mut commit = turn(*lease);
        commit.messages = (0..some)
            .map(|_| NewMessage { id: MessageId::from_u128(next()), data: payload() })
            .collect();
        store.commit_turn(&commit).await?;
        left -= some;
    }
    let number = leases.first().map_or(0, |lease| lease.conversation().as_u128());
    Ok((ORG, ThreadId::from_u128(number)))
}

/// A temporary database on a server.
pub(crate) struct PostgresDatabase {
    server: String,
    name: String,
    pub(crate) url: String,
}

impl PostgresDatabase {
    pub(crate) async fn create(server: &str) -> Result<Self, BenchError> {
        let name = format!("ostler_bench_{}_{}", std::process::id(), next());
        execute(server, &format!("CREATE DATABASE {name}")).await?;
        let base = server.rsplit_once('/').map_or(server, |(base, _)| base);
        Ok(Self { url: format!("{base}/{name}"), server: server.to_owned(), name })
    }

    pub(crate) async fn drop(self) -> Result<(), BenchError> {
        execute(&self.server, &format!("DROP DATABASE {} WITH (FORCE)", self.name)).await
    }
}

async fn execute(url: &str, sql: &str) -> Result<(), BenchError> {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await?;
    let running = tokio::spawn(connection);
    let result = client.batch_execute(sql).await;
    drop(client);
    running.await??;
    Ok(result?)
}
