//! One commit per turn: all that a turn changes, or nothing of it.

use ostler_domain::id::{
    ConversationId, InboxId, MessageId, OrgId, OutboxId, RunId, SessionId, ThreadId,
};

use crate::backend::sql::{Sql, sql};
use crate::backend::value::Value;
use crate::backend::{Operation, Refusal, Scope, Statement, Tx};
use crate::error::{Result, StoreError};
use crate::lease::{Lease, SETTLE, fence};
use crate::ledger::{Settle, charge};
use crate::{Aside, Change, Store, blob_uses, changes, checkpoint, events};

/// All that a turn changes. Structured values are JSON texts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnCommit {
    /// The right to the conversation.
    pub lease: Lease,
    /// The epoch of the conversation when the turn began. If a person has stepped
    /// in since, what the agent wrote is withdrawn.
    pub began: i64,
    /// The epoch of the conversation when the session was read that this one was
    /// worked out from.
    pub read: i64,
    /// The session, as it is after the turn.
    pub session: SessionState,
    /// The run.
    pub run: NewRun,
    /// New messages of the session's thread, in order.
    pub messages: Vec<NewMessage>,
    /// What it cost, for each reservation that was made for it. All of them are
    /// the org's own, or all are the one's that pays for it.
    pub settle: Vec<Settle>,
    /// What is to be sent, in order.
    pub outbox: Vec<NewOutbound>,
    /// What happened, in order.
    pub events: Vec<NewEvent>,
    /// What its tools change among the org's records and contacts, in order.
    pub changes: Vec<Change>,
    /// What it changes beside the conversation.
    pub aside: Aside,
    /// The accepted messages that are answered by this.
    pub answered: Vec<InboxId>,
    /// What becomes of the conversation.
    pub then: AfterTurn,
}

/// What becomes of a conversation after a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AfterTurn {
    /// The worker keeps it, to answer what has come meanwhile.
    Keep,
    /// The worker gives it back.
    Release,
}

/// A session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionState {
    /// Its id.
    pub id: SessionId,
    /// Its thread.
    pub thread: ThreadId,
    /// Its status, as a word to search by.
    pub status: String,
    /// All of it.
    pub data: String,
}

/// A run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewRun {
    /// Its id.
    pub id: RunId,
    /// All of it.
    pub data: String,
}

/// A message of a thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewMessage {
    /// Its id.
    pub id: MessageId,
    /// All of it.
    pub data: String,
}

/// Who wrote something that is to be sent. What agents wrote is withdrawn when
/// a person takes over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Author {
    /// An agent.
    Agent,
    /// A person.
    Human,
    /// The runtime.
    System,
    /// The runtime, to the org's own people: it is about the conversation and no
    /// part of it, so neither of them waits for the other.
    Notice,
}

impl Author {
    pub(crate) const ALL: [Self; 4] = [Self::Agent, Self::Human, Self::System, Self::Notice];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::Human => "human",
            Self::System => "system",
            Self::Notice => "notice",
        }
    }
}

/// Something to send.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewOutbound {
    /// The id of its row.
    pub id: OutboxId,
    /// Who wrote it.
    pub author: Author,
    /// The message.
    pub payload: String,
}

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewEvent {
    /// Its name on the wire.
    pub kind: String,
    /// All of it.
    pub data: String,
}

