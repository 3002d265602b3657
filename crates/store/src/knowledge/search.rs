//! Full-text search of documents.

use std::collections::BTreeSet;

use ostler_domain::id::OrgId;
use ostler_domain::knowledge::search::{
    DocumentMatch, MAX_DOCUMENTS_PER_WORD, PostingList, excerpt, query_words, rank,
};

use super::{DocumentHit, GET, read_document, tags_match};
use crate::backend::sql::{Sql, sql};
use crate::backend::value::{Row, Value};
use crate::backend::{Operation, Scope, Tx};
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

pub(super) struct Search {
    org: OrgId,
    words: Vec<String>,
    tags: BTreeSet<String>,
    limit: usize,
}

impl Search {
    pub(super) fn new(org: OrgId, question: &str, tags: BTreeSet<String>, limit: u32) -> Self {
        Self { org, words: query_words(question), tags, limit: limit as usize }
    }
}

impl Operation for Search {
    type Output = Vec<DocumentHit>;

    fn scope(&self) -> Scope {
        Scope::Org(self.org)
    }

    fn run(&self, tx: &Tx) -> Result<Vec<DocumentHit>> {
        let found = self.find_postings(tx)?;
        let counted =
            tx.first(&COUNT_DOCUMENTS, &[self.org.into(), MAX_DOCUMENTS_PER_WORD.into()])?;
        let counted = counted.map_or(Ok(0), |row| row.int(0))?;
        let ranked = rank(&found, u32::try_from(counted).unwrap_or(u32::MAX));
        let rarest_first: Vec<String> = found.into_iter().map(|postings| postings.word).collect();
        let mut hits = Vec::new();
        for matches in ranked[..ranked.len().min(MAX_READ)].chunks(BATCH_SIZE) {
            if hits.len() >= self.limit {
                break;
            }
            hits.extend(self.read_hits(tx, matches, &rarest_first)?);
        }
        hits.truncate(self.limit);
        Ok(hits)
    }
}

impl Search {
    /// Returns the postings of the words, rarest word first.
    fn find_postings(&self, tx: &Tx) -> Result<Vec<PostingList>> {
        let params = |word: &String| {
            vec![self.org.into(), word.as_str().into(), MAX_DOCUMENTS_PER_WORD.into()]
        };
        let params: Vec<Vec<Value>> = self.words.iter().map(params).collect();
        let rows = tx.query_each(&POSTINGS, &params)?;
        let all = self.words.iter().zip(&rows);
        let mut found: Vec<PostingList> =
            all.map(|(word, rows)| read_postings(word, rows)).collect::<Result<_>>()?;
        found.retain(|postings| !postings.documents.is_empty());
        found.sort_by_key(|postings| postings.documents.len());
        Ok(found)
    }

    /// Reads the matches whose tags are wanted.
    fn read_hits(
        &self,
        tx: &Tx,
        matches: &[DocumentMatch],
        words: &[String],
    ) -> Result<Vec<DocumentHit>> {
        let key = |found: &DocumentMatch| vec![self.org.into(), found.document.into()];
        let keys: Vec<Vec<Value>> = matches.iter().map(key).collect();
        let rows = tx.query_each(&GET, &keys)?;
        let mut hits = Vec::new();
        for (row, found) in rows.iter().map(|rows| rows.first()).zip(matches) {
            let Some(row) = row else { continue };
            let read = read_document(row)?;
            if tags_match(&self.tags, read.document.tags()) {
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
}

fn read_postings(word: &str, rows: &[Row]) -> Result<PostingList> {
    let weight = |weight| u32::try_from(weight).unwrap_or_default();
    let documents = rows.iter().map(|row| Ok((row.id(0)?, weight(row.int(1)?))));
    Ok(PostingList { word: word.to_owned(), documents: documents.collect::<Result<_>>()? })
}
