//! The guardrail matrix: what each business layer may do, as data.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::Relation;
use super::layer::{BusinessLayer, Standing};
use crate::agent::subtype::Subtype;

/// Records per call that a limited bulk operation may touch.
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
    /// Change a soul.
    SoulEvolution,
    /// Touch many records in one call.
    BulkOperations,
    /// Send a message to a contact.
    SendExternalMessages,
    /// Change an agent's configuration.
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
    /// Allowed on the agent's own org.
    OwnOrg,
    /// Reading is allowed, writing is not.
    QueryOnly,
    /// May be proposed; somebody else applies it.
    Propose,
    /// Allowed up to this many records per call.
    Limited(u32),
    /// Allowed, toward this layer.
    To(BusinessLayer),
    /// Not allowed.
    No,
    /// The question does not arise at this layer, so it is not allowed either.
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

/// The right that a layer has to a capability.
pub fn right(layer: BusinessLayer, capability: Capability) -> Right {
    MATRIX
        .iter()
        .find(|(row, _)| *row == capability)
        .map_or(No, |(_, cells)| cells[usize::from(layer.number()) - 1])
}

/// Something an agent is about to do, with what the matrix needs to know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Create a sub-org of an org so related.
    CreateSubOrg(Relation),
    /// Bind a bot to an org so related.
    DeployBot(Relation),
    /// Change the settings of an org so related.
    ManageSettings(Relation),
    /// Read data of an org so related.
    ReadData(Relation),
    /// Write data of an org so related.
    WriteData(Relation),
    /// Touch this many records in one call.
    Bulk {
        /// How many.
        records: u32,
    },
    /// Send a message to a contact.
    SendToContact,
    /// Change the configuration of an agent of an org so related.
    ModifyAgent(Relation),
    /// Export data of an org so related.
    Export(Relation),
    /// Run a tool in the name of an agent of an org so related.
    ActAs(Relation),
}

/// An action that the matrix does not allow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{business_layer} may not {capability}{}", limit_note(*.right))]
pub struct Refused {
    /// The business layer that asked.
    pub business_layer: BusinessLayer,
    /// What it asked for.
    pub capability: Capability,
    /// What it has instead.
    pub right: Right,
}

/// Whether an agent of this standing may do this.
pub fn check(actor: &Standing, action: Action) -> Result<(), Refused> {
    let layer = actor.guarded_as;
    let (capability, allowed) = match action {
        Action::CreateSubOrg(org) => within(layer, Capability::CreateSubOrgs, org, &[Own]),
        Action::DeployBot(org) => within(layer, Capability::DeployBots, org, &[Own, Child]),
        Action::Export(org) => within(layer, Capability::DataExport, org, &[Own]),
        Action::ManageSettings(org) => on(layer, Capability::ManageOrgSettings, org),
        Action::ModifyAgent(org) | Action::ActAs(org) => on(layer, Capability::ModifyAgents, org),
        Action::ReadData(Relation::Own) | Action::WriteData(Relation::Own) => return Ok(()),
        Action::ReadData(org) => data(layer, org, &[Yes, QueryOnly]),
        Action::WriteData(org) => data(layer, org, &[Yes]),
        Action::Bulk { records } => {
            let capability = Capability::BulkOperations;
            let allowed = match right(layer, capability) {
                Yes => true,
                Limited(most) => records <= most,
                _ => false,
            };
            (capability, allowed)
        }
        Action::SendToContact => {
            let capability = Capability::SendExternalMessages;
            let allowed = right(layer, capability) == Yes;
            // A coordinator routes between layers and never speaks to people outside.
            (capability, allowed && actor.subtype != Subtype::Coordinator)
        }
    };
    if allowed {
        Ok(())
    } else {
        let right = right(layer, capability);
        Err(Refused { business_layer: layer, capability, right })
    }
}

/// A plain yes reaches the listed orgs; only the platform's reaches all.
fn within(
    layer: BusinessLayer,
    capability: Capability,
    org: Relation,
    reach: &[Relation],
) -> (Capability, bool) {
    let reachable = layer == BusinessLayer::Platform || reach.contains(&org);
    (capability, reachable && right(layer, capability) == Yes)
}

fn on(layer: BusinessLayer, capability: Capability, org: Relation) -> (Capability, bool) {
    let allowed = match right(layer, capability) {
        Yes => true,
        OwnOrg => org == Relation::Own,
        _ => false,
    };
    (capability, allowed)
}

