//! The resources of an installation as a whole: what lives, what applying files would
//! change, and making the change. Commands that change one resource use the same path.

mod apply;
mod live;
mod policy_replay;
mod writes;

use std::collections::BTreeSet;
use std::sync::Arc;

use ostler_domain::channel::Channel;
use ostler_domain::id::{BindingId, OrgId};
use ostler_domain::org::OrgPlace;
use ostler_domain::org::permission::OrgPermission;
use ostler_domain::secret::SecretRef;
use ostler_store::OrgBinding;
use ostler_world::plan::{Keep, Plan};
use ostler_world::rules::{KnownNames, Violation, check};
use ostler_world::spec::NameMap;
use ostler_world::{Address, Resources};

pub use live::LiveWorld;
pub use policy_replay::{PolicyReplay, RecordedCall, ReplayWindow, VerdictChange};

use super::{Actor, OperationError, Operations, Result};

/// What a change needs from the machine it is made on.
pub trait ApplyHost: Send + Sync {
    /// Creates a secret for a channel that gets one by itself; `None` if this kind of
    /// channel does not.
    fn new_secret(
        &self,
        org: OrgId,
        binding: BindingId,
        channel: &Channel,
    ) -> std::result::Result<Option<SecretRef>, String>;

    /// Checks that a channel can be opened with its settings.
    fn check_channel(&self, org: OrgId, binding: &OrgBinding) -> std::result::Result<(), String>;
}

/// A plan that can be applied.
#[derive(Debug)]
pub struct CheckedPlan {
    pub plan: Plan,
    live: LiveWorld,
}

impl CheckedPlan {
    /// Returns what the plan was made for.
    pub const fn live(&self) -> &LiveWorld {
        &self.live
    }
}

/// A plan that cannot be applied, with the rules that it breaks.
#[derive(Debug)]
pub struct RefusedPlan(pub Vec<Violation>);

impl Operations {
    /// Returns the resources of every org that the actor may view.
    pub async fn live_world(&self, actor: Actor) -> Result<LiveWorld> {
        let mut live = LiveWorld::default();
        let mut orgs = self.0.store.orgs().await?;
        // Names of parents are known before their children are read.
        orgs.sort_by_key(|org| (matches!(org.place, OrgPlace::SubOrg { .. }), org.id));
        let mut names = NameMap::default();
        for org in &orgs {
            names.insert(&org.slug, org.id);
        }
        live.names = Arc::new(names);
        for org in orgs {
            if actor.authorize(&self.0.store, org.id, OrgPermission::View).await.is_ok() {
                live.add(self.0.store.org(org.id).state().await?)?;
            }
        }
        live.set_platform_policy(self.0.store.platform_policy().await?.policy);
        Ok(live)
    }

    /// Plans a change from the resources of files and checks every rule.
    pub fn plan(
        &self,
        live: LiveWorld,
        files: &Resources,
        keep: Option<Keep>,
    ) -> std::result::Result<CheckedPlan, RefusedPlan> {
        let plan = Plan::new(files, &live.resources, &live.applied, keep).map_err(
            |(address, error)| {
                let (path, message) = (error.path, error.cause.to_string());
                RefusedPlan(vec![Violation { address, path, message }])
            },
        )?;
        let changed: BTreeSet<&Address> =
            plan.changes.iter().map(|change| &change.address).collect();
        let violations = check(&live.resources, &plan.after, changed, &self.known_names());
        if violations.is_empty() {
            Ok(CheckedPlan { plan, live })
        } else {
            Err(RefusedPlan(violations))
        }
    }

    /// Returns the names that resources may refer to.
    pub fn known_names(&self) -> KnownNames {
        let specs = || self.0.tools.built_in.specs();
        KnownNames {
            tools: ostler_domain::tool::catalogue::built_in()
                .into_iter()
                .map(|spec| spec.name.to_string())
                .chain(specs().map(|spec| spec.name.to_string()))
                .collect(),
            services: specs()
                .flat_map(|spec| &spec.integrations)
                .map(ToString::to_string)
                .collect(),
        }
    }
}

impl From<ostler_world::spec::UnknownName> for OperationError {
    fn from(error: ostler_world::spec::UnknownName) -> Self {
        Self::BadResource(error.to_string())
    }
}
