//! Reading sessions and runs, for people and for the worker of the next turn.

use std::collections::{BTreeMap, BTreeSet};

use ostler_domain::id::{ConversationId, OrgId, RunId, SessionId, ThreadId, UserId};
use ostler_domain::session::key::ConversationKey;
use ostler_domain::time::Timestamp;

use crate::backend::Tx;
use crate::backend::job::StoreFuture;
use crate::backend::sql::{Sql, sql};
use crate::backend::value::{Row, Value};
use crate::contacts::contact::StoredContact;
use crate::contacts::privacy::find::{self, OwnConversation};
use crate::contacts::visitors::{self, ChannelVisitor};
use crate::conversation::lease::Lease;
use crate::error::{Result, StoreError};
use crate::tenancy::org_config::{OrgVersions, VERSIONS, read_versions, versions_key};
use crate::{ConfigVersion, OrgStore, Store};

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
    pub config_version: ConfigVersion,
    /// Grows with every change of the org's documents or configuration.
    pub documents_version: i64,
}

/// A stored run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredRun {
    pub id: RunId,
    pub session: SessionId,
    /// JSON.
    pub data: String,
    /// What its harness has in common with those of other runs; `None` if the data has it.
    pub harness: Option<String>,
}

/// A run with the session that it belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecentRun {
    pub run: StoredRun,
    /// The session as it is now, as JSON.
    pub session_data: String,
}

/// Which sessions to list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionFilter {
    All,
    /// Sessions in which a person answers or is asked to.
    HandedOff,
    /// Open sessions that this person looks after.
    AssignedTo(UserId),
}

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
const OF_CONVERSATION: Sql = sql!(
    "SELECT s.id, s.conversation, s.thread, s.status, s.data, s.due_at, c.epoch
     FROM sessions s JOIN conversations c ON c.org = s.org AND c.id = s.conversation
     WHERE s.org = ?1 AND s.conversation = ?2 ORDER BY s.id DESC LIMIT ?3"
);
const LIST_HANDED_OFF: Sql = sql!(
    "SELECT s.id, s.conversation, s.thread, s.status, s.data, s.due_at, c.epoch
     FROM sessions s JOIN conversations c ON c.org = s.org AND c.id = s.conversation
     WHERE s.org = ?1 AND s.status = 'handed_off' AND s.id < ?2 ORDER BY s.id DESC LIMIT ?3"
);
const LIST_ASSIGNED: Sql = Sql {
    sqlite: "SELECT s.id, s.conversation, s.thread, s.status, s.data, s.due_at, c.epoch
       FROM session_assignments a INDEXED BY session_assignments_by_user
       CROSS JOIN sessions s ON s.org = a.org AND s.id = a.session
       JOIN conversations c ON c.org = s.org AND c.id = s.conversation
       WHERE a.org = ?1 AND a.user_id = ?4 AND a.session < ?2 AND s.closed_at = 0
       ORDER BY a.session DESC LIMIT ?3",
    postgres: "SELECT s.id, s.conversation, s.thread, s.status, s.data, s.due_at, c.epoch
       FROM session_assignments a
       JOIN sessions s ON s.org = a.org AND s.id = a.session
       JOIN conversations c ON c.org = s.org AND c.id = s.conversation
       WHERE a.org = $1 AND a.user_id = $4 AND a.session < $2 AND s.closed_at = 0
       ORDER BY a.session DESC LIMIT $3",
};
const DUE: Sql = sql!(
    "SELECT s.org, s.id, s.conversation, s.due_at, c.key
     FROM sessions s JOIN conversations c ON c.org = s.org AND c.id = s.conversation
     WHERE s.due_at IS NOT NULL AND s.due_at <= ?1 AND (s.due_at, s.org, s.id) > (?2, ?3, ?4)
     ORDER BY s.due_at, s.org, s.id LIMIT ?5"
);
const RUN: Sql = sql!(
    "SELECT r.id, r.session, r.data, h.data
     FROM runs r LEFT JOIN agent_harnesses h ON h.org = r.org AND h.hash = r.harness
     WHERE r.org = ?1 AND r.id = ?2"
);
const RUNS: Sql = Sql {
    sqlite: "SELECT r.id, r.session, r.data, h.data FROM runs r INDEXED BY runs_by_session
       LEFT JOIN agent_harnesses h ON h.org = r.org AND h.hash = r.harness
       WHERE r.org = ?1 AND r.session = ?2 AND r.id < ?3 ORDER BY r.id DESC LIMIT ?4",
    postgres: "SELECT r.id, r.session, r.data, h.data FROM runs r
       LEFT JOIN agent_harnesses h ON h.org = r.org AND h.hash = r.harness
       WHERE r.org = $1 AND r.session = $2 AND r.id < $3 ORDER BY r.id DESC LIMIT $4",
};
const RECENT_RUNS: Sql = sql!(
    "SELECT r.id, r.session, r.data, h.data, s.data
     FROM runs r JOIN sessions s ON s.org = r.org AND s.id = r.session
     LEFT JOIN agent_harnesses h ON h.org = r.org AND h.hash = r.harness
     WHERE r.org = ?1 AND r.id >= ?2 AND r.id < ?3 ORDER BY r.id DESC LIMIT ?4"
);
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
    pub fn turn_start(&self, lease: Lease) -> StoreFuture<TurnStart> {
        self.org(lease.org).read_hot(move |tx| {
            let start = turn_starts(tx, &[(lease.org, lease.conversation)])?.pop();
            start.ok_or(StoreError::NotFound("conversation"))
        })
    }

    /// Lists due sessions of all orgs, the longest due first. `after` is the last one of
    /// the previous page. `now` is of the clock that set the due times, which is not
    /// the database's.
    pub fn due_sessions(
        &self,
        now: Timestamp,
        after: Option<&DueSession>,
        limit: u32,
    ) -> StoreFuture<Vec<DueSession>> {
        let first =
            (Timestamp::from_millis(i64::MIN), OrgId::from_u128(0), SessionId::from_u128(0));
        let (due_at, org, id) = after.map_or(first, |last| (last.due_at, last.org, last.id));
        let params = [now.into(), due_at.into(), org.into(), id.into(), limit.into()];
        self.read_all_orgs(move |tx| tx.query(&DUE, &params)?.iter().map(due_session).collect())
    }
}

