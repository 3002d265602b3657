//! The tree of orgs: one platform, top-level orgs, one level of sub-orgs.

use std::collections::BTreeMap;

use super::plan::Allowance;
use super::{Org, OrgPlace};
use crate::id::OrgId;

/// A set of orgs that form a valid tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OrgTree {
    orgs: BTreeMap<OrgId, Org>,
    platform: OrgId,
}

/// Why a set of orgs is not a valid tree.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TreeError {
    #[error("no org is the platform; exactly one must be")]
    NoPlatform,
    #[error("`{slug}` is a second platform; exactly one org is the platform")]
    SecondPlatform { slug: String },
    #[error("there are two orgs `{slug}`; a slug belongs to one org")]
    Duplicate { slug: String },
    #[error("the parent of `{slug}` does not exist")]
    UnknownParent { slug: String },
    /// The parent is itself a sub-org, or the platform.
    #[error("`{slug}` cannot be below `{parent}`: only a top-level org has sub-orgs")]
    TooDeep { slug: String, parent: String },
}

impl OrgTree {
    /// Builds the tree; fails if the orgs break one of its rules.
    pub fn new(orgs: impl IntoIterator<Item = Org>) -> Result<Self, TreeError> {
        let mut known: BTreeMap<OrgId, Org> = BTreeMap::new();
        let mut platform = None;
        for org in orgs {
            if org.place == OrgPlace::Platform && platform.replace(org.id).is_some() {
                return Err(TreeError::SecondPlatform { slug: org.slug });
            }
            if known.values().any(|other| other.slug == org.slug || other.id == org.id) {
                return Err(TreeError::Duplicate { slug: org.slug });
            }
            known.insert(org.id, org);
        }
        for org in known.values() {
            let Some(parent) = org.parent() else { continue };
            let parent = known
                .get(&parent)
                .ok_or_else(|| TreeError::UnknownParent { slug: org.slug.clone() })?;
            if parent.place != OrgPlace::TopLevel {
                let (slug, parent) = (org.slug.clone(), parent.slug.clone());
                return Err(TreeError::TooDeep { slug, parent });
            }
        }
        Ok(Self { platform: platform.ok_or(TreeError::NoPlatform)?, orgs: known })
    }

    /// Returns the org with this id.
    pub fn get(&self, id: OrgId) -> Option<&Org> {
        self.orgs.get(&id)
    }

    /// Returns the org with this slug.
    pub fn by_slug(&self, slug: &str) -> Option<&Org> {
        self.orgs.values().find(|org| org.slug == slug)
    }

    /// Returns the id of the platform org.
    pub const fn platform(&self) -> OrgId {
        self.platform
    }

    /// Returns the parent of an org.
    pub fn parent_of(&self, org: &Org) -> Option<&Org> {
        self.get(org.parent()?)
    }

    /// Returns the children of an org, ordered by id.
    pub fn children_of(&self, id: OrgId) -> impl Iterator<Item = &Org> {
        self.orgs.values().filter(move |org| org.parent() == Some(id))
    }

    /// Returns all orgs, ordered by id.
    pub fn iter(&self) -> impl Iterator<Item = &Org> {
        self.orgs.values()
    }
}

/// Why a sub-org may not be created.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SubOrgRefused {
    #[error("`{0}` cannot have sub-orgs: only a top-level org has them, one level deep")]
    TooDeep(String),
    #[error("the licence of `{0}` does not include sub-orgs")]
    NotLicensed(String),
    #[error("the {plan} plan includes {included} sub-orgs and `{slug}` has {existing}")]
    PlanFull { slug: String, plan: &'static str, included: u32, existing: u32 },
}

/// Checks whether the licence of `parent`, which has `existing` sub-orgs now, includes one
/// more.
pub fn check_sub_org_licence(parent: &Org, existing: u32) -> Result<(), SubOrgRefused> {
    if parent.place != OrgPlace::TopLevel {
        return Err(SubOrgRefused::TooDeep(parent.slug.clone()));
    }
    if !parent.sub_orgs_enabled {
        return Err(SubOrgRefused::NotLicensed(parent.slug.clone()));
    }
    match parent.plan.sub_orgs() {
        Allowance::UpTo(included) if existing >= included => Err(SubOrgRefused::PlanFull {
            slug: parent.slug.clone(),
            plan: parent.plan.name(),
            included,
            existing,
        }),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::{OrgTree, TreeError, check_sub_org_licence};
    use crate::id::OrgId;
    use crate::org::plan::LicencePlan;
    use crate::org::{Org, OrgPlace};
    use crate::testing;

    fn grandchild() -> Org {
        let mut org = testing::client();
        org.id = OrgId::from_u128(99);
        org.slug = "grandchild".into();
        org.place = OrgPlace::SubOrg { parent: testing::client().id };
        org
    }

    #[test]
    fn a_valid_tree_returns_parents_and_children() {
        let tree =
            OrgTree::new([testing::client(), testing::platform(), testing::agency()]).unwrap();
        assert_eq!(tree.platform(), testing::platform().id);
        assert_eq!(tree.parent_of(&testing::client()), Some(&testing::agency()));
        assert_eq!(tree.parent_of(&testing::agency()), None);
        let below: Vec<&Org> = tree.children_of(testing::agency().id).collect();
        assert_eq!(below, [&testing::client()]);
    }

    /// L47: one nesting level only; and exactly one platform.
    #[test]
    fn l47_an_invalid_tree_is_refused() {
        let check = |orgs: Vec<Org>, expected: TreeError| {
            assert_eq!(OrgTree::new(orgs), Err(expected));
        };
        let slug = |text: &str| text.to_owned();
        let all = || vec![testing::platform(), testing::agency(), testing::client()];
        check(vec![testing::agency()], TreeError::NoPlatform);
        check(
            vec![testing::platform(), Org { slug: slug("p2"), ..testing::platform() }],
            TreeError::SecondPlatform { slug: slug("p2") },
        );
        check(
            [all(), all()[1..].to_vec()].concat(),
            TreeError::Duplicate { slug: slug("harbour") },
        );
        check(
            vec![testing::platform(), testing::client()],
            TreeError::UnknownParent { slug: slug("bella") },
        );
        check(
            [all(), vec![grandchild()]].concat(),
            TreeError::TooDeep { slug: slug("grandchild"), parent: slug("bella") },
        );
    }

    /// L47: below whom sub-orgs are created, and how many.
    #[test]
    fn l47_the_licence_limits_sub_orgs_below_a_top_level_org() {
        let (agency, client) = (testing::agency(), testing::client());
        let check = |parent: &Org, existing, expected: Result<(), &str>| {
            let ruling = check_sub_org_licence(parent, existing);
            assert_eq!(ruling.map_err(|why| why.to_string()), expected.map_err(str::to_owned));
        };
        check(&agency, 1, Ok(()));
        check(&agency, 2, Err("the agency plan includes 2 sub-orgs and `harbour` has 2"));
        let deep =
            Err("`bella` cannot have sub-orgs: only a top-level org has them, one level deep");
        check(&client, 0, deep);
        let unlicensed = Org { sub_orgs_enabled: false, ..agency.clone() };
        check(&unlicensed, 0, Err("the licence of `harbour` does not include sub-orgs"));
        let enterprise = Org { plan: LicencePlan::Enterprise, ..agency };
        check(&enterprise, 1000, Ok(()));
    }
}
