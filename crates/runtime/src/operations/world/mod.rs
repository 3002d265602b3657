//! The resources of an installation as a whole: what lives, what applying files would
//! change, and making the change. Commands that change one resource use the same path.

mod apply;
mod channel_settings;
mod data;
mod expressions;
mod live;
mod members;
mod policy_replay;
mod requested;
mod writes;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ostler_domain::channel::Channel;
use ostler_domain::id::{BindingId, OrgId};
use ostler_domain::org::permission::OrgPermission;
use ostler_domain::org::{Org, OrgPlace};
use ostler_domain::secret::SecretRef;
use ostler_domain::tool::Integration;
use ostler_domain::tool::org_tools::OrgTool;
use ostler_store::OrgBinding;
use ostler_world::plan::{AppliedFiles, Keep, Plan};
use ostler_world::rules::{KnownNames, Violation, check, check_around};
use ostler_world::spec::NameMap;
use ostler_world::{Address, Resources};

pub use data::{AppliedRows, DataPlan, DataRows};
pub use expressions::expression_violations;
pub use live::LiveWorld;
pub use policy_replay::{PolicyReplay, RecordedCall, ReplayWindow, VerdictChange};
pub use requested::{ChangeExtent, RequestedChange};

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

    /// Creates the secret of a channel that somebody connects without one, or finds it where it
    /// is by default. Fails if only its provider makes such a secret and it is not there.
    fn channel_secret(
        &self,
        org: OrgId,
        binding: BindingId,
        channel: &Channel,
    ) -> std::result::Result<Option<SecretRef>, String> {
        self.new_secret(org, binding, channel)
    }

    /// Checks that a channel can be opened with its settings.
    fn check_channel(&self, org: OrgId, binding: &OrgBinding) -> std::result::Result<(), String>;

    /// Returns what a plan writes that will not work on this machine.
    fn plan_notes(&self, _: &Plan) -> Vec<String> {
        Vec::new()
    }

    /// Returns what keeps a tool of an org from working on this machine.
    fn tool_notes(&self, _: OrgId, _: &OrgTool) -> Vec<String> {
        Vec::new()
    }

    /// Checks a tool of an org: fails if it uses a secret that is not the org's, and returns
    /// what keeps it from working on this machine.
    fn check_tool(&self, org: OrgId, tool: &OrgTool) -> std::result::Result<Vec<String>, String> {
        Ok(self.tool_notes(org, tool))
    }

    /// Checks the place of an org's key of a service: fails if it is not the org's, and returns
    /// what is wrong with the key on this machine.
    fn check_service_key(
        &self,
        _: OrgId,
        _: &Integration,
        _: &SecretRef,
    ) -> std::result::Result<Option<String>, String> {
        Ok(None)
    }

    /// Returns the place where the key of a service is by default; `None` if it needs none.
    /// Fails if the key is not there.
    fn default_service_key(
        &self,
        _: &Org,
        _: &Integration,
    ) -> std::result::Result<Option<SecretRef>, String> {
        Ok(None)
    }

    /// Checks the name of a model. A note says what keeps it from working on this machine; it
    /// may work elsewhere.
    fn check_model(&self, _: &str) -> std::result::Result<Option<String>, String> {
        Ok(None)
    }

    /// Returns what keeps a channel from working on this machine.
    fn channel_note(&self, _: OrgId, _: &OrgBinding) -> Option<String> {
        None
    }
}

/// The file and line of fields, such as `nordlicht.toml:14`, by resource and path.
pub type FieldPlaces = BTreeMap<(Address, String), String>;

/// A plan that can be applied.
#[derive(Debug)]
pub struct CheckedPlan {
    pub plan: Plan,
    /// The business data of the files.
    pub data: Vec<DataPlan>,
    /// The file and line of changed fields, if the plan was made from files.
    pub places: FieldPlaces,
    live: LiveWorld,
    /// The ids of orgs that it creates, where they were needed already.
    new_orgs: BTreeMap<String, OrgId>,
}

impl CheckedPlan {
    /// Returns what the plan was made for.
    pub const fn live(&self) -> &LiveWorld {
        &self.live
    }

