//! The documents that an org's agents read.

use std::collections::BTreeSet;

use ostler_domain::id::DocumentId;
use ostler_domain::knowledge::Document;
use ostler_domain::org::permission::OrgPermission;
use ostler_domain::time::Timestamp;
use ostler_store::{DocumentSummary, StoredDocument};
use serde_json::{Value, json};

use super::{OperationError, OrgOperations, Result};
use crate::ids::fresh;

impl OrgOperations<'_> {
    /// Adds a document and returns its id. Fails if it has no text, or if another document
    /// has the same text.
    pub async fn add_document(&self, title: &str, body: &str, tags: &[&str]) -> Result<DocumentId> {
        let store = self.authorize(OrgPermission::Configure).await?;
        let document = Document::new(title, body, tags.iter().copied())?;
        if document.body().trim().is_empty() {
            return Err(OperationError::Empty("the text of a document"));
        }
        if let Some(known) = store.document_with_body(document.body()).await? {
            return Err(OperationError::SameDocument { title: known.title, id: known.id });
        }
        let id = fresh(DocumentId::from_u128);
        let after = json!({"title": document.title(), "tags": document.tags()});
        let audit = self.audit_change("add_document", &id, &Value::Null, &after);
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

    /// Returns a document with its text.
    pub async fn document(&self, id: DocumentId) -> Result<StoredDocument> {
        Ok(self.authorize(OrgPermission::View).await?.document(id).await?)
    }

    /// Removes a document.
    pub async fn remove_document(&self, id: DocumentId) -> Result<()> {
        let store = self.authorize(OrgPermission::Configure).await?;
        let document = store.document(id).await?.document;
        let before = json!({"title": document.title(), "tags": document.tags()});
        let audit = self.audit_change("remove_document", &id, &before, &Value::Null);
        store.audited(audit).delete_document(id).await?;
        Ok(())
    }
}