/// Data of another org. A stranger's is out of reach for all but the platform.
fn data(layer: BusinessLayer, org: Relation, wanted: &[Right]) -> (Capability, bool) {
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
            Self::Limited(most) => write!(f, "up to {most} records"),
            Self::To(layer) => write!(f, "to {}", layer.name()),
            Self::No => f.write_str("no"),
            Self::NotApplicable => f.write_str("n/a"),
        }
    }
}

fn limit_note(right: Right) -> String {
    match right {
        OwnOrg | QueryOnly | Limited(_) => format!(" here; it has: {right}"),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::{Action, BULK_LIMIT, Capability, Right, check, right};
    use crate::agent::subtype::Subtype;
    use crate::org::Relation::{Child, Own, Parent, Unrelated};
    use crate::org::layer::{BusinessLayer, Standing};

    fn standing(layer: BusinessLayer, subtype: Subtype) -> Standing {
        Standing { business_layer: layer, guarded_as: layer, subtype }
    }

    /// Which of the layers 1-4 may do it.
    fn allowed(action: Action) -> Vec<u8> {
        BusinessLayer::ALL
            .into_iter()
            .filter(|&layer| check(&standing(layer, Subtype::Pm), action).is_ok())
            .map(BusinessLayer::number)
            .collect()
    }

    /// A05, H11, L37-L45: every action of the matrix, over the four layers.
    #[test]
    fn l37_to_l45_the_matrix_holds() {
        let table: [(&str, Action, &[u8]); 26] = [
            ("L37", Action::CreateSubOrg(Own), &[1, 2]),
            ("L37", Action::CreateSubOrg(Unrelated), &[1]),
            ("L38", Action::DeployBot(Own), &[1, 2]),
            ("L38", Action::DeployBot(Child), &[1, 2]),
            ("L38", Action::DeployBot(Unrelated), &[1]),
            ("L39", Action::ManageSettings(Own), &[1, 2, 3]),
            ("L39", Action::ManageSettings(Child), &[1]),
            ("L39", Action::ManageSettings(Parent), &[1]),
            ("L39", Action::ManageSettings(Unrelated), &[1]),
            ("L40", Action::ReadData(Parent), &[]),
            ("L40", Action::WriteData(Parent), &[]),
            ("L41", Action::ReadData(Child), &[1, 2]),
            ("L41", Action::WriteData(Child), &[1]),
            ("L41", Action::ReadData(Own), &[1, 2, 3, 4]),
            ("A05", Action::ReadData(Unrelated), &[1]),
            ("L42", Action::Bulk { records: 1 }, &[1, 2, 3]),
            ("L42", Action::Bulk { records: BULK_LIMIT }, &[1, 2, 3]),
            ("L42", Action::Bulk { records: BULK_LIMIT + 1 }, &[1, 2]),
            ("L43", Action::SendToContact, &[1, 2, 3, 4]),
            ("L44", Action::ModifyAgent(Own), &[1, 2, 3]),
            ("L44", Action::ModifyAgent(Child), &[1]),
            ("L44", Action::ModifyAgent(Parent), &[1]),
            ("L45", Action::Export(Own), &[1, 2, 3]),
            ("L45", Action::Export(Parent), &[1]),
            ("H11", Action::ActAs(Child), &[1]),
            ("H11", Action::ActAs(Own), &[1, 2, 3]),
        ];
        for (row, action, layers) in table {
            assert_eq!(allowed(action), layers, "{row} {action:?}");
        }
    }

    /// L11, L43: a coordinator never messages people outside, at any layer.
    #[test]
    fn l11_a_coordinator_never_sends_outside() {
        for layer in BusinessLayer::ALL {
            let refused = check(&standing(layer, Subtype::Coordinator), Action::SendToContact);
            assert!(refused.is_err(), "{layer}");
        }
    }

    /// H09, L17-L19, L31: the rows that other rules read.
    #[test]
    fn h09_souls_and_the_ways_up_and_down() {
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
        let client = standing(BusinessLayer::Client, Subtype::Pm);
        let why = check(&client, Action::Bulk { records: 500 }).unwrap_err().to_string();
        assert_eq!(
            why,
            "business layer 3 (Client) may not run bulk operations here; it has: up to 100 records"
        );
    }
}
