//! Sessions and runs, for those who look at them, and for the worker that goes
//! on with one.

use ostler_domain::id::{ConversationId, OrgId, RunId, SessionId, ThreadId};
use ostler_domain::session::key::ConversationKey;
use ostler_domain::time::Timestamp;

use crate::backend::sql::{Sql, sql};
use crate::backend::value::{Row, Value};
use crate::backend::{Operation, Scope, Tx};
use crate::error::{Result, StoreError};
use crate::lease::Lease;
use crate::{OrgStore, Store};

/// A session as it was stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredSession {
    /// Its id.
    pub id: SessionId,
    /// Its conversation.
    pub conversation: ConversationId,
    /// Its thread.
    pub thread: ThreadId,
    /// Its status, as a word.
    pub status: String,
    /// All of it, as JSON.
    pub data: String,
    /// When it is to be looked at again.
    pub due_at: Option<Timestamp>,
    /// The epoch of its conversation: whoever changes a session without having
    /// the conversation names the one that was read.
    pub epoch: i64,
}

/// What a worker begins a turn with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Beginning {
    /// The conversation's newest session, if it has one.
    pub session: Option<StoredSession>,
    /// The place of the last message of its thread; 0 if nothing was said.
    pub last_message: i64,
    /// Grows whenever anything that agents are configured by changes.
    pub config: i64,
    /// Grows whenever a document changes.
    pub library: i64,
}

/// A run as it was stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredRun {
    /// Its id.
    pub id: RunId,
    /// Its session.
    pub session: SessionId,
    /// All of it, as JSON.
    pub data: String,
}

/// Which sessions are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Which {
    /// All.
    All,
    /// Those in which a person answers, or is asked to.
    HandedOff,
}

/// What agents are configured by first, then the documents.
const STAMP: Sql = sql!("SELECT stamp FROM config_stamp ORDER BY one");
/// A conversation has few sessions and an org many: both databases would walk
/// back through all of the org's to find its newest, if they were let.
const NEWEST: Sql = Sql {
    sqlite: "SELECT s.id, s.conversation, s.thread, s.status, s.data, s.due_at, c.epoch,
         coalesce((SELECT max(m.seq) FROM messages m
                   WHERE m.org = s.org AND m.thread = s.thread), 0)
       FROM sessions s INDEXED BY sessions_of
       JOIN conversations c ON c.org = s.org AND c.id = s.conversation
       WHERE s.org = ?1 AND s.conversation = ?2 ORDER BY s.id DESC LIMIT 1",
    postgres: "SELECT s.id, s.conversation, s.thread, s.status, s.data, s.due_at, c.epoch,
         coalesce((SELECT max(m.seq) FROM messages m
                   WHERE m.org = s.org AND m.thread = s.thread), 0)
       FROM (SELECT * FROM sessions WHERE org = $1 AND conversation = $2 OFFSET 0) s
       JOIN conversations c ON c.org = s.org AND c.id = s.conversation
       ORDER BY s.id DESC LIMIT 1",
};
const GET: Sql = sql!(
    "SELECT s.id, s.conversation, s.thread, s.status, s.data, s.due_at, c.epoch
     FROM sessions s JOIN conversations c ON c.org = s.org AND c.id = s.conversation
     WHERE s.org = ?1 AND s.id = ?2"
);
const LIST: Sql = sql!(
    "SELECT s.id, s.conversation, s.thread, s.status, s.data, s.due_at, c.epoch
     FROM sessions s JOIN conversations c ON c.org = s.org AND c.id = s.conversation
     WHERE s.org = ?1 AND s.id < ?2 ORDER BY s.id DESC LIMIT ?3"
);
const LIST_HANDED_OFF: Sql = sql!(
    "SELECT s.id, s.conversation, s.thread, s.status, s.data, s.due_at, c.epoch
     FROM sessions s JOIN conversations c ON c.org = s.org AND c.id = s.conversation
     WHERE s.org = ?1 AND s.status = 'handed_off' AND s.id < ?2 ORDER BY s.id DESC LIMIT ?3"
);
const DUE: Sql = sql!(
    "SELECT s.org, s.id, s.conversation, s.due_at, c.key
     FROM sessions s JOIN conversations c ON c.org = s.org AND c.id = s.conversation
     WHERE s.due_at IS NOT NULL AND s.due_at <= ?1 AND (s.due_at, s.org, s.id) > (?2, ?3, ?4)
     ORDER BY s.due_at, s.org, s.id LIMIT ?5"
);
const RUN: Sql = sql!("SELECT id, session, data FROM runs WHERE org = ?1 AND id = ?2");
const RUNS: Sql = Sql {
    sqlite: "SELECT id, session, data FROM runs INDEXED BY runs_of
       WHERE org = ?1 AND session = ?2 AND id < ?3 ORDER BY id DESC LIMIT ?4",
    postgres: "SELECT id, session, data FROM runs
       WHERE org = $1 AND session = $2 AND id < $3 ORDER BY id DESC LIMIT $4",
};
const KEY: Sql = sql!("SELECT key FROM conversations WHERE org = ?1 AND id = ?2");

