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
use crate::{Aside, Change, Store, blob_uses, changes, checkpoint};

/// All that a turn changes. Structured values are JSON texts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnCommit {
    /// The right to the conversation.
    pub lease: Lease,
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
}

impl Author {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::Human => "human",
            Self::System => "system",
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

/// Whether no takeover has come since the conversation was claimed. PostgreSQL
/// counts the rows of an answer like those that were touched; the fence holds
/// this one.
const NOT_OVERTAKEN: Sql = Sql {
    sqlite: "UPDATE conversations SET epoch = epoch WHERE org = ?1 AND id = ?2 AND epoch = ?3",
    postgres: "SELECT 1 FROM conversations WHERE org = $1 AND id = $2 AND epoch = $3",
};
/// A turn that a takeover overtook does not change the session back. A new
/// session is stored all the same: the turn's messages belong to it.
const SESSION: Sql = sql!(
    "INSERT INTO sessions (org, id, conversation, thread, status, data)
     VALUES (?1, ?2, ?3, ?4, ?5, ?6)
     ON CONFLICT (org, id) DO UPDATE SET status = excluded.status, data = excluded.data
     WHERE ?7 = (SELECT c.epoch FROM conversations c WHERE c.org = ?1 AND c.id = ?3)"
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
const OUTBOX: Sql = sql!(
    "INSERT INTO outbox (org, id, conversation, seq, author, epoch, payload, due_at, state)
     SELECT c.org, ?2, c.id, c.out_seq - ?7, ?4, ?5, ?6, now_ms(),
       CASE WHEN ?4 = 'agent' AND c.epoch <> ?5 THEN 'withdrawn' ELSE 'pending' END
     FROM conversations c WHERE c.org = ?1 AND c.id = ?3"
);
const EVENT: Sql =
    sql!("INSERT INTO events (org, session, kind, data, at) VALUES (?1, ?2, ?3, ?4, now_ms())");
const ANSWERED: Sql = Sql {
    sqlite: "UPDATE inbox SET state = 'done'
       WHERE org = ?1 AND id = ?2 AND conversation = ?3 AND state = 'pending'",
    postgres: "WITH answered AS (
         UPDATE inbox SET state = 'done'
         WHERE org = $1 AND id = $2 AND conversation = $3 AND state = 'pending' RETURNING 1)
       SELECT refuse('not_waiting') WHERE NOT EXISTS (SELECT 1 FROM answered)",
};

impl Store {
    /// Commits a turn. Refused as
    /// [`StaleLease`](crate::StoreError::StaleLease) if another worker has the
    /// conversation, and as [`Outdated`](crate::StoreError::Outdated) if
    /// somebody else was faster with one of its changes: then the lease stands
    /// and the turn can be committed with changes that were worked out anew. A
    /// repeat of a commit that happened changes nothing.
    pub async fn commit_turn(&self, turn: TurnCommit) -> Result<Committed> {
        let (org, run) = (turn.lease.org, turn.run.id);
        match self.write(Commit(turn)).await {
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
    /// A person has taken over meanwhile: the turn is on record with what its
    /// tools changed, the session stayed as it is unless it is new, and what the
    /// agent wrote was withdrawn.
    Overtaken,
    /// It had been committed before; its worker had not heard of it.
    Before,
}

struct Commit(TurnCommit);

impl Operation for Commit {
    type Output = Committed;

    fn scope(&self) -> Scope {
        let org = self.0.lease.org;
        let other = self.0.settle.iter().map(|settle| settle.payer).find(|payer| *payer != org);
        other.map_or(Scope::Org(org), |payer| Scope::And(org, payer))
    }

    async fn run<T: Tx>(&self, tx: &T) -> Result<Committed> {
        // The fence comes first and holds the conversation's row, so that
        // whatever is accepted from now on comes after this turn. The run comes
        // before the changes, so that a repeat is known before it makes them.
        let mut begin = self.begin();
        let rest = self.rest()?;
        let touched = if self.0.changes.is_empty() && !self.0.aside.asks() {
            begin.extend(rest);
            tx.finish(&begin).await?
        } else {
            let touched = tx.batch(&begin).await?;
            changes::make(tx, self.0.lease.org, &self.0.changes).await.map_err(outdated)?;
            self.0.aside.make(tx, self.0.lease.org).await?;
            tx.finish(&rest).await?;
            touched
        };
        Ok(if touched[NOT_OVERTAKEN_AT] == 0 { Committed::Overtaken } else { Committed::Whole })
    }
}

/// What was there when the changes were worked out is not there any more.
fn outdated(error: StoreError) -> StoreError {
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

/// Where the first statements of a turn say whether it was overtaken.
const NOT_OVERTAKEN_AT: usize = 2;

impl Commit {
    /// What decides whether the turn is committed, and how.
    fn begin(&self) -> Vec<Statement> {
        let TurnCommit { lease, session, run, outbox, .. } = &self.0;
        let Lease { org, conversation, epoch, .. } = *lease;
        let run = [org.into(), run.id.into(), session.id.into(), run.data.as_str().into()];
        vec![
            fence(*lease, outbox.len()),
            statement(&RUN, run),
            statement(&NOT_OVERTAKEN, [org.into(), conversation.into(), epoch.into()]),
        ]
    }

    /// All that follows from it.
    fn rest(&self) -> Result<Vec<Statement>> {
        let turn = &self.0;
        let Lease { org, conversation, epoch, .. } = turn.lease;
        let org = || Value::from(org);
        let place = || Value::from(conversation);
        let text = |text: &String| Value::from(text.as_str());
        let session = Value::from(turn.session.id);
        let thread = Value::from(turn.session.thread);

        let mut all = vec![statement(
            &SESSION,
            [
                org(),
                session.clone(),
                place(),
                thread.clone(),
                text(&turn.session.status),
                text(&turn.session.data),
                epoch.into(),
            ],
        )];
        all.extend(turn.answered.iter().map(|id| Statement {
            must: Some(Refusal::NotWaiting),
            ..statement(&ANSWERED, [org(), Value::from(*id), place()])
        }));
        let talk = Talk { org: turn.lease.org, conversation, epoch, thread: turn.session.thread };
        all.extend(talk.messages(&turn.messages));
        all.extend(talk.outbox(&turn.outbox));
        all.extend(talk.events(turn.session.id, &turn.events));
        all.extend(turn.aside.statements(&talk, turn.session.id));
        for settle in &turn.settle {
            all.push(charge(settle)?);
        }
        all.push(checkpoint::over(turn.lease));
        if turn.then == AfterTurn::Release {
            all.push(statement(&SETTLE, [org(), place()]));
        }
        Ok(all)
    }
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
    /// New messages of the thread.
    pub(crate) fn messages(&self, messages: &[NewMessage]) -> Vec<Statement> {
        let add = messages.iter().map(|new| {
            let data = new.data.as_str().into();
            statement(&MESSAGE, [self.org.into(), self.thread.into(), new.id.into(), data])
        });
        let uses = messages.iter().flat_map(|new| self.uses(&new.data));
        add.chain(uses).collect()
    }

    /// What is to be sent; the fence has made room for it.
    pub(crate) fn outbox(&self, outbox: &[NewOutbound]) -> Vec<Statement> {
        let behind = (0..outbox.len() as i64).rev();
        let add = outbox.iter().zip(behind).map(|(sent, behind)| {
            let (author, payload) = (sent.author.name().into(), sent.payload.as_str().into());
            let [org, place] = [Value::from(self.org), self.conversation.into()];
            let epoch = self.epoch.into();
            statement(&OUTBOX, [org, sent.id.into(), place, author, epoch, payload, behind.into()])
        });
        let uses = outbox.iter().flat_map(|sent| self.uses(&sent.payload));
        add.chain(uses).collect()
    }

    fn uses(&self, text: &str) -> Vec<Statement> {
        blob_uses::of(self.org, self.conversation, text)
    }

    /// What happened in a session.
    pub(crate) fn events(&self, session: SessionId, events: &[NewEvent]) -> Vec<Statement> {
        let add = |event: &NewEvent| {
            let (kind, data) = (event.kind.as_str().into(), event.data.as_str().into());
            statement(&EVENT, [self.org.into(), session.into(), kind, data])
        };
        events.iter().map(add).collect()
    }
}

pub(crate) fn statement<const N: usize>(sql: &'static Sql, params: [Value; N]) -> Statement {
    Statement { sql, params: params.into(), must: None }
}
