//! Channel bindings: the channel connections of an org, each with the agent that
//! answers there.

use ostler_domain::channel::binding::Binding;
use ostler_domain::id::{AgentId, BindingId, OrgId};
use ostler_domain::secret::SecretRef;

use crate::backend::sql::{Sql, sql};
use crate::backend::value::{Row, Value};
use crate::backend::{Operation, Scope, Tx};
use crate::error::{Result, StoreError};
use crate::{OrgStore, Store};

/// A binding of an org.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OrgBinding {
    pub binding: Binding,
    /// The agent that answers; one of the same org.
    pub agent: AgentId,
    /// Settings of the channel, as JSON.
    pub settings: String,
    pub secret: Option<SecretRef>,
}

const AGENT: Sql = sql!("SELECT id FROM agents WHERE org = ?1 AND id = ?2");
const SAVE: Sql = sql!(
    "INSERT INTO bindings (org, id, agent, data, settings, secret) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
     ON CONFLICT (org, id) DO UPDATE SET agent = excluded.agent, data = excluded.data,
       settings = excluded.settings, secret = excluded.secret"
);
const GET: Sql =
    sql!("SELECT data, agent, settings, secret FROM bindings WHERE org = ?1 AND id = ?2");
const LIST: Sql = sql!(
    "SELECT data, agent, settings, secret FROM bindings
     WHERE org = ?1 AND id > ?2 ORDER BY id LIMIT ?3"
);
const FIND: Sql = sql!("SELECT data, agent, settings, secret, org FROM bindings WHERE id = ?1");

impl Store {
    /// Returns a binding and its org, for a webhook that knows only the id. The channel
    /// verifies whether the caller may use it.
    pub async fn binding(&self, id: BindingId) -> Result<(OrgId, OrgBinding)> {
        self.read(Find(id)).await
    }
}

impl OrgStore<'_> {
    /// Creates or changes a binding. Its agent must be one of this org.
    pub async fn save_binding(&self, binding: OrgBinding) -> Result<()> {
        self.store.write(Save(self.org, binding)).await
    }

    /// Returns a binding of this org.
    pub async fn binding(&self, id: BindingId) -> Result<OrgBinding> {
        self.store.read(Get(self.org, id)).await
    }

    /// Lists the bindings in the order of their ids.
    pub async fn bindings(&self, after: Option<BindingId>, limit: u32) -> Result<Vec<OrgBinding>> {
        let after = after.unwrap_or(BindingId::from_u128(0));
        self.store.read(List(self.org, after, limit)).await
    }
}

pub(crate) struct Save(pub(crate) OrgId, pub(crate) OrgBinding);

impl Operation for Save {
    type Output = ();

    fn scope(&self) -> Scope {
        Scope::Org(self.0)
    }

    fn run(&self, tx: &Tx) -> Result<()> {
        let Self(org, OrgBinding { binding, agent, settings, secret }) = self;
        let known = tx.first(&AGENT, &[(*org).into(), (*agent).into()])?;
        known.ok_or(StoreError::NotFound("agent"))?;
        let params = [
            (*org).into(),
            binding.id.into(),
            (*agent).into(),
            Value::json(binding)?,
            settings.as_str().into(),
            secret.as_ref().map(ToString::to_string).into(),
        ];
        // A conflict means that the id belongs to another org.
        tx.execute(&SAVE, &params).map_err(|error| match error {
            StoreError::Conflict(_) => StoreError::NotFound("binding"),
            other => other,
        })?;
        Ok(())
    }
}

struct Get(OrgId, BindingId);

impl Operation for Get {
    type Output = OrgBinding;

    fn scope(&self) -> Scope {
        Scope::Org(self.0)
    }

    fn run(&self, tx: &Tx) -> Result<OrgBinding> {
        get(tx, self.0, self.1)?.ok_or(StoreError::NotFound("binding"))
    }
}

/// Returns a binding of an org, if it exists.
pub(crate) fn get(tx: &Tx, org: OrgId, id: BindingId) -> Result<Option<OrgBinding>> {
    tx.first(&GET, &[org.into(), id.into()])?.as_ref().map(binding).transpose()
}

/// Lists bindings of an org.
pub(crate) fn list(tx: &Tx, org: OrgId, after: BindingId, limit: u32) -> Result<Vec<OrgBinding>> {
    tx.query(&LIST, &[org.into(), after.into(), limit.into()])?.iter().map(binding).collect()
}

struct List(OrgId, BindingId, u32);

impl Operation for List {
    type Output = Vec<OrgBinding>;

    fn scope(&self) -> Scope {
        Scope::Org(self.0)
    }

    fn run(&self, tx: &Tx) -> Result<Vec<OrgBinding>> {
        list(tx, self.0, self.1, self.2)
    }
}

struct Find(BindingId);

impl Operation for Find {
    type Output = (OrgId, OrgBinding);

    /// The caller does not know the org.
    fn scope(&self) -> Scope {
        Scope::All
    }

    fn run(&self, tx: &Tx) -> Result<(OrgId, OrgBinding)> {
        let row = tx.first(&FIND, &[self.0.into()])?;
        let row = row.ok_or(StoreError::NotFound("binding"))?;
        Ok((row.id(4)?, binding(&row)?))
    }
}

/// Reads a binding from the first four columns of a row.
pub(crate) fn binding(row: &Row) -> Result<OrgBinding> {
    Ok(OrgBinding {
        binding: row.json(0, "binding")?,
        agent: row.id(1)?,
        settings: row.text(2)?.to_owned(),
        secret: row.opt_parsed(3, "reference to a secret")?,
    })
}
