//! Listing documents in pages.

use std::collections::BTreeSet;

use ostler_domain::id::{DocumentId, OrgId};
use ostler_domain::time::Timestamp;

use super::{DocumentSummary, read_summary};
use crate::backend::sql::{Sql, sql};
use crate::backend::value::Value;
use crate::backend::{Operation, Scope, Tx};
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

pub(super) struct List {
    pub(super) org: OrgId,
    pub(super) tags: BTreeSet<String>,
    pub(super) before: Option<(Timestamp, DocumentId)>,
    pub(super) limit: u32,
}

impl Operation for List {
    type Output = Vec<DocumentSummary>;

    fn scope(&self) -> Scope {
        Scope::Org(self.org)
    }

    fn run(&self, tx: &Tx) -> Result<Vec<DocumentSummary>> {
        if self.tags.is_empty() {
            return tx.query(&ALL, &self.page())?.iter().map(read_summary).collect();
        }
        // The first documents overall are among the first of each tag.
        let page = |tag: &String| [self.page(), vec![tag.as_str().into()]].concat();
        let pages: Vec<Vec<Value>> = self.tags.iter().map(page).collect();
        let rows = tx.query_each(&TAGGED, &pages)?;
        let mut found: Vec<DocumentSummary> =
            rows.iter().flatten().map(read_summary).collect::<Result<_>>()?;
        found.sort_by_key(|document| std::cmp::Reverse((document.updated_at, document.id)));
        found.dedup_by_key(|document| document.id);
        found.truncate(self.limit as usize);
        Ok(found)
    }
}

impl List {
    fn page(&self) -> Vec<Value> {
        let end = (Timestamp::from_millis(i64::MAX), DocumentId::from_u128(u128::MAX));
        let (at, id) = self.before.unwrap_or(end);
        vec![self.org.into(), at.as_millis().into(), id.into(), self.limit.into()]
    }
}
