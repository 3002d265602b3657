//! The audit log: who did what to what. Lines are added and never changed, but
//! that those about a person who was deleted lose their details.

use ostler_domain::audit::Actor;
use ostler_domain::id::{AuditId, OrgId};
use ostler_domain::time::Timestamp;

use crate::OrgStore;
use crate::backend::sql::{Sql, sql};
use crate::backend::value::{Row, Value};
use crate::backend::{Operation, Scope, Statement, Tx};
use crate::error::{Result, StoreError};

/// A line to add.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewAudit {
    /// Its id.
    pub id: AuditId,
    /// Who did it.
    pub actor: Actor,
    /// What was done, as a word.
    pub action: String,
    /// To what: the written id of it.
    pub subject: String,
    /// Anything else, as JSON.
    pub data: String,
}

/// A line of the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditLine {
    /// What it says.
    pub line: NewAudit,
    /// When it was added.
    pub at: Timestamp,
}

const APPEND: Sql = sql!(
    "INSERT INTO audit (org, id, at, actor, action, subject, data)
     VALUES (?1, ?2, now_ms(), ?3, ?4, ?5, ?6)"
);
const ALL: Sql = sql!(
    "SELECT id, at, actor, action, subject, data FROM audit
     WHERE org = ?1 AND id < ?2 ORDER BY id DESC LIMIT ?3"
);
const ABOUT: Sql = Sql {
    sqlite: "SELECT id, at, actor, action, subject, data FROM audit INDEXED BY audit_of
       WHERE org = ?1 AND id < ?2 AND subject = ?4 ORDER BY id DESC LIMIT ?3",
    postgres: "SELECT id, at, actor, action, subject, data FROM audit
       WHERE org = $1 AND id < $2 AND subject = $4 ORDER BY id DESC LIMIT $3",
};

impl OrgStore<'_> {
    /// Adds a line.
    pub async fn append_audit(&self, line: NewAudit) -> Result<()> {
        self.store.write(Append(self.org, line)).await
    }

    /// The lines, or those about one subject, newest first; those before the
    /// last one of the page before.
    pub async fn audit(
        &self,
        subject: Option<&str>,
        before: Option<AuditId>,
        most: u32,
    ) -> Result<Vec<AuditLine>> {
        let before = before.unwrap_or(AuditId::from_u128(u128::MAX));
        let subject = subject.map(ToOwned::to_owned);
        self.store.read(List { org: self.org, subject, before, most }).await
    }
}

/// Adds a line, together with whatever it tells of.
pub(crate) fn append(org: OrgId, line: &NewAudit) -> Result<Statement> {
    let params = vec![
        org.into(),
        line.id.into(),
        Value::json(&line.actor)?,
        line.action.as_str().into(),
        line.subject.as_str().into(),
        line.data.as_str().into(),
    ];
    Ok(Statement { sql: &APPEND, params, must: None })
}

struct Append(OrgId, NewAudit);

impl Operation for Append {
    type Output = ();

    fn scope(&self) -> Scope {
        Scope::Org(self.0)
    }

    async fn run<T: Tx>(&self, tx: &T) -> Result<()> {
        let Self(org, line) = self;
        match tx.batch(&[append(*org, line)?]).await {
            Err(StoreError::Conflict(_)) => Err(StoreError::Conflict(format!("line {}", line.id))),
            other => other.map(|_| ()),
        }
    }
}

struct List {
    org: OrgId,
    subject: Option<String>,
    before: AuditId,
    most: u32,
}

impl Operation for List {
    type Output = Vec<AuditLine>;

    fn scope(&self) -> Scope {
        Scope::Org(self.org)
    }

    async fn run<T: Tx>(&self, tx: &T) -> Result<Vec<AuditLine>> {
        let mut params = vec![self.org.into(), self.before.into(), self.most.into()];
        let sql = match &self.subject {
            None => &ALL,
            Some(subject) => {
                params.push(subject.as_str().into());
                &ABOUT
            }
        };
        tx.query(sql, &params).await?.iter().map(line).collect()
    }
}

fn line(row: &Row) -> Result<AuditLine> {
    Ok(AuditLine {
        line: NewAudit {
            id: row.id(0)?,
            actor: row.json(2, "audit line")?,
            action: row.text(3)?.to_owned(),
            subject: row.text(4)?.to_owned(),
            data: row.text(5)?.to_owned(),
        },
        at: Timestamp::from_millis(row.int(1)?),
    })
}
