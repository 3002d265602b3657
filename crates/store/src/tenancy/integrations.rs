//! Connections of an org to external services. Only references to their secrets
//! are stored.

use std::collections::BTreeSet;

use ostler_domain::id::{IntegrationId, OrgId};
use ostler_domain::secret::SecretRef;
use ostler_domain::tool::Integration;

use crate::OrgStore;
use crate::backend::sql::{Sql, sql};
use crate::backend::value::Row;
use crate::backend::{Operation, Scope, Tx};
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
    pub async fn save_integration(&self, integration: OrgIntegration) -> Result<()> {
        self.store.write(Save(self.org, integration)).await
    }

    /// Connects or disconnects an integration, keeping its settings.
    pub async fn set_connection(
        &self,
        id: IntegrationId,
        connection: IntegrationConnection,
    ) -> Result<()> {
        self.store.write(SetConnection(self.org, id, connection)).await
    }

    /// Returns an integration.
    pub async fn integration(&self, id: IntegrationId) -> Result<OrgIntegration> {
        self.store.read(Get(self.org, id)).await
    }

    /// Returns the integration with a service, connected or not.
    pub async fn integration_by_service(
        &self,
        service: &Integration,
    ) -> Result<Option<OrgIntegration>> {
        self.store.read(GetByService(self.org, service.clone())).await
    }

    /// Returns the integrations after `after`, ordered by id.
    pub async fn integrations(
        &self,
        after: Option<IntegrationId>,
        limit: u32,
    ) -> Result<Vec<OrgIntegration>> {
        let after = after.unwrap_or(IntegrationId::from_u128(0));
        self.store.read(List(self.org, after, limit)).await
    }

    /// Returns the connected services, which the org's tools can use.
    pub async fn connected_services(&self) -> Result<BTreeSet<Integration>> {
        self.store.read(ListConnected(self.org)).await
    }
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

pub(crate) struct Save(pub(crate) OrgId, pub(crate) OrgIntegration);

impl Operation for Save {
    type Output = ();

    fn scope(&self) -> Scope {
        Scope::Org(self.0)
    }

    fn run(&self, tx: &Tx) -> Result<()> {
        let Self(org, OrgIntegration { id, service, connection, settings, secret }) = self;
        let params = [
            (*org).into(),
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
}

struct SetConnection(OrgId, IntegrationId, IntegrationConnection);

impl Operation for SetConnection {
    type Output = ();

    fn scope(&self) -> Scope {
        Scope::Org(self.0)
    }

    fn run(&self, tx: &Tx) -> Result<()> {
        let params = [self.0.into(), self.1.into(), self.2.name().into()];
        match tx.execute(&SET_CONNECTION, &params)? {
            0 => Err(StoreError::NotFound("integration")),
            _ => Ok(()),
        }
    }
}

struct Get(OrgId, IntegrationId);

impl Operation for Get {
    type Output = OrgIntegration;

    fn scope(&self) -> Scope {
        Scope::Org(self.0)
    }

    fn run(&self, tx: &Tx) -> Result<OrgIntegration> {
        let row = tx.first(&GET, &[self.0.into(), self.1.into()])?;
        read_integration(&row.ok_or(StoreError::NotFound("integration"))?)
    }
}

struct GetByService(OrgId, Integration);

impl Operation for GetByService {
    type Output = Option<OrgIntegration>;

    fn scope(&self) -> Scope {
        Scope::Org(self.0)
    }

    fn run(&self, tx: &Tx) -> Result<Option<OrgIntegration>> {
        let params = [self.0.into(), self.1.to_string().into()];
        tx.first(&GET_BY_SERVICE, &params)?.as_ref().map(read_integration).transpose()
    }
}

struct List(OrgId, IntegrationId, u32);

impl Operation for List {
    type Output = Vec<OrgIntegration>;

    fn scope(&self) -> Scope {
        Scope::Org(self.0)
    }

    fn run(&self, tx: &Tx) -> Result<Vec<OrgIntegration>> {
        let params = [self.0.into(), self.1.into(), self.2.into()];
        tx.query(&LIST, &params)?.iter().map(read_integration).collect()
    }
}

struct ListConnected(OrgId);

impl Operation for ListConnected {
    type Output = BTreeSet<Integration>;

    fn scope(&self) -> Scope {
        Scope::Org(self.0)
    }

    fn run(&self, tx: &Tx) -> Result<BTreeSet<Integration>> {
        let rows = tx.query(&LIST_CONNECTED, &[self.0.into()])?;
        rows.iter().map(|row| row.text(0).map(Integration::new)).collect()
    }
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
