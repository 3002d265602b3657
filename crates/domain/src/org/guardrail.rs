//! The guardrail matrix: what agents of each business layer may do.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::Relation;
use super::layer::{BusinessLayer, BusinessPosition};
use crate::agent::subtype::Subtype;

/// Maximum number of records per call of a limited bulk operation.
pub const BULK_LIMIT: u32 = 100;

/// A row of the matrix.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Capability {
    /// Create an org below a top-level org.
    CreateSubOrgs,
    /// Bind a bot to an org.
    DeployBots,
    /// Change the settings of an org.
    ManageOrgSettings,
    /// See data of the org above.
    AccessParentData,
    /// See or change data of an org below.
    AccessChildData,
    SoulEvolution,
    /// Touch many records in one call.
    BulkOperations,
    /// Send a message to a contact.
    SendExternalMessages,
    ModifyAgents,
    /// Take data out of the system.
    DataExport,
    /// Send an issue one layer up.
    EscalateUp,
    /// Give work to the layer below.
    DelegateDown,
}

/// A cell of the matrix.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Right {
    /// Allowed everywhere.
    Yes,
    /// Allowed in the agent's own org.
    OwnOrg,
    /// Reading is allowed, writing is not.
    QueryOnly,
    /// May be proposed; a person or a higher layer applies it.
    Propose,
    /// Allowed up to this many records per call.
    Limited(u32),
    /// Allowed, toward this layer.
    To(BusinessLayer),
    No,
    /// Not meaningful at this layer, so not allowed either.
    NotApplicable,
}

use Relation::{Child, Own};
use Right::{Limited, No, NotApplicable, OwnOrg, Propose, QueryOnly, To, Yes};

/// The matrix: a row per capability, a column per layer from 1 to 4.
pub const MATRIX: [(Capability, [Right; 4]); 12] = [
    (Capability::CreateSubOrgs, [Yes, Yes, No, No]),
    (Capability::DeployBots, [Yes, Yes, No, No]),
    (Capability::ManageOrgSettings, [Yes, OwnOrg, OwnOrg, No]),
    (Capability::AccessParentData, [NotApplicable, NotApplicable, No, No]),
    (Capability::AccessChildData, [Yes, QueryOnly, NotApplicable, NotApplicable]),
    (Capability::SoulEvolution, [Yes, Propose, Propose, No]),
    (Capability::BulkOperations, [Yes, Yes, Limited(BULK_LIMIT), No]),
    (Capability::SendExternalMessages, [Yes, Yes, Yes, Yes]),
    (Capability::ModifyAgents, [Yes, OwnOrg, OwnOrg, No]),
    (Capability::DataExport, [Yes, Yes, Yes, No]),
    (
        Capability::EscalateUp,
        [
            NotApplicable,
            To(BusinessLayer::Platform),
            To(BusinessLayer::Agency),
            To(BusinessLayer::Client),
        ],
    ),
    (
        Capability::DelegateDown,
        [
            To(BusinessLayer::Agency),
            To(BusinessLayer::Client),
            To(BusinessLayer::EndCustomer),
            NotApplicable,
        ],
    ),
];

/// Returns the right of a layer to a capability.
pub fn right(layer: BusinessLayer, capability: Capability) -> Right {
    MATRIX
        .iter()
        .find(|(row, _)| *row == capability)
        .map_or(No, |(_, cells)| cells[usize::from(layer.number()) - 1])
}

/// An action of an agent, with what the matrix needs to know. The [`Relation`] is that
/// of the affected org to the agent's org.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GuardedAction {
    CreateSubOrg(Relation),
    DeployBot(Relation),
    ManageSettings(Relation),
    ReadData(Relation),
    WriteData(Relation),
    Bulk {
        records: u32,
    },
    SendToContact,
    ModifyAgent(Relation),
    Export(Relation),
    /// Run a tool in the name of an agent of that org.
    ActAs(Relation),
}

/// An action that the matrix does not allow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{business_layer} may not {capability}{}", describe_limit(*.right))]
pub struct GuardrailRefusal {
    /// The layer whose rights were applied.
    pub business_layer: BusinessLayer,
    pub capability: Capability,
    pub right: Right,
}

