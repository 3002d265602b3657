//! Fields of an org and of its agents, as commands show and change them: the same definition,
//! the same rules, the same path of the change.

use ostler_domain::channel::Channel;
use ostler_domain::id::{BindingId, OrgId};
use ostler_domain::org::guardrail::GuardedAction;
use ostler_domain::org::permission::OrgPermission;
use ostler_domain::org::plan::LicencePlan;
use ostler_domain::org::settings::owners_setting;
use ostler_domain::secret::SecretRef;
use ostler_store::OrgBinding;
use ostler_world::{Address, Kind, Resource};
use serde_json::{Map, Value, json};

use super::resources::{as_changed, check_version};
use super::world::{ApplyHost, CheckedPlan, LiveWorld};
use super::{Actor, OperationError, OrgOperations, Result};

/// A part of an org's configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OrgSection {
    Settings,
    /// What the org pays for its client orgs.
    Sharing,
}

impl OrgSection {
    /// Returns the field of the org that holds it.
    const fn field(self) -> &'static str {
        match self {
            Self::Settings => "settings",
            Self::Sharing => "sharing",
        }
    }
}

impl OrgOperations<'_> {
    /// Returns every setting of a section, also those at their default.
    pub async fn settings(&self, section: OrgSection) -> Result<Value> {
        self.authorize(OrgPermission::View).await?;
        let (live, address) = self.live_org().await?;
        Ok(value_of(&live, &address)[section.field()].take())
    }

    /// Changes settings of a section and returns them all. The change is a JSON merge patch:
    /// what is absent stays, and `null` resets a setting to its default.
    pub async fn change_settings(&self, section: OrgSection, patch: &Value) -> Result<Value> {
        self.change_settings_of(section, patch, None).await
    }

    /// Does the same, and fails if the section has another version than `expected`.
    pub async fn change_settings_of(
        &self,
        section: OrgSection,
        patch: &Value,
        expected: Option<&str>,
    ) -> Result<Value> {
        self.authorize(OrgPermission::Configure).await?;
        let names = patch.as_object().into_iter().flatten().map(|(name, _)| name.as_str());
        if let (Actor::Agent { .. }, Some(name)) = (self.actor, owners_setting(names)) {
            return Err(OperationError::OwnersSetting(name.to_owned()));
        }
        let (live, address) = self.live_org().await?;
        check_version(&value_of(&live, &address)[section.field()], expected)?;
        let changed = self.change_fields(live, address, &json!({section.field(): patch})).await;
        changed.map_err(|error| as_changed(error, expected))?;
        self.settings(section).await
    }

    /// Changes fields of an agent, which may be named by id, slug or subtype. The change is a
    /// JSON merge patch of what `ostler agent show --json` prints.
    pub async fn change_agent(&self, agent: &str, patch: &Value) -> Result<()> {
        let store = &self.inner().store;
        self.actor.authorize_guarded(store, self.org, GuardedAction::ModifyAgent).await?;
        let unknown = || OperationError::NoAgent(agent.to_owned());
        let slug = self.view().await?.find_agent(agent).map(|one| one.agent.slug.clone());
        let name = slug.ok_or_else(unknown)?;
        let (live, Address { org, .. }) = self.live_org().await?;
        let address = Address { org, kind: Kind::Agent, name };
        if !live.resources.contains_key(&address) {
            return Err(unknown());
        }
        self.change_fields(live, address, patch).await
    }

    /// Changes the licence plan of the org, and whether it includes client organizations.
    pub async fn set_plan(&self, plan: LicencePlan, sub_orgs: Option<bool>) -> Result<()> {
        self.authorize(OrgPermission::GrantCredits).await?;
        let (live, address) = self.live_org().await?;
        let mut patch = json!({"plan": plan});
        if let Some(sub_orgs) = sub_orgs {
            patch["sub_orgs"] = sub_orgs.into();
        }
        self.change_fields(live, address, &patch).await
    }

    /// Suspends the org: its channels are closed and it is not listed.
    pub async fn suspend(&self) -> Result<()> {
        self.authorize(OrgPermission::GrantCredits).await?;
        let (live, address) = self.live_org().await?;
        self.change_fields(live, address, &json!({"archived": true})).await
    }

    /// Changes fields of a resource by the rules and on the path of every change.
    async fn change_fields(&self, live: LiveWorld, address: Address, patch: &Value) -> Result<()> {
        let plan = self.plan_fields(live, address, patch)?;
        if !plan.is_empty() {
            self.operations.apply(self.actor, &plan, &NoChannels, |_| {}).await?;
        }
        Ok(())
    }

    /// Changes fields of a resource for an actor who was authorized for this change.
    pub(super) async fn change_fields_authorized(
        &self,
        live: LiveWorld,
        address: Address,
        patch: &Value,
    ) -> Result<()> {
        let plan = self.plan_fields(live, address, patch)?;
        if !plan.is_empty() {
            self.operations.apply_authorized(self.actor, &plan, &NoChannels).await?;
        }
        Ok(())
    }

    fn plan_fields(&self, live: LiveWorld, address: Address, patch: &Value) -> Result<CheckedPlan> {
        let mut value = value_of(&live, &address);
        merge(&mut value, patch);
        let resource = Resource::parse(address.kind, &value)?;
        Ok(self.operations.plan_change(live, &[(address, resource)].into())?)
    }

    /// Returns the whole world, because rules look at other orgs too, and the address of
    /// this org in it. The caller has authorized the actor for this org.
    pub(super) async fn live_org(&self) -> Result<(LiveWorld, Address)> {
        let slug = self.inner().store.org(self.org).org().await?.slug;
        let live = self.operations.live_world(Actor::Terminal).await?;
        Ok((live, Address::of_org(&slug)))
    }
}

