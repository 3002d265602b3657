//! A world file in TOML: orgs, agents, policies and sessions, to inspect without a
//! store or to seed one.

mod error;
mod file;
mod load;
mod seed_data;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use ostler_domain::agent::Agent;
use ostler_domain::id::OrgId;
use ostler_domain::money::caps::SessionBudget;
use ostler_domain::org::layer::BusinessPosition;
use ostler_domain::org::tree::OrgTree;
use ostler_domain::org::{Org, OrgPlace};
use ostler_domain::scope::policy::ToolPolicy;
use ostler_domain::scope::session::SessionTools;
use ostler_domain::session::errors::ErrorState;
use ostler_domain::tool::{Integration, Trust};

pub(crate) use error::{WorldError, unknown_name};

/// The sample world that is compiled into the program.
pub(crate) const SAMPLE: &str = include_str!("../../../../examples/harbour.toml");

/// The content of a world file, with every name checked.
#[derive(Debug)]
pub(crate) struct World {
    pub(crate) platform: ToolPolicy,
    pub(crate) orgs: OrgTree,
    pub(crate) org_tools: BTreeMap<OrgId, OrgToolSettings>,
    pub(crate) agents: Vec<WorldAgent>,
    pub(crate) sessions: Vec<WorldSession>,
    pub(crate) seed_data: seed_data::SeedData,
}

/// The settings of an org that concern tools.
#[derive(Debug)]
pub(crate) struct OrgToolSettings {
    pub(crate) policy: ToolPolicy,
    pub(crate) integrations: BTreeSet<Integration>,
    pub(crate) team_coordination: bool,
}

/// An agent with its business layer.
#[derive(Debug)]
pub(crate) struct WorldAgent {
    pub(crate) agent: Agent,
    pub(crate) position: BusinessPosition,
}

/// The state of a session that concerns tools.
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

    /// Parses the text of a world file; errors call it `name`.
    pub(crate) fn parse(name: &str, text: &str) -> Result<Self, WorldError> {
        load::load(&error::SourceFile { name, text })
    }

    /// Returns the agents of an org, in the order of the file.
    pub(crate) fn agents_of(&self, org: &Org) -> impl Iterator<Item = &WorldAgent> {
        let id = org.id;
        self.agents.iter().filter(move |agent| agent.agent.org == id)
    }
}

/// Returns the name of an org's level in the tree.
pub(crate) const fn place_name(org: &Org) -> &'static str {
    match org.place {
        OrgPlace::Platform => "platform",
        OrgPlace::TopLevel => "agency",
        OrgPlace::SubOrg { .. } => "client",
    }
}
