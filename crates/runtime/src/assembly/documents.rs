//! The documents for a prompt, cached until one of them changes.
//!
//! If all documents for an agent fit into its prompt, they are the same for every message
//! and are loaded once. If not, only their list is cached, and each message selects the
//! most relevant ones.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use ostler_domain::id::{DocumentId, OrgId};
use ostler_domain::prompt::knowledge::{DocumentFacts, select};
use ostler_engine::tokens;
use ostler_store::{DocumentSummary, OrgStore, StoreError};

/// A document with its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LoadedDocument {
    pub(crate) id: DocumentId,
    pub(crate) title: String,
    pub(crate) text: String,
}

/// How many of the newest documents and of the search hits are considered.
const MAX_NEWEST: u32 = 100;
const MAX_HITS: u32 = 40;
/// How many sets of documents are cached.
const MAX_ENTRIES: usize = 500;

type CacheKey = (OrgId, BTreeSet<String>);

/// The documents of an org for agents with the same tags.
enum CachedDocuments {
    /// All of them, in the order of the prompt.
    Complete(Arc<[LoadedDocument]>),
    /// The newest ones, if not all fit into the prompt.
    Newest(Vec<DocumentSummary>),
}

/// Which documents to find.
pub(crate) struct DocumentSearch<'a> {
    pub(crate) store: OrgStore<'a>,
    pub(crate) org: OrgId,
    pub(crate) tags: &'a BTreeSet<String>,
    /// The maximum number of tokens of all documents together.
    pub(crate) budget: u64,
    /// The version of the org's documents; a cached set of another version is not used.
    pub(crate) version: i64,
}

/// The cached documents of all orgs.
#[derive(Default)]
pub(crate) struct DocumentCache(Mutex<HashMap<CacheKey, (i64, Arc<CachedDocuments>)>>);

impl DocumentCache {
    /// Returns the documents for a message, newest first.
    pub(crate) async fn find(
        &self,
        search: &DocumentSearch<'_>,
        message: &str,
    ) -> Result<Arc<[LoadedDocument]>, StoreError> {
        match &*self.cached(search).await? {
            CachedDocuments::Complete(documents) => Ok(documents.clone()),
            CachedDocuments::Newest(newest) => search.most_relevant(newest, message).await,
        }
    }

    async fn cached(
        &self,
        search: &DocumentSearch<'_>,
    ) -> Result<Arc<CachedDocuments>, StoreError> {
        let key = (search.org, search.tags.clone());
        let known = self.lock().get(&key).filter(|(at, _)| *at == search.version).cloned();
        if let Some((_, documents)) = known {
            return Ok(documents);
        }
        let documents = Arc::new(search.load().await?);
        let mut all = self.lock();
        if all.len() >= MAX_ENTRIES {
            all.clear();
        }
        all.insert(key, (search.version, documents.clone()));
        Ok(documents)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<CacheKey, (i64, Arc<CachedDocuments>)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl DocumentSearch<'_> {
    async fn load(&self) -> Result<CachedDocuments, StoreError> {
        let newest = self.store.documents(self.tags, None, MAX_NEWEST).await?;
        let total: u64 = newest.iter().map(tokens_of).sum();
        if newest.len() < MAX_NEWEST as usize && total <= self.budget {
            let facts: Vec<DocumentFacts> = newest.iter().map(|one| facts(one, 0)).collect();
            return Ok(CachedDocuments::Complete(self.read(&facts).await?));
        }
        Ok(CachedDocuments::Newest(newest))
    }

    /// Returns the documents that are most relevant for a message.
    async fn most_relevant(
        &self,
        newest: &[DocumentSummary],
        message: &str,
    ) -> Result<Arc<[LoadedDocument]>, StoreError> {
        let hits = self.store.search_documents(message, self.tags, MAX_HITS).await?;
        let relevance =
            |id: DocumentId| hits.iter().find(|hit| hit.id == id).map_or(0, |hit| hit.relevance);
        let mut known: Vec<DocumentFacts> =
            newest.iter().map(|one| facts(one, relevance(one.id))).collect();
        for hit in hits.iter().filter(|hit| newest.iter().all(|one| one.id != hit.id)) {
            let found = self.store.document(hit.id).await?;
            known.push(DocumentFacts {
                id: hit.id,
                tags: found.document.tags().clone(),
                tokens: tokens::of_text(found.document.body()),
                updated_at: found.updated_at,
                relevance: hit.relevance,
            });
        }
        self.read(&known).await
    }

    async fn read(&self, known: &[DocumentFacts]) -> Result<Arc<[LoadedDocument]>, StoreError> {
        let mut read = Vec::new();
        for one in select(known, self.tags, self.budget) {
            let found = self.store.document(one.id).await?.document;
            let (title, text) = (found.title().to_owned(), found.body().to_owned());
            read.push(LoadedDocument { id: one.id, title, text });
        }
        Ok(read.into())
    }
}

fn facts(document: &DocumentSummary, relevance: u32) -> DocumentFacts {
    DocumentFacts {
        id: document.id,
        tags: document.tags.clone(),
        tokens: tokens_of(document),
        updated_at: document.updated_at,
        relevance,
    }
}

/// Estimates the tokens of a document.
const fn tokens_of(document: &DocumentSummary) -> u64 {
    document.size.div_ceil(tokens::BYTES_PER_TOKEN)
}
