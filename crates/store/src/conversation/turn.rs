//! The commit of a turn: all of its changes in one transaction, or none.

use ostler_domain::event::OrgEvent;
use ostler_domain::id::{
    BindingId, ConversationId, InboxId, MessageId, OrgId, OutboxId, RunId, SessionId, ThreadId,
};

use crate::backend::job::StoreFuture;
use crate::backend::sql::{Sql, sql};
use crate::backend::value::Value;
use crate::backend::{Refusal, Statement, Tx};
use crate::contacts::blob_uses;
use crate::conversation::approvals;
use crate::conversation::checkpoint;
use crate::conversation::lease::{Lease, RELEASE, fence};
use crate::conversation::record_changes;
use crate::conversation::runs::{NewRun, harness_row, run_row};
use crate::delivery::outbox;
use crate::error::{Result, StoreError};
use crate::ledger::{TurnCharges, charge_statement};
use crate::{RecordChange, Store, TurnSideEffects, events};

/// All changes of a turn. Structured values are JSON texts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnCommit {
    pub lease: Lease,
    /// The epoch of the conversation when the turn began. After a later takeover,
    /// the messages of the agent are withdrawn.
    pub start_epoch: i64,
    /// The epoch of the conversation when the session was read from which the new
    /// one was computed.
    pub read_epoch: i64,
    /// The session after the turn.
    pub session: SessionState,
    pub run: NewRun,
    /// New messages of the thread, in order.
    pub messages: Vec<NewMessage>,
    /// The charges on each reservation of the turn. All reservations belong to the
    /// org, or all to the one that pays for it.
    pub charges: Vec<TurnCharges>,
    /// Messages to send, in order.
    pub outbox: Vec<NewOutboxEntry>,
    pub events: Vec<NewEvent>,
    /// Changes of records and contacts by tools, in order.
    pub changes: Vec<RecordChange>,
    pub side_effects: TurnSideEffects,
    /// The inbox entries that the turn answers.
    pub answered: Vec<InboxId>,
    /// Whether a checkpoint of the turn may have been stored under this lease.
    pub has_checkpoint: bool,
    pub lease_action: LeaseAction,
}

/// What happens to the lease after the commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeaseAction {
    /// The worker keeps it, to answer messages that have come meanwhile.
    Keep,
    Release,
}

/// A session to store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionState {
    pub id: SessionId,
    pub thread: ThreadId,
    /// The status as a word, for queries.
    pub status: String,
    pub data: String,
}

impl SessionState {
    /// Returns whether the session is closed. Storing it then withdraws its open
    /// approvals.
    pub(crate) fn is_closed(&self) -> bool {
        self.status == "closed"
    }
}

/// A message to append to a thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewMessage {
    pub id: MessageId,
    pub data: String,
}

/// The author of an outgoing message. A takeover withdraws the messages of agents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Author {
    Agent,
    Human,
    /// The runtime.
    System,
    /// The runtime, for the org's own people: about the conversation but not part of
    /// it, so that neither waits for the other.
    Notice,
    /// An agent, to somebody who is not in the conversation. Neither waits for the other, and a
    /// takeover does not withdraw it.
    Outreach,
}

impl Author {
    pub(crate) const ALL: [Self; 5] =
        [Self::Agent, Self::Human, Self::System, Self::Notice, Self::Outreach];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::Human => "human",
            Self::System => "system",
            Self::Notice => "notice",
            Self::Outreach => "outreach",
        }
    }
}

/// A message to send.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewOutboxEntry {
    pub id: OutboxId,
    /// The binding that it is sent through, if any.
    pub binding: Option<BindingId>,
    pub author: Author,
    pub payload: String,
}

/// An event to append to the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewEvent {
    /// The event name of the wire format.
    pub kind: String,
    pub data: String,
}

impl NewEvent {
    /// Creates the entry of an event.
    pub fn new(event: &OrgEvent) -> Self {
        // Events have no maps with keys other than texts, so they can always be written.
        let data = serde_json::to_string(event).unwrap_or_else(|_| "null".into());
        Self { kind: event.kind().name().to_owned(), data }
    }
}

