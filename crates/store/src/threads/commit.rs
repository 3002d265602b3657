//! Commits of a thread: messages, the journal of the turn, follow-ups, metadata and
//! events in one transaction, refused if another process has the thread.

use ostler_domain::id::{OrgId, RunId, ThreadId};

use super::lease::{ThreadLease, fenced};
use super::subagent_runs::{self, NewSubagentRun};
use crate::OrgStore;
use crate::backend::job::StoreFuture;
use crate::backend::sql::{Sql, sql};
use crate::backend::value::Value;
use crate::backend::{Statement, Tx};
use crate::error::{Result, StoreError};
use crate::ledger::{TurnCharges, charge_statement};
use crate::memory::{self, MemoryMessage};

/// What an unfinished turn has done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JournalEntry {
    pub turn: RunId,
    pub kind: JournalKind,
    /// JSON.
    pub data: String,
}

/// The kind of a [`JournalEntry`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JournalKind {
    /// The state of the turn. It replaces earlier states and outcomes.
    State,
    /// The outcome of an external call.
    Outcome,
    /// The answer of a person.
    Answer,
}

impl JournalKind {
    const fn name(self) -> &'static str {
        match self {
            Self::State => "state",
            Self::Outcome => "outcome",
            Self::Answer => "answer",
        }
    }

    fn parse(name: &str) -> Result<Self> {
        let all = [Self::State, Self::Outcome, Self::Answer];
        all.into_iter().find(|kind| kind.name() == name).ok_or_else(|| StoreError::CorruptValue {
            what: "journal entry",
            why: format!("unknown kind {name}"),
        })
    }
}

/// Events of a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThreadEvents {
    /// The number of the last of them.
    pub last_id: i64,
    /// A JSON array.
    pub events: String,
}

/// A change of a thread. What is not set stays as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThreadCommit {
    pub turn: RunId,
    /// New messages, as JSON.
    pub messages: Vec<String>,
    /// The number of the first of them.
    pub first_seq: i64,
    /// What the memory of the thread keeps of them.
    pub memory: Vec<MemoryMessage>,
    pub journal: Vec<JournalEntry>,
    /// Subagents of the turn that have ended since its last commit.
    pub subagent_runs: Vec<NewSubagentRun>,
    /// Whether the turn has ended, which deletes its journal.
    pub ends_turn: bool,
    pub title: Option<String>,
    pub metadata: Option<String>,
    pub follow_ups: Option<String>,
    pub events: Option<ThreadEvents>,
    /// What an org pays for the turn.
    pub charges: Option<TurnCharges>,
    /// Whether the commit waits until it is on disk.
    pub wait_for_disk: bool,
}

impl ThreadCommit {
    /// Creates a commit that changes nothing.
    pub const fn new(turn: RunId) -> Self {
        Self {
            turn,
            messages: Vec::new(),
            first_seq: 0,
            memory: Vec::new(),
            journal: Vec::new(),
            subagent_runs: Vec::new(),
            ends_turn: false,
            title: None,
            metadata: None,
            follow_ups: None,
            events: None,
            charges: None,
            wait_for_disk: true,
        }
    }
}

const UPDATE: Sql = sql!(
    "UPDATE harness_threads SET title = coalesce(?4, title), metadata = coalesce(?5, metadata),
       follow_ups = coalesce(?6, follow_ups), message_count = message_count + ?7,
       updated_at = now_ms()
     WHERE org = ?1 AND id = ?2 AND lease_token = ?3 AND lease_until > 0"
);
const ADD_MESSAGE: Sql = sql!(
    "INSERT INTO harness_messages (org, thread, seq, turn, message) VALUES (?1, ?2, ?3, ?4, ?5)"
);
const ADD_ENTRY: Sql = sql!(
    "INSERT INTO harness_journal (org, thread, seq, turn, kind, data)
     SELECT ?1, ?2, coalesce(max(seq), 0) + 1, ?3, ?4, ?5
     FROM harness_journal WHERE org = ?1 AND thread = ?2"
);
const CLEAR_JOURNAL: Sql = sql!("DELETE FROM harness_journal WHERE org = ?1 AND thread = ?2");
/// An answer may have been given while the state was being stored; it stays until the
/// turn ends.
const REPLACE_STATE: Sql =
    sql!("DELETE FROM harness_journal WHERE org = ?1 AND thread = ?2 AND kind <> 'answer'");
