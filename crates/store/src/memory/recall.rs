//! Full-text search of the messages of a thread, with the words and the ranking of the
//! domain, so that both databases find the same.

use ostler_domain::id::{OrgId, ThreadId};
use ostler_domain::knowledge::search::{MAX_DOCUMENTS_PER_WORD, PostingList, excerpt, rank};
use ostler_domain::knowledge::tokenizer::text_weights;
use ostler_domain::memory::MessageOrigin;

use super::{MemoryMessage, RecalledMessage, messages};
use crate::backend::sql::{Sql, sql};
use crate::backend::value::Value;
use crate::backend::{Statement, Tx};
use crate::error::Result;

const INDEXED_TO: Sql = sql!("SELECT indexed_to FROM thread_memory WHERE org = ?1 AND thread = ?2");
const UNINDEXED: Sql = sql!(
    "SELECT seq, speaker, origin, trust, continues, tokens, text FROM memory_messages
     WHERE org = ?1 AND thread = ?2 AND seq > ?3 AND seq <= ?4 ORDER BY seq LIMIT ?5"
);
const INSERT_WORDS: Sql = Sql {
    sqlite: "INSERT INTO memory_words (org, thread, seq, word, weight)
       SELECT ?1, ?2, ?3, key, value FROM json_each(?4) WHERE true ON CONFLICT DO NOTHING",
    postgres: "INSERT INTO memory_words (org, thread, seq, word, weight)
       SELECT $1, $2, $3, key, value::bigint FROM json_each_text(($4::text)::json)
       ON CONFLICT DO NOTHING",
};
const SET_INDEXED: Sql = sql!(
    "INSERT INTO thread_memory (org, thread, revision, progress, indexed_to)
     VALUES (?1, ?2, 0, '{}', ?3)
     ON CONFLICT (org, thread) DO UPDATE SET indexed_to = excluded.indexed_to
     WHERE thread_memory.indexed_to < excluded.indexed_to"
);
const POSTINGS: Sql = sql!(
    "SELECT seq, weight FROM memory_words
     WHERE org = ?1 AND thread = ?2 AND word = ?3 AND seq < ?4
     ORDER BY weight DESC, seq DESC LIMIT ?5"
);
const COUNT: Sql = sql!(
    "SELECT count(*) FROM (SELECT 1 FROM memory_messages
       WHERE org = ?1 AND thread = ?2 AND seq < ?3 LIMIT ?4) AS counted"
);

const DELETE_WORDS: Sql =
    sql!("DELETE FROM memory_words WHERE org = ?1 AND thread = ?2 AND seq = ?3");

/// Messages indexed in one transaction.
const BATCH_SIZE: u32 = 100;

/// Indexes the oldest messages up to `up_to` that are not indexed yet, and returns how many.
pub(super) fn index_batch(tx: &Tx, org: OrgId, thread: ThreadId, up_to: i64) -> Result<u64> {
    let key: [Value; 2] = [org.into(), thread.into()];
    let indexed = tx.first(&INDEXED_TO, &key)?.map_or(Ok(0), |row| row.int(0))?;
    if indexed >= up_to {
        return Ok(0);
    }
    let params = [org.into(), thread.into(), indexed.into(), up_to.into(), BATCH_SIZE.into()];
    let rows = tx.query(&UNINDEXED, &params)?;
    let (mut batch, mut last) = (Vec::new(), None);
    for row in &rows {
        let message = messages::read_message(row)?;
        last = Some(message.seq);
        batch.extend(insert_words(org, thread, &message)?);
    }
    let Some(last) = last else { return Ok(0) };
    let params = vec![org.into(), thread.into(), last.into()];
    batch.push(Statement { sql: &SET_INDEXED, params, on_no_rows: None });
    tx.batch(&batch)?;
    Ok(rows.len() as u64)
}

/// Returns the statement that adds a message to the index, if it belongs there.
fn insert_words(
    org: OrgId,
    thread: ThreadId,
    message: &MemoryMessage,
) -> Result<Option<Statement>> {
    if message.origin != MessageOrigin::Conversation {
        return Ok(None);
    }
    let words = Value::json(&text_weights(&message.text))?;
    let params = vec![org.into(), thread.into(), message.seq.into(), words];
    Ok(Some(Statement { sql: &INSERT_WORDS, params, on_no_rows: None }))
}

/// Replaces the words of a message whose text has changed, if it is indexed.
pub(crate) fn index_again(tx: &Tx, org: OrgId, thread: ThreadId, seq: i64) -> Result<()> {
    let key = [Value::from(org), thread.into(), seq.into()];
    if tx.execute(&DELETE_WORDS, &key)? == 0 {
        return Ok(());
    }
    let params = vec![org.into(), thread.into(), seq.into(), seq.into()];
    let rows = tx.query_each(&messages::SPAN, &[params])?;
    for row in rows.iter().flatten() {
        let message = messages::read_message(row)?;
        let words = insert_words(org, thread, &message)?;
        tx.batch(&words.into_iter().collect::<Vec<_>>())?;
    }
    Ok(())
}

pub(super) fn search(
    tx: &Tx,
    org: OrgId,
    thread: ThreadId,
    before: i64,
    words: &[String],
    limit: usize,
) -> Result<Vec<RecalledMessage>> {
    let found = find_postings(tx, org, thread, before, words)?;
    let params = [org.into(), thread.into(), before.into(), MAX_DOCUMENTS_PER_WORD.into()];
    let counted = tx.first(&COUNT, &params)?.map_or(Ok(0), |row| row.int(0))?;
    let mut ranked = rank(&found, u32::try_from(counted).unwrap_or(u32::MAX));
    ranked.truncate(limit);
    let rarest_first: Vec<String> = found.into_iter().map(|postings| postings.word).collect();
    let span = |seq: i64| vec![org.into(), thread.into(), seq.into(), seq.into()];
    let keys: Vec<Vec<Value>> = ranked.iter().map(|found| span(found.document)).collect();
    let rows = tx.query_each(&messages::SPAN, &keys)?;
    let mut hits = Vec::with_capacity(ranked.len());
    for (row, found) in rows.iter().zip(&ranked) {
        if let Some(row) = row.first() {
            let message = messages::read_message(row)?;
            let excerpt = excerpt(&message.text, &rarest_first);
            hits.push(RecalledMessage { message, excerpt, relevance: found.relevance });
        }
    }
    Ok(hits)
}

/// Returns the postings of the words, rarest word first.
fn find_postings(
    tx: &Tx,
    org: OrgId,
    thread: ThreadId,
    before: i64,
    words: &[String],
) -> Result<Vec<PostingList<i64>>> {
    let params = |word: &String| {
        let limit = MAX_DOCUMENTS_PER_WORD.into();
        vec![org.into(), thread.into(), word.as_str().into(), before.into(), limit]
    };
    let params: Vec<Vec<Value>> = words.iter().map(params).collect();
    let mut found = Vec::new();
    for (word, rows) in words.iter().zip(tx.query_each(&POSTINGS, &params)?) {
        let weight = |weight| u32::try_from(weight).unwrap_or_default();
        let documents = rows.iter().map(|row| Ok((row.int(0)?, weight(row.int(1)?))));
        let documents: Vec<(i64, u32)> = documents.collect::<Result<_>>()?;
        if !documents.is_empty() {
            found.push(PostingList { word: word.clone(), documents });
        }
    }
    found.sort_by_key(|postings| postings.documents.len());
    Ok(found)
}