const UPSERT_SESSION: Sql = sql!(
    "INSERT INTO sessions (org, id, conversation, thread, status, data)
     VALUES (?1, ?2, ?3, ?4, ?5, ?6)
     ON CONFLICT (org, id) DO UPDATE SET status = excluded.status, data = excluded.data"
);
const RUN_EXISTS: Sql = sql!("SELECT 1 FROM runs WHERE org = ?1 AND id = ?2");
const INSERT_MESSAGE: Sql = sql!(
    "INSERT INTO messages (org, thread, seq, id, data) VALUES (?1, ?2,
       1 + coalesce((SELECT max(m.seq) FROM messages m WHERE m.org = ?1 AND m.thread = ?2), 0),
       ?3, ?4)"
);
/// The fence has reserved the sequence number. A message of an agent from before a
/// takeover is withdrawn immediately.
const INSERT_OUTBOX: Sql = Sql {
    // INSERT … SELECT may insert several rows, for which SQLite copies every page.
    sqlite: "INSERT INTO outbox
         (org, id, conversation, lane, seq, author, epoch, payload, due_at, state)
       VALUES (?1, ?2, ?3, ?8,
         (SELECT out_seq FROM conversations WHERE org = ?1 AND id = ?3) - ?7,
         ?4, ?5, ?6, now_ms(),
         CASE WHEN ?4 = 'agent'
              AND (SELECT epoch FROM conversations WHERE org = ?1 AND id = ?3) <> ?5
           THEN 'withdrawn' ELSE 'pending' END)",
    postgres: "INSERT INTO outbox
           (org, id, conversation, lane, seq, author, epoch, payload, due_at, state)
         SELECT c.org, $2, c.id, $8, c.out_seq - $7, $4, $5, $6, now_ms(),
           CASE WHEN $4 = 'agent' AND c.epoch <> $5 THEN 'withdrawn' ELSE 'pending' END
         FROM conversations c WHERE c.org = $1 AND c.id = $3",
};
const MARK_ANSWERED: Sql = Sql {
    sqlite: "UPDATE inbox SET state = 'done', run = ?4
       WHERE org = ?1 AND id = ?2 AND conversation = ?3 AND state = 'pending'",
    postgres: "WITH answered AS (
         UPDATE inbox SET state = 'done', run = $4
         WHERE org = $1 AND id = $2 AND conversation = $3 AND state = 'pending' RETURNING 1)
       SELECT refuse('not_pending') WHERE NOT EXISTS (SELECT 1 FROM answered)",
};

impl Store {
    /// Commits a turn. Repeating a commit that has happened changes nothing.
    ///
    /// Fails with [`StoreError::StaleLease`] if another worker holds the lease, with
    /// [`StoreError::ConversationChanged`] if a takeover has happened since the session
    /// was read, and with [`StoreError::StaleChanges`] if one of the changes is based on
    /// an old version. After the last two the lease is still valid, and the turn can be
    /// committed with values computed again.
    pub async fn commit_turn(&self, turn: &TurnCommit) -> Result<CommitOutcome> {
        let (org, run) = (turn.lease.org, turn.run.id);
        let payers = turn.charges.iter().map(|charges| charges.payer);
        let sharers = turn.side_effects.shared_records.iter().flat_map(|change| &change.orgs);
        let others: Vec<OrgId> = payers.chain(sharers.copied()).collect();
        let commit = Commit::new(turn)?;
        match self.write_with_others(org, others, move |tx| commit.run(tx)).await {
            Err(
                StoreError::StaleLease
                | StoreError::ConversationChanged
                | StoreError::Conflict(_)
                | StoreError::NotFound(_),
            ) if self.run_exists(org, run).await? => Ok(CommitOutcome::AlreadyCommitted),
            result => result,
        }
    }

    fn run_exists(&self, org: OrgId, run: RunId) -> StoreFuture<bool> {
        let params = [org.into(), run.into()];
        self.org(org).read(move |tx| Ok(tx.first(&RUN_EXISTS, &params)?.is_some()))
    }
}

/// How a turn was committed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommitOutcome {
    Complete,
    /// A takeover has happened since the turn began: the run and the changes of its
    /// tools are stored, and the messages of the agent are withdrawn.
    RepliesWithdrawn,
    /// An earlier attempt had committed the turn, but the worker did not learn of it.
    AlreadyCommitted,
}

/// A turn as statements. The caller builds them, so that the SQLite writer thread only
/// runs them.
struct Commit {
    org: OrgId,
    outcome: CommitOutcome,
    /// The first [`CHECKS`] decide whether the turn can be committed.
    statements: Vec<Statement>,
    changes: Vec<RecordChange>,
    side_effects: TurnSideEffects,
    /// Sessions that are closed after the turn.
    closed: Vec<SessionId>,
}

/// The number of statements that can refuse the commit.
const CHECKS: usize = 2;

impl Commit {
    fn new(turn: &TurnCommit) -> Result<Self> {
        let TurnCommit { session, run, outbox, side_effects, .. } = turn;
        let (lease, start_epoch, read_epoch) = (turn.lease, turn.start_epoch, turn.read_epoch);
        let org = lease.org;
        let outcome = if start_epoch == read_epoch {
            CommitOutcome::Complete
        } else {
            CommitOutcome::RepliesWithdrawn
        };
        let writer = MessageWriter {
            org,
            conversation: lease.conversation,
            epoch: start_epoch,
            thread: session.thread,
        };
        let mut all = Vec::with_capacity(16);
        all.extend(checks(lease, read_epoch, session.id, run, outbox.len()));
        all.extend(harness_row(org, run));
        all.push(session_row(lease, session));
        all.extend(turn.answered.iter().map(|id| answered(lease, *id, run.id)));
        all.extend(writer.write(&turn.messages, outbox));
        all.extend(side_effects.statements(org, session.id));
        all.extend(events::append(org, Some(run.id), &turn.events)?);
        for charges in &turn.charges {
            all.push(charge_statement(charges)?);
        }
        if turn.has_checkpoint || lease.has_checkpoint {
            all.push(checkpoint::delete_statement(lease));
        }
        if turn.lease_action == LeaseAction::Release {
            all.push(statement(&RELEASE, [org.into(), lease.conversation.into()]));
        }
        let sessions = [Some(session), side_effects.closed_session.as_ref()];
        let sessions = sessions.into_iter().flatten().filter(|one| one.is_closed());
        let closed = sessions.map(|one| one.id).collect();
        let (changes, side_effects) = (turn.changes.clone(), side_effects.clone());
        Ok(Self { org, outcome, statements: all, changes, side_effects, closed })
    }

