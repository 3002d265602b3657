//! Messages held for an agent until a plan is approved or a person answers. Their content
//! is the caller's JSON.

use ostler_domain::id::{EnvelopeId, OrgId};
use ostler_domain::queue_agent::name::AgentName;

use super::check_size;
use crate::OrgStore;
use crate::backend::Tx;
use crate::backend::job::StoreFuture;
use crate::backend::sql::{Sql, sql};
use crate::backend::value::{Row, Value};
use crate::error::{Result, StoreError};

/// The most bytes of a held message.
const MAX_BYTES: usize = 8 << 20;

/// What a held message waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HeldMessageKind {
    /// The approval of a plan.
    Plan,
    /// A person's answer.
    WorkList,
}

impl HeldMessageKind {
    const fn name(self) -> &'static str {
        match self {
            Self::Plan => "plan",
            Self::WorkList => "work_list",
        }
    }
}

/// A held message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeldMessage {
    pub message: EnvelopeId,
    /// Starts at 1 and grows with each change.
    pub version: i64,
    /// JSON.
    pub data: String,
}

const HOLD: Sql = sql!(
    "INSERT INTO queue_pending_messages (org, kind, agent, message, version, data, updated_at)
     VALUES (?1, ?2, ?3, ?4, 1, ?5, now_ms())
     ON CONFLICT (org, kind, agent, message) DO NOTHING"
);
const GET: Sql = sql!(
    "SELECT message, version, data FROM queue_pending_messages
     WHERE org = ?1 AND kind = ?2 AND agent = ?3 AND message = ?4"
);
const UPDATE: Sql = sql!(
    "UPDATE queue_pending_messages SET version = version + 1, data = ?6, updated_at = now_ms()
     WHERE org = ?1 AND kind = ?2 AND agent = ?3 AND message = ?4 AND version = ?5"
);
const TAKE: Sql = sql!(
    "DELETE FROM queue_pending_messages WHERE org = ?1 AND kind = ?2 AND agent = ?3 AND message = ?4
     RETURNING message, version, data"
);
const LIST_ALL: Sql = sql!(
    "SELECT message, version, data, agent FROM queue_pending_messages
     WHERE org = ?1 AND kind = ?2 ORDER BY message LIMIT ?3"
);
const LIST: Sql = sql!(
    "SELECT message, version, data FROM queue_pending_messages
     WHERE org = ?1 AND kind = ?2 AND agent = ?3 AND message > ?4 ORDER BY message LIMIT ?5"
);

impl OrgStore<'_> {
    /// Holds a message for an agent, unless it is held already, and returns the held message.
    pub async fn hold_message(
        &self,
        kind: HeldMessageKind,
        agent: &AgentName,
        message: EnvelopeId,
        data: String,
    ) -> Result<HeldMessage> {
        check_size("held message", &data, MAX_BYTES)?;
        let [kind, agent, message] = key(kind, agent, message);
        let params = [self.org.into(), kind, agent, message, data.into()];
        self.write(move |tx| {
            tx.execute(&HOLD, &params)?;
            let [key @ .., _data] = &params;
            // It may have been taken in between.
            read_held(&tx.first(&GET, key)?.ok_or(StoreError::Busy)?)
        })
        .await
    }

    /// Returns a held message.
    pub fn held_message(
        &self,
        kind: HeldMessageKind,
        agent: &AgentName,
        message: EnvelopeId,
    ) -> StoreFuture<Option<HeldMessage>> {
        self.optional(&GET, key(kind, agent, message), read_held)
    }

    /// Replaces a message that is still at the version of `changed`. Returns false if it has
    /// changed since.
    pub fn update_held_message(
        &self,
        kind: HeldMessageKind,
        agent: &AgentName,
        changed: HeldMessage,
    ) -> StoreFuture<bool> {
        let (org, agent) = (self.org, agent.clone());
        self.write(move |tx| update(tx, org, kind, &agent, &changed))
    }

    /// Returns the held messages of a kind of all agents, oldest first.
    pub fn all_held_messages(
        &self,
        kind: HeldMessageKind,
        limit: u32,
    ) -> StoreFuture<Vec<(AgentName, HeldMessage)>> {
        let read = |row: &Row| Ok((row.parsed(3, "held message")?, read_held(row)?));
        self.rows(&LIST_ALL, [kind.name().into(), limit.into()], read)
    }

    /// Removes and returns a message. Of several concurrent callers one gets it.
    pub fn take_held_message(
        &self,
        kind: HeldMessageKind,
        agent: &AgentName,
        message: EnvelopeId,
    ) -> StoreFuture<Option<HeldMessage>> {
        let (org, key) = (self.org, key(kind, agent, message));
        self.write(move |tx| take(tx, org, &key))
    }

    /// Returns the held messages after `after`, oldest first.
    pub fn held_messages(
        &self,
        kind: HeldMessageKind,
        agent: &AgentName,
        after: Option<EnvelopeId>,
        limit: u32,
    ) -> StoreFuture<Vec<HeldMessage>> {
        let after = after.unwrap_or(EnvelopeId::from_u128(0));
        let [kind, agent, after] = key(kind, agent, after);
        self.rows(&LIST, [kind, agent, after, limit.into()], read_held)
    }
}

/// Removes and returns a message.
pub(crate) fn take(tx: &Tx, org: OrgId, key: &[Value; 3]) -> Result<Option<HeldMessage>> {
    let [kind, agent, message] = key.clone();
    tx.first(&TAKE, &[org.into(), kind, agent, message])?.as_ref().map(read_held).transpose()
}

/// Replaces a message that is still at the version of `changed`.
pub(crate) fn update(
    tx: &Tx,
    org: OrgId,
    kind: HeldMessageKind,
    agent: &AgentName,
    changed: &HeldMessage,
) -> Result<bool> {
    check_size("held message", &changed.data, MAX_BYTES)?;
    let [kind, agent, message] = key(kind, agent, changed.message);
    let (version, data) = (changed.version.into(), changed.data.as_str().into());
    Ok(tx.execute(&UPDATE, &[org.into(), kind, agent, message, version, data])? == 1)
}

/// The columns after the org that identify a held message.
pub(crate) fn key(kind: HeldMessageKind, agent: &AgentName, message: EnvelopeId) -> [Value; 3] {
    [kind.name().into(), agent.as_str().into(), message.into()]
}

fn read_held(row: &Row) -> Result<HeldMessage> {
    Ok(HeldMessage { message: row.id(0)?, version: row.int(1)?, data: row.text(2)?.to_owned() })
}
