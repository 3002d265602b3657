//! Organizations and the platform's policy.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use ostler_domain::id::OrgId;
use ostler_domain::money::Credits;
use ostler_domain::money::sharing::SharingPolicy;
use ostler_domain::org::plan::{CreditAllowance, LicencePlan};
use ostler_domain::org::{Org, OrgPlace};
use ostler_domain::scope::policy::ToolPolicy;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::names::{Names, UnknownName};
use super::settings::SettingsDefinition;

/// What applies to every organization.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PlatformDefinition {
    /// The tools that are allowed and denied in every organization.
    pub tools: ToolPolicy,
}

/// An organization.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OrgDefinition {
    /// The name in commands, files and addresses: lower-case letters, digits and `-`.
    pub slug: String,
    /// The name on screens and in prompts.
    pub name: String,
    /// Whether this is the platform, which runs the installation. One organization is.
    #[serde(default)]
    pub platform: bool,
    /// The agency that it is a client of.
    #[serde(default)]
    pub parent: Option<String>,
    /// The licence plan.
    #[serde(default = "free")]
    pub plan: LicencePlan,
    /// Whether the licence includes client organizations.
    #[serde(default)]
    pub sub_orgs: bool,
    /// The IANA name of the time zone, such as `Europe/Berlin`.
    #[serde(default = "utc")]
    pub time_zone: String,
    /// After how many days ended conversations are deleted; never if it is left out.
    #[serde(default)]
    pub retention_days: Option<NonZeroU32>,
    /// Whether the organization is retired: its channels are closed and it is not listed.
    #[serde(default)]
    pub archived: bool,
    /// Credits that the organization gets once, when it is created.
    #[serde(default)]
    pub starting_credits: Credits,
    /// Credits per month and day, where they differ from the plan's.
    #[serde(default)]
    pub credits: CreditsDefinition,
    /// What it pays for its client organizations.
    #[serde(default)]
    pub sharing: SharingDefinition,
    /// The tools that its agents may use.
    #[serde(default)]
    pub tools: ToolPolicy,
    /// How its conversations work.
    #[serde(default)]
    pub settings: SettingsDefinition,
}

/// Credits per month and day.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CreditsDefinition {
    /// Credits per month; the plan's if it is left out.
    pub monthly: Option<Credits>,
    /// Credits per UTC day; the plan's if it is left out.
    pub daily: Option<Credits>,
}

/// What an agency pays for its clients.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SharingDefinition {
    /// The most that one client may use per UTC day.
    pub max_per_child: Credits,
    /// The most that all clients together may use per UTC day.
    pub max_total: Credits,
    /// The percentage of a cap at which the agency is notified.
    pub notice_percent: u64,
    /// Other caps for particular clients, by their slug.
    pub overrides: BTreeMap<String, Credits>,
}

impl Default for SharingDefinition {
    fn default() -> Self {
        Self::from_policy(&SharingPolicy::default(), &Names::default())
    }
}

fn utc() -> String {
    "UTC".to_owned()
}

const fn free() -> LicencePlan {
    LicencePlan::Free
}

impl OrgDefinition {
    /// Returns the place of the org in the tree.
    pub fn place(&self, names: &Names) -> Result<OrgPlace, UnknownName> {
        match &self.parent {
            Some(parent) => Ok(OrgPlace::SubOrg { parent: names.orgs.find("org", parent)? }),
            None if self.platform => Ok(OrgPlace::Platform),
            None => Ok(OrgPlace::TopLevel),
        }
    }

    /// Returns the org that this describes.
    pub fn to_org(&self, id: OrgId, names: &Names) -> Result<Org, UnknownName> {
        Ok(Org {
            id,
            slug: self.slug.clone(),
            name: self.name.clone(),
            place: self.place(names)?,
            plan: self.plan,
            sub_orgs_enabled: self.sub_orgs,
            time_zone: self.time_zone.clone(),
            retention_days: self.retention_days,
            archived: self.archived,
            credits: CreditAllowance { monthly: self.credits.monthly, daily: self.credits.daily },
        })
    }

    /// Describes an org.
    pub fn from_org(
        org: &Org,
        (starting_credits, sharing): (Credits, &SharingPolicy),
        tools: ToolPolicy,
        settings: SettingsDefinition,
        names: &Names,
    ) -> Self {
        let Org { slug, name, plan, time_zone, retention_days, archived, credits, .. } =
            org.clone();
        Self {
            slug,
            name,
            platform: org.place == OrgPlace::Platform,
            parent: org.parent().map(|parent| names.orgs.name(parent)),
            plan,
            sub_orgs: org.sub_orgs_enabled,
            time_zone,
            retention_days,
            archived,
            starting_credits,
            credits: CreditsDefinition { monthly: credits.monthly, daily: credits.daily },
            sharing: SharingDefinition::from_policy(sharing, names),
            tools,
            settings,
        }
    }
}

impl SharingDefinition {
    /// Returns the policy that this describes.
    pub fn to_policy(&self, names: &Names) -> Result<SharingPolicy, UnknownName> {
        let overrides = self.overrides.iter();
        let overrides = overrides.map(|(child, cap)| Ok((names.orgs.find("org", child)?, *cap)));
        Ok(SharingPolicy {
            max_per_child: self.max_per_child,
            max_total: self.max_total,
            notice_percent: self.notice_percent,
            overrides: overrides.collect::<Result<_, UnknownName>>()?,
        })
    }

    fn from_policy(policy: &SharingPolicy, names: &Names) -> Self {
        let overrides = policy.overrides.iter();
        Self {
            max_per_child: policy.max_per_child,
            max_total: policy.max_total,
            notice_percent: policy.notice_percent,
            overrides: overrides.map(|(child, cap)| (names.orgs.name(*child), *cap)).collect(),
        }
    }
}
