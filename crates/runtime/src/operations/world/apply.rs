//! Applies a plan: one transaction for each org, agencies before their clients.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ostler_domain::agent::Protection;
use ostler_domain::agent::protection::{AgentChange, AgentChangeRefused, Editor, check_change};
use ostler_domain::agent::subtype::Subtype;
use ostler_domain::id::{AgentId, AuditId, BindingId, OrgId};
use ostler_domain::org::permission::OrgPermission;
use ostler_store::{ConfigChange, NewAuditEntry};
use ostler_world::plan::{Action, AppliedFiles, Change, KeptFields};
use ostler_world::spec::{AgentDefinition, NameMap, Names};
use ostler_world::{Address, Kind, Resource, Resources};
use serde_json::{Map, Value, json};

use super::super::actor::stand;
use super::super::audit::PLACES;
use super::super::{Actor, OperationError, Operations, Result};
use super::data::{Digests, digests_of};
use super::live::KEPT_PREFIX;
use super::{ApplyHost, CheckedPlan};
use crate::ids::fresh;

/// Fields that only people of the platform may change.
const LICENCE_FIELDS: [&str; 5] = ["plan", "sub_orgs", "credits", "starting_credits", "parent"];

/// Whether a plan is checked against the rights of its actor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Authorization {
    Checked,
    /// The caller has checked it.
    Given,
}

impl CheckedPlan {
    /// Returns how many orgs are written when the plan is applied.
    pub fn org_count(&self) -> usize {
        orgs_in_order(self, &by_owner(self, &self.plan.applied.resources)).len()
    }
}

impl Operations {
    /// Applies a plan for an actor and reports each org that is done. What was planned for
    /// an org is made as a whole or not at all; orgs before a failed one stay changed.
    pub async fn apply(
        &self,
        actor: Actor,
        plan: &CheckedPlan,
        host: &dyn ApplyHost,
        report: impl FnMut(&str),
    ) -> Result<()> {
        self.write_plan(actor, plan, host, Authorization::Checked, report).await
    }

    /// Applies a plan for an actor who was authorized for the whole of it.
    pub(in super::super) async fn apply_authorized(
        &self,
        actor: Actor,
        plan: &CheckedPlan,
        host: &dyn ApplyHost,
    ) -> Result<()> {
        self.write_plan(actor, plan, host, Authorization::Given, |_| {}).await
    }

    async fn write_plan(
        &self,
        actor: Actor,
        plan: &CheckedPlan,
        host: &dyn ApplyHost,
        authorization: Authorization,
        mut report: impl FnMut(&str),
    ) -> Result<()> {
        let names = new_names(plan);
        let applied_by_org = by_owner(plan, &plan.plan.applied.resources);
        let mut changes_by_org: BTreeMap<&str, Vec<&Change>> = BTreeMap::new();
        for change in &plan.plan.changes {
            changes_by_org.entry(owner(plan, &change.address)).or_default().push(change);
        }
        if authorization == Authorization::Checked {
            self.authorize_plan(actor, plan).await?;
        }
        for slug in orgs_in_order(plan, &applied_by_org) {
            let changes = changes_by_org.remove(slug).unwrap_or_default();
            let writer =
                super::writes::Writer { operations: self, plan, names: &names, slug, host };
            let mut writes = writer.writes(&changes).await?;
            let mut audit: Vec<NewAuditEntry> =
                changes.iter().map(|change| audit_entry(actor, plan, change)).collect();
            let org = org_id(&names, slug)?;
            let (records, imports) = plan.data_writes(actor, slug);
            writes.extend(records);
            audit.extend(imports);
            let revision = plan.live.orgs.get(slug).map(|live| live.revision);
            let resources = applied_by_org.get(slug);
            let applied = resources.map(|one| applied_json(plan, one, digests_of(plan, slug)));
            let change = ConfigChange { revision, writes, audit, applied };
            self.0.store.org(org).change_config(change).await?;
            report(slug);
        }
        Ok(())
    }

