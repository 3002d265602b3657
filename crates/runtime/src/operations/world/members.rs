//! Who may change the members of an org by a plan: those who may do it one by one.

use std::collections::BTreeMap;

use ostler_domain::org::people::check_role_change;
use ostler_domain::org::permission::OrgPermission;
use ostler_domain::org::role::Role;
use ostler_domain::org::{Org, OrgPlace};
use ostler_world::plan::Change;
use ostler_world::spec::{MemberDefinition, Names, OrgDefinition};
use ostler_world::{Address, Kind, Resources};

use super::super::{Actor, Operations, Result};
use super::CheckedPlan;
use super::apply::org_id;

impl Operations {
    /// Checks that the actor may make the changes of members of an org.
    pub(super) async fn authorize_members(
        &self,
        actor: Actor,
        plan: &CheckedPlan,
        slug: &str,
        changes: &[&Change],
        names: &BTreeMap<String, Names>,
    ) -> Result<()> {
        let members = changes.iter().filter(|change| change.address.kind == Kind::Member);
        let members: Vec<&&Change> = members.collect();
        // The operator at the machine may make anybody anything.
        if members.is_empty() || actor == Actor::Terminal {
            return Ok(());
        }
        let (store, org) = (&self.0.store, org_id(names, slug)?);
        let by = if plan.live().resources.contains_key(&Address::of_org(slug)) {
            actor.authorize(store, org, OrgPermission::ManagePeople).await?;
            actor.role_in(store, org).await?
        } else {
            // Only the platform creates an org, with its first people.
            Role::PlatformAdmin
        };
        let place = place_of(plan, slug, names)?;
        for change in members {
            let role = |resources: &Resources| {
                let member: Option<MemberDefinition> =
                    resources.get(&change.address).and_then(|one| one.spec().ok());
                member.map(|member| member.role)
            };
            check_role_change(by, place, role(&plan.live().resources), role(&plan.plan.after))?;
        }
        Ok(())
    }
}

/// Returns where an org stands in the tree after a plan.
fn place_of(plan: &CheckedPlan, slug: &str, names: &BTreeMap<String, Names>) -> Result<OrgPlace> {
    let spec: Option<OrgDefinition> =
        plan.plan.after.get(&Address::of_org(slug)).and_then(|org| org.spec().ok());
    let org = spec
        .zip(names.get(slug))
        .map(|(spec, own)| -> Result<Org> { Ok(spec.to_org(org_id(names, slug)?, own)?) });
    Ok(org.transpose()?.map_or(OrgPlace::TopLevel, |org| org.place))
}
