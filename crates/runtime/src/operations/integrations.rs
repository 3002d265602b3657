//! Integrations: the services that an org's tools use.

use std::collections::{BTreeMap, BTreeSet};

use ostler_domain::id::IntegrationId;
use ostler_domain::org::permission::OrgPermission;
use ostler_domain::secret::SecretRef;
use ostler_domain::tool::Integration;
use ostler_store::{IntegrationConnection, OrgIntegration};
use serde_json::{Value, json};

use super::world::ApplyHost;
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

    /// Connects a service with a key: that at `secret`, or that of an earlier connection, or
    /// the one that is on the machine by default. Returns also what is wrong with a key that
    /// was named.
    pub async fn connect_service(
        &self,
        service: &str,
        secret: Option<SecretRef>,
        host: &dyn ApplyHost,
    ) -> Result<(OrgIntegration, Option<String>)> {
        let store = self.authorize(OrgPermission::Configure).await?;
        let known = self.known_service(service)?;
        if let Some(at) = secret {
            let note = host.check_service_key(self.org, &known, &at);
            let note = note.map_err(OperationError::BadResource)?;
            return Ok((self.connect(service, Some(at)).await?, note));
        }
        let before = store.integration_by_service(&known).await?;
        let key = match before.is_some_and(|one| one.secret.is_some()) {
            true => None,
            false => host
                .default_service_key(&store.org().await?, &known)
                .map_err(OperationError::BadResource)?,
        };
        Ok((self.connect(service, key).await?, None))
    }

    /// Returns the services that tools use, by name, each with its tools.
    pub async fn services(&self, host: &dyn ApplyHost) -> Result<Vec<ToolService>> {
        let mut services: BTreeMap<Integration, ToolService> = BTreeMap::new();
        let entry = |service: &Integration| (service.clone(), ToolService::of(service));
        for spec in self.inner().tools.built_in.specs() {
            for service in &spec.integrations {
                let (key, new) = entry(service);
                services.entry(key).or_insert(new).tools.push(spec.name.to_string());
            }
        }
        for stored in self.integrations().await? {
            let (key, new) = entry(&stored.service);
            let service = services.entry(key).or_insert(new);
            service.connected = stored.connection == IntegrationConnection::Connected;
            service.key_problem = stored.secret.as_ref().and_then(|at| {
                host.check_service_key(self.org, &stored.service, at).unwrap_or_else(Some)
            });
            service.secret = stored.secret;
        }
        Ok(services.into_values().collect())
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

/// A service that tools use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolService {
    pub service: Integration,
    pub connected: bool,
    /// The built-in tools that need it.
    pub tools: Vec<String>,
    /// Where its key is.
    pub secret: Option<SecretRef>,
    /// Why the key cannot be read on the machine.
    pub key_problem: Option<String>,
}

impl ToolService {
    fn of(service: &Integration) -> Self {
        Self {
            service: service.clone(),
            connected: false,
            tools: Vec::new(),
            secret: None,
            key_problem: None,
        }
    }
}

/// Returns what the audit log keeps of an integration.
fn audit_data(one: &OrgIntegration) -> Value {
    let connected = one.connection == IntegrationConnection::Connected;
    json!({"service": one.service, "connected": connected, "secret": one.secret})
}
