//! The initial agents of a new client org.

use crate::agent::AgentKind;
use crate::agent::autonomy::{AutonomyLevel, initial_level};
use crate::agent::subtype::Subtype;
use crate::org::Org;
use crate::org::layer::BusinessPosition;

/// The model of a coordinator, which only routes.
pub const COORDINATOR_MODEL: &str = "anthropic/claude-haiku-4-5";

/// An agent to create.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewAgent {
    /// Used both in commands and on screens.
    pub name: String,
    pub subtype: Subtype,
    pub kind: AgentKind,
    pub autonomy: AutonomyLevel,
    /// `None` means the org's default model.
    pub model: Option<&'static str>,
    /// Whether to write a soul for it.
    pub has_soul: bool,
    /// Whether the org cannot be used without it.
    pub essential: bool,
}

/// Returns the agents of a new client: a PM, customer service and, if wanted, a
/// coordinator. Only the PM is essential, because it can stand in for the others.
pub fn initial_agents(org: &Org, with_coordinator: bool) -> Vec<NewAgent> {
    let agent = |subtype: Subtype, role: &str| NewAgent {
        name: format!("{} {role}", org.name),
        kind: AgentKind::Conversational,
        autonomy: initial_level(&BusinessPosition::of(org, &subtype)),
        model: None,
        has_soul: true,
        essential: subtype == Subtype::Pm,
        subtype,
    };
    let coordinator = with_coordinator.then(|| NewAgent {
        kind: AgentKind::Internal,
        model: Some(COORDINATOR_MODEL),
        has_soul: false,
        ..agent(Subtype::Coordinator, "Coordinator")
    });
    [agent(Subtype::Pm, "PM"), agent(Subtype::CustomerService, "Customer Service")]
        .into_iter()
        .chain(coordinator)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{COORDINATOR_MODEL, NewAgent, initial_agents};
    use crate::agent::AgentKind;
    use crate::agent::autonomy::AutonomyLevel;
    use crate::agent::subtype::Subtype;
    use crate::testing;

    /// L08, L09: a PM and customer service, and only the PM is essential.
    #[test]
    fn l08_l09_a_client_starts_with_two_agents() {
        let agents: Vec<(Subtype, bool)> = initial_agents(&testing::client(), false)
            .into_iter()
            .map(|agent| (agent.subtype, agent.essential))
            .collect();
        assert_eq!(agents, [(Subtype::Pm, true), (Subtype::CustomerService, false)]);
    }

    /// L10: the optional coordinator, field by field.
    #[test]
    fn l10_a_coordinator_is_internal_with_a_small_model() {
        let agents = initial_agents(&testing::client(), true);
        assert_eq!(agents.len(), 3);
        let coordinator = NewAgent {
            name: "Bella Pizza Coordinator".into(),
            subtype: Subtype::Coordinator,
            kind: AgentKind::Internal,
            autonomy: AutonomyLevel::Autonomous,
            model: Some(COORDINATOR_MODEL),
            has_soul: false,
            essential: false,
        };
        assert_eq!(agents[2], coordinator);
        assert_eq!(COORDINATOR_MODEL, "anthropic/claude-haiku-4-5");
    }
}
