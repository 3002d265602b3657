//! Step 4: who writes, and what the org knows.

use ostler_domain::id::{ContactId, DocumentId};
use ostler_domain::prompt::knowledge::{DocumentFacts, MAX_DOCUMENTS, select, token_budget};
use ostler_domain::session::key::Peer;
use ostler_engine::tokens;
use ostler_store::{DocumentSummary, StoreError};

use super::case::Case;
use crate::org_view::AgentView;
use crate::talk::session::Session;

/// A document that the agent reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Read {
    pub(crate) id: DocumentId,
    pub(crate) title: String,
    pub(crate) text: String,
}

/// How many of the newest documents are looked at, and how many that fit.
const LOOKED_AT: u32 = 100;
const FITTING: u32 = 40;

/// Recognizes the contact of a session, once: later turns keep who it is.
pub(super) async fn contact(
    case: &Case<'_>,
    session: &Session,
) -> Result<Option<ContactId>, StoreError> {
    if session.contact.is_some() {
        return Ok(session.contact);
    }
    let Peer::Person(identifier) = &session.peer else { return Ok(None) };
    let known = case.store().recognize(&session.channel, identifier).await?;
    Ok(known.map(|known| known.contact.id))
}

/// The documents for an agent and a message. What the org knows is a help and
/// no condition: if it cannot be read, the agent answers without it.
pub(super) async fn documents(case: &Case<'_>, agent: &AgentView, message: &str) -> Vec<Read> {
    match chosen(case, agent, message).await {
        Ok(documents) => documents,
        Err(error) => {
            tracing::warn!(%error, org = %case.org(), "the documents cannot be read");
            Vec::new()
        }
    }
}

async fn chosen(
    case: &Case<'_>,
    agent: &AgentView,
    message: &str,
) -> Result<Vec<Read>, StoreError> {
    let (store, tags) = (case.store(), &agent.agent.knowledge_tags);
    let budget = token_budget(case.desk.parts.settings.context_tokens);
    let newest = store.documents(tags, None, LOOKED_AT).await?;
    if newest.is_empty() {
        return Ok(Vec::new());
    }
    let total: u64 = newest.iter().map(tokens_of).sum();
    let all_seen = newest.len() < LOOKED_AT as usize;
    let hits = if all_seen && total <= budget {
        Vec::new()
    } else {
        store.search_documents(message, tags, FITTING).await?
    };
    let relevance =
        |id: DocumentId| hits.iter().find(|hit| hit.id == id).map_or(0, |hit| hit.relevance);
    let mut facts: Vec<DocumentFacts> = newest
        .iter()
        .map(|one| DocumentFacts {
            id: one.id,
            tags: one.tags.clone(),
            tokens: tokens_of(one),
            updated_at: one.updated_at,
            relevance: relevance(one.id),
        })
        .collect();
    for hit in hits.iter().filter(|hit| newest.iter().all(|one| one.id != hit.id)) {
        let found = store.document(hit.id).await?;
        facts.push(DocumentFacts {
            id: hit.id,
            tags: found.document.tags().clone(),
            tokens: tokens::of_text(found.document.body()),
            updated_at: found.updated_at,
            relevance: hit.relevance,
        });
    }
    let mut read = Vec::with_capacity(MAX_DOCUMENTS);
    for one in select(&facts, tags, budget) {
        let found = store.document(one.id).await?.document;
        let (title, text) = (found.title().to_owned(), found.body().to_owned());
        read.push(Read { id: one.id, title, text });
    }
    Ok(read)
}

/// About how many tokens a document takes.
const fn tokens_of(document: &DocumentSummary) -> u64 {
    document.size.div_ceil(tokens::BYTES)
}
