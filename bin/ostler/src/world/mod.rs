//! A world in a TOML file: orgs, agents, policies and sessions to look at
//! without a store.

mod file;
mod load;
mod plant;
mod problem;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use ostler_domain::agent::Agent;
use ostler_domain::id::OrgId;
use ostler_domain::money::caps::SessionBudget;
use ostler_domain::org::layer::Standing;
use ostler_domain::org::tree::OrgTree;
use ostler_domain::org::{Org, Place};
use ostler_domain::scope::policy::ToolPolicy;
use ostler_domain::scope::session::SessionTools;
use ostler_domain::session::errors::ErrorState;
use ostler_domain::tool::{Integration, Trust};

pub(crate) use problem::{WorldError, unknown};

/// The world that ships with the program.
pub(crate) const SAMPLE: &str = include_str!("../../../../examples/harbour.toml");

/// All that a world file says, checked.
#[derive(Debug)]
pub(crate) struct World {
    pub(crate) platform: ToolPolicy,
    pub(crate) orgs: OrgTree,
    pub(crate) org_tools: BTreeMap<OrgId, OrgSettings>,
    pub(crate) agents: Vec<WorldAgent>,
    pub(crate) sessions: Vec<WorldSession>,
    pub(crate) furniture: plant::Furniture,
}

/// What an org says about tools.
#[derive(Debug)]
pub(crate) struct OrgSettings {
    pub(crate) policy: ToolPolicy,
    pub(crate) integrations: BTreeSet<Integration>,
    pub(crate) team_coordination: bool,
}

/// An agent and where it stands.
#[derive(Debug)]
pub(crate) struct WorldAgent {
    pub(crate) agent: Agent,
    pub(crate) standing: Standing,
}

/// A session as far as tools are concerned.
#[derive(Debug)]
pub(crate) struct WorldSession {
    pub(crate) name: String,
    pub(crate) org: OrgId,
    pub(crate) tools: SessionTools,
    pub(crate) errors: ErrorState,
    pub(crate) budget: SessionBudget,
    pub(crate) trust: Trust,
}

impl World {
    /// Reads a world file.
    pub(crate) fn read(path: &Path) -> Result<Self, WorldError> {
        let name = path.display().to_string();
        let text = std::fs::read_to_string(path)
            .map_err(|cause| WorldError::Unreadable { file: name.clone(), cause })?;
        Self::parse(&name, &text)
    }

    /// Reads the text of a world file; `name` is what errors call it.
    pub(crate) fn parse(name: &str, text: &str) -> Result<Self, WorldError> {
        load::load(&problem::Source { name, text })
    }

    /// The agents of an org, in the order of the file.
    pub(crate) fn agents_of(&self, org: &Org) -> impl Iterator<Item = &WorldAgent> {
        let id = org.id;
        self.agents.iter().filter(move |agent| agent.agent.org == id)
    }
}

/// The word for an org's place in the tree.
pub(crate) const fn place_name(org: &Org) -> &'static str {
    match org.place {
        Place::Platform => "platform",
        Place::TopLevel => "agency",
        Place::SubOrg { .. } => "client",
    }
}
