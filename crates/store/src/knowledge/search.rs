//! Full-text search of documents.

use std::collections::BTreeSet;

use ostler_domain::id::OrgId;
use ostler_domain::knowledge::search::{
    DocumentMatch, MAX_DOCUMENTS_PER_WORD, PostingList, excerpt, rank,
};

use super::{DocumentHit, GET, read_document, tags_match};
use crate::backend::Tx;
use crate::backend::sql::{Sql, sql};
use crate::backend::value::{Row, Value};
use crate::error::Result;

const POSTINGS: Sql = sql!(
    "SELECT document, weight FROM document_words WHERE org = ?1 AND word = ?2
     ORDER BY weight DESC, document DESC LIMIT ?3"
);
const COUNT_DOCUMENTS: Sql =
    sql!("SELECT count(*) FROM (SELECT 1 FROM documents WHERE org = ?1 LIMIT ?2) AS counted");

/// The most matches that are read, whatever their tags.
const MAX_READ: usize = 200;
/// Matches read per query.
const BATCH_SIZE: usize = 20;

pub(super) fn search(
    tx: &Tx,
    org: OrgId,
    words: &[String],
    tags: &BTreeSet<String>,
    limit: usize,
) -> Result<Vec<DocumentHit>> {
    let found = find_postings(tx, org, words)?;
    let counted = tx.first(&COUNT_DOCUMENTS, &[org.into(), MAX_DOCUMENTS_PER_WORD.into()])?;
    let counted = counted.map_or(Ok(0), |row| row.int(0))?;
    let ranked = rank(&found, u32::try_from(counted).unwrap_or(u32::MAX));
    let rarest_first: Vec<String> = found.into_iter().map(|postings| postings.word).collect();
    let mut hits = Vec::new();
    for matches in ranked[..ranked.len().min(MAX_READ)].chunks(BATCH_SIZE) {
        if hits.len() >= limit {
            break;
        }
        hits.extend(read_hits(tx, org, tags, matches, &rarest_first)?);
    }
    hits.truncate(limit);
    Ok(hits)
}

/// Returns the postings of the words, rarest word first.
fn find_postings(tx: &Tx, org: OrgId, words: &[String]) -> Result<Vec<PostingList>> {
    let params =
        |word: &String| vec![org.into(), word.as_str().into(), MAX_DOCUMENTS_PER_WORD.into()];
    let params: Vec<Vec<Value>> = words.iter().map(params).collect();
    let rows = tx.query_each(&POSTINGS, &params)?;
    let all = words.iter().zip(&rows);
    let mut found: Vec<PostingList> =
        all.map(|(word, rows)| read_postings(word, rows)).collect::<Result<_>>()?;
    found.retain(|postings| !postings.documents.is_empty());
    found.sort_by_key(|postings| postings.documents.len());
    Ok(found)
}

fn read_postings(word: &str, rows: &[Row]) -> Result<PostingList> {
    let weight = |weight| u32::try_from(weight).unwrap_or_default();
    let documents = rows.iter().map(|row| Ok((row.id(0)?, weight(row.int(1)?))));
    Ok(PostingList { word: word.to_owned(), documents: documents.collect::<Result<_>>()? })
}

/// Reads the matches whose tags are wanted.
fn read_hits(
    tx: &Tx,
    org: OrgId,
    tags: &BTreeSet<String>,
    matches: &[DocumentMatch],
    words: &[String],
) -> Result<Vec<DocumentHit>> {
    let key = |found: &DocumentMatch| vec![org.into(), found.document.into()];
    let keys: Vec<Vec<Value>> = matches.iter().map(key).collect();
    let rows = tx.query_each(&GET, &keys)?;
    let mut hits = Vec::new();
    for (row, found) in rows.iter().map(|rows| rows.first()).zip(matches) {
        let Some(row) = row else { continue };
        let read = read_document(row)?;
        if tags_match(tags, read.document.tags()) {
            hits.push(DocumentHit {
                id: read.id,
                title: read.document.title().to_owned(),
                excerpt: excerpt(read.document.body(), words),
                relevance: found.relevance,
            });
        }
    }
    Ok(hits)
}
