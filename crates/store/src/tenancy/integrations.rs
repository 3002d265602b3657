//! Connections of an org to external services. Only references to their secrets
//! are stored.

use std::collections::BTreeSet;

use ostler_domain::id::{IntegrationId, OrgId};
use ostler_domain::secret::SecretRef;
use ostler_domain::tool::Integration;

use crate::OrgStore;
use crate::backend::Tx;
use crate::backend::job::StoreFuture;
use crate::backend::sql::{Sql, sql};
use crate::backend::value::Row;
use crate::error::{Result, StoreError};

/// Whether an integration is usable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IntegrationConnection {
    Connected,
    /// Not usable; the settings are kept.
    Disconnected,
}

/// An org's connection to an external service; at most one per service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OrgIntegration {
    pub id: IntegrationId,
    /// For example `stripe`.
    pub service: Integration,
    pub connection: IntegrationConnection,
    /// Service-specific settings, as JSON.
    pub settings: String,
    pub secret: Option<SecretRef>,
}

const SAVE: Sql = sql!(
    "INSERT INTO integrations (org, id, service, status, settings, secret)
     VALUES (?1, ?2, ?3, ?4, ?5, ?6)
     ON CONFLICT (org, id) DO UPDATE SET service = excluded.service, status = excluded.status,
       settings = excluded.settings, secret = excluded.secret"
);
const SET_CONNECTION: Sql = sql!("UPDATE integrations SET status = ?3 WHERE org = ?1 AND id = ?2");
const GET: Sql = sql!(
    "SELECT id, service, status, settings, secret FROM integrations WHERE org = ?1 AND id = ?2"
);
const GET_BY_SERVICE: Sql = sql!(
    "SELECT id, service, status, settings, secret FROM integrations WHERE org = ?1 AND service = ?2"
);
const LIST: Sql = sql!(
    "SELECT id, service, status, settings, secret FROM integrations
     WHERE org = ?1 AND id > ?2 ORDER BY id LIMIT ?3"
);
const LIST_CONNECTED: Sql =
    sql!("SELECT service FROM integrations WHERE org = ?1 AND status = 'connected'");

impl OrgStore<'_> {
    /// Creates or replaces an integration. Fails with [`StoreError::Conflict`] if the
    /// service has another one.
    pub fn save_integration(&self, integration: OrgIntegration) -> StoreFuture<()> {
        let org = self.org;
        self.write(move |tx| save(tx, org, &integration))
    }

    /// Connects or disconnects an integration, keeping its settings.
    pub fn set_connection(
        &self,
        id: IntegrationId,
        connection: IntegrationConnection,
    ) -> StoreFuture<()> {
        self.change("integration", &SET_CONNECTION, [id.into(), connection.name().into()])
    }

    /// Returns an integration.
    pub fn integration(&self, id: IntegrationId) -> StoreFuture<OrgIntegration> {
        self.one("integration", &GET, [id.into()], read_integration)
    }

    /// Returns the integration with a service, connected or not.
    pub fn integration_by_service(
        &self,
        service: &Integration,
    ) -> StoreFuture<Option<OrgIntegration>> {
        self.optional(&GET_BY_SERVICE, [service.to_string().into()], read_integration)
    }

    /// Returns the integrations after `after`, ordered by id.
    pub fn integrations(
        &self,
        after: Option<IntegrationId>,
        limit: u32,
    ) -> StoreFuture<Vec<OrgIntegration>> {
        let after = after.unwrap_or(IntegrationId::from_u128(0));
        self.rows(&LIST, [after.into(), limit.into()], read_integration)
    }

    /// Returns the connected services, which the org's tools can use.
    pub fn connected_services(&self) -> StoreFuture<BTreeSet<Integration>> {
        let org = self.org;
        self.read(move |tx| connected(tx, org))
    }
}

/// Lists the integrations of an org, inside a transaction.
pub(crate) fn list(
    tx: &Tx,
    org: OrgId,
    after: IntegrationId,
    limit: u32,
) -> Result<Vec<OrgIntegration>> {
    let rows = tx.query(&LIST, &[org.into(), after.into(), limit.into()])?;
    rows.iter().map(read_integration).collect()
}

/// Returns the connected services, inside a transaction.
pub(crate) fn connected(tx: &Tx, org: OrgId) -> Result<BTreeSet<Integration>> {
    let rows = tx.query(&LIST_CONNECTED, &[org.into()])?;
    rows.iter().map(|row| row.text(0).map(Integration::new)).collect()
}

impl IntegrationConnection {
    const fn name(self) -> &'static str {
        match self {
            Self::Connected => "connected",
            Self::Disconnected => "disconnected",
        }
    }

    /// Anything but `connected` counts as disconnected.
    fn from_name(name: &str) -> Self {
        if name == Self::Connected.name() { Self::Connected } else { Self::Disconnected }
    }
}

/// Creates or replaces an integration, inside a transaction.
pub(crate) fn save(tx: &Tx, org: OrgId, integration: &OrgIntegration) -> Result<()> {
    let OrgIntegration { id, service, connection, settings, secret } = integration;
    let params = [
        org.into(),
        (*id).into(),
        service.to_string().into(),
        connection.name().into(),
        settings.as_str().into(),
        secret.as_ref().map(ToString::to_string).into(),
    ];
    tx.execute(&SAVE, &params).map_err(|error| match error {
        StoreError::Conflict(_) => StoreError::Conflict(format!("integration `{service}`")),
        other => other,
    })?;
    Ok(())
}

fn read_integration(row: &Row) -> Result<OrgIntegration> {
    Ok(OrgIntegration {
        id: row.id(0)?,
        service: Integration::new(row.text(1)?),
        connection: IntegrationConnection::from_name(row.text(2)?),
        settings: row.text(3)?.to_owned(),
        secret: row.opt_parsed(4, "reference to a secret")?,
    })
}
