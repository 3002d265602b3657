//! The messages of threads as text.

use ostler_domain::id::{OrgId, ThreadId};

use super::{MemoryMessage, count, name, named, number};
use crate::backend::Statement;
use crate::backend::sql::{Sql, sql};
use crate::backend::value::Row;
use crate::error::Result;

const INSERT: Sql = sql!(
    "INSERT INTO memory_messages
       (org, thread, seq, speaker, origin, trust, continues, tokens, text)
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) ON CONFLICT (org, thread, seq) DO NOTHING"
);
pub(super) const SPAN: Sql = sql!(
    "SELECT seq, speaker, origin, trust, continues, tokens, text FROM memory_messages
     WHERE org = ?1 AND thread = ?2 AND seq >= ?3 AND seq <= ?4 ORDER BY seq"
);
static DELETES: [Sql; 5] = [
    sql!("DELETE FROM memory_words WHERE org = ?1 AND thread = ?2"),
    sql!("DELETE FROM memory_messages WHERE org = ?1 AND thread = ?2"),
    sql!("DELETE FROM memory_observations WHERE org = ?1 AND thread = ?2"),
    sql!("DELETE FROM memory_calls WHERE org = ?1 AND thread = ?2"),
    sql!("DELETE FROM thread_memory WHERE org = ?1 AND thread = ?2"),
];

/// Costs stay with the thread that had them, and the last status names it.
static COPIES: [Sql; 4] = [
    sql!(
        "INSERT INTO thread_memory (org, thread, revision, progress, settings, indexed_to)
         SELECT org, ?3, revision, progress, settings, indexed_to FROM thread_memory
         WHERE org = ?1 AND thread = ?2"
    ),
    sql!(
        "INSERT INTO memory_messages
           (org, thread, seq, speaker, origin, trust, continues, tokens, text)
         SELECT org, ?3, seq, speaker, origin, trust, continues, tokens, text
         FROM memory_messages WHERE org = ?1 AND thread = ?2"
    ),
    sql!(
        "INSERT INTO memory_words (org, thread, word, weight, seq)
         SELECT org, ?3, word, weight, seq FROM memory_words WHERE org = ?1 AND thread = ?2"
    ),
    sql!(
        "INSERT INTO memory_observations
           (org, thread, id, generation, state, speaker, kind, completion, first_seq, last_seq,
            valid_from, valid_until, supersedes, superseded_by, trust, tokens, text)
         SELECT org, ?3, id, generation, state, speaker, kind, completion, first_seq, last_seq,
           valid_from, valid_until, supersedes, superseded_by, trust, tokens, text
         FROM memory_observations WHERE org = ?1 AND thread = ?2"
    ),
];

/// Returns the statements that give a thread a copy of the memory of another one.
pub(crate) fn copies(org: OrgId, from: ThreadId, to: ThreadId) -> [Statement; 4] {
    COPIES.each_ref().map(|sql| Statement {
        sql,
        params: vec![org.into(), from.into(), to.into()],
        on_no_rows: None,
    })
}

/// Returns the statements that add messages, for the commit of a turn.
pub(crate) fn inserts(
    org: OrgId,
    thread: ThreadId,
    messages: &[MemoryMessage],
) -> Result<Vec<Statement>> {
    let insert = |message: &MemoryMessage| {
        let params = vec![
            org.into(),
            thread.into(),
            message.seq.into(),
            message.speaker.as_str().into(),
            name(&message.origin)?,
            name(&message.trust)?,
            i64::from(message.continues).into(),
            number(message.tokens),
            message.text.as_str().into(),
        ];
        Ok(Statement { sql: &INSERT, params, on_no_rows: None })
    };
    messages.iter().map(insert).collect()
}

/// Returns the statements that delete the memory of a thread with everything in it.
pub(crate) fn deletes(org: OrgId, thread: ThreadId) -> [Statement; 5] {
    DELETES.each_ref().map(|sql| Statement {
        sql,
        params: vec![org.into(), thread.into()],
        on_no_rows: None,
    })
}

pub(super) fn read_message(row: &Row) -> Result<MemoryMessage> {
    Ok(MemoryMessage {
        seq: row.int(0)?,
        speaker: named(row, 1, "message")?,
        origin: named(row, 2, "message")?,
        trust: named(row, 3, "message")?,
        continues: row.int(4)? != 0,
        tokens: count(row, 5)?,
        text: row.text(6)?.to_owned(),
    })
}