    /// Checks that the actor may make every change of a plan.
    pub(super) async fn authorize_plan(&self, actor: Actor, plan: &CheckedPlan) -> Result<()> {
        let names = new_names(plan);
        for slug in orgs_in_order(plan, &by_owner(plan, &plan.plan.applied.resources)) {
            let changes = plan.plan.changes.iter();
            let own = changes.filter(|change| owner(plan, &change.address) == slug);
            let own: Vec<&Change> = own.collect();
            self.authorize_changes(actor, plan, slug, &own, &names).await?;
            self.authorize_members(actor, plan, slug, &own, &names).await?;
        }
        Ok(())
    }

    async fn authorize_changes(
        &self,
        actor: Actor,
        plan: &CheckedPlan,
        slug: &str,
        changes: &[&Change],
        names: &BTreeMap<String, Names>,
    ) -> Result<()> {
        let store = &self.0.store;
        let platform = plan.live.platform;
        let licence = |change: &&&Change| {
            change.address.kind == Kind::Org
                && (change.action != Action::Change
                    || change.fields.iter().any(|field| {
                        LICENCE_FIELDS.iter().any(|name| field.path.starts_with(name))
                    }))
        };
        // Licences are the platform's. Without one, only the operator at the machine sets the
        // installation up.
        if changes.iter().any(|change| licence(&change)) {
            match platform {
                Some(platform) => {
                    actor.authorize(store, platform, OrgPermission::GrantCredits).await?;
                }
                None if actor == Actor::Terminal => {}
                None => {
                    return Err(OperationError::Forbidden {
                        who: "you".to_owned(),
                        what: "set up an installation without a platform",
                        holders: "the operator at the machine",
                    });
                }
            }
        }
        if plan.live.orgs.contains_key(slug) {
            actor.authorize(store, org_id(names, slug)?, OrgPermission::Configure).await?;
        }
        let stands = match actor {
            Actor::Agent { id, org } => {
                Some((id, stand(store, org, id, org_id(names, slug)?).await?))
            }
            _ => None,
        };
        let editor = match (&stands, platform) {
            (Some((id, (position, relation))), _) => {
                Editor::Agent { id: *id, position, relation: *relation }
            }
            (None, Some(platform))
                if actor.authorize(store, platform, OrgPermission::GrantCredits).await.is_err() =>
            {
                Editor::OrgAdmin(org_id(names, slug)?)
            }
            (None, None) if actor != Actor::Terminal => Editor::OrgAdmin(org_id(names, slug)?),
            _ => Editor::PlatformAdmin,
        };
        for change in changes.iter().filter(|change| change.address.kind == Kind::McpServer) {
            let server = plan.plan.after.get(&change.address);
            let is_program = server.is_some_and(|server| !server.value()["command"].is_null());
            if is_program && actor != Actor::Terminal {
                return Err(OperationError::Forbidden {
                    who: "you".to_owned(),
                    what: "start programs on this machine",
                    holders: "the operator at the machine",
                });
            }
        }
        for change in changes.iter().filter(|change| change.address.kind == Kind::Agent) {
            check_agent_change(plan, change, editor)?;
        }
        Ok(())
    }
}

