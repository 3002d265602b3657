//! Queue agents: registry, delegations, teams and held messages.

mod agents;
mod audited;
mod delegations;
mod held;
mod model;
mod teams;

use ostler_domain::id::DelegationId;
use ostler_domain::queue_agent::delegation::{Delegation, DelegationStatus};
use ostler_domain::queue_agent::name::AgentName;
use ostler_domain::reference::ReferenceCode;
use ostler_domain::time::{Timestamp, UtcDay};

fn name(text: &str) -> AgentName {
    text.parse().unwrap()
}

const fn id(number: u128) -> DelegationId {
    DelegationId::from_u128(number)
}

const fn at(millis: i64) -> Timestamp {
    Timestamp::from_millis(millis)
}

/// A delegation to `ada` that is due at 1,000 and blocked by these.
fn work(number: u128, blocked_by: &[u128]) -> Delegation {
    Delegation {
        id: id(number),
        reference: ReferenceCode::new(UtcDay::default(), 1),
        root: None,
        delegated_by: name("boss"),
        assignee: name("ada"),
        description: format!("task {number}"),
        due: Some(at(1000)),
        status: DelegationStatus::Assigned,
        blocked_by: blocked_by.iter().copied().map(id).collect(),
    }
}
