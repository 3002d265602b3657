//! What an org's agents can read.

use std::collections::BTreeSet;

use ostler_domain::id::DocumentId;
use ostler_domain::knowledge::Document;
use ostler_domain::org::duty::Duty;
use ostler_domain::time::Timestamp;
use ostler_store::DocumentSummary;
use serde_json::json;

use super::{Office, Result};
use crate::ids::fresh;

impl Office<'_> {
    /// Adds a document.
    pub async fn add_document(&self, title: &str, body: &str, tags: &[&str]) -> Result<DocumentId> {
        let store = self.allowed(Duty::SetUp).await?;
        let document = Document::new(title, body, tags.iter().copied())?;
        let id = fresh(DocumentId::from_u128);
        let line = self.line("add_document", &id, &json!({"title": title, "tags": tags}));
        store.audited(line).create_document(id, document).await?;
        Ok(id)
    }

    /// Documents that share one of these tags, or all, the last changed first;
    /// those behind the last one of the page before.
    pub async fn documents(
        &self,
        tags: &BTreeSet<String>,
        before: Option<(Timestamp, DocumentId)>,
        most: u32,
    ) -> Result<Vec<DocumentSummary>> {
        Ok(self.allowed(Duty::Look).await?.documents(tags, before, most).await?)
    }

    /// Removes a document.
    pub async fn remove_document(&self, id: DocumentId) -> Result<()> {
        let store = self.allowed(Duty::SetUp).await?;
        let line = self.line("remove_document", &id, &json!({}));
        store.audited(line).delete_document(id).await?;
        Ok(())
    }
}