/// Checks that the editor may change these parts of an agent.
fn check_agent_change(plan: &CheckedPlan, change: &Change, editor: Editor<'_>) -> Result<()> {
    let live = plan.live.orgs.get(&change.address.org);
    let agent = live.and_then(|live| {
        let id = live.names.agents.id(&change.address.name)?;
        live.agents.get(&id)
    });
    let new: Option<AgentDefinition> =
        plan.plan.after.get(&change.address).and_then(|one| one.spec().ok());
    // The platform pays for system agents, so only its people create one.
    let is_system = new.as_ref().is_some_and(|spec| spec.role() == Subtype::System);
    let was_system = agent.is_some_and(|agent| agent.protection == Protection::Protected);
    if is_system && !was_system && editor != Editor::PlatformAdmin {
        return Err(AgentChangeRefused::SystemAgent(change.address.name.clone()).into());
    }
    let Some(agent) = agent else {
        return match editor {
            Editor::Agent { .. } => {
                Err(AgentChangeRefused::OwnerOnly(change.address.name.clone()).into())
            }
            _ => Ok(()),
        };
    };
    let status = new.map_or(ostler_domain::agent::AgentStatus::Archived, |spec| spec.status);
    let mut parts: Vec<AgentChange> = Vec::new();
    for field in &change.fields {
        parts.push(match field.path.split('.').next().unwrap_or_default() {
            "soul" => AgentChange::Soul,
            "tools" | "profile" => AgentChange::Tools,
            // The role and the kind decide which guardrails apply.
            "autonomy"
            | "require_approval_for"
            | "limits"
            | "blocked_topics"
            | "subtype"
            | "custom"
            | "kind"
            | "template" => AgentChange::Guardrails,
            "status" => AgentChange::Status(status),
            _ => AgentChange::Settings,
        });
    }
    if change.action == Action::Remove {
        parts.push(AgentChange::Status(status));
    }
    for part in parts {
        check_change(agent, editor, part)?;
    }
    Ok(())
}

/// Returns the org in whose transaction a change is made: the platform's for what applies
/// to every org.
fn owner<'p>(plan: &'p CheckedPlan, address: &'p Address) -> &'p str {
    if address.kind != Kind::Platform {
        return &address.org;
    }
    let platform = |resources: &'p Resources| {
        let mut orgs = resources.iter().filter(|(one, _)| one.kind == Kind::Org);
        orgs.find(|(_, org)| org.value()["platform"] == true).map(|(one, _)| one.org.as_str())
    };
    platform(&plan.plan.after).unwrap_or_default()
}

/// Returns the orgs to change: the platform, then agencies, then clients.
fn orgs_in_order<'p>(plan: &'p CheckedPlan, applied: &AppliedByOrg<'p>) -> Vec<&'p str> {
    let changed = plan.plan.changes.iter().map(|change| owner(plan, &change.address));
    // What the files say is remembered for every org in them, also without a change.
    let before = by_owner(plan, &plan.live.applied.resources);
    let kept = |files: &AppliedFiles, slug: &str| -> KeptFields {
        let own = files.kept.iter().filter(|(address, _)| owner(plan, address) == slug);
        own.map(|(address, fields)| (address.clone(), fields.clone())).collect()
    };
    let stale = applied.iter().filter(|(slug, now)| {
        before.get(*slug) != Some(now)
            || kept(&plan.live.applied, slug) != kept(&plan.plan.applied, slug)
    });
    let data = plan.data.iter().map(|data| data.org.as_str());
    let stale_data = data.filter(|org| plan.has_new_data(org));
    let all: BTreeSet<&str> =
        changed.chain(stale.map(|(slug, _)| *slug)).chain(stale_data).collect();
    let mut orgs: Vec<&str> = all.into_iter().collect();
    let rank = |slug: &str| {
        let org = plan.plan.after.get(&Address::of_org(slug));
        org.map_or(0, |org| match org.value() {
            org if org["platform"] == true => 0,
            org if org["parent"].is_null() => 1,
            _ => 2,
        })
    };
    orgs.sort_by_key(|slug| (rank(slug), *slug));
    orgs
}

/// Resources by the org in whose transaction they are stored.
type AppliedByOrg<'p> = BTreeMap<&'p str, BTreeMap<&'p Address, &'p Resource>>;

fn by_owner<'p>(plan: &'p CheckedPlan, resources: &'p Resources) -> AppliedByOrg<'p> {
    let mut grouped = AppliedByOrg::new();
    for (address, resource) in resources {
        grouped.entry(owner(plan, address)).or_default().insert(address, resource);
    }
    grouped
}

