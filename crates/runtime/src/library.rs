//! What orgs' documents say, remembered until one of them changes.
//!
//! Where all documents for an agent fit into its prompt, they are the same for
//! every message and are read once. Where they do not, only the list of them is
//! remembered, and each message finds those that fit it best.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use ostler_domain::id::{DocumentId, OrgId};
use ostler_domain::prompt::knowledge::{DocumentFacts, select};
use ostler_engine::tokens;
use ostler_store::{DocumentSummary, OrgStore, StoreError};

/// A document that an agent reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Read {
    pub(crate) id: DocumentId,
    pub(crate) title: String,
    pub(crate) text: String,
}

/// How many of the newest documents are looked at, and how many that fit.
const LOOKED_AT: u32 = 100;
const FITTING: u32 = 40;
/// How many shelves are remembered.
const REMEMBERED: usize = 500;

/// Whose documents, and with which tags.
type Place = (OrgId, BTreeSet<String>);

/// The documents for agents with the same tags.
enum Shelf {
    /// All of them, in the order of the prompt.
    Whole(Arc<[Read]>),
    /// The newest; there is more than fits.
    Newest(Vec<DocumentSummary>),
}

/// Where documents are looked for.
pub(crate) struct Search<'a> {
    pub(crate) store: OrgStore<'a>,
    pub(crate) org: OrgId,
    pub(crate) tags: &'a BTreeSet<String>,
    /// The most tokens of all together.
    pub(crate) budget: u64,
    /// Grows whenever a document changes.
    pub(crate) stamp: i64,
}

/// What documents say.
#[derive(Default)]
pub(crate) struct Library(Mutex<HashMap<Place, (i64, Arc<Shelf>)>>);

impl Library {
    /// The documents for a message, newest first.
    pub(crate) async fn find(
        &self,
        search: &Search<'_>,
        message: &str,
    ) -> Result<Arc<[Read]>, StoreError> {
        match &*self.shelf(search).await? {
            Shelf::Whole(documents) => Ok(documents.clone()),
            Shelf::Newest(newest) => search.best(newest, message).await,
        }
    }

    async fn shelf(&self, search: &Search<'_>) -> Result<Arc<Shelf>, StoreError> {
        let place = (search.org, search.tags.clone());
        let known = self.lock().get(&place).filter(|(at, _)| *at == search.stamp).cloned();
        if let Some((_, shelf)) = known {
            return Ok(shelf);
        }
        let shelf = Arc::new(search.load().await?);
        let mut all = self.lock();
        if all.len() >= REMEMBERED {
            all.clear();
        }
        all.insert(place, (search.stamp, shelf.clone()));
        Ok(shelf)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<Place, (i64, Arc<Shelf>)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Search<'_> {
    async fn load(&self) -> Result<Shelf, StoreError> {
        let newest = self.store.documents(self.tags, None, LOOKED_AT).await?;
        let total: u64 = newest.iter().map(tokens_of).sum();
        if newest.len() < LOOKED_AT as usize && total <= self.budget {
            let facts: Vec<DocumentFacts> = newest.iter().map(|one| facts(one, 0)).collect();
            return Ok(Shelf::Whole(self.read(&facts).await?));
        }
        Ok(Shelf::Newest(newest))
    }

    /// Those that fit a message best.
    async fn best(
        &self,
        newest: &[DocumentSummary],
        message: &str,
    ) -> Result<Arc<[Read]>, StoreError> {
        let hits = self.store.search_documents(message, self.tags, FITTING).await?;
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

    async fn read(&self, known: &[DocumentFacts]) -> Result<Arc<[Read]>, StoreError> {
        let mut read = Vec::new();
        for one in select(known, self.tags, self.budget) {
            let found = self.store.document(one.id).await?.document;
            let (title, text) = (found.title().to_owned(), found.body().to_owned());
            read.push(Read { id: one.id, title, text });
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

/// About how many tokens a document takes.
const fn tokens_of(document: &DocumentSummary) -> u64 {
    document.size.div_ceil(tokens::BYTES)
}
