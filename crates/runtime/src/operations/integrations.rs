//! Integrations: the services that an org's tools use.

use std::collections::BTreeSet;

use ostler_domain::id::IntegrationId;
use ostler_domain::org::permission::OrgPermission;
use ostler_domain::secret::SecretRef;
use ostler_domain::tool::Integration;
use ostler_store::{IntegrationConnection, OrgIntegration};
use serde_json::{Value, json};

use super::{OperationError, OrgOperations, Result};
use crate::ids::fresh;

/// The maximum number of integrations that are listed; there is one for each service.
const MAX_INTEGRATIONS: u32 = 200;

impl OrgOperations<'_> {
    /// Returns the integrations of the org, including disconnected ones.
    pub async fn integrations(&self) -> Result<Vec<OrgIntegration>> {
        Ok(self.authorize(OrgPermission::View).await?.integrations(None, MAX_INTEGRATIONS).await?)
    }

    /// Connects a service that tools use. Without a secret, that of an earlier connection is
    /// used.
    pub async fn connect(
        &self,
        service: &str,
        secret: Option<SecretRef>,
    ) -> Result<OrgIntegration> {
        let store = self.authorize(OrgPermission::Configure).await?;
        let service = self.known_service(service)?;
        let known = store.integration_by_service(&service).await?;
        let stored_secret = known.as_ref().and_then(|one| one.secret.clone());
        let new = OrgIntegration {
            id: known.as_ref().map_or_else(|| fresh(IntegrationId::from_u128), |one| one.id),
            service,
            connection: IntegrationConnection::Connected,
            settings: known.as_ref().map_or_else(|| "{}".to_owned(), |one| one.settings.clone()),
            secret: secret.or(stored_secret),
        };
        self.save("connect_integration", known.as_ref(), new).await
    }

    /// Disconnects a service; its secret reference stays stored.
    pub async fn disconnect(&self, service: &str) -> Result<OrgIntegration> {
        let store = self.authorize(OrgPermission::Configure).await?;
        let known = store.integration_by_service(&Integration::new(service)).await?;
        let known = known.ok_or_else(|| OperationError::NotConnected(service.to_owned()))?;
        let connection = IntegrationConnection::Disconnected;
        let new = OrgIntegration { connection, ..known.clone() };
        self.save("disconnect_integration", Some(&known), new).await
    }

    async fn save(
        &self,
        action: &str,
        before: Option<&OrgIntegration>,
        one: OrgIntegration,
    ) -> Result<OrgIntegration> {
        let store = self.authorize(OrgPermission::Configure).await?;
        if before == Some(&one) {
            return Ok(one);
        }
        let before = before.map(audit_data).unwrap_or_default();
        let audit = self.audit_change(action, &one.id, &before, &audit_data(&one));
        store.audited(audit).save_integration(one.clone()).await?;
        Ok(one)
    }

    fn known_service(&self, name: &str) -> Result<Integration> {
        let specs = self.inner().tools.built_in.specs();
        let known: BTreeSet<&Integration> = specs.flat_map(|spec| &spec.integrations).collect();
        let service = Integration::new(name);
        if known.contains(&service) {
            return Ok(service);
        }
        let known: Vec<String> = known.iter().map(ToString::to_string).collect();
        Err(OperationError::NoService { name: name.to_owned(), known: known.join(", ") })
    }
}

/// Returns what the audit log keeps of an integration.
fn audit_data(one: &OrgIntegration) -> Value {
    let connected = one.connection == IntegrationConnection::Connected;
    json!({"service": one.service, "connected": connected, "secret": one.secret})
}
