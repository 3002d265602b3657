//! Changing the memory of a thread, in one transaction.

use ostler_domain::id::{OrgId, ThreadId};
use ostler_domain::memory::observation::TaskCompletion;
use ostler_domain::time::UtcDay;

use super::{MemoryCall, MemoryCommit, StoredObservation, name, number};
use crate::backend::sql::{Sql, sql};
use crate::backend::value::Value;
use crate::backend::{Statement, Tx};
use crate::error::{Result, StoreError};

const SAVE: Sql = sql!(
    "INSERT INTO thread_memory (org, thread, revision, progress, settings, status, indexed_to)
     VALUES (?1, ?2, ?3 + 1, ?4, ?5, ?6, 0)
     ON CONFLICT (org, thread) DO UPDATE SET revision = excluded.revision,
       progress = excluded.progress, settings = excluded.settings, status = excluded.status
     WHERE thread_memory.revision = ?3"
);
const STORED: Sql =
    sql!("SELECT revision, progress FROM thread_memory WHERE org = ?1 AND thread = ?2");
const INSERT: Sql = sql!(
    "INSERT INTO memory_observations (org, thread, id, generation, state, speaker, kind,
       completion, first_seq, last_seq, valid_from, valid_until, supersedes, superseded_by, trust,
       tokens, text)
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17)"
);
const ACTIVATE: Sql = sql!(
    "UPDATE memory_observations SET state = 'active'
     WHERE org = ?1 AND thread = ?2 AND state = 'buffered' AND id <= ?3"
);
const SUPERSEDE: Sql = sql!(
    "UPDATE memory_observations SET state = 'superseded', superseded_by = ?4
     WHERE org = ?1 AND thread = ?2 AND id = ?3"
);
const RETIRE: Sql = sql!(
    "UPDATE memory_observations SET state = 'retired'
     WHERE org = ?1 AND thread = ?2 AND id = ?3 AND state = 'active'"
);
const CALL: Sql = sql!(
    "INSERT INTO memory_calls (org, thread, task, purpose, model, at, input, output, cached,
       written, cost)
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)"
);
pub(super) const MARK_CHARGED: Sql = sql!(
    "UPDATE memory_calls SET charged = 1
     WHERE org = ?1 AND thread = ?2 AND task <= ?3 AND charged = 0"
);

pub(super) fn commit(tx: &Tx, org: OrgId, change: &MemoryCommit) -> Result<i64> {
    let (thread, key) = (change.thread, || vec![Value::from(org), change.thread.into()]);
    let settings = change.settings.as_ref().map_or(Ok(Value::Null), Value::json)?;
    let progress = Value::json(&change.progress)?;
    let status = change.status.as_str().into();
    let saved = [key(), vec![change.revision.into(), progress.clone(), settings, status]].concat();
    if tx.execute(&SAVE, &saved)? == 0 {
        let stored = tx.first(&STORED, &key())?;
        let revision = change.revision + 1;
        return match stored {
            Some(row) if row.int(0)? == revision && row.value(1)? == progress => Ok(revision),
            _ => Err(StoreError::Conflict(format!("a newer memory of thread {thread}"))),
        };
    }
    let statement = |sql, params: Vec<Value>| Statement {
        sql,
        params: [key(), params].concat(),
        on_no_rows: None,
    };
    let mut batch = Vec::new();
    for added in &change.added {
        batch.push(Statement {
            sql: &INSERT,
            params: columns(org, thread, added)?,
            on_no_rows: None,
        });
    }
    if change.activated_to > 0 {
        batch.push(statement(&ACTIVATE, vec![number(change.activated_to)]));
    }
    for (old, new) in &change.superseded {
        batch.push(statement(&SUPERSEDE, vec![number(*old), number(*new)]));
    }
    batch.extend(change.retired.iter().map(|id| statement(&RETIRE, vec![number(*id)])));
    batch.extend(change.calls.iter().map(|call| statement(&CALL, call_columns(call))));
    tx.batch(&batch)?;
    Ok(change.revision + 1)
}

fn columns(org: OrgId, thread: ThreadId, stored: &StoredObservation) -> Result<Vec<Value>> {
    let observation = &stored.observation;
    let day = |day: Option<UtcDay>| Value::from(day.map(UtcDay::number));
    Ok(vec![
        org.into(),
        thread.into(),
        number(observation.id),
        number(stored.generation),
        name(&stored.state)?,
        observation.speaker.as_str().into(),
        observation.kind.as_str().into(),
        observation.completion.map(TaskCompletion::as_str).into(),
        observation.span.first.into(),
        observation.span.last.into(),
        day(observation.valid_from),
        day(observation.valid_until),
        Value::json(&observation.supersedes)?,
        observation.superseded_by.map_or(Value::Null, number),
        name(&observation.trust)?,
        number(stored.tokens),
        observation.text.as_str().into(),
    ])
}

fn call_columns(call: &MemoryCall) -> Vec<Value> {
    vec![
        number(call.task),
        call.purpose.as_str().into(),
        call.model.as_str().into(),
        call.at.into(),
        number(call.input),
        number(call.output),
        number(call.cached),
        number(call.written),
        number(call.cost.as_micros()),
    ]
}
