//! Reading sessions and runs, for people and for the worker of the next turn.

use ostler_domain::id::{ConversationId, OrgId, RunId, SessionId, ThreadId};
use ostler_domain::session::key::ConversationKey;
use ostler_domain::time::Timestamp;

use crate::backend::sql::{Sql, sql};
use crate::backend::value::{Row, Value};
use crate::backend::{Operation, Scope, Tx};
use crate::conversation::lease::Lease;
use crate::error::{Result, StoreError};
use crate::{OrgStore, Store};

/// A stored session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredSession {
    pub id: SessionId,
    pub conversation: ConversationId,
    pub thread: ThreadId,
    /// The status as a word.
    pub status: String,
    /// JSON.
    pub data: String,
    /// When the session has to be closed or somebody reminded.
    pub due_at: Option<Timestamp>,
    /// The epoch of the conversation. A change without the lease names the epoch that
    /// was read.
    pub epoch: i64,
}

/// What a worker needs to start a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnStart {
    /// The newest session of the conversation.
    pub session: Option<StoredSession>,
    /// The number of the last message of the thread; 0 if there is none.
    pub last_seq: i64,
    /// Grows with every change of the configuration of agents.
    pub config_version: i64,
    /// Grows with every change of a document or of the configuration.
    pub documents_version: i64,
}

/// A stored run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredRun {
    pub id: RunId,
    pub session: SessionId,
    /// JSON.
    pub data: String,
}

/// Which sessions to list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionFilter {
    All,
    /// Sessions in which a person answers or is asked to.
    HandedOff,
}

/// First the configuration, then the documents.
const CHANGE_COUNTERS: Sql = sql!("SELECT value FROM change_counters ORDER BY id");
/// A conversation has few sessions and an org many: without the hints, both databases
/// would scan the org's sessions backwards.
const NEWEST: Sql = Sql {
    sqlite: "SELECT s.id, s.conversation, s.thread, s.status, s.data, s.due_at, c.epoch,
         coalesce((SELECT max(m.seq) FROM messages m
                   WHERE m.org = s.org AND m.thread = s.thread), 0)
       FROM sessions s INDEXED BY sessions_by_conversation
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
    sqlite: "SELECT id, session, data FROM runs INDEXED BY runs_by_session
       WHERE org = ?1 AND session = ?2 AND id < ?3 ORDER BY id DESC LIMIT ?4",
    postgres: "SELECT id, session, data FROM runs
       WHERE org = $1 AND session = $2 AND id < $3 ORDER BY id DESC LIMIT $4",
};
const KEY: Sql = sql!("SELECT key FROM conversations WHERE org = ?1 AND id = ?2");

/// A session that has to be closed, or about which somebody is reminded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DueSession {
    pub org: OrgId,
    pub id: SessionId,
    pub conversation: ConversationId,
    pub key: ConversationKey,
    pub due_at: Timestamp,
}

impl Store {
    /// Reads what a worker needs to start a turn.
    pub async fn turn_start(&self, lease: Lease) -> Result<TurnStart> {
        self.read(ReadTurnStart(lease.org, lease.conversation)).await
    }

    /// Lists due sessions of all orgs, the longest due first. `after` is the last one of
    /// the previous page. `now` is of the clock that set the due times, which is not
    /// the database's.
    pub async fn due_sessions(
        &self,
        now: Timestamp,
        after: Option<&DueSession>,
        limit: u32,
    ) -> Result<Vec<DueSession>> {
        let first =
            (Timestamp::from_millis(i64::MIN), OrgId::from_u128(0), SessionId::from_u128(0));
        let after = after.map_or(first, |last| (last.due_at, last.org, last.id));
        self.read(Due { now, after, limit }).await
    }

    /// Returns a number that grows with every change of the configuration of agents.
    pub async fn config_version(&self) -> Result<i64> {
        self.read(ConfigVersion).await
    }
}

impl OrgStore<'_> {
    /// Returns a session.
    pub async fn session(&self, id: SessionId) -> Result<StoredSession> {
        self.store.read(Get(self.org, id)).await
    }

    /// Returns the newest session of a conversation.
    pub async fn newest_session(
        &self,
        conversation: ConversationId,
    ) -> Result<Option<StoredSession>> {
        self.store.read(Newest(self.org, conversation)).await
    }

    /// Lists sessions, newest first. `before` is the last one of the previous page.
    pub async fn sessions(
        &self,
        filter: SessionFilter,
        before: Option<SessionId>,
        limit: u32,
    ) -> Result<Vec<StoredSession>> {
        let before = before.unwrap_or(SessionId::from_u128(u128::MAX));
        self.store.read(List { org: self.org, filter, before, limit }).await
    }

    /// Returns a run.
    pub async fn run(&self, id: RunId) -> Result<StoredRun> {
        self.store.read(Run(self.org, id)).await
    }

    /// Lists the runs of a session, newest first.
    pub async fn runs(
        &self,
        session: SessionId,
        before: Option<RunId>,
        limit: u32,
    ) -> Result<Vec<StoredRun>> {
        let before = before.unwrap_or(RunId::from_u128(u128::MAX));
        self.store.read(Runs { org: self.org, session, before, limit }).await
    }

    /// Returns the key of a conversation.
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
    ConversationKey::parse(org, text).ok_or(StoreError::NotFound("conversation"))
}

