//! Messages held for an agent until a plan is approved or a person answers. Their content
//! is the caller's JSON.

use ostler_domain::id::{EnvelopeId, OrgId};
use ostler_domain::queue_agent::name::AgentName;

use super::check_size;
use crate::OrgStore;
use crate::backend::sql::{Sql, sql};
use crate::backend::value::{Row, Value};
use crate::backend::{Operation, Scope, Tx};
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
const LIST: Sql = sql!(
    "SELECT message, version, data FROM queue_pending_messages
     WHERE org = ?1 AND kind = ?2 AND agent = ?3 AND message > ?4 ORDER BY message LIMIT ?5"
);

/// The held messages of one kind for one agent.
#[derive(Debug, Clone)]
struct HeldList {
    org: OrgId,
    kind: HeldMessageKind,
    agent: AgentName,
}

impl HeldList {
    fn params(&self, message: EnvelopeId) -> Vec<Value> {
        let kind = self.kind.name().into();
        vec![self.org.into(), kind, self.agent.as_str().into(), message.into()]
    }
}

impl OrgStore<'_> {
    fn held_list(&self, kind: HeldMessageKind, agent: &AgentName) -> HeldList {
        HeldList { org: self.org, kind, agent: agent.clone() }
    }

    /// Holds a message for an agent, unless it is held already, and returns the held message.
    pub async fn hold_message(
        &self,
        kind: HeldMessageKind,
        agent: &AgentName,
        message: EnvelopeId,
        data: String,
    ) -> Result<HeldMessage> {
        self.store.write(Hold(self.held_list(kind, agent), message, data)).await
    }

    /// Returns a held message.
    pub async fn held_message(
        &self,
        kind: HeldMessageKind,
        agent: &AgentName,
        message: EnvelopeId,
    ) -> Result<Option<HeldMessage>> {
        self.store.read(Get(self.held_list(kind, agent), message)).await
    }

    /// Replaces a message that is still at the version of `changed`. Returns false if it has
    /// changed since.
    pub async fn update_held_message(
        &self,
        kind: HeldMessageKind,
        agent: &AgentName,
        changed: HeldMessage,
    ) -> Result<bool> {
        self.store.write(Update(self.held_list(kind, agent), changed)).await
    }

    /// Removes and returns a message. Of several concurrent callers one gets it.
    pub async fn take_held_message(
        &self,
        kind: HeldMessageKind,
        agent: &AgentName,
        message: EnvelopeId,
    ) -> Result<Option<HeldMessage>> {
        self.store.write(Take(self.held_list(kind, agent), message)).await
    }

    /// Returns the held messages after `after`, oldest first.
    pub async fn held_messages(
        &self,
        kind: HeldMessageKind,
        agent: &AgentName,
        after: Option<EnvelopeId>,
        limit: u32,
    ) -> Result<Vec<HeldMessage>> {
        let after = after.unwrap_or(EnvelopeId::from_u128(0));
        self.store.read(ListPage(self.held_list(kind, agent), after, limit)).await
    }
}

struct Hold(HeldList, EnvelopeId, String);

impl Operation for Hold {
    type Output = HeldMessage;

    fn scope(&self) -> Scope {
        Scope::Org(self.0.org)
    }

    fn run(&self, tx: &Tx) -> Result<HeldMessage> {
        check_size("held message", &self.2, MAX_BYTES)?;
        let key = self.0.params(self.1);
        let mut params = key.clone();
        params.push(self.2.as_str().into());
        tx.execute(&HOLD, &params)?;
        // It may have been taken in between.
        read_held(&tx.first(&GET, &key)?.ok_or(StoreError::Busy)?)
    }
}

struct Get(HeldList, EnvelopeId);

impl Operation for Get {
    type Output = Option<HeldMessage>;

    fn scope(&self) -> Scope {
        Scope::Org(self.0.org)
    }

    fn run(&self, tx: &Tx) -> Result<Option<HeldMessage>> {
        tx.first(&GET, &self.0.params(self.1))?.as_ref().map(read_held).transpose()
    }
}

struct Update(HeldList, HeldMessage);

impl Operation for Update {
    type Output = bool;

    fn scope(&self) -> Scope {
        Scope::Org(self.0.org)
    }

    fn run(&self, tx: &Tx) -> Result<bool> {
        let HeldMessage { message, version, data } = &self.1;
        check_size("held message", data, MAX_BYTES)?;
        let mut params = self.0.params(*message);
        params.extend([(*version).into(), data.as_str().into()]);
        Ok(tx.execute(&UPDATE, &params)? == 1)
    }
}

struct Take(HeldList, EnvelopeId);

impl Operation for Take {
    type Output = Option<HeldMessage>;

    fn scope(&self) -> Scope {
        Scope::Org(self.0.org)
    }

    fn run(&self, tx: &Tx) -> Result<Option<HeldMessage>> {
        tx.first(&TAKE, &self.0.params(self.1))?.as_ref().map(read_held).transpose()
    }
}

struct ListPage(HeldList, EnvelopeId, u32);

impl Operation for ListPage {
    type Output = Vec<HeldMessage>;

    fn scope(&self) -> Scope {
        Scope::Org(self.0.org)
    }

    fn run(&self, tx: &Tx) -> Result<Vec<HeldMessage>> {
        let mut params = self.0.params(self.1);
        params.push(self.2.into());
        tx.query(&LIST, &params)?.iter().map(read_held).collect()
    }
}

fn read_held(row: &Row) -> Result<HeldMessage> {
    Ok(HeldMessage { message: row.id(0)?, version: row.int(1)?, data: row.text(2)?.to_owned() })
}
