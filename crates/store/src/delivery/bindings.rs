//! Channel bindings: the channel connections of an org, each with the agent that
//! answers there.

use ostler_domain::channel::binding::Binding;
use ostler_domain::id::{AgentId, BindingId, OrgId};
use ostler_domain::secret::SecretRef;

use crate::backend::Tx;
use crate::backend::job::StoreFuture;
use crate::backend::sql::{Sql, sql};
use crate::backend::value::{Row, Value};
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
    pub fn binding(&self, id: BindingId) -> StoreFuture<(OrgId, OrgBinding)> {
        self.read_all_orgs_hot(move |tx| {
            let row = tx.first(&FIND, &[id.into()])?.ok_or(StoreError::NotFound("binding"))?;
            Ok((row.id(4)?, binding(&row)?))
        })
    }
}

impl OrgStore<'_> {
    /// Creates or changes a binding. Its agent must be one of this org.
    pub fn save_binding(&self, binding: OrgBinding) -> StoreFuture<()> {
        let org = self.org;
        self.write(move |tx| save(tx, org, &binding))
    }

    /// Returns a binding of this org.
    pub fn binding(&self, id: BindingId) -> StoreFuture<OrgBinding> {
        self.one("binding", &GET, [id.into()], binding)
    }

    /// Lists the bindings in the order of their ids.
    pub fn bindings(&self, after: Option<BindingId>, limit: u32) -> StoreFuture<Vec<OrgBinding>> {
        let after = after.unwrap_or(BindingId::from_u128(0));
        self.rows(&LIST, [after.into(), limit.into()], binding)
    }
}

/// Creates or changes a binding, inside a transaction.
pub(crate) fn save(tx: &Tx, org: OrgId, binding: &OrgBinding) -> Result<()> {
    let OrgBinding { binding, agent, settings, secret } = binding;
    let known = tx.first(&AGENT, &[org.into(), (*agent).into()])?;
    known.ok_or(StoreError::NotFound("agent"))?;
    let params = [
        org.into(),
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

/// Returns a binding of an org, if it exists.
pub(crate) fn get(tx: &Tx, org: OrgId, id: BindingId) -> Result<Option<OrgBinding>> {
    tx.first(&GET, &[org.into(), id.into()])?.as_ref().map(binding).transpose()
}

/// Lists bindings of an org.
pub(crate) fn list(tx: &Tx, org: OrgId, after: BindingId, limit: u32) -> Result<Vec<OrgBinding>> {
    tx.query(&LIST, &[org.into(), after.into(), limit.into()])?.iter().map(binding).collect()
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
