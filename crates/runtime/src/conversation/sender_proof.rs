//! Who the customer of a session is, as far as the run has found out: a check that the org
//! has configured was passed, or the customer was saved as a new contact.

use ostler_domain::audit::AuditActor;
use ostler_domain::id::{AgentId, AuditId, RunId};
use ostler_domain::identity_check::{PROVEN_CONTACT, ProvenContact, VERIFY_IDENTITY};
use ostler_domain::session::key::Peer;
use ostler_domain::tool::Audience;
use ostler_engine::outcome::ToolEffect;
use ostler_store::{NewAuditEntry, RecordChange};
use serde::Deserialize as _;
use serde_json::json;

use crate::conversation::run::Run;
use crate::ids::fresh;
use crate::records::session::Session;

/// Makes the contact that the customer has proven to be that of the session. Where the channel
/// does not prove that all messages come from one person, nobody stays proven.
pub(super) fn apply_identity_check(run: &mut Run, run_id: RunId) {
    let passed = run.pending.effects.iter().rev().find_map(passed_check);
    let Some((agent, ProvenContact { contact })) = passed.filter(|_| run.is_sender_proven) else {
        return;
    };
    run.session.contact = Some(contact);
    run.pending.side_effects.audit.push(NewAuditEntry {
        id: fresh(AuditId::from_u128),
        actor: AuditActor::Agent(agent),
        action: VERIFY_IDENTITY.to_string(),
        subject: contact.to_string(),
        data: json!({"session": run.session.id, "run": run_id}).to_string(),
    });
}

fn passed_check((agent, effect): &(AgentId, ToolEffect)) -> Option<(AgentId, ProvenContact)> {
    let passed = (effect.kind == PROVEN_CONTACT).then_some(&effect.data)?;
    Some((*agent, ProvenContact::deserialize(passed).ok()?))
}

/// Returns the link of a customer to the contact that an agent saves for them, if they were
/// unknown until now.
pub(super) fn link_sender(
    session: &Session,
    is_sender_proven: bool,
    changes: &[RecordChange],
) -> Option<RecordChange> {
    let Peer::Person(identifier) = &session.peer else { return None };
    let unknown = session.audience() == Audience::Customer && session.contact.is_none();
    let created = changes.iter().find_map(|change| match change {
        RecordChange::CreateContact(contact) => Some(contact.id),
        _ => None,
    });
    created.filter(|_| unknown && is_sender_proven).map(|contact| RecordChange::LinkIdentifier {
        contact,
        channel: session.channel.clone(),
        identifier: identifier.clone(),
    })
}
