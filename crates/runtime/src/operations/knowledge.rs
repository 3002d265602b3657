//! The documents that an org's agents read.

use std::collections::BTreeSet;

use ostler_domain::id::DocumentId;
use ostler_domain::knowledge::Document;
use ostler_domain::org::permission::OrgPermission;
use ostler_domain::time::Timestamp;
use ostler_store::DocumentSummary;
use serde_json::json;

use super::{OrgOperations, Result};
use crate::ids::fresh;

impl OrgOperations<'_> {
    /// Adds a document and returns its id.
    pub async fn add_document(&self, title: &str, body: &str, tags: &[&str]) -> Result<DocumentId> {
        let store = self.authorize(OrgPermission::Configure).await?;
        let document = Document::new(title, body, tags.iter().copied())?;
        let id = fresh(DocumentId::from_u128);
        let audit = self.audit_entry("add_document", &id, &json!({"title": title, "tags": tags}));
        store.audited(audit).create_document(id, document).await?;
        Ok(id)
    }

    /// Returns a page of documents with one of these tags, or of all without tags, the last
    /// changed first. `before` is the last one of the page before.
    pub async fn documents(
        &self,
        tags: &BTreeSet<String>,
        before: Option<(Timestamp, DocumentId)>,
        limit: u32,
    ) -> Result<Vec<DocumentSummary>> {
        Ok(self.authorize(OrgPermission::View).await?.documents(tags, before, limit).await?)
    }

    /// Removes a document.
    pub async fn remove_document(&self, id: DocumentId) -> Result<()> {
        let store = self.authorize(OrgPermission::Configure).await?;
        let audit = self.audit_entry("remove_document", &id, &json!({}));
        store.audited(audit).delete_document(id).await?;
        Ok(())
    }
}
