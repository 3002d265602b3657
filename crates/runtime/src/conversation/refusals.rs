//! Calls that were refused: what an agent, or a colleague that it consulted, tried beyond its
//! rights, or for a customer beyond the customer's own records. They go to the audit log.

use ostler_domain::audit::{AuditActor, REFUSED, named_record};
use ostler_domain::id::{AuditId, RunId};
use ostler_domain::tool::Audience;
use ostler_engine::history::Item;
use ostler_engine::outcome::OutcomeStatus;
use ostler_store::{NewAuditEntry, RefusedRequest};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::conversation::steps::turn::FinishedTurn;
use crate::ids::fresh;
use crate::org_view::OrgView;
use crate::records::session::Session;

/// A refused call of an agent that worked inside a turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ColleagueRefusal {
    /// The slug of the colleague.
    pub(crate) colleague: String,
    #[serde(flatten)]
    call: RefusedCall,
}

/// A refused call, without what people wrote.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct RefusedCall {
    tool: String,
    /// The record that the call names, or else the tool.
    subject: String,
    status: OutcomeStatus,
}

/// Returns the refused calls among the messages of a consulted colleague.
pub(crate) fn refused_to_colleague(
    colleague: &str,
    messages: &[Item],
    audience: Audience,
) -> Vec<ColleagueRefusal> {
    let refused = refused_among(messages, audience);
    refused.map(|call| ColleagueRefusal { colleague: colleague.to_owned(), call }).collect()
}

/// Returns the refused calls of a turn.
pub(super) fn refused_calls(
    turn: &FinishedTurn,
    session: &Session,
    run: RunId,
    view: &OrgView,
) -> Vec<RefusedRequest> {
    let entry = |agent, RefusedCall { tool, subject, status }: RefusedCall| RefusedRequest {
        entry: NewAuditEntry {
            id: fresh(AuditId::from_u128),
            actor: AuditActor::Agent(agent),
            action: REFUSED.to_owned(),
            subject,
            data: json!({"tool": tool, "status": status.name(), "session": session.id,
                "run": run})
            .to_string(),
        },
        source: session.id.to_string(),
        limit_entry: fresh(AuditId::from_u128),
    };
    let own = refused_among(&turn.new_items, session.audience());
    let own = own.map(|call| entry(turn.agent, call));
    let by_colleagues =
        turn.colleague_refusals.iter().map(|ColleagueRefusal { colleague, call }| {
            let agent = view.find_agent(colleague).map_or(turn.agent, |one| one.agent.id);
            entry(agent, call.clone())
        });
    own.chain(by_colleagues).collect()
}

/// Returns the refused calls among the messages of an agent. To a customer's conversation a
/// record that is not there is refused too: it may be somebody else's.
fn refused_among(items: &[Item], audience: Audience) -> impl Iterator<Item = RefusedCall> {
    let is_refusal = move |status| match status {
        OutcomeStatus::Denied => true,
        OutcomeStatus::NotFound => audience == Audience::Customer,
        _ => false,
    };
    let outcomes = items.windows(2).flat_map(|items| match items {
        [Item::Assistant { calls, .. }, Item::Results { results }] => {
            let statuses = results.iter().map(|result| result.outcome.status);
            calls.iter().zip(statuses).collect()
        }
        _ => Vec::new(),
    });
    outcomes.filter(move |(_, status)| is_refusal(*status)).map(|(call, status)| RefusedCall {
        tool: call.name.clone(),
        subject: named_record(&call.arguments).unwrap_or(&call.name).to_owned(),
        status,
    })
}