/// Returns what files say about an org, as it is remembered.
fn applied_json(
    plan: &CheckedPlan,
    applied: &BTreeMap<&Address, &Resource>,
    digests: BTreeMap<String, Digests>,
) -> String {
    let fields = applied.iter().map(|(address, one)| (address.to_string(), one.value().clone()));
    let kept = plan.plan.applied.kept.iter().filter(|(address, _)| applied.contains_key(address));
    let kept = kept.map(|(address, fields)| (format!("{KEPT_PREFIX}{address}"), json!(fields)));
    let data = digests.into_iter().map(|(name, digests)| (name, json!(digests)));
    Value::Object(fields.chain(kept).chain(data).collect()).to_string()
}

/// Returns the ids of all names after the change, by org: those that exist and new ones.
fn new_names(plan: &CheckedPlan) -> BTreeMap<String, Names> {
    let mut orgs = NameMap::clone(&plan.live.names);
    for address in plan.plan.after.keys().filter(|address| address.kind == Kind::Org) {
        if orgs.id(&address.name).is_none() {
            let planned = plan.new_orgs.get(&address.name).copied();
            orgs.insert(&address.name, planned.unwrap_or_else(|| fresh(OrgId::from_u128)));
        }
    }
    let orgs = Arc::new(orgs);
    let mut all: BTreeMap<String, Names> = BTreeMap::new();
    for address in plan.plan.after.keys() {
        let slug = owner(plan, address);
        let names = all.entry(slug.to_owned()).or_insert_with(|| Names {
            orgs: orgs.clone(),
            ..plan.live.orgs.get(slug).map(|live| live.names.clone()).unwrap_or_default()
        });
        match address.kind {
            Kind::Agent if names.agents.id(&address.name).is_none() => {
                names.agents.insert(&address.name, fresh(AgentId::from_u128));
            }
            Kind::Channel if names.channels.id(&address.name).is_none() => {
                names.channels.insert(&address.name, fresh(BindingId::from_u128));
            }
            _ => {}
        }
    }
    all
}

pub(super) fn org_id(names: &BTreeMap<String, Names>, slug: &str) -> Result<OrgId> {
    let id = names.get(slug).and_then(|names| names.orgs.id(slug));
    id.ok_or_else(|| OperationError::BadResource(format!("no org `{slug}`")))
}

fn audit_entry(actor: Actor, plan: &CheckedPlan, change: &Change) -> NewAuditEntry {
    let action = match change.action {
        Action::Create => "create",
        Action::Change => "change",
        Action::Remove => "remove",
    };
    let fields = |new: bool| -> Value {
        let each = change.fields.iter().map(|field| {
            (field.path.clone(), if new { field.new.clone() } else { field.old.clone() })
        });
        Value::Object(each.collect())
    };
    let before = match change.action {
        Action::Create => Value::Null,
        Action::Change => fields(false),
        Action::Remove => plan
            .live
            .resources
            .get(&change.address)
            .map(|one| one.sparse(change.address.kind))
            .unwrap_or_default(),
    };
    let after = if change.action == Action::Remove { Value::Null } else { fields(true) };
    let mut data = json!({"before": before, "after": after});
    let places = change.fields.iter().filter_map(|field| {
        let place = plan.places.get(&(change.address.clone(), field.path.clone()))?;
        Some((field.path.clone(), place.as_str().into()))
    });
    let places: Map<String, Value> = places.collect();
    if !places.is_empty() {
        data[PLACES] = Value::Object(places);
    }
    NewAuditEntry {
        id: fresh(AuditId::from_u128),
        actor: actor.audit_actor(),
        action: format!("{action}_{}", change.address.kind.table()),
        subject: change.address.to_string(),
        data: data.to_string(),
    }
}
