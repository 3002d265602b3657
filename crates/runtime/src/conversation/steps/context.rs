//! Step 4: recognizes the contact and selects the org's documents for the message.

use std::sync::Arc;

use ostler_domain::contact::SenderProof;
use ostler_domain::id::ContactId;
use ostler_domain::prompt::knowledge::token_budget;
use ostler_domain::session::key::Peer;
use ostler_store::StoreError;

use crate::assembly::documents::{DocumentSearch, LoadedDocument};
use crate::conversation::input::Input;
use crate::conversation::run::Run;
use crate::conversation::run_context::{ReceivedMessage, RunContext};
use crate::conversation::trace::Trace;
use crate::org_view::AgentView;
use crate::records::run_step::RunStep;
use crate::records::session::Session;

/// Stores the contact in the session and returns the documents for the message.
pub(crate) async fn run(
    context: &RunContext<'_>,
    run: &mut Run,
    agent: &AgentView,
    contact: Option<ContactId>,
    text: &str,
) -> Result<Arc<[LoadedDocument]>, StoreError> {
    let timer = Trace::start(RunStep::Context);
    run.session.contact = contact;
    share_profile(context, &mut run.session).await?;
    let (documents, note) = find_documents(context, agent, text).await;
    run.trace.finish_with(timer, Some(note));
    Ok(documents)
}

/// Returns whether messages are answered now, and all of them come from a proven sender.
pub(crate) fn is_sender_proven(input: &Input<'_>) -> bool {
    !input.messages.is_empty() && !input.messages.iter().any(is_unproven)
}

fn is_unproven(received: &ReceivedMessage) -> bool {
    received.message.from.proof == SenderProof::Unproven
}

/// Returns the proven contact of a session, if everything that is answered now comes from a
/// proven sender. It is looked up once; later turns keep it.
pub(crate) async fn recognize_contact(
    context: &RunContext<'_>,
    session: &Session,
    input: &Input<'_>,
) -> Result<Option<ContactId>, StoreError> {
    if input.messages.iter().any(is_unproven) {
        return Ok(None);
    }
    if session.contact.is_some() {
        return Ok(session.contact);
    }
    let Peer::Person(identifier) = &session.peer else { return Ok(None) };
    let known = context.store().recognize(&session.channel, identifier).await?;
    Ok(known.map(|known| known.contact.id))
}

/// Updates the customer profile that the agents of a team share.
async fn share_profile(context: &RunContext<'_>, session: &mut Session) -> Result<(), StoreError> {
    let Session { team: Some(team), contact, name, .. } = session else { return Ok(()) };
    let contact = match contact {
        Some(id) => match context.store().contact(*id).await {
            Ok(stored) => Some(stored.contact),
            Err(StoreError::NotFound(_)) => None,
            Err(other) => return Err(other),
        },
        None => None,
    };
    team.shared.customer_profile = match contact {
        Some(contact) => contact.profile(),
        None => name.iter().map(|name| ("name".to_owned(), name.clone())).collect(),
    };
    Ok(())
}

/// Returns the documents for a message, and a note for the record. If they cannot be read,
/// the agent answers without them.
async fn find_documents(
    context: &RunContext<'_>,
    agent: &AgentView,
    text: &str,
) -> (Arc<[LoadedDocument]>, String) {
    let search = DocumentSearch {
        store: context.store(),
        org: context.org(),
        tags: &agent.agent.knowledge_tags,
        budget: token_budget(context.services.deps.settings.context_tokens),
        version: context.start.documents_version,
    };
    match context.services.documents.find(&search, text).await {
        Ok(documents) => {
            let note = format!("{} documents", documents.len());
            (documents, note)
        }
        Err(error) => {
            tracing::warn!(org_id = %context.org(), %error, "documents not read");
            (Arc::new([]), format!("0 documents: they cannot be read: {error}"))
        }
    }
}
