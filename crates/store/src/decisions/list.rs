//! Listing and counting what waits.

use std::marker::PhantomData;

use ostler_domain::id::OrgId;

use super::{Decision, DecisionState, read};
use crate::backend::sql::{Sql, sql};
use crate::backend::value::Value;
use crate::backend::{Operation, Scope, Tx};
use crate::error::Result;

const LIST: Sql = Sql {
    sqlite: "SELECT data, asked_at, expires_at FROM decisions INDEXED BY decisions_in_state
       WHERE org = ?1 AND kind = ?2 AND state = ?3 AND id > ?4 ORDER BY id LIMIT ?5",
    postgres: "SELECT data, asked_at, expires_at FROM decisions
       WHERE org = $1 AND kind = $2 AND state = $3 AND id > $4 ORDER BY id LIMIT $5",
};
const PENDING_ABOUT: Sql = Sql {
    sqlite: "SELECT data, asked_at, expires_at FROM decisions INDEXED BY decisions_pending_about
       WHERE org = ?1 AND kind = ?2 AND subject = ?3 AND state = 'pending' AND id > ?4
       ORDER BY id LIMIT ?5",
    postgres: "SELECT data, asked_at, expires_at FROM decisions
       WHERE org = $1 AND kind = $2 AND subject = $3 AND state = 'pending' AND id > $4
       ORDER BY id LIMIT $5",
};
const COUNT: Sql =
    sql!("SELECT count(*) FROM decisions WHERE org = ?1 AND kind = ?2 AND state = 'pending'");
const COUNT_ABOUT: Sql = Sql {
    sqlite: "SELECT count(*) FROM decisions INDEXED BY decisions_pending_about
       WHERE org = ?1 AND kind = ?2 AND state = 'pending' AND subject = ?3",
    postgres: "SELECT count(*) FROM decisions
       WHERE org = $1 AND kind = $2 AND state = 'pending' AND subject = $3",
};

/// Those in a state after one of them, oldest first.
pub(crate) struct List<D> {
    pub(crate) org: OrgId,
    pub(crate) state: DecisionState,
    pub(crate) after: Value,
    pub(crate) most: u32,
    pub(crate) of: PhantomData<fn() -> D>,
}

impl<D: Decision> Operation for List<D> {
    type Output = Vec<D>;

    fn scope(&self) -> Scope {
        Scope::Org(self.org)
    }

    async fn run<T: Tx>(&self, tx: &T) -> Result<Vec<D>> {
        let state = self.state.name().into();
        let params = [self.org.into(), D::KIND.into(), state, self.after.clone(), self.most.into()];
        tx.query(&LIST, &params).await?.iter().map(read).collect()
    }
}

/// Those that wait and are about one thing, after one of them, oldest first.
pub(crate) struct PendingAbout<D> {
    pub(crate) org: OrgId,
    pub(crate) subject: Value,
    pub(crate) after: Value,
    pub(crate) most: u32,
    pub(crate) of: PhantomData<fn() -> D>,
}

impl<D: Decision> Operation for PendingAbout<D> {
    type Output = Vec<D>;

    fn scope(&self) -> Scope {
        Scope::Org(self.org)
    }

    async fn run<T: Tx>(&self, tx: &T) -> Result<Vec<D>> {
        let [subject, after] = [self.subject.clone(), self.after.clone()];
        let params = [self.org.into(), D::KIND.into(), subject, after, self.most.into()];
        tx.query(&PENDING_ABOUT, &params).await?.iter().map(read).collect()
    }
}

/// How many wait, in the org or about one thing.
pub(crate) struct Count<D> {
    pub(crate) org: OrgId,
    pub(crate) subject: Option<Value>,
    pub(crate) of: PhantomData<fn() -> D>,
}

impl<D: Decision> Operation for Count<D> {
    type Output = u64;

    fn scope(&self) -> Scope {
        Scope::Org(self.org)
    }

    async fn run<T: Tx>(&self, tx: &T) -> Result<u64> {
        let [org, kind] = [Value::from(self.org), D::KIND.into()];
        let row = match &self.subject {
            None => tx.first(&COUNT, &[org, kind]).await?,
            Some(subject) => tx.first(&COUNT_ABOUT, &[org, kind, subject.clone()]).await?,
        };
        let count = row.map_or(Ok(0), |row| row.int(0))?;
        Ok(u64::try_from(count).unwrap_or_default())
    }
}
