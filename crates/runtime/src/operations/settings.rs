//! Settings of an org, as `ostler settings` shows and changes them: the same definition, the
//! same rules, the same path of the change.

use ostler_domain::channel::Channel;
use ostler_domain::id::{BindingId, OrgId};
use ostler_domain::org::permission::OrgPermission;
use ostler_domain::secret::SecretRef;
use ostler_store::OrgBinding;
use ostler_world::{Address, Resource};
use serde_json::{Map, Value};

use super::world::{ApplyHost, LiveWorld, RefusedPlan};
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
        Ok(org_value(&live, &address)[section.field()].take())
    }

    /// Changes settings of a section and returns them all. The change is a JSON merge patch:
    /// what is absent stays, and `null` resets a setting to its default.
    pub async fn change_settings(&self, section: OrgSection, patch: &Value) -> Result<Value> {
        self.authorize(OrgPermission::Configure).await?;
        let (live, address) = self.live_org().await?;
        let mut value = org_value(&live, &address);
        merge(&mut value[section.field()], patch);
        let resource = Resource::parse(address.kind, &value)?;
        let changed = [(address, resource)].into();
        let plan = self.operations.plan_change(live, &changed).map_err(|RefusedPlan(broken)| {
            let broken: Vec<String> = broken.iter().map(|one| one.message.clone()).collect();
            OperationError::BadResource(broken.join("; "))
        })?;
        if !plan.is_empty() {
            self.operations.apply(self.actor, &plan, &NoChannels, |_| {}).await?;
        }
        self.settings(section).await
    }

    /// Returns the whole world, because rules look at other orgs too, and the address of
    /// this org in it. The caller has authorized the actor for this org.
    async fn live_org(&self) -> Result<(LiveWorld, Address)> {
        let slug = self.inner().store.org(self.org).org().await?.slug;
        let live = self.operations.live_world(Actor::Terminal).await?;
        Ok((live, Address::of_org(&slug)))
    }
}

/// Returns the fields of an org.
fn org_value(live: &LiveWorld, address: &Address) -> Value {
    live.resources.get(address).map(|resource| resource.value().clone()).unwrap_or_default()
}

/// Applies a JSON merge patch (RFC 7396).
fn merge(value: &mut Value, patch: &Value) {
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

/// A change of settings touches no channel.
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
