//! Connections of an org to other services. Their secrets are kept elsewhere;
//! here is only where.

use std::collections::BTreeSet;

use ostler_domain::id::{IntegrationId, OrgId};
use ostler_domain::secret::SecretRef;
use ostler_domain::tool::Integration;

use crate::OrgStore;
use crate::backend::sql::{Sql, sql};
use crate::backend::value::Row;
use crate::backend::{Operation, Scope, Tx};
use crate::error::{Result, StoreError};

/// Whether a service can be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Connection {
    /// It can.
    Connected,
    /// It cannot; its settings are kept.
    Disconnected,
}

/// An org's connection to a service. There is one for each service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OrgIntegration {
    /// Its id.
    pub id: IntegrationId,
    /// The service, such as `stripe`.
    pub service: Integration,
    /// Whether it can be used.
    pub connection: Connection,
    /// What else the service needs to know, as JSON.
    pub settings: String,
    /// Where its secret is kept, if it has one.
    pub secret: Option<SecretRef>,
}

const SAVE: Sql = sql!(
    "INSERT INTO integrations (org, id, service, status, settings, secret)
     VALUES (?1, ?2, ?3, ?4, ?5, ?6)
     ON CONFLICT (org, id) DO UPDATE SET service = excluded.service, status = excluded.status,
       settings = excluded.settings, secret = excluded.secret"
);
const SET_STATUS: Sql = sql!("UPDATE integrations SET status = ?3 WHERE org = ?1 AND id = ?2");
const GET: Sql = sql!(
    "SELECT id, service, status, settings, secret FROM integrations WHERE org = ?1 AND id = ?2"
);
const GET_SERVICE: Sql = sql!(
    "SELECT id, service, status, settings, secret FROM integrations WHERE org = ?1 AND service = ?2"
);
const LIST: Sql = sql!(
    "SELECT id, service, status, settings, secret FROM integrations
     WHERE org = ?1 AND id > ?2 ORDER BY id LIMIT ?3"
);
const CONNECTED: Sql =
    sql!("SELECT service FROM integrations WHERE org = ?1 AND status = 'connected'");

impl OrgStore<'_> {
    /// Creates a connection, or changes it.
    pub async fn save_integration(&self, integration: OrgIntegration) -> Result<()> {
        self.store.write(Save(self.org, integration)).await
    }

    /// Connects a service, or disconnects it and keeps its settings.
    pub async fn set_connection(&self, id: IntegrationId, connection: Connection) -> Result<()> {
        self.store.write(SetStatus(self.org, id, connection)).await
    }

    /// A connection.
    pub async fn integration(&self, id: IntegrationId) -> Result<OrgIntegration> {
        self.store.read(Get(self.org, id)).await
    }

    /// The connection to a service, if there is one; it may be disconnected.
    pub async fn integration_with(&self, service: &Integration) -> Result<Option<OrgIntegration>> {
        self.store.read(GetService(self.org, service.clone())).await
    }

    /// The connections after one of them, in the order of their ids.
    pub async fn integrations(
        &self,
        after: Option<IntegrationId>,
        most: u32,
    ) -> Result<Vec<OrgIntegration>> {
        let after = after.unwrap_or(IntegrationId::from_u128(0));
        self.store.read(List(self.org, after, most)).await
    }

    /// The services that the org's tools can use.
    pub async fn connected_services(&self) -> Result<BTreeSet<Integration>> {
        self.store.read(Connected(self.org)).await
    }
}

impl Connection {
    const fn name(self) -> &'static str {
        match self {
            Self::Connected => "connected",
            Self::Disconnected => "disconnected",
        }
    }

    /// What is not said to be connected is not.
    fn named(name: &str) -> Self {
        if name == Self::Connected.name() { Self::Connected } else { Self::Disconnected }
    }
}

pub(crate) struct Save(pub(crate) OrgId, pub(crate) OrgIntegration);

impl Operation for Save {
    type Output = ();

    fn scope(&self) -> Scope {
        Scope::Org(self.0)
    }

    async fn run<T: Tx>(&self, tx: &T) -> Result<()> {
        let Self(org, OrgIntegration { id, service, connection, settings, secret }) = self;
        let params = [
            (*org).into(),
            (*id).into(),
            service.to_string().into(),
            connection.name().into(),
            settings.as_str().into(),
            secret.as_ref().map(ToString::to_string).into(),
        ];
        tx.execute(&SAVE, &params).await.map_err(|error| match error {
            StoreError::Conflict(_) => StoreError::Conflict(format!("integration `{service}`")),
            other => other,
        })?;
        Ok(())
    }
}

struct SetStatus(OrgId, IntegrationId, Connection);

impl Operation for SetStatus {
    type Output = ();

    fn scope(&self) -> Scope {
        Scope::Org(self.0)
    }

    async fn run<T: Tx>(&self, tx: &T) -> Result<()> {
        let params = [self.0.into(), self.1.into(), self.2.name().into()];
        match tx.execute(&SET_STATUS, &params).await? {
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

    async fn run<T: Tx>(&self, tx: &T) -> Result<OrgIntegration> {
        let row = tx.first(&GET, &[self.0.into(), self.1.into()]).await?;
        integration(&row.ok_or(StoreError::NotFound("integration"))?)
    }
}

struct GetService(OrgId, Integration);

impl Operation for GetService {
    type Output = Option<OrgIntegration>;

    fn scope(&self) -> Scope {
        Scope::Org(self.0)
    }

    async fn run<T: Tx>(&self, tx: &T) -> Result<Option<OrgIntegration>> {
        let params = [self.0.into(), self.1.to_string().into()];
        tx.first(&GET_SERVICE, &params).await?.as_ref().map(integration).transpose()
    }
}

struct List(OrgId, IntegrationId, u32);

impl Operation for List {
    type Output = Vec<OrgIntegration>;

    fn scope(&self) -> Scope {
        Scope::Org(self.0)
    }

    async fn run<T: Tx>(&self, tx: &T) -> Result<Vec<OrgIntegration>> {
        let params = [self.0.into(), self.1.into(), self.2.into()];
        tx.query(&LIST, &params).await?.iter().map(integration).collect()
    }
}

struct Connected(OrgId);

impl Operation for Connected {
    type Output = BTreeSet<Integration>;

    fn scope(&self) -> Scope {
        Scope::Org(self.0)
    }

    async fn run<T: Tx>(&self, tx: &T) -> Result<BTreeSet<Integration>> {
        let rows = tx.query(&CONNECTED, &[self.0.into()]).await?;
        rows.iter().map(|row| row.text(0).map(Integration::new)).collect()
    }
}

fn integration(row: &Row) -> Result<OrgIntegration> {
    Ok(OrgIntegration {
        id: row.id(0)?,
        service: Integration::new(row.text(1)?),
        connection: Connection::named(row.text(2)?),
        settings: row.text(3)?.to_owned(),
        secret: row.opt_written(4, "reference to a secret")?,
    })
}
