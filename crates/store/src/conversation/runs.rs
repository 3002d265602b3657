//! Storing runs. What the harness of a run has in common with those of other runs is stored once
//! for each content, and the run names it by its hash.

use ostler_domain::id::{OrgId, RunId, SessionId};
use sha2::{Digest as _, Sha256};

use crate::backend::Statement;
use crate::backend::sql::{Sql, sql};
use crate::backend::value::Value;

/// A run to store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewRun {
    pub id: RunId,
    /// JSON.
    pub data: String,
    /// What its harness has in common with those of other runs, if the data lacks it. JSON.
    pub harness: Option<String>,
}

/// A run is inserted once; a conflict identifies a repeated commit.
const INSERT: Sql =
    sql!("INSERT INTO runs (org, id, session, data, harness) VALUES (?1, ?2, ?3, ?4, ?5)");
const INSERT_HARNESS: Sql = sql!(
    "INSERT INTO agent_harnesses (org, hash, data) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING"
);

/// How many bytes of a hash are stored.
const HASH_BYTES: usize = 16;

/// The statement that inserts the run of a session.
pub(crate) fn run_row(org: OrgId, session: SessionId, run: &NewRun) -> Statement {
    let params = vec![
        org.into(),
        run.id.into(),
        session.into(),
        run.data.as_str().into(),
        run.harness.as_deref().map_or(Value::Null, hash),
    ];
    Statement { sql: &INSERT, params, on_no_rows: None }
}

/// The statement that stores what the run shares with others, unless it is stored.
pub(crate) fn harness_row(org: OrgId, run: &NewRun) -> Option<Statement> {
    let harness = run.harness.as_deref()?;
    let params = vec![org.into(), hash(harness), harness.into()];
    Some(Statement { sql: &INSERT_HARNESS, params, on_no_rows: None })
}

fn hash(harness: &str) -> Value {
    let mut hash = Sha256::digest(harness.as_bytes()).to_vec();
    hash.truncate(HASH_BYTES);
    Value::Bytes(hash)
}