/// A session that is to be looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DueSession {
    /// Its org.
    pub org: OrgId,
    /// Its id.
    pub id: SessionId,
    /// Its conversation.
    pub conversation: ConversationId,
    /// The key of that.
    pub key: ConversationKey,
    /// Since when.
    pub due_at: Timestamp,
}

impl Store {
    /// What a worker needs to know to begin a turn, in one look.
    pub async fn begin_turn(&self, lease: Lease) -> Result<Beginning> {
        self.read(Begin(lease.org, lease.conversation)).await
    }

    /// Sessions of all orgs that are to be looked at, the longest due first;
    /// those behind the last one of the page before. The times are those of the
    /// clock that sessions live by, and so is `now`.
    pub async fn due_sessions(
        &self,
        now: Timestamp,
        after: Option<&DueSession>,
        most: u32,
    ) -> Result<Vec<DueSession>> {
        let first =
            (Timestamp::from_millis(i64::MIN), OrgId::from_u128(0), SessionId::from_u128(0));
        let after = after.map_or(first, |last| (last.due_at, last.org, last.id));
        self.read(Due { now, after, most }).await
    }

    /// Grows whenever anything that agents are configured by changes.
    pub async fn config_stamp(&self) -> Result<i64> {
        self.read(Stamp).await
    }
}

impl OrgStore<'_> {
    /// A session.
    pub async fn session(&self, id: SessionId) -> Result<StoredSession> {
        self.store.read(Get(self.org, id)).await
    }

    /// The newest session of a conversation.
    pub async fn newest_session(&self, of: ConversationId) -> Result<Option<StoredSession>> {
        self.store.read(Newest(self.org, of)).await
    }

    /// Sessions, newest first; those before the last one of the page before.
    pub async fn sessions(
        &self,
        which: Which,
        before: Option<SessionId>,
        most: u32,
    ) -> Result<Vec<StoredSession>> {
        let before = before.unwrap_or(SessionId::from_u128(u128::MAX));
        self.store.read(List { org: self.org, which, before, most }).await
    }

    /// A run.
    pub async fn run(&self, id: RunId) -> Result<StoredRun> {
        self.store.read(Run(self.org, id)).await
    }

    /// The runs of a session, newest first.
    pub async fn runs(
        &self,
        session: SessionId,
        before: Option<RunId>,
        most: u32,
    ) -> Result<Vec<StoredRun>> {
        let before = before.unwrap_or(RunId::from_u128(u128::MAX));
        self.store.read(Runs { org: self.org, session, before, most }).await
    }

    /// The key of a conversation.
    pub async fn conversation_key(&self, id: ConversationId) -> Result<ConversationKey> {
        self.store.read(Key(self.org, id)).await
    }
}

fn session(row: &Row) -> Result<StoredSession> {
    Ok(StoredSession {
        id: row.id(0)?,
        conversation: row.id(1)?,
        thread: row.id(2)?,
        status: row.text(3)?.to_owned(),
        data: row.text(4)?.to_owned(),
        due_at: row.opt_int(5)?.map(Timestamp::from_millis),
        epoch: row.int(6)?,
    })
}

fn run(row: &Row) -> Result<StoredRun> {
    Ok(StoredRun { id: row.id(0)?, session: row.id(1)?, data: row.text(2)?.to_owned() })
}

fn key(org: OrgId, text: &str) -> Result<ConversationKey> {
    ConversationKey::read(org, text).ok_or(StoreError::NotFound("conversation"))
}

struct Begin(OrgId, ConversationId);

impl Operation for Begin {
    type Output = Beginning;
    const EACH_TURN: bool = true;

    fn scope(&self) -> Scope {
        Scope::Org(self.0)
    }

    async fn run<T: Tx>(&self, tx: &T) -> Result<Beginning> {
        let begun = begin(tx, &[(self.0, self.1)]).await?.pop();
        begun.ok_or(StoreError::NotFound("conversation"))
    }
}

