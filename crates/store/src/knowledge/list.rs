//! Listing documents in pages.

use std::collections::BTreeSet;

use ostler_domain::id::{DocumentId, OrgId};
use ostler_domain::time::Timestamp;

use super::{DocumentSummary, read_summary};
use crate::OrgStore;
use crate::backend::Tx;
use crate::backend::job::StoreFuture;
use crate::backend::sql::{Sql, sql};
use crate::backend::value::Value;
use crate::error::Result;

const ALL: Sql = sql!(
    "SELECT id, version, created_at, updated_at, title, tags, size FROM documents
     WHERE org = ?1 AND (updated_at, id) < (?2, ?3)
     ORDER BY updated_at DESC, id DESC LIMIT ?4"
);
const TAGGED: Sql = sql!(
    "SELECT d.id, d.version, d.created_at, d.updated_at, d.title, d.tags, d.size
     FROM document_tags t JOIN documents d ON d.org = t.org AND d.id = t.document
     WHERE t.org = ?1 AND t.tag = ?5 AND (t.updated_at, t.document) < (?2, ?3)
     ORDER BY t.updated_at DESC, t.document DESC LIMIT ?4"
);

/// Lengths are compared first, so few bodies are read.
const SAME_BODY: Sql = sql!(
    "SELECT id, version, created_at, updated_at, title, tags, size FROM documents
     WHERE org = ?1 AND size = ?2 AND body = ?3 ORDER BY id LIMIT 1"
);

impl OrgStore<'_> {
    /// Returns the oldest document with exactly this body.
    pub fn document_with_body(&self, body: &str) -> StoreFuture<Option<DocumentSummary>> {
        let size = i64::try_from(body.len()).unwrap_or(i64::MAX);
        self.optional(&SAME_BODY, [size.into(), body.into()], read_summary)
    }
}

pub(super) fn list(
    tx: &Tx,
    org: OrgId,
    tags: &BTreeSet<String>,
    before: Option<(Timestamp, DocumentId)>,
    limit: u32,
) -> Result<Vec<DocumentSummary>> {
    let end = (Timestamp::from_millis(i64::MAX), DocumentId::from_u128(u128::MAX));
    let (at, id) = before.unwrap_or(end);
    let page: [Value; 4] = [org.into(), at.into(), id.into(), limit.into()];
    if tags.is_empty() {
        return tx.query(&ALL, &page)?.iter().map(read_summary).collect();
    }
    // The first documents overall are among the first of each tag.
    let pages = tags.iter().map(|tag| [&page[..], &[tag.as_str().into()]].concat());
    let rows = tx.query_each(&TAGGED, &pages.collect::<Vec<_>>())?;
    let mut found: Vec<DocumentSummary> =
        rows.iter().flatten().map(read_summary).collect::<Result<_>>()?;
    found.sort_by_key(|document| std::cmp::Reverse((document.updated_at, document.id)));
    found.dedup_by_key(|document| document.id);
    found.truncate(limit as usize);
    Ok(found)
}
