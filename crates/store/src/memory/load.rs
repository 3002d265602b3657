//! Reading the memory of a thread.

use ostler_domain::id::{OrgId, ThreadId};
use ostler_domain::memory::window::{MemoryProgress, WindowMessage};
use ostler_domain::memory::{MessageSpan, Observation};
use ostler_domain::money::Usd;
use ostler_domain::time::UtcDay;

use super::{MemoryCall, StoredObservation, StoredThreadMemory, count, named};
use crate::backend::Tx;
use crate::backend::sql::{Sql, sql};
use crate::backend::value::{Row, Value};
use crate::error::Result;

const THREAD: Sql =
    sql!("SELECT revision, progress, settings FROM thread_memory WHERE org = ?1 AND thread = ?2");
pub(super) const STATUS: Sql =
    sql!("SELECT status FROM thread_memory WHERE org = ?1 AND thread = ?2");
const TAIL: Sql = sql!(
    "SELECT seq, tokens, continues FROM memory_messages
     WHERE org = ?1 AND thread = ?2 AND seq > ?3 ORDER BY seq"
);
const OBSERVATIONS: Sql = sql!(
    "SELECT id, generation, state, speaker, kind, completion, first_seq, last_seq, valid_from,
       valid_until, supersedes, superseded_by, trust, tokens, text FROM memory_observations
     WHERE org = ?1 AND thread = ?2 AND state IN ('buffered', 'active') ORDER BY id"
);
pub(super) const ALL_OBSERVATIONS: Sql = sql!(
    "SELECT id, generation, state, speaker, kind, completion, first_seq, last_seq, valid_from,
       valid_until, supersedes, superseded_by, trust, tokens, text FROM memory_observations
     WHERE org = ?1 AND thread = ?2 ORDER BY id"
);
const LAST_OBSERVATION: Sql =
    sql!("SELECT coalesce(max(id), 0) FROM memory_observations WHERE org = ?1 AND thread = ?2");
const UNCHARGED: Sql = sql!(
    "SELECT task, purpose, model, at, input, output, cached, written, cost FROM memory_calls
     WHERE org = ?1 AND thread = ?2 AND charged = 0 ORDER BY task"
);

pub(super) fn load(tx: &Tx, org: OrgId, thread: ThreadId) -> Result<StoredThreadMemory> {
    let key: [Value; 2] = [org.into(), thread.into()];
    let (mut revision, mut progress, mut settings) = (0, MemoryProgress::default(), None);
    if let Some(row) = tx.first(&THREAD, &key)? {
        revision = row.int(0)?;
        progress = row.json(1, "thread memory")?;
        let has_settings = row.value(2)? != Value::Null;
        settings = has_settings.then(|| row.json(2, "memory settings")).transpose()?;
    }
    let last = tx.first(&LAST_OBSERVATION, &key)?.map_or(Ok(0), |row| count(&row, 0))?;
    let after = [org.into(), thread.into(), progress.condensed_to.into()];
    Ok(StoredThreadMemory {
        revision,
        settings,
        observations: read_all(tx, &OBSERVATIONS, &key, read_observation)?,
        next_observation: last + 1,
        tail: read_all(tx, &TAIL, &after, read_size)?,
        uncharged: read_all(tx, &UNCHARGED, &key, read_call)?,
        progress,
    })
}

fn read_all<T>(
    tx: &Tx,
    sql: &'static Sql,
    params: &[Value],
    read: fn(&Row) -> Result<T>,
) -> Result<Vec<T>> {
    tx.query(sql, params)?.iter().map(read).collect()
}

pub(super) fn read_status(row: &Row) -> Result<Option<String>> {
    match row.value(0)? {
        Value::Null => Ok(None),
        _ => row.text(0).map(|text| Some(text.to_owned())),
    }
}

fn read_size(row: &Row) -> Result<WindowMessage> {
    Ok(WindowMessage { seq: row.int(0)?, tokens: count(row, 1)?, continues: row.int(2)? != 0 })
}

pub(super) fn read_observation(row: &Row) -> Result<StoredObservation> {
    const WHAT: &str = "observation";
    let day = |column| row.opt_int(column).map(|day| day.map(UtcDay::from_number));
    let is_task = row.value(5)? != Value::Null;
    let observation = Observation {
        id: count(row, 0)?,
        speaker: named(row, 3, WHAT)?,
        kind: named(row, 4, WHAT)?,
        completion: is_task.then(|| named(row, 5, WHAT)).transpose()?,
        text: row.text(14)?.to_owned(),
        span: MessageSpan { first: row.int(6)?, last: row.int(7)? },
        valid_from: day(8)?,
        valid_until: day(9)?,
        supersedes: row.json(10, WHAT)?,
        superseded_by: row.opt_int(11)?.and_then(|id| u64::try_from(id).ok()),
        trust: named(row, 12, WHAT)?,
    };
    let (state, tokens, generation) = (named(row, 2, WHAT)?, count(row, 13)?, count(row, 1)?);
    Ok(StoredObservation { observation, state, tokens, generation })
}

fn read_call(row: &Row) -> Result<MemoryCall> {
    Ok(MemoryCall {
        task: count(row, 0)?,
        purpose: named(row, 1, "memory call")?,
        model: row.text(2)?.to_owned(),
        at: row.time(3)?,
        input: count(row, 4)?,
        output: count(row, 5)?,
        cached: count(row, 6)?,
        written: count(row, 7)?,
        cost: Usd::from_micros(count(row, 8)?),
    })
}