struct ReadTurnStart(OrgId, ConversationId);

impl Operation for ReadTurnStart {
    type Output = TurnStart;
    const ON_WRITER: bool = true;

    fn scope(&self) -> Scope {
        Scope::Org(self.0)
    }

    fn run(&self, tx: &Tx) -> Result<TurnStart> {
        let start = turn_starts(tx, &[(self.0, self.1)])?.pop();
        start.ok_or(StoreError::NotFound("conversation"))
    }
}

/// Reads what the next turns of conversations start from.
pub(crate) fn turn_starts(
    tx: &Tx,
    conversations: &[(OrgId, ConversationId)],
) -> Result<Vec<TurnStart>> {
    let keys: Vec<[Value; 2]> =
        conversations.iter().map(|(org, id)| [(*org).into(), (*id).into()]).collect();
    let mut queries: Vec<(&'static Sql, &[Value])> = vec![(&CHANGE_COUNTERS, &[])];
    queries.extend(keys.iter().map(|key| (&NEWEST, key.as_slice())));
    let mut results = tx.query_in_order(&queries)?.into_iter();
    let counters = results.next().unwrap_or_default();
    let counter = |index: usize| counters.get(index).map_or(Ok(0), |row: &Row| row.int(0));
    let (config_version, documents_version) = (counter(0)?, counter(1)?);
    let starts = results.map(|newest| {
        let newest = newest.first();
        let session = newest.map(session).transpose()?;
        let last_seq = newest.map_or(Ok(0), |row| row.int(7))?;
        Ok(TurnStart { session, last_seq, config_version, documents_version })
    });
    starts.collect()
}

struct ConfigVersion;

impl Operation for ConfigVersion {
    type Output = i64;

    fn scope(&self) -> Scope {
        Scope::All
    }

    fn run(&self, tx: &Tx) -> Result<i64> {
        tx.first(&CHANGE_COUNTERS, &[])?.map_or(Ok(0), |row| row.int(0))
    }
}

struct Due {
    now: Timestamp,
    after: (Timestamp, OrgId, SessionId),
    limit: u32,
}

impl Operation for Due {
    type Output = Vec<DueSession>;

    fn scope(&self) -> Scope {
        Scope::All
    }

    fn run(&self, tx: &Tx) -> Result<Vec<DueSession>> {
        let (due_at, org, id) = self.after;
        let params = [
            self.now.as_millis().into(),
            due_at.as_millis().into(),
            org.into(),
            id.into(),
            self.limit.into(),
        ];
        let rows = tx.query(&DUE, &params)?;
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

    fn run(&self, tx: &Tx) -> Result<StoredSession> {
        let row = tx.first(&GET, &[self.0.into(), self.1.into()])?;
        session(&row.ok_or(StoreError::NotFound("session"))?)
    }
}

struct Newest(OrgId, ConversationId);

impl Operation for Newest {
    type Output = Option<StoredSession>;

    fn scope(&self) -> Scope {
        Scope::Org(self.0)
    }

    fn run(&self, tx: &Tx) -> Result<Option<StoredSession>> {
        let row = tx.first(&NEWEST, &[self.0.into(), self.1.into()])?;
        row.as_ref().map(session).transpose()
    }
}

struct List {
    org: OrgId,
    filter: SessionFilter,
    before: SessionId,
    limit: u32,
}

impl Operation for List {
    type Output = Vec<StoredSession>;

    fn scope(&self) -> Scope {
        Scope::Org(self.org)
    }

    fn run(&self, tx: &Tx) -> Result<Vec<StoredSession>> {
        let sql = match self.filter {
            SessionFilter::All => &LIST,
            SessionFilter::HandedOff => &LIST_HANDED_OFF,
        };
        let params = [self.org.into(), self.before.into(), self.limit.into()];
        tx.query(sql, &params)?.iter().map(session).collect()
    }
}

struct Run(OrgId, RunId);

impl Operation for Run {
    type Output = StoredRun;

    fn scope(&self) -> Scope {
        Scope::Org(self.0)
    }

    fn run(&self, tx: &Tx) -> Result<StoredRun> {
        let row = tx.first(&RUN, &[self.0.into(), self.1.into()])?;
        run(&row.ok_or(StoreError::NotFound("run"))?)
    }
}

struct Runs {
    org: OrgId,
    session: SessionId,
    before: RunId,
    limit: u32,
}

impl Operation for Runs {
    type Output = Vec<StoredRun>;

    fn scope(&self) -> Scope {
        Scope::Org(self.org)
    }

    fn run(&self, tx: &Tx) -> Result<Vec<StoredRun>> {
        let params = [self.org.into(), self.session.into(), self.before.into(), self.limit.into()];
        tx.query(&RUNS, &params)?.iter().map(run).collect()
    }
}

struct Key(OrgId, ConversationId);

impl Operation for Key {
    type Output = ConversationKey;

    fn scope(&self) -> Scope {
        Scope::Org(self.0)
    }

    fn run(&self, tx: &Tx) -> Result<ConversationKey> {
        let row = tx.first(&KEY, &[self.0.into(), self.1.into()])?;
        key(self.0, row.ok_or(StoreError::NotFound("conversation"))?.text(0)?)
    }
}
