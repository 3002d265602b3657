//! Calls that were refused: what an agent tried beyond its rights, or for a customer beyond
//! the customer's own records. They go to the audit log.

use ostler_domain::audit::{AuditActor, REFUSED, named_record};
use ostler_domain::id::{AuditId, RunId};
use ostler_domain::tool::Audience;
use ostler_engine::history::{Item, ToolCall};
use ostler_engine::outcome::OutcomeStatus;
use ostler_store::{NewAuditEntry, RefusedRequest};
use serde_json::json;

use crate::conversation::steps::turn::FinishedTurn;
use crate::ids::fresh;
use crate::records::session::Session;

/// Returns the refused calls of a turn.
pub(super) fn refused_calls(
    turn: &FinishedTurn,
    session: &Session,
    run: RunId,
) -> Vec<RefusedRequest> {
    let is_refusal = |status| match status {
        OutcomeStatus::Denied => true,
        OutcomeStatus::NotFound => session.audience() == Audience::Customer,
        _ => false,
    };
    let refused = |(call, status): (&ToolCall, OutcomeStatus)| RefusedRequest {
        entry: NewAuditEntry {
            id: fresh(AuditId::from_u128),
            actor: AuditActor::Agent(turn.agent),
            action: REFUSED.to_owned(),
            subject: named_record(&call.arguments).unwrap_or(&call.name).to_owned(),
            data: json!({"tool": call.name, "status": status.name(), "session": session.id,
                "run": run})
            .to_string(),
        },
        source: session.id.to_string(),
        limit_entry: fresh(AuditId::from_u128),
    };
    let outcomes = turn.new_items.windows(2).flat_map(|items| match items {
        [Item::Assistant { calls, .. }, Item::Results { results }] => {
            let statuses = results.iter().map(|result| result.outcome.status);
            calls.iter().zip(statuses).collect()
        }
        _ => Vec::new(),
    });
    outcomes.filter(|(_, status)| is_refusal(*status)).map(refused).collect()
}
