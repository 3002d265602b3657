//! Plans of people and programs that ask for them: from world files, or of a few resources.
//! An actor who plans a change needs the same rights as for making it.

use std::collections::BTreeSet;

use ostler_domain::org::permission::OrgPermission;
use ostler_world::plan::Keep;
use ostler_world::{Address, Kind, Resources};

use super::super::{Actor, OperationError, Operations, Result};
use super::{
    AppliedRows, ApplyHost, CheckedPlan, DataRows, FieldPlaces, LiveWorld, RefusedPlan, draft,
    with_applied,
};

/// A change that somebody wants planned.
#[derive(Debug, Default)]
pub struct RequestedChange {
    pub extent: ChangeExtent,
    pub resources: Resources,
    pub data: Vec<DataRows>,
    pub places: FieldPlaces,
    /// Resources that have mistakes of their own: only the rules that the others break are
    /// wanted.
    pub incomplete: BTreeSet<Address>,
}

/// What the resources of a change are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ChangeExtent {
    /// Everything that world files say.
    Files(Option<Keep>),
    /// A few resources; the others stay.
    #[default]
    Some,
}

impl Operations {
    /// Returns the live resources that the actor may view: all, or those of one org with what
    /// applies to every org. Fails if the org is not there or may not be viewed.
    pub async fn live_resources(&self, actor: Actor, org: Option<&str>) -> Result<Resources> {
        let mut resources = self.live_world(actor).await?.resources;
        if let Some(slug) = org {
            if !resources.contains_key(&Address::of_org(slug)) {
                return Err(OperationError::NoOrg(slug.to_owned()));
            }
            resources.retain(|one, _| one.org == slug || one.kind == Kind::Platform);
        }
        Ok(resources)
    }

    /// Plans a change for an actor who may make it. The rules look at the whole installation,
    /// also at what the actor may not view; who may not make the change learns nothing of it.
    pub async fn plan_requested(
        &self,
        actor: Actor,
        change: RequestedChange,
    ) -> Result<std::result::Result<CheckedPlan, RefusedPlan>> {
        let mut live = self.live_world(Actor::Terminal).await?;
        self.authorize_orgs(actor, &live, &change).await?;
        if !change.incomplete.is_empty() {
            let broken = self.check_around(&live, &change.resources, &change.incomplete);
            return Ok(Err(RefusedPlan(broken)));
        }
        let (drafted, applied) = match change.extent {
            ChangeExtent::Some => {
                let before = std::mem::take(&mut live.applied);
                let drafted = draft(live, &change.resources, None);
                (drafted.map(|plan| with_applied(plan, before)), AppliedRows::Skip)
            }
            ChangeExtent::Files(keep) => {
                let applied = match keep {
                    Some(Keep::File) => AppliedRows::Repeat,
                    Some(Keep::Live) | None => AppliedRows::Skip,
                };
                (draft(live, &change.resources, keep), applied)
            }
        };
        let mut plan = match drafted {
            Ok(plan) => plan,
            Err(refused) => return Ok(Err(refused)),
        };
        let broken = self.broken_rules(&plan);
        match self.authorize_plan(actor, &plan).await {
            // The rules say more about it.
            Err(OperationError::BadResource(_)) if !broken.is_empty() => {}
            authorized => authorized?,
        }
        if !broken.is_empty() {
            return Ok(Err(RefusedPlan(broken)));
        }
        plan.places = change.places;
        self.plan_data(actor, &mut plan, change.data, applied).await?;
        Ok(Ok(plan))
    }

    /// Applies a plan and returns what keeps its tools and channels from working on the
    /// machine.
    pub async fn apply_requested(
        &self,
        actor: Actor,
        plan: &CheckedPlan,
        host: &dyn ApplyHost,
    ) -> Result<Vec<String>> {
        self.apply(actor, plan, host, |_| {}).await?;
        let mut notes = Vec::new();
        for slug in plan.plan.orgs() {
            if let Some(id) = self.0.store.org_by_slug(slug).await? {
                let store = self.0.store.org(id);
                let tools = store.org_tools().await?.into_iter();
                notes.extend(tools.flat_map(|stored| host.tool_notes(id, &stored.tool)));
                let changed = |name: &str| {
                    let own = plan.plan.changes.iter().map(|change| &change.address);
                    own.clone()
                        .any(|one| one.kind == Kind::Channel && one.org == slug && one.name == name)
                };
                let bindings = self.as_actor(actor, id).bindings().await?.into_iter();
                let bindings = bindings.filter(|bound| changed(&bound.binding.name()));
                notes.extend(bindings.filter_map(|bound| host.channel_note(id, &bound)));
            }
        }
        Ok(notes)
    }

    /// Checks that the actor may configure every org that a change names, also where nothing
    /// of it changes.
    async fn authorize_orgs(
        &self,
        actor: Actor,
        live: &LiveWorld,
        change: &RequestedChange,
    ) -> Result<()> {
        let named = change.resources.keys().chain(&change.incomplete).map(|one| one.org.as_str());
        let named: BTreeSet<&str> =
            named.chain(change.data.iter().map(|data| data.org.as_str())).collect();
        let mut orgs = Vec::new();
        for slug in named {
            match live.names.id(slug) {
                Some(id) => orgs.push(id),
                // What applies to every org is the platform's.
                None if slug.is_empty() => orgs.extend(live.platform),
                None => {}
            }
        }
        for org in orgs {
            actor.authorize(&self.0.store, org, OrgPermission::Configure).await?;
        }
        Ok(())
    }
}
