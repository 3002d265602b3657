//! Listing and counting decisions.

use std::marker::PhantomData;

use ostler_domain::id::OrgId;

use super::{Decision, DecisionState, read};
use crate::backend::sql::{Sql, sql};
use crate::backend::value::Value;
use crate::backend::{Operation, Scope, Tx};
use crate::error::Result;

const LIST: Sql = Sql {
    sqlite: "SELECT data, requested_at, expires_at FROM decisions INDEXED BY decisions_by_state
       WHERE org = ?1 AND kind = ?2 AND state = ?3 AND id > ?4 ORDER BY id LIMIT ?5",
    postgres: "SELECT data, requested_at, expires_at FROM decisions
       WHERE org = $1 AND kind = $2 AND state = $3 AND id > $4 ORDER BY id LIMIT $5",
};
const PENDING_BY_SUBJECT: Sql = Sql {
    sqlite: "SELECT data, requested_at, expires_at
       FROM decisions INDEXED BY decisions_pending_by_subject
       WHERE org = ?1 AND kind = ?2 AND subject = ?3 AND state = 'pending' AND id > ?4
       ORDER BY id LIMIT ?5",
    postgres: "SELECT data, requested_at, expires_at FROM decisions
       WHERE org = $1 AND kind = $2 AND subject = $3 AND state = 'pending' AND id > $4
       ORDER BY id LIMIT $5",
};
const COUNT: Sql =
    sql!("SELECT count(*) FROM decisions WHERE org = ?1 AND kind = ?2 AND state = 'pending'");
const COUNT_BY_SUBJECT: Sql = Sql {
    sqlite: "SELECT count(*) FROM decisions INDEXED BY decisions_pending_by_subject
       WHERE org = ?1 AND kind = ?2 AND state = 'pending' AND subject = ?3",
    postgres: "SELECT count(*) FROM decisions
       WHERE org = $1 AND kind = $2 AND state = 'pending' AND subject = $3",
};

/// Lists the decisions in a state, oldest first.
pub(crate) struct List<D> {
    pub(crate) org: OrgId,
    pub(crate) state: DecisionState,
    pub(crate) after: Value,
    pub(crate) limit: u32,
    pub(crate) of: PhantomData<fn() -> D>,
}

impl<D: Decision> Operation for List<D> {
    type Output = Vec<D>;

    fn scope(&self) -> Scope {
        Scope::Org(self.org)
    }

    fn run(&self, tx: &Tx) -> Result<Vec<D>> {
        let state = self.state.name().into();
        let params =
            [self.org.into(), D::KIND.into(), state, self.after.clone(), self.limit.into()];
        tx.query(&LIST, &params)?.iter().map(read).collect()
    }
}

/// Lists the pending decisions on a subject, oldest first.
pub(crate) struct PendingBySubject<D> {
    pub(crate) org: OrgId,
    pub(crate) subject: Value,
    pub(crate) after: Value,
    pub(crate) limit: u32,
    pub(crate) of: PhantomData<fn() -> D>,
}

impl<D: Decision> Operation for PendingBySubject<D> {
    type Output = Vec<D>;

    fn scope(&self) -> Scope {
        Scope::Org(self.org)
    }

    fn run(&self, tx: &Tx) -> Result<Vec<D>> {
        let [subject, after] = [self.subject.clone(), self.after.clone()];
        let params = [self.org.into(), D::KIND.into(), subject, after, self.limit.into()];
        tx.query(&PENDING_BY_SUBJECT, &params)?.iter().map(read).collect()
    }
}

/// Counts the pending decisions of an org, or on one subject.
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

    fn run(&self, tx: &Tx) -> Result<u64> {
        let [org, kind] = [Value::from(self.org), D::KIND.into()];
        let row = match &self.subject {
            None => tx.first(&COUNT, &[org, kind])?,
            Some(subject) => tx.first(&COUNT_BY_SUBJECT, &[org, kind, subject.clone()])?,
        };
        let count = row.map_or(Ok(0), |row| row.int(0))?;
        Ok(u64::try_from(count).unwrap_or_default())
    }
}
