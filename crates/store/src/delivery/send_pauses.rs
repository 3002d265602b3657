//! Bindings through which nothing is sent for a while: their provider asked for a pause, or
//! their circuit breaker is open because the receiver fails.

use std::time::Duration;

use ostler_domain::agent::subtype::Subtype;
use ostler_domain::channel::breaker::SendBreaker;
use ostler_domain::id::{AgentId, BindingId};
use serde::Deserialize;

use crate::OrgStore;
use crate::backend::job::StoreFuture;
use crate::backend::sql::{Sql, sql};
use crate::backend::value::Value;
use crate::delivery::bindings::{OrgBinding, binding};
use crate::delivery::outbox::lane;
use crate::error::{Result, StoreError};

/// A binding to send through.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SendBinding {
    pub bound: OrgBinding,
    /// The rest of its pause.
    pub pause: Duration,
    /// Failures in a row.
    pub failures: u32,
    /// What the agent is that wrote the message, if it still exists.
    pub writer: Option<Subtype>,
}

/// The part of a stored agent that is read.
#[derive(Deserialize)]
struct AgentRole {
    subtype: Subtype,
}

const BINDING_FOR_SEND: Sql = sql!(
    "SELECT b.data, b.agent, b.settings, b.secret,
       coalesce(p.paused_until - now_ms(), 0), coalesce(p.failures, 0), a.data
     FROM bindings b LEFT JOIN send_pauses p ON p.org = b.org AND p.binding = b.id
     LEFT JOIN agents a ON a.org = b.org AND a.id = ?3
     WHERE b.org = ?1 AND b.id = ?2"
);
const PAUSE: Sql = sql!(
    "INSERT INTO send_pauses (org, binding, lane, paused_until) VALUES (?1, ?2, ?3, now_ms() + ?4)
     ON CONFLICT (org, binding) DO UPDATE SET paused_until = excluded.paused_until
     WHERE send_pauses.paused_until < excluded.paused_until"
);
/// Does not count what fails while the breaker is open already: those sends began before.
const COUNT_FAILURE: Sql = sql!(
    "INSERT INTO send_pauses (org, binding, lane, paused_until, failures, since, reason)
     VALUES (?1, ?2, ?3, now_ms(), 1, now_ms(), ?4)
     ON CONFLICT (org, binding) DO UPDATE SET failures = send_pauses.failures + 1,
       since = CASE WHEN send_pauses.failures = 0 THEN now_ms() ELSE send_pauses.since END,
       reason = excluded.reason
     WHERE send_pauses.paused_until <= now_ms()
     RETURNING failures"
);
const OPEN: Sql = sql!(
    "UPDATE send_pauses SET is_open = 1, paused_until = now_ms() + ?3
     WHERE org = ?1 AND binding = ?2"
);
const CLOSE: Sql = sql!("DELETE FROM send_pauses WHERE org = ?1 AND binding = ?2 AND failures > 0");
const MAKE_DUE: Sql = sql!(
    "UPDATE outbox SET due_at = now_ms()
     WHERE org = ?1 AND lane = ?2 AND state = 'pending' AND due_at > (SELECT now_ms())"
);
/// Dead letters from before the outage have other reasons.
const RETRY_DEAD_LETTERS: Sql = sql!(
    "UPDATE outbox SET retry_at = now_ms()
     WHERE org = ?1 AND lane = ?2 AND state = 'dead' AND retry_at > (SELECT now_ms())
       AND due_at >= (SELECT p.since FROM send_pauses p
                      WHERE p.org = ?1 AND p.binding = ?3 AND p.is_open = 1)"
);

impl OrgStore<'_> {
    /// Returns a binding to send a message of `writer` through, with its pause and failures.
    pub fn binding_for_send(
        &self,
        id: BindingId,
        writer: Option<AgentId>,
    ) -> StoreFuture<SendBinding> {
        let params = [self.org.into(), id.into(), writer.into()];
        self.read_hot(move |tx| {
            let row = tx.first(&BINDING_FOR_SEND, &params)?;
            let row = &row.ok_or(StoreError::NotFound("binding"))?;
            let pause = Duration::from_millis(u64::try_from(row.int(4)?).unwrap_or(0));
            let failures = u32::try_from(row.int(5)?).unwrap_or(u32::MAX);
            let writer = match row.value(6)? {
                Value::Null => None,
                _ => Some(row.json::<AgentRole>(6, "agent")?.subtype),
            };
            Ok(SendBinding { bound: binding(row)?, pause, failures, writer })
        })
    }

    /// Pauses sending through a binding, because its provider asked for it.
    pub fn pause_binding(&self, id: BindingId, pause: Duration) -> StoreFuture<()> {
        let params = [self.org.into(), id.into(), lane(self.org, Some(id)).into(), pause.into()];
        self.write(move |tx| tx.execute(&PAUSE, &params).map(drop))
    }

    /// Counts a failure of a binding's receiver, and opens the circuit breaker after some in a
    /// row: then nothing is sent for a while, and after that one message at a time. Returns
    /// whether it opened it.
    pub fn count_send_failure(
        &self,
        id: BindingId,
        breaker: SendBreaker,
        reason: &str,
    ) -> StoreFuture<bool> {
        let key = [self.org.into(), id.into()];
        let [a, b] = key.clone();
        let params = [a, b, lane(self.org, Some(id)).into(), reason.into()];
        self.write(move |tx| {
            let Some(row) = tx.first(&COUNT_FAILURE, &params)? else { return Ok(false) };
            let failures = u32::try_from(row.int(0)?).unwrap_or(u32::MAX);
            let Some(wait) = breaker.wait_after(failures) else { return Ok(false) };
            let [org, id] = key.clone();
            tx.execute(&OPEN, &[org, id, wait.into()])?;
            Ok(failures == breaker.threshold)
        })
    }

    /// Makes the dead letters of an outage due for their retry.
    pub async fn retry_dead_letters_of_outage(&self, id: BindingId) -> Result<u64> {
        let params = [lane(self.org, Some(id)).into(), id.into()];
        self.execute(&RETRY_DEAD_LETTERS, params).await
    }

    /// Closes the circuit breaker of a binding: all its messages are due.
    pub fn close_send_breaker(&self, id: BindingId) -> StoreFuture<()> {
        let (org, lane) = (self.org, lane(self.org, Some(id)));
        self.write(move |tx| {
            if tx.execute(&CLOSE, &[org.into(), id.into()])? > 0 {
                tx.execute(&MAKE_DUE, &[org.into(), lane.into()])?;
            }
            Ok(())
        })
    }
}
