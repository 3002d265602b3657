//! The shape of a world file, as it is typed. What is named elsewhere in the
//! file, or in the catalogue, keeps its place, so that an error can point at it.

use std::collections::BTreeMap;

use ostler_domain::agent::autonomy::AutonomyLevel;
use ostler_domain::org::plan::Plan;
use serde::Deserialize;
use toml::Spanned;

/// A name with its place in the file.
pub(super) type Name = Spanned<String>;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct File {
    #[serde(default)]
    pub(super) platform: Policy,
    #[serde(default)]
    pub(super) org: Vec<OrgEntry>,
    #[serde(default)]
    pub(super) agent: Vec<AgentEntry>,
    #[serde(default)]
    pub(super) session: Vec<SessionEntry>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Policy {
    pub(super) allow: Vec<Name>,
    pub(super) deny: Vec<Name>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct OrgEntry {
    pub(super) slug: Name,
    pub(super) name: String,
    #[serde(default)]
    pub(super) platform: bool,
    pub(super) parent: Option<Name>,
    pub(super) plan: Plan,
    #[serde(default)]
    pub(super) sub_orgs: bool,
    #[serde(default)]
    pub(super) team: bool,
    #[serde(default)]
    pub(super) integrations: Vec<String>,
    #[serde(default = "utc")]
    pub(super) time_zone: String,
    #[serde(default)]
    pub(super) tools: Policy,
}

fn utc() -> String {
    "UTC".to_owned()
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AgentEntry {
    pub(super) slug: Name,
    pub(super) name: String,
    pub(super) org: Name,
    pub(super) subtype: String,
    pub(super) autonomy: Spanned<AutonomyLevel>,
    pub(super) profile: Option<Name>,
    pub(super) model: Option<String>,
    #[serde(default)]
    pub(super) tools: Policy,
    #[serde(default)]
    pub(super) require_approval_for: Vec<Name>,
    #[serde(default)]
    pub(super) blocked_topics: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SessionEntry {
    pub(super) name: Name,
    pub(super) org: Name,
    pub(super) channel: String,
    #[serde(default)]
    pub(super) spent: u64,
    #[serde(default)]
    pub(super) failures: BTreeMap<Name, u32>,
    /// Whether content from outside has been read.
    #[serde(default)]
    pub(super) untrusted: bool,
}