    fn run(&self, tx: &Tx) -> Result<CommitOutcome> {
        // The fence comes first and locks the row of the conversation, so messages
        // accepted from now on come after this turn. The run comes before the
        // changes, so that a repeated commit is recognized before it makes them.
        let needs_queries = self.side_effects.needs_queries() || !self.closed.is_empty();
        if self.changes.is_empty() && !needs_queries {
            tx.finish(&self.statements)?;
        } else {
            let (checks, others) = self.statements.split_at(CHECKS);
            tx.batch(checks)?;
            record_changes::apply(tx, self.org, &self.changes).map_err(stale_changes)?;
            for change in &self.side_effects.shared_records {
                change.apply(tx).map_err(stale_changes)?;
            }
            self.side_effects.apply(tx, self.org)?;
            for session in &self.closed {
                approvals::withdraw_for_session(tx, self.org, *session)?;
            }
            tx.finish(others)?;
        }
        Ok(self.outcome)
    }
}

/// Converts the error of a change that is based on an old version.
pub(crate) fn stale_changes(error: StoreError) -> StoreError {
    match error {
        StoreError::Conflict(_) | StoreError::NotFound(_) => StoreError::StaleChanges(error.into()),
        other => other,
    }
}

fn checks(
    lease: Lease,
    read_epoch: i64,
    session: SessionId,
    run: &NewRun,
    sends: usize,
) -> [Statement; CHECKS] {
    [fence(lease, Some(read_epoch), sends), run_row(lease.org, session, run)]
}

fn session_row(lease: Lease, session: &SessionState) -> Statement {
    let params = [
        lease.org.into(),
        session.id.into(),
        lease.conversation.into(),
        session.thread.into(),
        session.status.as_str().into(),
        session.data.as_str().into(),
    ];
    statement(&UPSERT_SESSION, params)
}

fn answered(lease: Lease, id: InboxId, run: RunId) -> Statement {
    let params = [lease.org.into(), id.into(), lease.conversation.into(), run.into()];
    Statement { on_no_rows: Some(Refusal::NotPending), ..statement(&MARK_ANSWERED, params) }
}

/// Writes the messages of a conversation.
pub(crate) struct MessageWriter {
    pub(crate) org: OrgId,
    pub(crate) conversation: ConversationId,
    /// The epoch in which the messages were written.
    pub(crate) epoch: i64,
    pub(crate) thread: ThreadId,
}

impl MessageWriter {
    /// Appends messages to the thread and to the outbox, for which the fence has
    /// reserved numbers.
    pub(crate) fn write(
        &self,
        messages: &[NewMessage],
        outbox: &[NewOutboxEntry],
    ) -> Vec<Statement> {
        let texts = messages.iter().map(|message| &message.data);
        let texts = texts.chain(outbox.iter().map(|sent| &sent.payload));
        let mut all: Vec<Statement> = texts
            .flat_map(|text| blob_uses::record_uses(self.org, self.conversation, text))
            .collect();
        all.extend(messages.iter().map(|new| self.message(new)));
        let behind = (0..outbox.len() as i64).rev();
        all.extend(outbox.iter().zip(behind).map(|(new, behind)| self.send(new, behind)));
        all
    }

    fn message(&self, new: &NewMessage) -> Statement {
        let params = [self.org.into(), self.thread.into(), new.id.into(), new.data.as_str().into()];
        statement(&INSERT_MESSAGE, params)
    }

    /// `behind` is the number of messages sent after this one.
    fn send(&self, new: &NewOutboxEntry, behind: i64) -> Statement {
        let params = [
            self.org.into(),
            new.id.into(),
            self.conversation.into(),
            new.author.name().into(),
            self.epoch.into(),
            new.payload.as_str().into(),
            behind.into(),
            outbox::lane(self.org, new.binding).into(),
        ];
        statement(&INSERT_OUTBOX, params)
    }
}

pub(crate) fn statement<const N: usize>(sql: &'static Sql, params: [Value; N]) -> Statement {
    Statement { sql, params: params.into(), on_no_rows: None }
}
