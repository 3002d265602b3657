//! Finding documents by their words.

use std::collections::BTreeSet;

use ostler_domain::id::OrgId;
use ostler_domain::knowledge::search::{MAX_PER_WORD, Match, Postings, excerpt, query_words, rank};

use super::{DocumentHit, GET, stored, wanted};
use crate::backend::sql::{Sql, sql};
use crate::backend::value::{Row, Value};
use crate::backend::{Operation, Scope, Tx};
use crate::error::Result;

const POSTINGS: Sql = sql!(
    "SELECT document, weight FROM document_words WHERE org = ?1 AND word = ?2
     ORDER BY weight DESC, document DESC LIMIT ?3"
);
const DOCUMENTS: Sql =
    sql!("SELECT count(*) FROM (SELECT 1 FROM documents WHERE org = ?1 LIMIT ?2) AS counted");

/// The most matches that are read, whatever tags they have.
const MAX_READ: usize = 200;
/// The matches that are read at once.
const TOGETHER: usize = 20;

pub(super) struct Search {
    org: OrgId,
    words: Vec<String>,
    tags: BTreeSet<String>,
    most: usize,
}

impl Search {
    pub(super) fn new(org: OrgId, question: &str, tags: BTreeSet<String>, most: u32) -> Self {
        Self { org, words: query_words(question), tags, most: most as usize }
    }
}

impl Operation for Search {
    type Output = Vec<DocumentHit>;

    fn scope(&self) -> Scope {
        Scope::Org(self.org)
    }

    async fn run<T: Tx>(&self, tx: &T) -> Result<Vec<DocumentHit>> {
        let found = self.look_up(tx).await?;
        let counted = tx.first(&DOCUMENTS, &[self.org.into(), MAX_PER_WORD.into()]).await?;
        let counted = counted.map_or(Ok(0), |row| row.int(0))?;
        let ranked = rank(&found, u32::try_from(counted).unwrap_or(u32::MAX));
        let rarest_first: Vec<String> = found.into_iter().map(|postings| postings.word).collect();
        let mut hits = Vec::new();
        for matches in ranked[..ranked.len().min(MAX_READ)].chunks(TOGETHER) {
            if hits.len() >= self.most {
                break;
            }
            hits.extend(self.read(tx, matches, &rarest_first).await?);
        }
        hits.truncate(self.most);
        Ok(hits)
    }
}

impl Search {
    /// The documents that have the words, the rarest word first.
    async fn look_up<T: Tx>(&self, tx: &T) -> Result<Vec<Postings>> {
        let params =
            |word: &String| vec![self.org.into(), word.as_str().into(), MAX_PER_WORD.into()];
        let params: Vec<Vec<Value>> = self.words.iter().map(params).collect();
        let rows = tx.query_each(&POSTINGS, &params).await?;
        let all = self.words.iter().zip(&rows);
        let mut found: Vec<Postings> =
            all.map(|(word, rows)| postings(word, rows)).collect::<Result<_>>()?;
        found.retain(|postings| !postings.documents.is_empty());
        found.sort_by_key(|postings| postings.documents.len());
        Ok(found)
    }

    /// What is shown of those matches whose tags are wanted.
    async fn read<T: Tx>(
        &self,
        tx: &T,
        matches: &[Match],
        words: &[String],
    ) -> Result<Vec<DocumentHit>> {
        let place = |found: &Match| vec![self.org.into(), found.document.into()];
        let places: Vec<Vec<Value>> = matches.iter().map(place).collect();
        let rows = tx.query_each(&GET, &places).await?;
        let mut hits = Vec::new();
        for (row, found) in rows.iter().map(|rows| rows.first()).zip(matches) {
            let Some(row) = row else { continue };
            let read = stored(row)?;
            if wanted(&self.tags, read.document.tags()) {
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

fn postings(word: &str, rows: &[Row]) -> Result<Postings> {
    let weight = |weight| u32::try_from(weight).unwrap_or_default();
    let documents = rows.iter().map(|row| Ok((row.id(0)?, weight(row.int(1)?))));
    Ok(Postings { word: word.to_owned(), documents: documents.collect::<Result<_>>()? })
}