/// Whether no person has stepped in since the session was read; the fence holds
/// the row.
const NOT_MOVED: Sql = Sql {
    sqlite: "SELECT 1 FROM conversations WHERE org = ?1 AND id = ?2 AND epoch = ?3",
    postgres: "SELECT refuse('moved') WHERE NOT EXISTS (
         SELECT 1 FROM conversations WHERE org = $1 AND id = $2 AND epoch = $3)",
};
const SESSION: Sql = sql!(
    "INSERT INTO sessions (org, id, conversation, thread, status, data)
     VALUES (?1, ?2, ?3, ?4, ?5, ?6)
     ON CONFLICT (org, id) DO UPDATE SET status = excluded.status, data = excluded.data"
);
/// A run is written once; that it is there already tells a repeat.
const RUN: Sql = sql!("INSERT INTO runs (org, id, session, data) VALUES (?1, ?2, ?3, ?4)");
const RUN_EXISTS: Sql = sql!("SELECT 1 FROM runs WHERE org = ?1 AND id = ?2");
const MESSAGE: Sql = sql!(
    "INSERT INTO messages (org, thread, seq, id, data) VALUES (?1, ?2,
       1 + coalesce((SELECT max(m.seq) FROM messages m WHERE m.org = ?1 AND m.thread = ?2), 0),
       ?3, ?4)"
);
/// The place in the order was made by the fence; an agent's words that a
/// takeover overtook are withdrawn at once.
const OUTBOX: Sql = Sql {
    // A row that is selected would be one of many for SQLite, which makes a copy
    // of every page in that case.
    sqlite: "INSERT INTO outbox (org, id, conversation, seq, author, epoch, payload, due_at, state)
       VALUES (?1, ?2, ?3,
         (SELECT out_seq FROM conversations WHERE org = ?1 AND id = ?3) - ?7,
         ?4, ?5, ?6, now_ms(),
         CASE WHEN ?4 = 'agent'
              AND (SELECT epoch FROM conversations WHERE org = ?1 AND id = ?3) <> ?5
           THEN 'withdrawn' ELSE 'pending' END)",
    postgres:
        "INSERT INTO outbox (org, id, conversation, seq, author, epoch, payload, due_at, state)
         SELECT c.org, $2, c.id, c.out_seq - $7, $4, $5, $6, now_ms(),
           CASE WHEN $4 = 'agent' AND c.epoch <> $5 THEN 'withdrawn' ELSE 'pending' END
         FROM conversations c WHERE c.org = $1 AND c.id = $3",
};
const ANSWERED: Sql = Sql {
    sqlite: "UPDATE inbox SET state = 'done', run = ?4
       WHERE org = ?1 AND id = ?2 AND conversation = ?3 AND state = 'pending'",
    postgres: "WITH answered AS (
         UPDATE inbox SET state = 'done', run = $4
         WHERE org = $1 AND id = $2 AND conversation = $3 AND state = 'pending' RETURNING 1)
       SELECT refuse('not_waiting') WHERE NOT EXISTS (SELECT 1 FROM answered)",
};

impl Store {
    /// Commits a turn. Refused as
    /// [`StaleLease`](crate::StoreError::StaleLease) if another worker has the
    /// conversation; as [`Moved`](crate::StoreError::Moved) if a person has
    /// stepped in since the session was read; as
    /// [`Outdated`](crate::StoreError::Outdated) if somebody else was faster with
    /// one of its changes. After the last two the lease stands, and the turn can
    /// be committed with what was worked out anew. A repeat of a commit that
    /// happened changes nothing.
    pub async fn commit_turn(&self, turn: TurnCommit) -> Result<Committed> {
        let (org, run) = (turn.lease.org, turn.run.id);
        match self.write(Commit::new(turn)?).await {
            Err(StoreError::StaleLease | StoreError::Conflict(_) | StoreError::NotFound(_))
                if self.read(RunExists(org, run)).await? =>
            {
                Ok(Committed::Before)
            }
            result => result,
        }
    }
}

/// How a turn was committed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Committed {
    /// As it was.
    Whole,
    /// A person has stepped in since the turn began: it is on record with what
    /// its tools changed, and what the agent wrote was withdrawn.
    Overtaken,
    /// It had been committed before; its worker had not heard of it.
    Before,
}

/// A turn as its statements. The caller makes them, and on SQLite the one thread
/// that writes only runs them.
struct Commit {
    scope: Scope,
    org: OrgId,
    committed: Committed,
    /// The first ones decide whether the turn is committed.
    statements: Vec<Statement>,
    changes: Vec<Change>,
    aside: Aside,
}

/// So many statements decide.
const DECIDE: usize = 3;

impl Operation for Commit {
    type Output = Committed;

    fn scope(&self) -> Scope {
        self.scope
    }

    async fn run<T: Tx>(&self, tx: &T) -> Result<Committed> {
        // The fence comes first and holds the conversation's row, so that
        // whatever is accepted from now on comes after this turn. The run comes
        // before the changes, so that a repeat is known before it makes them.
        if self.changes.is_empty() && !self.aside.asks() {
            tx.finish(&self.statements).await?;
        } else {
            let (decide, follow) = self.statements.split_at(DECIDE);
            tx.batch(decide).await?;
            changes::make(tx, self.org, &self.changes).await.map_err(outdated)?;
            self.aside.make(tx, self.org).await?;
            tx.finish(follow).await?;
        }
        Ok(self.committed)
    }
}

/// What was there when the changes were worked out is not there any more.
pub(crate) fn outdated(error: StoreError) -> StoreError {
    match error {
        StoreError::Conflict(_) | StoreError::NotFound(_) => StoreError::Outdated(error.into()),
        other => other,
    }
}

struct RunExists(OrgId, RunId);

