//! The initial agents of new orgs.

use crate::agent::AgentKind;
use crate::agent::autonomy::{AutonomyLevel, initial_level};
use crate::agent::subtype::Subtype;
use crate::org::Org;
use crate::org::layer::BusinessPosition;
use crate::soul::Soul;

/// The model of a coordinator, which only routes.
pub const COORDINATOR_MODEL: &str = "anthropic/claude-haiku-4-5";

/// An agent to create.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewAgent {
    /// The name on screens and in prompts.
    pub name: String,
    /// The name in commands.
    pub slug: &'static str,
    pub subtype: Subtype,
    pub kind: AgentKind,
    pub autonomy: AutonomyLevel,
    /// `None` means the org's default model.
    pub model: Option<&'static str>,
    /// Its first soul; a coordinator needs none.
    pub soul: Option<Soul>,
    /// Whether the org cannot be used without it.
    pub essential: bool,
}

/// Returns the agents of a new client: a PM, customer service and, if wanted, a
/// coordinator. Only the PM is essential, because it can stand in for the others.
pub fn initial_agents(org: &str, with_coordinator: bool) -> Vec<NewAgent> {
    let agent = |subtype: Subtype, slug: &'static str, role: &str| {
        new_agent(org, BusinessPosition::in_sub_org(&subtype), slug, role)
    };
    let coordinator = with_coordinator.then(|| NewAgent {
        kind: AgentKind::Internal,
        model: Some(COORDINATOR_MODEL),
        ..agent(Subtype::Coordinator, "coordinator", "Coordinator")
    });
    [
        agent(Subtype::Pm, "pm", "PM"),
        agent(Subtype::CustomerService, "customer-service", "Customer Service"),
    ]
    .into_iter()
    .chain(coordinator)
    .collect()
}

/// Returns the PM with which a new agency starts.
pub fn agency_pm(agency: &Org) -> NewAgent {
    new_agent(&agency.name, BusinessPosition::of(agency, &Subtype::Pm), "pm", "PM")
}

fn new_agent(org: &str, position: BusinessPosition, slug: &'static str, role: &str) -> NewAgent {
    let autonomy = initial_level(&position);
    let subtype = position.subtype;
    NewAgent {
        name: format!("{org} {role}"),
        slug,
        kind: AgentKind::Conversational,
        autonomy,
        model: None,
        soul: first_soul(&subtype, org),
        essential: subtype == Subtype::Pm,
        subtype,
    }
}

/// Returns the soul that a new agent starts with.
fn first_soul(subtype: &Subtype, org: &str) -> Option<Soul> {
    let strings = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
    match subtype {
        Subtype::Pm => Some(Soul {
            personality: format!("You know the business of {org} and keep its promises."),
            communication_style: "Clear and short. Facts before opinions.".to_owned(),
            always_do: strings(&["Say what you decided and why"]),
            ..Soul::default()
        }),
        Subtype::CustomerService => Some(Soul {
            personality: format!("You are the friendly voice of {org}."),
            communication_style: "Warm, in short sentences.".to_owned(),
            never_do: strings(&["Promise what you cannot keep"]),
            always_do: strings(&["Say what happens next"]),
            ..Soul::default()
        }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{COORDINATOR_MODEL, NewAgent, initial_agents};
    use crate::agent::AgentKind;
    use crate::agent::autonomy::AutonomyLevel;
    use crate::agent::subtype::Subtype;

    /// L08, L09: a PM and customer service, and only the PM is essential.
    #[test]
    fn l08_l09_a_client_starts_with_two_agents() {
        let agents: Vec<(Subtype, bool)> = initial_agents("Bella Pizza", false)
            .into_iter()
            .map(|agent| (agent.subtype, agent.essential))
            .collect();
        assert_eq!(agents, [(Subtype::Pm, true), (Subtype::CustomerService, false)]);
    }

    /// L10: the optional coordinator, field by field.
    #[test]
    fn l10_a_coordinator_is_internal_with_a_small_model() {
        let agents = initial_agents("Bella Pizza", true);
        assert_eq!(agents.len(), 3);
        let coordinator = NewAgent {
            name: "Bella Pizza Coordinator".into(),
            slug: "coordinator",
            subtype: Subtype::Coordinator,
            kind: AgentKind::Internal,
            autonomy: AutonomyLevel::Autonomous,
            model: Some(COORDINATOR_MODEL),
            soul: None,
            essential: false,
        };
        assert_eq!(agents[2], coordinator);
        assert_eq!(COORDINATOR_MODEL, "anthropic/claude-haiku-4-5");
    }
}
