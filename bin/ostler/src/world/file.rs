//! The format of a world file. Names that refer to other entries or to the tool
//! catalogue keep their position, so that an error can point at it.

use std::collections::{BTreeMap, BTreeSet};

use ostler_domain::agent::autonomy::AutonomyLevel;
use ostler_domain::org::plan::LicencePlan;
use ostler_domain::soul::Soul;
use serde::Deserialize;
use toml::Spanned;

/// A name with its position in the file.
pub(super) type Name = Spanned<String>;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WorldFile {
    #[serde(default)]
    pub(super) platform: PolicyEntry,
    #[serde(default)]
    pub(super) org: Vec<OrgEntry>,
    #[serde(default)]
    pub(super) agent: Vec<AgentEntry>,
    #[serde(default)]
    pub(super) session: Vec<SessionEntry>,
    #[serde(default)]
    pub(super) binding: Vec<BindingEntry>,
    #[serde(default)]
    pub(super) contact: Vec<ContactEntry>,
    #[serde(default)]
    pub(super) record: Vec<RecordEntry>,
    #[serde(default)]
    pub(super) document: Vec<DocumentEntry>,
}

/// A channel of an org and the agent that answers on it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct BindingEntry {
    pub(super) org: Name,
    pub(super) channel: String,
    pub(super) agent: Name,
}

/// A person outside, as an org's channels know them.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ContactEntry {
    pub(super) org: Name,
    /// The name that records of this file refer to.
    pub(super) slug: Name,
    pub(super) name: String,
    /// The identifier on each channel.
    #[serde(default)]
    pub(super) identifiers: BTreeMap<String, String>,
}

/// A business record, such as an order, in the format of the tools.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RecordEntry {
    pub(super) org: Name,
    pub(super) kind: String,
    /// Whose record it is: the slug of a contact.
    pub(super) contact: Option<Name>,
    pub(super) data: toml::Table,
}

/// A knowledge document of an org.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct DocumentEntry {
    pub(super) org: Name,
    pub(super) title: String,
    #[serde(default)]
    pub(super) tags: BTreeSet<String>,
    pub(super) text: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct PolicyEntry {
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
    pub(super) plan: LicencePlan,
    #[serde(default)]
    pub(super) sub_orgs: bool,
    #[serde(default)]
    pub(super) team: bool,
    #[serde(default)]
    pub(super) integrations: Vec<String>,
    #[serde(default = "utc")]
    pub(super) time_zone: String,
    #[serde(default)]
    pub(super) tools: PolicyEntry,
    /// Purchased credits.
    #[serde(default)]
    pub(super) credits: u64,
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
    pub(super) tools: PolicyEntry,
    #[serde(default)]
    pub(super) require_approval_for: Vec<Name>,
    #[serde(default)]
    pub(super) blocked_topics: Vec<String>,
    pub(super) soul: Option<Soul>,
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
    /// Whether the session has read content from outside.
    #[serde(default)]
    pub(super) untrusted: bool,
}