impl OrgStore<'_> {
    /// Returns a session.
    pub fn session(&self, id: SessionId) -> StoreFuture<StoredSession> {
        self.one("session", &GET, [id.into()], session)
    }

    /// Returns the newest session of a conversation.
    pub fn newest_session(
        &self,
        conversation: ConversationId,
    ) -> StoreFuture<Option<StoredSession>> {
        self.optional(&NEWEST, [conversation.into()], session)
    }

    /// Lists sessions, newest first. `before` is the last one of the previous page.
    pub fn sessions(
        &self,
        filter: SessionFilter,
        before: Option<SessionId>,
        limit: u32,
    ) -> StoreFuture<Vec<StoredSession>> {
        let before = before.unwrap_or(SessionId::from_u128(u128::MAX));
        match filter {
            SessionFilter::All => self.rows(&LIST, [before.into(), limit.into()], session),
            SessionFilter::HandedOff => {
                self.rows(&LIST_HANDED_OFF, [before.into(), limit.into()], session)
            }
            SessionFilter::AssignedTo(user) => {
                self.rows(&LIST_ASSIGNED, [before.into(), limit.into(), user.into()], session)
            }
        }
    }

    /// Lists the sessions of a contact's conversations, newest first.
    pub fn contact_sessions(
        &self,
        contact: StoredContact,
        limit: u32,
    ) -> StoreFuture<Vec<StoredSession>> {
        let org = self.org;
        self.read(move |tx| {
            let own = find::conversations(tx, org, &contact, limit as usize)?;
            sessions_of(tx, org, &own, limit)
        })
    }

    /// Lists the sessions of a visitor's conversations, newest first.
    pub fn visitor_sessions(
        &self,
        visitor: ChannelVisitor,
        limit: u32,
    ) -> StoreFuture<Vec<StoredSession>> {
        let org = self.org;
        self.read(move |tx| {
            let own = visitors::conversations(tx, org, &visitor)?;
            sessions_of(tx, org, &own, limit)
        })
    }

    /// Returns a run.
    pub fn run(&self, id: RunId) -> StoreFuture<StoredRun> {
        self.one("run", &RUN, [id.into()], run)
    }

    /// Lists the runs of a session, newest first.
    pub fn runs(
        &self,
        session: SessionId,
        before: Option<RunId>,
        limit: u32,
    ) -> StoreFuture<Vec<StoredRun>> {
        let before = before.unwrap_or(RunId::from_u128(u128::MAX));
        self.rows(&RUNS, [session.into(), before.into(), limit.into()], run)
    }

    /// Lists the runs of all sessions whose input arrived since a moment, newest first.
    /// `before` is the last one of the previous page.
    pub fn recent_runs(
        &self,
        since: Timestamp,
        before: Option<RunId>,
        limit: u32,
    ) -> StoreFuture<Vec<RecentRun>> {
        // Ids begin with the milliseconds of their creation, in 48 of 128 bits.
        let first = RunId::from_u128(u128::from(since.as_millis().max(0).unsigned_abs()) << 80);
        let before = before.unwrap_or(RunId::from_u128(u128::MAX));
        self.rows(&RECENT_RUNS, [first.into(), before.into(), limit.into()], |row| {
            Ok(RecentRun { run: run(row)?, session_data: row.text(4)?.to_owned() })
        })
    }

    /// Returns the key of a conversation.
    pub fn conversation_key(&self, id: ConversationId) -> StoreFuture<ConversationKey> {
        let org = self.org;
        self.read(move |tx| {
            let row = tx.first(&KEY, &[org.into(), id.into()])?;
            key(org, row.ok_or(StoreError::NotFound("conversation"))?.text(0)?)
        })
    }
}

