//! Documents of an org: versioned updates, listing and full-text search.
//!
//! Words and their weights come from `ostler_domain::knowledge` and are stored in an
//! index that starts with the org. The databases' own full-text indexes disagree on
//! what a word is and rank one org's documents by those of others, and PostgreSQL does
//! not use its index under row-level security.

mod list;
mod save;
mod search;

use std::collections::BTreeSet;

use ostler_domain::id::{DocumentId, OrgId};
use ostler_domain::knowledge::search::query_words;
use ostler_domain::knowledge::{Document, clean_tag};
use ostler_domain::time::Timestamp;

use crate::OrgStore;
use crate::backend::Tx;
use crate::backend::job::StoreFuture;
use crate::backend::sql::{Sql, sql};
use crate::backend::value::Row;
use crate::error::{Result, StoreError};

pub(crate) use save::{create, delete, replace};

/// A stored document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredDocument {
    pub id: DocumentId,
    /// Starts at 1 and grows with each change.
    pub version: i64,
    pub document: Document,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

/// A document without its body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocumentSummary {
    pub id: DocumentId,
    /// Starts at 1 and grows with each change.
    pub version: i64,
    pub title: String,
    pub tags: BTreeSet<String>,
    /// The length of the body in bytes.
    pub size: u64,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

/// A document found by a search.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocumentHit {
    pub id: DocumentId,
    pub title: String,
    /// A part of the body, around a searched word if it has one.
    pub excerpt: String,
    /// Higher is better; never 0.
    pub relevance: u32,
}

const GET: Sql = sql!(
    "SELECT id, version, created_at, updated_at, title, tags, size, body FROM documents
     WHERE org = ?1 AND id = ?2"
);

const ALL: Sql = sql!(
    "SELECT id, version, created_at, updated_at, title, tags, size, body FROM documents
     WHERE org = ?1 ORDER BY id"
);

impl OrgStore<'_> {
    /// Creates a document. Fails with [`StoreError::Conflict`] if its id is taken.
    pub fn create_document(&self, id: DocumentId, document: Document) -> StoreFuture<()> {
        let org = self.org;
        self.write(move |tx| create(tx, org, id, &document))
    }

    /// Replaces a document that is still at `read_version`. Fails with
    /// [`StoreError::Conflict`] if it has changed since.
    pub fn update_document(
        &self,
        id: DocumentId,
        read_version: i64,
        document: Document,
    ) -> StoreFuture<()> {
        let org = self.org;
        self.write(move |tx| save::update(tx, org, id, read_version, &document))
    }

    /// Deletes a document.
    pub fn delete_document(&self, id: DocumentId) -> StoreFuture<()> {
        let org = self.org;
        self.write(move |tx| delete(tx, org, id))
    }

    /// Returns a document.
    pub fn document(&self, id: DocumentId) -> StoreFuture<StoredDocument> {
        self.one("document", &GET, [id.into()], read_document)
    }

    /// Returns the documents before `before`, last changed first: those with one of
    /// these tags, or all if `tags` is empty.
    pub fn documents(
        &self,
        tags: &BTreeSet<String>,
        before: Option<(Timestamp, DocumentId)>,
        limit: u32,
    ) -> StoreFuture<Vec<DocumentSummary>> {
        let (org, tags) = (self.org, clean_tags(tags));
        self.read(move |tx| list::list(tx, org, &tags, before, limit))
    }

    /// Returns the documents with a word of `question`, best match first, restricted to
    /// those with one of these tags unless `tags` is empty. `question` is plain text
    /// without operators.
    pub fn search_documents(
        &self,
        question: &str,
        tags: &BTreeSet<String>,
        limit: u32,
    ) -> StoreFuture<Vec<DocumentHit>> {
        let (org, words, tags) = (self.org, query_words(question), clean_tags(tags));
        self.read(move |tx| search::search(tx, org, &words, &tags, limit as usize))
    }
}

/// Returns every document of an org, inside a transaction.
pub(crate) fn all(tx: &Tx, org: OrgId) -> Result<Vec<StoredDocument>> {
    tx.query(&ALL, &[org.into()])?.iter().map(read_document).collect()
}

fn clean_tags(tags: &BTreeSet<String>) -> BTreeSet<String> {
    tags.iter().map(|tag| clean_tag(tag)).collect()
}

fn read_document(row: &Row) -> Result<StoredDocument> {
    let DocumentSummary { id, version, title, tags, created_at, updated_at, .. } =
        read_summary(row)?;
    let document = Document::new(&title, row.text(7)?, tags.iter().map(String::as_str))
        .map_err(|error| StoreError::CorruptValue { what: "document", why: error.to_string() })?;
    Ok(StoredDocument { id, version, document, created_at, updated_at })
}

fn read_summary(row: &Row) -> Result<DocumentSummary> {
    Ok(DocumentSummary {
        id: row.id(0)?,
        version: row.int(1)?,
        created_at: Timestamp::from_millis(row.int(2)?),
        updated_at: Timestamp::from_millis(row.int(3)?),
        title: row.text(4)?.to_owned(),
        tags: row.json(5, "document")?,
        size: u64::try_from(row.int(6)?).unwrap_or_default(),
    })
}

/// Whether a document's tags match the wanted ones; an empty set matches all.
fn tags_match(wanted: &BTreeSet<String>, tags: &BTreeSet<String>) -> bool {
    wanted.is_empty() || !wanted.is_disjoint(tags)
}
