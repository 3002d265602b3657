//! Documents of an org: saved, listed newest first, found by their words.

mod list;
mod save;
mod search;

use std::collections::BTreeSet;

use ostler_domain::id::{DocumentId, OrgId};
use ostler_domain::knowledge::{Document, clean_tag};
use ostler_domain::time::Timestamp;

use crate::OrgStore;
use crate::backend::sql::{Sql, sql};
use crate::backend::value::Row;
use crate::backend::{Operation, Scope, Tx};
use crate::error::{Result, StoreError};

pub(crate) use save::{Create, Delete};

/// A document as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredDocument {
    /// Its id.
    pub id: DocumentId,
    /// How often it was changed, from 1.
    pub version: i64,
    /// All of it.
    pub document: Document,
    /// When it was created.
    pub created_at: Timestamp,
    /// When it was last changed.
    pub updated_at: Timestamp,
}

/// A document without its body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocumentSummary {
    /// Its id.
    pub id: DocumentId,
    /// How often it was changed, from 1.
    pub version: i64,
    /// Its title.
    pub title: String,
    /// Its tags.
    pub tags: BTreeSet<String>,
    /// The length of its body in bytes.
    pub size: u64,
    /// When it was created.
    pub created_at: Timestamp,
    /// When it was last changed.
    pub updated_at: Timestamp,
}

/// A document that fits a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocumentHit {
    /// Its id.
    pub id: DocumentId,
    /// Its title.
    pub title: String,
    /// A piece of its body, around a word of the question if it has one.
    pub excerpt: String,
    /// How well it fits; higher is better, and never 0.
    pub relevance: u32,
}

const GET: Sql = sql!(
    "SELECT id, version, created_at, updated_at, title, tags, size, body FROM documents
     WHERE org = ?1 AND id = ?2"
);

impl OrgStore<'_> {
    /// Creates a document.
    pub async fn create_document(&self, id: DocumentId, document: Document) -> Result<()> {
        self.store.write(save::Create(self.org, id, document)).await
    }

    /// Changes a document that is still the version that was read. If somebody
    /// else was faster, nothing is changed.
    pub async fn update_document(
        &self,
        id: DocumentId,
        read_version: i64,
        document: Document,
    ) -> Result<()> {
        self.store.write(save::Update(self.org, id, read_version, document)).await
    }

    /// Deletes a document.
    pub async fn delete_document(&self, id: DocumentId) -> Result<()> {
        self.store.write(save::Delete(self.org, id)).await
    }

    /// A document.
    pub async fn document(&self, id: DocumentId) -> Result<StoredDocument> {
        self.store.read(Get(self.org, id)).await
    }

    /// The documents that share one of these tags, or all if there are none, the
    /// last changed first; those behind the last one of the page before.
    pub async fn documents(
        &self,
        tags: &BTreeSet<String>,
        before: Option<(Timestamp, DocumentId)>,
        most: u32,
    ) -> Result<Vec<DocumentSummary>> {
        let tags = tags.iter().map(|tag| clean_tag(tag)).collect();
        self.store.read(list::List { org: self.org, tags, before, most }).await
    }

    /// The documents that fit a question, the best first: those with one of its
    /// words that share one of these tags, or any if there are none. The
    /// question is text and nothing else; no sign in it has a meaning.
    pub async fn search_documents(
        &self,
        question: &str,
        tags: &BTreeSet<String>,
        most: u32,
    ) -> Result<Vec<DocumentHit>> {
        let tags = tags.iter().map(|tag| clean_tag(tag)).collect();
        self.store.read(search::Search::new(self.org, question, tags, most)).await
    }
}

struct Get(OrgId, DocumentId);

impl Operation for Get {
    type Output = StoredDocument;

    fn scope(&self) -> Scope {
        Scope::Org(self.0)
    }

    async fn run<T: Tx>(&self, tx: &T) -> Result<StoredDocument> {
        let row = tx.first(&GET, &[self.0.into(), self.1.into()]).await?;
        stored(&row.ok_or(StoreError::NotFound("document"))?)
    }
}

fn stored(row: &Row) -> Result<StoredDocument> {
    let DocumentSummary { id, version, title, tags, created_at, updated_at, .. } = summary(row)?;
    let document = Document::new(&title, row.text(7)?, tags.iter().map(String::as_str))
        .map_err(|error| StoreError::Unreadable { what: "document", why: error.to_string() })?;
    Ok(StoredDocument { id, version, document, created_at, updated_at })
}

fn summary(row: &Row) -> Result<DocumentSummary> {
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

/// Whether a document with these tags is wanted; no wanted tags mean any.
fn wanted(wanted: &BTreeSet<String>, tags: &BTreeSet<String>) -> bool {
    wanted.is_empty() || !wanted.is_disjoint(tags)
}