/// Checks whether the matrix allows the action.
pub fn check(actor: &BusinessPosition, action: GuardedAction) -> Result<(), GuardrailRefusal> {
    let layer = actor.guardrail_layer;
    let (capability, allowed) = match action {
        GuardedAction::CreateSubOrg(org) => {
            check_listed_orgs(layer, Capability::CreateSubOrgs, org, &[Own])
        }
        GuardedAction::DeployBot(org) => {
            check_listed_orgs(layer, Capability::DeployBots, org, &[Own, Child])
        }
        GuardedAction::Export(org) => check_listed_orgs(layer, Capability::DataExport, org, &[Own]),
        GuardedAction::ManageSettings(org) => check_org(layer, Capability::ManageOrgSettings, org),
        GuardedAction::ModifyAgent(org) | GuardedAction::ActAs(org) => {
            check_org(layer, Capability::ModifyAgents, org)
        }
        GuardedAction::ReadData(Relation::Own) | GuardedAction::WriteData(Relation::Own) => {
            return Ok(());
        }
        GuardedAction::ReadData(org) => check_data_access(layer, org, &[Yes, QueryOnly]),
        GuardedAction::WriteData(org) => check_data_access(layer, org, &[Yes]),
        GuardedAction::Bulk { records } => {
            let capability = Capability::BulkOperations;
            let allowed = match right(layer, capability) {
                Yes => true,
                Limited(limit) => records <= limit,
                _ => false,
            };
            (capability, allowed)
        }
        GuardedAction::SendToContact => {
            let capability = Capability::SendExternalMessages;
            let allowed = right(layer, capability) == Yes;
            // A coordinator routes between layers and never messages contacts.
            (capability, allowed && actor.subtype != Subtype::Coordinator)
        }
    };
    if allowed {
        Ok(())
    } else {
        let right = right(layer, capability);
        Err(GuardrailRefusal { business_layer: layer, capability, right })
    }
}

/// Allows the action in the listed orgs, and for the platform in all.
fn check_listed_orgs(
    layer: BusinessLayer,
    capability: Capability,
    org: Relation,
    reach: &[Relation],
) -> (Capability, bool) {
    let reachable = layer == BusinessLayer::Platform || reach.contains(&org);
    (capability, reachable && right(layer, capability) == Yes)
}

/// Allows the action in all orgs or in the agent's own, as the matrix says.
fn check_org(layer: BusinessLayer, capability: Capability, org: Relation) -> (Capability, bool) {
    let allowed = match right(layer, capability) {
        Yes => true,
        OwnOrg => org == Relation::Own,
        _ => false,
    };
    (capability, allowed)
}

/// Allows access to data of another org. Only the platform reaches unrelated orgs.
fn check_data_access(layer: BusinessLayer, org: Relation, wanted: &[Right]) -> (Capability, bool) {
    let capability = match org {
        Relation::Parent => Capability::AccessParentData,
        Relation::Own | Relation::Child | Relation::Unrelated => Capability::AccessChildData,
    };
    let reachable = org != Relation::Unrelated || layer == BusinessLayer::Platform;
    (capability, reachable && wanted.contains(&right(layer, capability)))
}

impl fmt::Display for Capability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::CreateSubOrgs => "create sub-orgs",
            Self::DeployBots => "deploy bots",
            Self::ManageOrgSettings => "manage org settings",
            Self::AccessParentData => "access parent org data",
            Self::AccessChildData => "access child org data",
            Self::SoulEvolution => "evolve souls",
            Self::BulkOperations => "run bulk operations",
            Self::SendExternalMessages => "send external messages",
            Self::ModifyAgents => "modify agents",
            Self::DataExport => "export data",
            Self::EscalateUp => "escalate up",
            Self::DelegateDown => "delegate down",
        })
    }
}

impl fmt::Display for Right {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Yes => f.write_str("yes"),
            Self::OwnOrg => f.write_str("own org"),
            Self::QueryOnly => f.write_str("query only"),
            Self::Propose => f.write_str("propose"),
            Self::Limited(limit) => write!(f, "up to {limit} records"),
            Self::To(layer) => write!(f, "to {}", layer.name()),
            Self::No => f.write_str("no"),
            Self::NotApplicable => f.write_str("n/a"),
        }
    }
}

