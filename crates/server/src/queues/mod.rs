//! Routes for agents on queues: their records, teams, work, queues and dead letters. What needs
//! the bus uses the one of this process.

mod agent_messages;
mod bus;
mod delegations;
mod messages;
mod records;
mod teams;
mod wire;
mod work;

use ostler_api::problem::ProblemCode;
use ostler_runtime::agents::AgentRuntime;

use crate::error::{ApiError, Result};
use crate::orgs::OrgRequest;
use crate::route::Route;

pub(crate) fn routes() -> Vec<Route> {
    let mut routes = records::routes();
    routes.extend(agent_messages::routes());
    routes.extend(teams::routes());
    routes.extend(messages::routes());
    routes.extend(delegations::routes());
    routes.extend(work::routes());
    routes.extend(bus::routes());
    routes
}

impl OrgRequest {
    /// Returns the org's agents on the bus of this process, if they are connected.
    fn agents(&self) -> Option<AgentRuntime> {
        self.server().deps.queues.runtimes.get(self.org())
    }

    /// Does the same; fails if they are not connected.
    fn connected_agents(&self) -> Result<AgentRuntime> {
        self.agents().ok_or_else(|| {
            let detail = "the agents of this organization are not connected to the message bus; \
                          start one, or try again in a few seconds";
            ApiError::new(ProblemCode::NotNow, detail)
        })
    }
}