/// Returns the newest sessions of conversations, newest first.
fn sessions_of(
    tx: &Tx,
    org: OrgId,
    conversations: &[OwnConversation],
    limit: u32,
) -> Result<Vec<StoredSession>> {
    let mut sessions = Vec::new();
    for own in conversations {
        let params = [org.into(), own.id.into(), limit.into()];
        for row in tx.query(&OF_CONVERSATION, &params)? {
            sessions.push(session(&row)?);
        }
    }
    sessions.sort_by_key(|one| std::cmp::Reverse(one.id));
    sessions.truncate(limit as usize);
    Ok(sessions)
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
    Ok(StoredRun {
        id: row.id(0)?,
        session: row.id(1)?,
        data: row.text(2)?.to_owned(),
        harness: row.opt_parsed(3, "harness")?,
    })
}

fn key(org: OrgId, text: &str) -> Result<ConversationKey> {
    ConversationKey::parse(org, text).ok_or(StoreError::NotFound("conversation"))
}

fn due_session(row: &Row) -> Result<DueSession> {
    let org = row.id(0)?;
    Ok(DueSession {
        org,
        id: row.id(1)?,
        conversation: row.id(2)?,
        due_at: Timestamp::from_millis(row.int(3)?),
        key: key(org, row.text(4)?)?,
    })
}

/// Reads what the next turns of conversations start from.
pub(crate) fn turn_starts(
    tx: &Tx,
    conversations: &[(OrgId, ConversationId)],
) -> Result<Vec<TurnStart>> {
    let orgs: BTreeSet<OrgId> = conversations.iter().map(|(org, _)| *org).collect();
    let org_keys: Vec<[Value; 2]> = orgs.iter().map(|org| versions_key(*org)).collect();
    let keys: Vec<[Value; 2]> =
        conversations.iter().map(|(org, id)| [(*org).into(), (*id).into()]).collect();
    let mut queries: Vec<(&'static Sql, &[Value])> = Vec::with_capacity(orgs.len() + keys.len());
    queries.extend(org_keys.iter().map(|key| (&VERSIONS, key.as_slice())));
    queries.extend(keys.iter().map(|key| (&NEWEST, key.as_slice())));
    let mut results = tx.query_in_order(&queries)?.into_iter();
    let mut versions: BTreeMap<OrgId, OrgVersions> = BTreeMap::new();
    for (org, rows) in orgs.into_iter().zip(&mut results) {
        versions.insert(org, read_versions(&rows)?);
    }
    let start = |((org, _), newest): (&(OrgId, ConversationId), Vec<Row>)| {
        let newest = newest.first();
        let OrgVersions { config, documents } = versions.get(org).copied().unwrap_or_default();
        Ok(TurnStart {
            session: newest.map(session).transpose()?,
            last_seq: newest.map_or(Ok(0), |row| row.int(7))?,
            config_version: config,
            documents_version: documents,
        })
    };
    conversations.iter().zip(results).map(start).collect()
}
