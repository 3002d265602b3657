//! Step 4: who writes, and what the org knows.

use std::sync::Arc;

use ostler_domain::id::ContactId;
use ostler_domain::prompt::knowledge::token_budget;
use ostler_domain::session::key::Peer;
use ostler_store::StoreError;

use super::case::Case;
use crate::library::{Read, Search};
use crate::org_view::AgentView;
use crate::talk::session::Session;

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

/// Shares with the agents of a team whom they talk to, as far as the org knows
/// it now.
pub(super) async fn share(case: &Case<'_>, session: &mut Session) -> Result<(), StoreError> {
    let Session { team: Some(team), contact, name, .. } = session else { return Ok(()) };
    let known = match contact {
        Some(id) => match case.store().contact(*id).await {
            Ok(stored) => Some(stored.contact),
            Err(StoreError::NotFound(_)) => None,
            Err(other) => return Err(other),
        },
        None => None,
    };
    team.shared.customer_profile = match known {
        Some(contact) => contact.profile(),
        None => name.iter().map(|name| ("name".to_owned(), name.clone())).collect(),
    };
    Ok(())
}

/// The documents for an agent and a message, and a word about them for the
/// record. What the org knows is a help and no condition: if it cannot be read,
/// the agent answers without it.
pub(super) async fn documents(
    case: &Case<'_>,
    agent: &AgentView,
    message: &str,
) -> (Arc<[Read]>, String) {
    let search = Search {
        store: case.store(),
        org: case.org(),
        tags: &agent.agent.knowledge_tags,
        budget: token_budget(case.desk.parts.settings.context_tokens),
        stamp: case.beginning.library,
    };
    match case.desk.library.find(&search, message).await {
        Ok(documents) => {
            let note = format!("{} documents", documents.len());
            (documents, note)
        }
        Err(error) => {
            tracing::warn!(%error, org = %case.org(), "the documents cannot be read");
            (Arc::new([]), format!("0 documents: they cannot be read: {error}"))
        }
    }
}