fn describe_limit(right: Right) -> String {
    match right {
        OwnOrg | QueryOnly | Limited(_) => format!(" here; it has: {right}"),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::{BULK_LIMIT, Capability, GuardedAction, Right, check, right};
    use crate::agent::subtype::Subtype;
    use crate::org::Relation::{Child, Own, Parent, Unrelated};
    use crate::org::layer::{BusinessLayer, BusinessPosition};

    fn position(layer: BusinessLayer, subtype: Subtype) -> BusinessPosition {
        BusinessPosition { business_layer: layer, guardrail_layer: layer, subtype }
    }

    /// Returns the layers that may do it.
    fn allowed(action: GuardedAction) -> Vec<u8> {
        BusinessLayer::ALL
            .into_iter()
            .filter(|&layer| check(&position(layer, Subtype::Pm), action).is_ok())
            .map(BusinessLayer::number)
            .collect()
    }

    /// A05, H11, L37-L45: every action of the matrix, over the four layers.
    #[test]
    fn l37_to_l45_the_matrix_holds() {
        let table: [(&str, GuardedAction, &[u8]); 26] = [
            ("L37", GuardedAction::CreateSubOrg(Own), &[1, 2]),
            ("L37", GuardedAction::CreateSubOrg(Unrelated), &[1]),
            ("L38", GuardedAction::DeployBot(Own), &[1, 2]),
            ("L38", GuardedAction::DeployBot(Child), &[1, 2]),
            ("L38", GuardedAction::DeployBot(Unrelated), &[1]),
            ("L39", GuardedAction::ManageSettings(Own), &[1, 2, 3]),
            ("L39", GuardedAction::ManageSettings(Child), &[1]),
            ("L39", GuardedAction::ManageSettings(Parent), &[1]),
            ("L39", GuardedAction::ManageSettings(Unrelated), &[1]),
            ("L40", GuardedAction::ReadData(Parent), &[]),
            ("L40", GuardedAction::WriteData(Parent), &[]),
            ("L41", GuardedAction::ReadData(Child), &[1, 2]),
            ("L41", GuardedAction::WriteData(Child), &[1]),
            ("L41", GuardedAction::ReadData(Own), &[1, 2, 3, 4]),
            ("A05", GuardedAction::ReadData(Unrelated), &[1]),
            ("L42", GuardedAction::Bulk { records: 1 }, &[1, 2, 3]),
            ("L42", GuardedAction::Bulk { records: BULK_LIMIT }, &[1, 2, 3]),
            ("L42", GuardedAction::Bulk { records: BULK_LIMIT + 1 }, &[1, 2]),
            ("L43", GuardedAction::SendToContact, &[1, 2, 3, 4]),
            ("L44", GuardedAction::ModifyAgent(Own), &[1, 2, 3]),
            ("L44", GuardedAction::ModifyAgent(Child), &[1]),
            ("L44", GuardedAction::ModifyAgent(Parent), &[1]),
            ("L45", GuardedAction::Export(Own), &[1, 2, 3]),
            ("L45", GuardedAction::Export(Parent), &[1]),
            ("H11", GuardedAction::ActAs(Child), &[1]),
            ("H11", GuardedAction::ActAs(Own), &[1, 2, 3]),
        ];
        for (row, action, layers) in table {
            assert_eq!(allowed(action), layers, "{row} {action:?}");
        }
    }

    /// L11, L43: a coordinator never messages people outside, at any layer.
    #[test]
    fn l11_a_coordinator_never_sends_outside() {
        for layer in BusinessLayer::ALL {
            let refused =
                check(&position(layer, Subtype::Coordinator), GuardedAction::SendToContact);
            assert!(refused.is_err(), "{layer}");
        }
    }

    /// H09, L17-L19, L31: the rows that other rules read.
    #[test]
    fn h09_soul_evolution_escalation_and_delegation_rows() {
        use BusinessLayer::{Agency, Client, EndCustomer, Platform};
        let row = |capability| BusinessLayer::ALL.map(|layer| right(layer, capability));
        assert_eq!(
            row(Capability::SoulEvolution),
            [Right::Yes, Right::Propose, Right::Propose, Right::No]
        );
        let (to, none) = (Right::To, Right::NotApplicable);
        assert_eq!(row(Capability::EscalateUp), [none, to(Platform), to(Agency), to(Client)]);
        assert_eq!(row(Capability::DelegateDown), [to(Agency), to(Client), to(EndCustomer), none]);
    }

    #[test]
    fn a_refusal_says_what_is_allowed_instead() {
        let client = position(BusinessLayer::Client, Subtype::Pm);
        let why = check(&client, GuardedAction::Bulk { records: 500 }).unwrap_err().to_string();
        assert_eq!(
            why,
            "business layer 3 (Client) may not run bulk operations here; it has: up to 100 records"
        );
    }
}