    /// Returns whether nothing is to be made.
    pub fn is_empty(&self) -> bool {
        self.plan.changes.is_empty() && !self.data.iter().any(DataPlan::changes_something)
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
        let platform = orgs.iter().find(|org| org.place == OrgPlace::Platform);
        live.platform = platform.map(|org| org.id);
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
        let plan = draft(live, files, keep)?;
        let violations = self.broken_rules(&plan);
        if violations.is_empty() { Ok(plan) } else { Err(RefusedPlan(violations)) }
    }

    /// Returns the rules that a plan breaks.
    fn broken_rules(&self, CheckedPlan { plan, live, .. }: &CheckedPlan) -> Vec<Violation> {
        let changed: BTreeSet<&Address> =
            plan.changes.iter().map(|change| &change.address).collect();
        let settings =
            channel_settings::violations(&live.resources, &plan.after, changed.iter().copied());
        let expressions = expression_violations(&plan.after, changed.iter().copied());
        let mut violations = check(&live.resources, &plan.after, changed, &self.known_names());
        violations.extend(settings);
        violations.extend(expressions);
        violations
    }

    /// Returns the rules that the resources of files break, where `incomplete` ones have
    /// mistakes of their own.
    pub fn check_around(
        &self,
        live: &LiveWorld,
        files: &Resources,
        incomplete: &BTreeSet<Address>,
    ) -> Vec<Violation> {
        let files = with_live(files, &live.resources, incomplete);
        let Ok(plan) = Plan::new(&files, &live.resources, &live.applied, None) else {
            return Vec::new();
        };
        let changed: BTreeSet<&Address> =
            plan.changes.iter().map(|change| &change.address).collect();
        let whole = changed.iter().copied().filter(|address| !incomplete.contains(address));
        let settings = channel_settings::violations(&live.resources, &plan.after, whole);
        let expressions = expression_violations(&plan.after, changed.iter().copied());
        let known = self.known_names();
        let mut violations =
            check_around(&live.resources, &plan.after, changed, &known, incomplete);
        violations.extend(settings);
        violations.extend(expressions);
        violations
    }

    /// Plans a change of a few resources that a command makes; the rest stays as it is. What
    /// files said stays remembered, so a later apply recognizes the change as a live one.
    pub fn plan_change(
        &self,
        mut live: LiveWorld,
        changed: &Resources,
    ) -> std::result::Result<CheckedPlan, RefusedPlan> {
        let applied = std::mem::take(&mut live.applied);
        let plan = self.plan(live, changed, None)?;
        Ok(with_applied(plan, applied))
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

/// Returns the resources of files with the live ones where they are incomplete.
fn with_live(files: &Resources, live: &Resources, incomplete: &BTreeSet<Address>) -> Resources {
    let mut files = files.clone();
    for address in incomplete {
        if let Some(live) = live.get(address) {
            files.insert(address.clone(), live.clone());
        }
    }
    files
}

/// Plans a change whose rules are not checked yet.
fn draft(
    live: LiveWorld,
    files: &Resources,
    keep: Option<Keep>,
) -> std::result::Result<CheckedPlan, RefusedPlan> {
    let plan = Plan::new(files, &live.resources, &live.applied, keep);
    let plan = plan.map_err(|(address, error)| {
        let (path, message) = (error.path, error.cause.to_string());
        RefusedPlan(vec![Violation { address, path, message }])
    })?;
    let (data, places, new_orgs) = (Vec::new(), FieldPlaces::new(), BTreeMap::new());
    Ok(CheckedPlan { plan, data, places, live, new_orgs })
}

/// Returns a plan that leaves what files said as it was remembered.
fn with_applied(mut plan: CheckedPlan, applied: AppliedFiles) -> CheckedPlan {
    plan.plan.applied.clone_from(&applied);
    plan.live.applied = applied;
    plan
}

impl From<RefusedPlan> for OperationError {
    fn from(RefusedPlan(broken): RefusedPlan) -> Self {
        let broken: Vec<String> = broken.into_iter().map(|one| one.message).collect();
        Self::BadResource(broken.join("; "))
    }
}

impl From<ostler_world::spec::UnknownName> for OperationError {
    fn from(error: ostler_world::spec::UnknownName) -> Self {
        Self::BadResource(error.to_string())
    }
}

impl From<ostler_world::resource::InvalidResource> for OperationError {
    fn from(error: ostler_world::resource::InvalidResource) -> Self {
        Self::BadResource(error.to_string())
    }
}