/// Returns the fields of a resource.
pub(super) fn value_of(live: &LiveWorld, address: &Address) -> Value {
    live.resources.get(address).map(|resource| resource.value().clone()).unwrap_or_default()
}

/// Applies a JSON merge patch (RFC 7396).
pub(super) fn merge(value: &mut Value, patch: &Value) {
    let Value::Object(fields) = patch else {
        *value = patch.clone();
        return;
    };
    if !value.is_object() {
        *value = Value::Object(Map::new());
    }
    let Some(target) = value.as_object_mut() else { return };
    for (name, change) in fields {
        if change.is_null() {
            target.remove(name);
        } else {
            merge(target.entry(name).or_insert(Value::Null), change);
        }
    }
}

/// A change of fields opens no channel.
struct NoChannels;

impl ApplyHost for NoChannels {
    fn new_secret(
        &self,
        _: OrgId,
        _: BindingId,
        _: &Channel,
    ) -> std::result::Result<Option<SecretRef>, String> {
        Err("settings have no channels".into())
    }

    fn check_channel(&self, _: OrgId, _: &OrgBinding) -> std::result::Result<(), String> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::merge;

    #[test]
    fn a_merge_patch_changes_adds_and_resets_fields() {
        let table = [
            (json!({"a": 2}), json!({"a": 2, "b": {"c": 1, "d": 2}})),
            (json!({"b": {"c": 5}}), json!({"a": 1, "b": {"c": 5, "d": 2}})),
            (json!({"b": {"c": null}}), json!({"a": 1, "b": {"d": 2}})),
            (json!({"e": {"f": 1}}), json!({"a": 1, "b": {"c": 1, "d": 2}, "e": {"f": 1}})),
            (json!({"a": {"g": 1}}), json!({"a": {"g": 1}, "b": {"c": 1, "d": 2}})),
        ];
        for (patch, expected) in table {
            let mut value = json!({"a": 1, "b": {"c": 1, "d": 2}});
            merge(&mut value, &patch);
            assert_eq!(value, expected, "{patch}");
        }
    }
}