const READ_JOURNAL: Sql = sql!(
    "SELECT turn, kind, data FROM harness_journal WHERE org = ?1 AND thread = ?2 ORDER BY seq"
);
const ADD_EVENTS: Sql =
    sql!("INSERT INTO harness_events (org, thread, last_id, events) VALUES (?1, ?2, ?3, ?4)");

impl OrgStore<'_> {
    /// Commits a change of a thread. Fails with [`StoreError::StaleLease`] if another
    /// process has the thread; then nothing is changed.
    pub fn commit_thread(&self, lease: ThreadLease, change: ThreadCommit) -> StoreFuture<()> {
        let wait = change.wait_for_disk;
        let run = move |tx: &Tx| commit(tx, lease, &change);
        if wait { self.write(run) } else { self.write_later(run) }
    }
}

fn commit(tx: &Tx, lease: ThreadLease, change: &ThreadCommit) -> Result<()> {
    let [org, thread, token] = lease.key();
    let count = i64::try_from(change.messages.len()).unwrap_or(i64::MAX);
    let update = [
        org.clone(),
        thread.clone(),
        token,
        change.title.clone().into(),
        change.metadata.clone().into(),
        change.follow_ups.clone().into(),
        count.into(),
    ];
    fenced(tx.execute(&UPDATE, &update)?)?;
    let mut batch = Vec::new();
    let mut add = |sql, more: Vec<Value>| {
        let params = [org.clone(), thread.clone()].into_iter().chain(more).collect();
        batch.push(Statement { sql, params, on_no_rows: None });
    };
    for (seq, message) in (change.first_seq..).zip(&change.messages) {
        add(&ADD_MESSAGE, vec![seq.into(), change.turn.into(), message.as_str().into()]);
    }
    if change.ends_turn {
        add(&CLEAR_JOURNAL, Vec::new());
    } else if change.journal.iter().any(|entry| entry.kind == JournalKind::State) {
        add(&REPLACE_STATE, Vec::new());
    }
    for JournalEntry { turn, kind, data } in &change.journal {
        add(&ADD_ENTRY, vec![(*turn).into(), kind.name().into(), data.as_str().into()]);
    }
    for NewSubagentRun { run, path, agent_type, messages } in &change.subagent_runs {
        let texts = [path, agent_type, messages].map(|text| Value::from(text.as_str()));
        let ids = [Value::from(*run), change.turn.into()];
        add(&subagent_runs::ADD, ids.into_iter().chain(texts).collect());
    }
    if let Some(ThreadEvents { last_id, events }) = &change.events {
        add(&ADD_EVENTS, vec![(*last_id).into(), events.as_str().into()]);
    }
    batch.extend(memory::messages::inserts(lease.org, lease.thread, &change.memory)?);
    if let Some(charges) = &change.charges {
        batch.push(charge_statement(charges)?);
    }
    tx.batch(&batch).map(drop)
}

/// Returns the journal of the unfinished turn of a thread.
pub(super) fn journal(tx: &Tx, org: OrgId, thread: ThreadId) -> Result<Vec<JournalEntry>> {
    let rows = tx.query(&READ_JOURNAL, &[org.into(), thread.into()])?;
    let read = rows.iter().map(|row| {
        Ok(JournalEntry {
            turn: row.id(0)?,
            kind: JournalKind::parse(row.text(1)?)?,
            data: row.text(2)?.to_owned(),
        })
    });
    read.collect()
}