impl Operation for RunExists {
    type Output = bool;

    fn scope(&self) -> Scope {
        Scope::Org(self.0)
    }

    async fn run<T: Tx>(&self, tx: &T) -> Result<bool> {
        Ok(tx.first(&RUN_EXISTS, &[self.0.into(), self.1.into()]).await?.is_some())
    }
}

impl Commit {
    fn new(turn: TurnCommit) -> Result<Self> {
        let org = turn.lease.org;
        let other = turn.settle.iter().map(|settle| settle.payer).find(|payer| *payer != org);
        let scope = other.map_or(Scope::Org(org), |payer| Scope::And(org, payer));
        let TurnCommit { lease, session, run, messages, settle, outbox, events, aside, .. } = turn;
        let (began, read) = (turn.began, turn.read);
        let committed = if began == read { Committed::Whole } else { Committed::Overtaken };
        let talk =
            Talk { org, conversation: lease.conversation, epoch: began, thread: session.thread };
        let run_id = run.id;
        let mut all = Vec::with_capacity(16);
        all.extend(decide(lease, read, session.id, run, outbox.len()));
        all.push(session_row(lease, &session));
        all.extend(turn.answered.into_iter().map(|id| answered(lease, id, run_id)));
        all.extend(talk.write(messages, outbox));
        all.extend(aside.statements(org, session.id));
        all.extend(events::append(org, run_id, &events)?);
        for settle in &settle {
            all.push(charge(settle)?);
        }
        all.push(checkpoint::over(lease));
        if turn.then == AfterTurn::Release {
            all.push(statement(&SETTLE, [org.into(), lease.conversation.into()]));
        }
        Ok(Self { scope, org, committed, statements: all, changes: turn.changes, aside })
    }
}

fn decide(
    lease: Lease,
    read: i64,
    session: SessionId,
    run: NewRun,
    sends: usize,
) -> [Statement; DECIDE] {
    let Lease { org, conversation, .. } = lease;
    let not_moved = statement(&NOT_MOVED, [org.into(), conversation.into(), read.into()]);
    [
        fence(lease, sends),
        run_row(org, session, run),
        Statement { must: Some(Refusal::Moved), ..not_moved },
    ]
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
    statement(&SESSION, params)
}

fn answered(lease: Lease, id: InboxId, run: RunId) -> Statement {
    let params = [lease.org.into(), id.into(), lease.conversation.into(), run.into()];
    Statement { must: Some(Refusal::NotWaiting), ..statement(&ANSWERED, params) }
}

/// The record of what happened, under the session that it happened in.
pub(crate) fn run_row(org: OrgId, session: SessionId, run: NewRun) -> Statement {
    statement(&RUN, [org.into(), run.id.into(), session.into(), run.data.into()])
}

/// Where messages are written.
pub(crate) struct Talk {
    pub(crate) org: OrgId,
    pub(crate) conversation: ConversationId,
    /// The epoch in which an agent wrote them.
    pub(crate) epoch: i64,
    pub(crate) thread: ThreadId,
}

impl Talk {
    /// New messages of the thread, and what is to be sent; the fence has made
    /// room for that.
    pub(crate) fn write(
        &self,
        messages: Vec<NewMessage>,
        outbox: Vec<NewOutbound>,
    ) -> Vec<Statement> {
        let texts = messages.iter().map(|message| &message.data);
        let texts = texts.chain(outbox.iter().map(|sent| &sent.payload));
        let mut all: Vec<Statement> =
            texts.flat_map(|text| blob_uses::of(self.org, self.conversation, text)).collect();
        all.extend(messages.into_iter().map(|new| self.message(new)));
        let behind = (0..outbox.len() as i64).rev();
        all.extend(outbox.into_iter().zip(behind).map(|(new, behind)| self.send(new, behind)));
        all
    }

    fn message(&self, new: NewMessage) -> Statement {
        let params = [self.org.into(), self.thread.into(), new.id.into(), new.data.into()];
        statement(&MESSAGE, params)
    }

    /// `behind` is how many messages are sent after this one.
    fn send(&self, new: NewOutbound, behind: i64) -> Statement {
        let params = [
            self.org.into(),
            new.id.into(),
            self.conversation.into(),
            new.author.name().into(),
            self.epoch.into(),
            new.payload.into(),
            behind.into(),
        ];
        statement(&OUTBOX, params)
    }
}

pub(crate) fn statement<const N: usize>(sql: &'static Sql, params: [Value; N]) -> Statement {
    Statement { sql, params: params.into(), must: None }
}
