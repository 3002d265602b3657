//! Plans of people and programs that ask for them: from world files, or of a few resources.
//! An actor who plans a change needs the same rights as for making it.

use std::collections::BTreeSet;

use ostler_domain::id::OrgId;
use ostler_domain::org::OrgPlace;
use ostler_domain::org::permission::OrgPermission;
use ostler_world::plan::{AppliedFiles, Keep};
use ostler_world::{Address, Kind, Resources};

use super::super::{Actor, OperationError, Operations, Result};
use super::{
    AppliedRows, ApplyHost, CheckedPlan, DataRows, FieldPlaces, LiveWorld, RefusedPlan, draft,
    with_applied, with_live,
};
use crate::ids::fresh;

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
        self.authorize_orgs(actor, &change).await?;
        let mut live = self.live_world(Actor::Terminal).await?;
        if !change.incomplete.is_empty() {
            return self.check_incomplete(actor, live, &change).await.map(Err);
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

    /// Returns the rules that a change breaks in which some resources have mistakes of their
    /// own, for an actor who may make the rest of it.
    async fn check_incomplete(
        &self,
        actor: Actor,
        mut live: LiveWorld,
        change: &RequestedChange,
    ) -> Result<RefusedPlan> {
        if change.extent == ChangeExtent::Some {
            live.applied = AppliedFiles::default();
        }
        let broken = self.check_around(&live, &change.resources, &change.incomplete);
        let whole = with_live(&change.resources, &live.resources, &change.incomplete);
        if let Ok(plan) = draft(live, &whole, None) {
            match self.authorize_plan(actor, &plan).await {
                Err(OperationError::BadResource(_)) if !broken.is_empty() => {}
                authorized => authorized?,
            }
        }
        Ok(RefusedPlan(broken))
    }

    /// Checks that the actor may configure every org that a change names, also where nothing
    /// of it changes. An org that is not there looks like a foreign one, unless the actor may
    /// create it.
    async fn authorize_orgs(&self, actor: Actor, change: &RequestedChange) -> Result<()> {
        let store = &self.0.store;
        let all = store.orgs().await?;
        let platform = all.iter().find(|org| org.place == OrgPlace::Platform).map(|org| org.id);
        let may_create = match platform {
            Some(id) => actor.authorize(store, id, OrgPermission::GrantCredits).await.is_ok(),
            None => actor == Actor::Terminal,
        };
        let named = change.resources.keys().chain(&change.incomplete).map(|one| one.org.as_str());
        let named: BTreeSet<&str> =
            named.chain(change.data.iter().map(|data| data.org.as_str())).collect();
        for slug in named {
            let org = match all.iter().find(|org| org.slug == slug) {
                Some(org) => org.id,
                None => match platform {
                    // What applies to every org is the platform's.
                    Some(platform) if slug.is_empty() => platform,
                    _ if may_create => continue,
                    _ => fresh(OrgId::from_u128),
                },
            };
            actor.authorize(store, org, OrgPermission::Configure).await?;
        }
        Ok(())
    }
}
