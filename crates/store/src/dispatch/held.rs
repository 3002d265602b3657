//! Messages that were given to an agent and wait there: for the approval of a
//! plan, for a person. What they are is the caller's, as JSON.

use ostler_domain::dispatch::name::AgentName;
use ostler_domain::id::{EnvelopeId, OrgId};

use super::check_size;
use crate::OrgStore;
use crate::backend::sql::{Sql, sql};
use crate::backend::value::{Row, Value};
use crate::backend::{Operation, Scope, Tx};
use crate::error::{Result, StoreError};

/// The most bytes that are kept of a message.
const MOST_BYTES: usize = 8 << 20;

/// What messages wait for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HeldKind {
    /// The approval of a plan.
    Plan,
    /// A person.
    WorkList,
}

impl HeldKind {
    const fn name(self) -> &'static str {
        match self {
            Self::Plan => "plan",
            Self::WorkList => "work_list",
        }
    }
}

/// A message that waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeldMessage {
    /// Which message.
    pub message: EnvelopeId,
    /// How often it was changed, from 1.
    pub version: i64,
    /// What is kept of it, as JSON.
    pub data: String,
}

const HOLD: Sql = sql!(
    "INSERT INTO queue_held (org, kind, agent, message, version, data, updated_at)
     VALUES (?1, ?2, ?3, ?4, 1, ?5, now_ms())
     ON CONFLICT (org, kind, agent, message) DO NOTHING"
);
const GET: Sql = sql!(
    "SELECT message, version, data FROM queue_held
     WHERE org = ?1 AND kind = ?2 AND agent = ?3 AND message = ?4"
);
const CHANGE: Sql = sql!(
    "UPDATE queue_held SET version = version + 1, data = ?6, updated_at = now_ms()
     WHERE org = ?1 AND kind = ?2 AND agent = ?3 AND message = ?4 AND version = ?5"
);
const TAKE: Sql = sql!(
    "DELETE FROM queue_held WHERE org = ?1 AND kind = ?2 AND agent = ?3 AND message = ?4
     RETURNING message, version, data"
);
const LIST: Sql = sql!(
    "SELECT message, version, data FROM queue_held
     WHERE org = ?1 AND kind = ?2 AND agent = ?3 AND message > ?4 ORDER BY message LIMIT ?5"
);

/// Whose messages of which kind.
#[derive(Debug, Clone)]
struct List {
    org: OrgId,
    kind: HeldKind,
    agent: AgentName,
}

impl List {
    fn params(&self, message: EnvelopeId) -> Vec<Value> {
        let kind = self.kind.name().into();
        vec![self.org.into(), kind, self.agent.as_str().into(), message.into()]
    }
}

impl OrgStore<'_> {
    fn held_list(&self, kind: HeldKind, agent: &AgentName) -> List {
        List { org: self.org, kind, agent: agent.clone() }
    }

    /// Keeps a message for an agent, unless it is there, and returns what is
    /// there.
    pub async fn hold_message(
        &self,
        kind: HeldKind,
        agent: &AgentName,
        message: EnvelopeId,
        data: String,
    ) -> Result<HeldMessage> {
        self.store.write(Hold(self.held_list(kind, agent), message, data)).await
    }

    /// A message that an agent keeps.
    pub async fn held_message(
        &self,
        kind: HeldKind,
        agent: &AgentName,
        message: EnvelopeId,
    ) -> Result<Option<HeldMessage>> {
        self.store.read(Get(self.held_list(kind, agent), message)).await
    }

    /// Changes a message that is still the version that was read. False if
    /// somebody else was faster; then nothing is changed.
    pub async fn change_held_message(
        &self,
        kind: HeldKind,
        agent: &AgentName,
        changed: HeldMessage,
    ) -> Result<bool> {
        self.store.write(Change(self.held_list(kind, agent), changed)).await
    }

    /// Takes a message away. Of several who try, one gets it.
    pub async fn take_held_message(
        &self,
        kind: HeldKind,
        agent: &AgentName,
        message: EnvelopeId,
    ) -> Result<Option<HeldMessage>> {
        self.store.write(Take(self.held_list(kind, agent), message)).await
    }

    /// The messages that an agent keeps after one of them, oldest first.
    pub async fn held_messages(
        &self,
        kind: HeldKind,
        agent: &AgentName,
        after: Option<EnvelopeId>,
        most: u32,
    ) -> Result<Vec<HeldMessage>> {
        let after = after.unwrap_or(EnvelopeId::from_u128(0));
        self.store.read(Page(self.held_list(kind, agent), after, most)).await
    }
}

struct Hold(List, EnvelopeId, String);

impl Operation for Hold {
    type Output = HeldMessage;

    fn scope(&self) -> Scope {
        Scope::Org(self.0.org)
    }

    async fn run<T: Tx>(&self, tx: &T) -> Result<HeldMessage> {
        check_size("message that waits", &self.2, MOST_BYTES)?;
        let place = self.0.params(self.1);
        let mut params = place.clone();
        params.push(self.2.as_str().into());
        tx.execute(&HOLD, &params).await?;
        // Somebody may have taken it away in between.
        held(&tx.first(&GET, &place).await?.ok_or(StoreError::Busy)?)
    }
}

struct Get(List, EnvelopeId);

impl Operation for Get {
    type Output = Option<HeldMessage>;

    fn scope(&self) -> Scope {
        Scope::Org(self.0.org)
    }

    async fn run<T: Tx>(&self, tx: &T) -> Result<Option<HeldMessage>> {
        tx.first(&GET, &self.0.params(self.1)).await?.as_ref().map(held).transpose()
    }
}

struct Change(List, HeldMessage);

impl Operation for Change {
    type Output = bool;

    fn scope(&self) -> Scope {
        Scope::Org(self.0.org)
    }

    async fn run<T: Tx>(&self, tx: &T) -> Result<bool> {
        let HeldMessage { message, version, data } = &self.1;
        check_size("message that waits", data, MOST_BYTES)?;
        let mut params = self.0.params(*message);
        params.extend([(*version).into(), data.as_str().into()]);
        Ok(tx.execute(&CHANGE, &params).await? == 1)
    }
}

struct Take(List, EnvelopeId);

impl Operation for Take {
    type Output = Option<HeldMessage>;

    fn scope(&self) -> Scope {
        Scope::Org(self.0.org)
    }

    async fn run<T: Tx>(&self, tx: &T) -> Result<Option<HeldMessage>> {
        tx.first(&TAKE, &self.0.params(self.1)).await?.as_ref().map(held).transpose()
    }
}

struct Page(List, EnvelopeId, u32);

impl Operation for Page {
    type Output = Vec<HeldMessage>;

    fn scope(&self) -> Scope {
        Scope::Org(self.0.org)
    }

    async fn run<T: Tx>(&self, tx: &T) -> Result<Vec<HeldMessage>> {
        let mut params = self.0.params(self.1);
        params.push(self.2.into());
        tx.query(&LIST, &params).await?.iter().map(held).collect()
    }
}

fn held(row: &Row) -> Result<HeldMessage> {
    Ok(HeldMessage { message: row.id(0)?, version: row.int(1)?, data: row.text(2)?.to_owned() })
}