/// What turns of conversations begin with.
pub(crate) async fn begin<T: Tx>(
    tx: &T,
    conversations: &[(OrgId, ConversationId)],
) -> Result<Vec<Beginning>> {
    let places: Vec<[Value; 2]> =
        conversations.iter().map(|(org, id)| [(*org).into(), (*id).into()]).collect();
    let mut queries: Vec<(&'static Sql, &[Value])> = vec![(&STAMP, &[])];
    queries.extend(places.iter().map(|place| (&NEWEST, place.as_slice())));
    let mut answers = tx.query_in_order(&queries).await?.into_iter();
    let stamps = answers.next().unwrap_or_default();
    let stamp = |place: usize| stamps.get(place).map_or(Ok(0), |row: &Row| row.int(0));
    let (config, library) = (stamp(0)?, stamp(1)?);
    let begun = answers.map(|newest| {
        let newest = newest.first();
        let session = newest.map(session).transpose()?;
        let last_message = newest.map_or(Ok(0), |row| row.int(7))?;
        Ok(Beginning { session, last_message, config, library })
    });
    begun.collect()
}

struct Stamp;

impl Operation for Stamp {
    type Output = i64;

    fn scope(&self) -> Scope {
        Scope::All
    }

    async fn run<T: Tx>(&self, tx: &T) -> Result<i64> {
        tx.first(&STAMP, &[]).await?.map_or(Ok(0), |row| row.int(0))
    }
}

struct Due {
    now: Timestamp,
    after: (Timestamp, OrgId, SessionId),
    most: u32,
}

impl Operation for Due {
    type Output = Vec<DueSession>;

    fn scope(&self) -> Scope {
        Scope::All
    }

    async fn run<T: Tx>(&self, tx: &T) -> Result<Vec<DueSession>> {
        let (due_at, org, id) = self.after;
        let params = [
            self.now.as_millis().into(),
            due_at.as_millis().into(),
            org.into(),
            id.into(),
            self.most.into(),
        ];
        let rows = tx.query(&DUE, &params).await?;
        let due = |row: &Row| {
            let org = row.id(0)?;
            Ok(DueSession {
                org,
                id: row.id(1)?,
                conversation: row.id(2)?,
                due_at: Timestamp::from_millis(row.int(3)?),
                key: key(org, row.text(4)?)?,
            })
        };
        rows.iter().map(due).collect()
    }
}

struct Get(OrgId, SessionId);

impl Operation for Get {
    type Output = StoredSession;

    fn scope(&self) -> Scope {
        Scope::Org(self.0)
    }

    async fn run<T: Tx>(&self, tx: &T) -> Result<StoredSession> {
        let row = tx.first(&GET, &[self.0.into(), self.1.into()]).await?;
        session(&row.ok_or(StoreError::NotFound("session"))?)
    }
}

struct Newest(OrgId, ConversationId);

impl Operation for Newest {
    type Output = Option<StoredSession>;

    fn scope(&self) -> Scope {
        Scope::Org(self.0)
    }

    async fn run<T: Tx>(&self, tx: &T) -> Result<Option<StoredSession>> {
        let row = tx.first(&NEWEST, &[self.0.into(), self.1.into()]).await?;
        row.as_ref().map(session).transpose()
    }
}

struct List {
    org: OrgId,
    which: Which,
    before: SessionId,
    most: u32,
}

impl Operation for List {
    type Output = Vec<StoredSession>;

    fn scope(&self) -> Scope {
        Scope::Org(self.org)
    }

    async fn run<T: Tx>(&self, tx: &T) -> Result<Vec<StoredSession>> {
        let sql = match self.which {
            Which::All => &LIST,
            Which::HandedOff => &LIST_HANDED_OFF,
        };
        let params = [self.org.into(), self.before.into(), self.most.into()];
        tx.query(sql, &params).await?.iter().map(session).collect()
    }
}

struct Run(OrgId, RunId);

impl Operation for Run {
    type Output = StoredRun;

    fn scope(&self) -> Scope {
        Scope::Org(self.0)
    }

    async fn run<T: Tx>(&self, tx: &T) -> Result<StoredRun> {
        let row = tx.first(&RUN, &[self.0.into(), self.1.into()]).await?;
        run(&row.ok_or(StoreError::NotFound("run"))?)
    }
}

struct Runs {
    org: OrgId,
    session: SessionId,
    before: RunId,
    most: u32,
}

impl Operation for Runs {
    type Output = Vec<StoredRun>;

    fn scope(&self) -> Scope {
        Scope::Org(self.org)
    }

    async fn run<T: Tx>(&self, tx: &T) -> Result<Vec<StoredRun>> {
        let params = [self.org.into(), self.session.into(), self.before.into(), self.most.into()];
        tx.query(&RUNS, &params).await?.iter().map(run).collect()
    }
}

struct Key(OrgId, ConversationId);

impl Operation for Key {
    type Output = ConversationKey;

    fn scope(&self) -> Scope {
        Scope::Org(self.0)
    }

    async fn run<T: Tx>(&self, tx: &T) -> Result<ConversationKey> {
        let row = tx.first(&KEY, &[self.0.into(), self.1.into()]).await?;
        key(self.0, row.ok_or(StoreError::NotFound("conversation"))?.text(0)?)
    }
}
