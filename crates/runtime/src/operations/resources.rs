//! Resources of an org as JSON: the org itself, its agents, channels, integrations, HTTP tools
//! and MCP servers. They have the definition, the rules and the path of changes of world files.

use ostler_domain::id::BindingId;
use ostler_domain::org::permission::OrgPermission;
use ostler_store::StoreError;
use ostler_world::{Address, Kind, Resource};
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::settings::{merge, value_of};
use super::world::{ApplyHost, LiveWorld};
use super::{OperationError, OrgOperations, Result};

/// Returns the version of a resource: another one after every change.
pub fn version_of(resource: &Value) -> String {
    let hash = Sha256::digest(resource.to_string());
    hash.iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}

/// Fails if somebody has changed a resource since the version that a change is based on.
pub(super) fn check_version(resource: &Value, expected: Option<&str>) -> Result<()> {
    match expected {
        Some(expected) if expected != version_of(resource) => Err(OperationError::Changed),
        _ => Ok(()),
    }
}

/// Returns the error of a change that is based on a version: others were faster.
pub(super) fn as_changed(error: OperationError, expected: Option<&str>) -> OperationError {
    match error {
        OperationError::Store(StoreError::StaleChanges(_)) if expected.is_some() => {
            OperationError::Changed
        }
        other => other,
    }
}

impl OrgOperations<'_> {
    /// Returns the org's resources of a kind, by name.
    pub async fn resources(&self, kind: Kind) -> Result<Vec<Value>> {
        self.authorize(OrgPermission::View).await?;
        let (live, org) = self.live_org().await?;
        let own = live.resources.iter().filter(|(one, _)| one.kind == kind && one.org == org.org);
        Ok(own.map(|(_, resource)| resource.value().clone()).collect())
    }

    /// Returns a resource. An agent may be named by id, slug or subtype, and a channel by id.
    pub async fn resource(&self, kind: Kind, name: &str) -> Result<Value> {
        self.authorize(OrgPermission::View).await?;
        let (live, address) = self.find_resource(kind, name).await?;
        Ok(value_of(&live, &address))
    }

    /// Creates a resource and returns it with every field. Fails if there is one of this name.
    pub async fn create_resource(
        &self,
        kind: Kind,
        fields: &Value,
        host: &dyn ApplyHost,
    ) -> Result<Value> {
        self.authorize(OrgPermission::Configure).await?;
        let (live, Address { org, .. }) = self.live_org().await?;
        let resource = Resource::parse(kind, &with_org(fields, &org)?)?;
        let name = resource.value()[kind.name_key()].as_str().unwrap_or_default().to_owned();
        let address = Address { org, kind, name };
        if live.resources.contains_key(&address) {
            return Err(OperationError::Exists(address.to_string()));
        }
        self.replace_resource(live, address, resource, host).await
    }

    /// Changes fields of a resource by a JSON merge patch and returns it. With `expected`, it
    /// fails if the resource has another version.
    pub async fn change_resource(
        &self,
        kind: Kind,
        name: &str,
        patch: &Value,
        expected: Option<&str>,
        host: &dyn ApplyHost,
    ) -> Result<Value> {
        self.authorize(OrgPermission::Configure).await?;
        let (live, address) = self.find_resource(kind, name).await?;
        let before = value_of(&live, &address);
        check_version(&before, expected)?;
        let mut value = before.clone();
        merge(&mut value, patch);
        if [kind.name_key(), "org"].iter().any(|key| value.get(*key) != before.get(*key)) {
            let kept = format!("{address} keeps its name and its organization");
            return Err(OperationError::BadResource(kept));
        }
        let resource = Resource::parse(kind, &value)?;
        let changed = self.replace_resource(live, address, resource, host).await;
        changed.map_err(|error| as_changed(error, expected))
    }

    async fn replace_resource(
        &self,
        live: LiveWorld,
        address: Address,
        resource: Resource,
        host: &dyn ApplyHost,
    ) -> Result<Value> {
        let plan = self.operations.plan_change(live, &[(address.clone(), resource)].into())?;
        if !plan.is_empty() {
            self.operations.apply(self.actor, &plan, host, |_| {}).await?;
        }
        self.resource(address.kind, &address.name).await
    }

    /// Returns the whole world, and the address of a resource that exists.
    async fn find_resource(&self, kind: Kind, name: &str) -> Result<(LiveWorld, Address)> {
        let (live, org) = self.live_org().await?;
        let name = match kind {
            Kind::Org => org.name.clone(),
            Kind::Agent => {
                let view = self.view().await?;
                let found = view.find_agent(name).map(|one| one.agent.slug.clone());
                found.unwrap_or_else(|| name.to_owned())
            }
            Kind::Channel => match name.parse::<BindingId>() {
                Ok(id) => self.inner().store.org(self.org).binding(id).await?.binding.name(),
                Err(_) => name.to_owned(),
            },
            _ => name.to_owned(),
        };
        let address = Address { org: org.org, kind, name };
        if live.resources.contains_key(&address) {
            return Ok((live, address));
        }
        let (kind, key) = (kind.table().replace('_', " "), address.name);
        Err(OperationError::NoRecord { kind, key })
    }
}

/// Returns the fields of a resource with the org that it belongs to.
fn with_org(fields: &Value, org: &str) -> Result<Value> {
    let Value::Object(fields) = fields else {
        let detail = "a resource is an object with its fields".to_owned();
        return Err(OperationError::BadResource(detail));
    };
    let mut fields = fields.clone();
    fields.insert("org".to_owned(), org.into());
    Ok(Value::Object(fields))
}
