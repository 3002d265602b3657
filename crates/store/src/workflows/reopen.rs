//! Running a failed workflow again.

use ostler_domain::id::{OrgId, WorkflowId};

use super::check_size;
use crate::backend::Tx;
use crate::backend::sql::{Sql, sql};
use crate::error::{Result, StoreError};

/// A failed workflow that runs again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReopenedWorkflow {
    pub id: WorkflowId,
    /// The progress that was read, as JSON.
    pub state_before: String,
    /// The progress from now on, as JSON.
    pub state: String,
    /// The steps that start again.
    pub steps: Vec<String>,
}

const REOPEN: Sql = sql!(
    "UPDATE workflows SET status = 'running', state = ?4, attempts = 0, due_at = now_ms(),
       updated_at = now_ms()
     WHERE org = ?1 AND id = ?2 AND state = ?3 AND status = 'failed' AND lease_until <= now_ms()"
);
/// Questions that were answered are asked again.
const FORGET_ANSWERS: Sql = sql!(
    "DELETE FROM workflow_answers WHERE org = ?1 AND workflow = ?2
       AND (task = ?3 OR substr(task, 1, length(?3) + 1) = ?3 || '/'
         OR substr(task, 1, length(?3) + 1) = ?3 || '!')"
);

/// Makes a failed workflow due. Fails with [`StoreError::Conflict`] if it has changed.
pub(crate) fn reopen(tx: &Tx, org: OrgId, reopened: &ReopenedWorkflow) -> Result<()> {
    let ReopenedWorkflow { id, state_before, state, steps } = reopened;
    check_size("workflow", state)?;
    let params = [org.into(), (*id).into(), state_before.as_str().into(), state.as_str().into()];
    if tx.execute(&REOPEN, &params)? == 0 {
        return Err(StoreError::Conflict("a newer state of this workflow".to_owned()));
    }
    for step in steps {
        tx.execute(&FORGET_ANSWERS, &[org.into(), (*id).into(), step.as_str().into()])?;
    }
    Ok(())
}
