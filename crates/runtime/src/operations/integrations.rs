//! The services that an org's tools can use.

use std::collections::BTreeSet;

use ostler_domain::id::IntegrationId;
use ostler_domain::org::duty::Duty;
use ostler_domain::secret::SecretRef;
use ostler_domain::tool::Integration;
use ostler_store::{Connection, OrgIntegration};
use serde_json::json;

use super::{Office, OperationError, Result};
use crate::ids::fresh;

/// The most that are listed; there is one for each service.
const MOST: u32 = 200;

impl Office<'_> {
    /// The connections of the org, those that are not used any more included.
    pub async fn integrations(&self) -> Result<Vec<OrgIntegration>> {
        Ok(self.allowed(Duty::Look).await?.integrations(None, MOST).await?)
    }

    /// Connects a service that tools use. Its secret stays where it is kept;
    /// without one, that of an earlier connection counts.
    pub async fn connect(
        &self,
        service: &str,
        secret: Option<SecretRef>,
    ) -> Result<OrgIntegration> {
        let store = self.allowed(Duty::SetUp).await?;
        let service = self.used_by_tools(service)?;
        let known = store.integration_with(&service).await?;
        let kept = known.as_ref().and_then(|one| one.secret.clone());
        let new = OrgIntegration {
            id: known.as_ref().map_or_else(|| fresh(IntegrationId::from_u128), |one| one.id),
            service,
            connection: Connection::Connected,
            settings: known.map_or_else(|| "{}".to_owned(), |one| one.settings),
            secret: secret.or(kept),
        };
        self.save("connect_integration", new).await
    }

    /// Takes a service away from the org's tools; where its secret is kept is
    /// remembered.
    pub async fn disconnect(&self, service: &str) -> Result<OrgIntegration> {
        let store = self.allowed(Duty::SetUp).await?;
        let known = store.integration_with(&Integration::new(service)).await?;
        let known = known.ok_or_else(|| OperationError::NotConnected(service.to_owned()))?;
        let new = OrgIntegration { connection: Connection::Disconnected, ..known };
        self.save("disconnect_integration", new).await
    }

    async fn save(&self, action: &str, one: OrgIntegration) -> Result<OrgIntegration> {
        let store = self.allowed(Duty::SetUp).await?;
        let line = self.line(action, &one.id, &json!({"service": one.service}));
        store.audited(line).save_integration(one.clone()).await?;
        Ok(one)
    }

    fn used_by_tools(&self, name: &str) -> Result<Integration> {
        let specs = self.inner().tools.specs();
        let known: BTreeSet<&Integration> = specs.flat_map(|spec| &spec.integrations).collect();
        let wanted = Integration::new(name);
        if known.contains(&wanted) {
            return Ok(wanted);
        }
        let known: Vec<String> = known.iter().map(ToString::to_string).collect();
        Err(OperationError::NoService { name: name.to_owned(), known: known.join(", ") })
    }
}
