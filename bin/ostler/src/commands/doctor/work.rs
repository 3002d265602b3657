//! Checks what waits for a person: escalations and approvals.

use std::sync::Arc;
use std::time::Duration;

use ostler_domain::human::escalation::EscalationStatus;
use ostler_domain::org::Org;
use ostler_domain::time::Timestamp;
use ostler_engine::tool::ToolSet;
use ostler_runtime::deps::Clock;
use ostler_runtime::operations::{Actor, Operations};
use ostler_runtime::toolbox::Toolbox;
use ostler_store::{DecisionState, HealthCheck, Store};

use super::{ok, warning};

/// A customer who has waited longer than this for a person is a problem.
const LATE_ESCALATION: Duration = Duration::from_secs(30 * 60);
/// An approval that has waited longer than this is a problem.
const LATE_APPROVAL: Duration = Duration::from_secs(4 * 3600);
/// The most approvals of an org that are counted.
const MAX_APPROVALS: u32 = 1000;

pub(super) async fn check(store: &Store, orgs: &[Org]) -> anyhow::Result<Vec<HealthCheck>> {
    let tools = Toolbox::new(Arc::new(ToolSet::new(Vec::new())?));
    let operations = Operations::new(store.clone(), tools, Clock::system());
    let (mut escalations, mut approvals) = (Waiting::default(), Waiting::default());
    for org in orgs {
        let operations = operations.as_actor(Actor::Terminal, org.id);
        for waiting in operations.escalations().await? {
            if waiting.escalation.state.status == EscalationStatus::Pending {
                escalations.add(org, waiting.escalation.state.requested_at);
            }
        }
        for waiting in operations.approvals(DecisionState::Pending, None, MAX_APPROVALS).await? {
            approvals.add(org, waiting.approval.requested_at);
        }
    }
    let now = Clock::system().now();
    Ok(vec![
        escalations.assess(
            now,
            "escalations",
            "Customers who wait for a person",
            LATE_ESCALATION,
            "escalation ls",
        ),
        approvals.assess(
            now,
            "approvals",
            "Calls that wait for approval",
            LATE_APPROVAL,
            "approval ls",
        ),
    ])
}

/// What waits in all orgs.
#[derive(Debug, Default)]
struct Waiting {
    count: usize,
    /// The oldest, with the slug of its org.
    oldest: Option<(Timestamp, String)>,
}

impl Waiting {
    fn add(&mut self, org: &Org, since: Timestamp) {
        self.count += 1;
        if self.oldest.as_ref().is_none_or(|(oldest, _)| since < *oldest) {
            self.oldest = Some((since, org.slug.clone()));
        }
    }

    fn assess(
        &self,
        now: Timestamp,
        name: &'static str,
        what: &str,
        late: Duration,
        command: &str,
    ) -> HealthCheck {
        let Some((since, org)) = &self.oldest else { return ok(name, "None waits.".into()) };
        let waited = now.since(*since);
        let minutes = waited.as_secs() / 60;
        let message = format!(
            "{what}: {}, the oldest for {minutes} min in {org}; see `ostler {command} --org {org}`.",
            self.count
        );
        if waited > late { warning(name, message) } else { ok(name, message) }
    }
}
