//! The log of deliveries of a webhook.

use std::time::Duration;

use ostler_domain::event::OrgEventKind;
use ostler_domain::id::{OrgId, WebhookDeliveryId, WebhookId};
use ostler_domain::time::Timestamp;
use ostler_domain::webhook::WebhookDeliveryState;

use super::queue::{self, NewWebhookDelivery};
use crate::backend::Tx;
use crate::backend::job::StoreFuture;
use crate::backend::sql::{Sql, sql};
use crate::backend::value::Row;
use crate::error::{Result, StoreError};
use crate::{OrgStore, Store};

/// A delivery with the outcome of its last attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredWebhookDelivery {
    pub id: WebhookDeliveryId,
    pub webhook: WebhookId,
    /// `None` for one that a newer program has added.
    pub kind: Option<OrgEventKind>,
    /// The body of the request.
    pub payload: String,
    pub state: WebhookDeliveryState,
    pub attempts: u32,
    /// When it is tried next; only while it is pending.
    pub due_at: Timestamp,
    /// The HTTP status of the last answer.
    pub answer: Option<u16>,
    /// How long the last attempt took.
    pub took: Option<Duration>,
    /// Why the last attempt failed; else empty.
    pub reason: String,
    pub attempted_at: Option<Timestamp>,
    pub created_at: Timestamp,
}

/// Which deliveries are sent again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Redelivery {
    One(WebhookDeliveryId),
    /// Those of events since a time; all, or those that failed.
    Since {
        time: Timestamp,
        failed_only: bool,
    },
}

macro_rules! columns {
    ($rest:literal) => {
        sql!(concat!(
            "SELECT id, webhook, kind, payload, state, attempts, due_at, answer, millis, reason, \
             attempted_at, created_at FROM webhook_deliveries WHERE org = ?1 AND webhook = ?2 ",
            $rest
        ))
    };
}

/// Parameters: org, webhook, the id after the first, the state or nothing, and how many.
const LIST: Sql = columns!("AND id < ?3 AND (?4 = '' OR state = ?4) ORDER BY id DESC LIMIT ?5");
const GET: Sql = columns!("AND id = ?3");
const AGAIN: Sql = sql!(
    "UPDATE webhook_deliveries SET state = 'pending', attempts = 0, due_at = now_ms()
     WHERE org = ?1 AND webhook = ?2 AND id = ?3"
);
const AGAIN_SINCE: Sql = sql!(
    "UPDATE webhook_deliveries SET state = 'pending', attempts = 0, due_at = now_ms()
     WHERE org = ?1 AND webhook = ?2 AND created_at >= ?3 AND state <> 'delivered'"
);
const ALL_AGAIN_SINCE: Sql = sql!(
    "UPDATE webhook_deliveries SET state = 'pending', attempts = 0, due_at = now_ms()
     WHERE org = ?1 AND webhook = ?2 AND created_at >= ?3"
);
/// A person who asks for it wants it tried at once.
const RESUME: Sql = sql!("UPDATE webhooks SET resume_at = 0 WHERE org = ?1 AND id = ?2");
const PRUNE: Sql = Sql {
    sqlite: "DELETE FROM webhook_deliveries WHERE (org, id) IN (
       SELECT org, id FROM webhook_deliveries INDEXED BY webhook_deliveries_by_time
       WHERE created_at < (SELECT now_ms()) - ?1 AND state <> 'pending'
       ORDER BY created_at LIMIT ?2)",
    postgres: "DELETE FROM webhook_deliveries WHERE (org, id) IN (
       SELECT org, id FROM webhook_deliveries
       WHERE created_at < (SELECT now_ms()) - $1 AND state <> 'pending'
       ORDER BY created_at LIMIT $2 FOR UPDATE SKIP LOCKED)",
};

impl OrgStore<'_> {
    /// Returns a page of the deliveries of a webhook, newest first. `before` is the last one of
    /// the page before.
    pub fn webhook_deliveries(
        &self,
        webhook: WebhookId,
        state: Option<WebhookDeliveryState>,
        before: Option<WebhookDeliveryId>,
        limit: u32,
    ) -> StoreFuture<Vec<StoredWebhookDelivery>> {
        let before = before.unwrap_or(WebhookDeliveryId::from_u128(u128::MAX));
        let state = state.map_or("", WebhookDeliveryState::name);
        let params = [webhook.into(), before.into(), state.into(), limit.into()];
        self.rows(&LIST, params, delivery)
    }

    /// Returns a delivery of a webhook.
    pub fn webhook_delivery(
        &self,
        webhook: WebhookId,
        id: WebhookDeliveryId,
    ) -> StoreFuture<StoredWebhookDelivery> {
        self.one("delivery", &GET, [webhook.into(), id.into()], delivery)
    }
}

impl Store {
    /// Deletes up to `limit` deliveries of all orgs that are older and over, and returns their
    /// number.
    pub fn prune_webhook_deliveries(&self, older: Duration, limit: u32) -> StoreFuture<u64> {
        self.write_all_orgs(move |tx| tx.execute(&PRUNE, &[older.into(), limit.into()]))
    }
}

/// Adds a delivery that no event caused.
pub(crate) fn add(tx: &Tx, org: OrgId, webhook: WebhookId, new: &NewWebhookDelivery) -> Result<()> {
    queue::insert(tx, org, webhook, new)?;
    tx.execute(&RESUME, &[org.into(), webhook.into()]).map(drop)
}

/// Makes deliveries pending again, with the ids that they had, and returns how many. Fails with
/// [`StoreError::NotFound`] if the one that is named does not exist.
pub(crate) fn redeliver(tx: &Tx, org: OrgId, webhook: WebhookId, which: Redelivery) -> Result<u64> {
    let (sql, key) = match which {
        Redelivery::One(id) => (&AGAIN, id.into()),
        Redelivery::Since { time, failed_only: true } => (&AGAIN_SINCE, time.into()),
        Redelivery::Since { time, failed_only: false } => (&ALL_AGAIN_SINCE, time.into()),
    };
    let count = tx.execute(sql, &[org.into(), webhook.into(), key])?;
    if count == 0 && matches!(which, Redelivery::One(_)) {
        return Err(StoreError::NotFound("delivery"));
    }
    tx.execute(&RESUME, &[org.into(), webhook.into()])?;
    Ok(count)
}

fn delivery(row: &Row) -> Result<StoredWebhookDelivery> {
    let state = row.text(4)?;
    let state =
        WebhookDeliveryState::ALL.into_iter().find(|one| one.name() == state).ok_or_else(|| {
            StoreError::CorruptValue { what: "delivery", why: format!("unknown state {state}") }
        })?;
    let millis = row.opt_int(8)?.and_then(|millis| u64::try_from(millis).ok());
    Ok(StoredWebhookDelivery {
        id: row.id(0)?,
        webhook: row.id(1)?,
        kind: row.text(2)?.parse().ok(),
        payload: row.text(3)?.to_owned(),
        state,
        attempts: u32::try_from(row.int(5)?).unwrap_or(u32::MAX),
        due_at: row.time(6)?,
        answer: row.opt_int(7)?.and_then(|status| u16::try_from(status).ok()),
        took: millis.map(Duration::from_millis),
        reason: row.text(9)?.to_owned(),
        attempted_at: row.opt_int(10)?.map(Timestamp::from_millis),
        created_at: row.time(11)?,
    })
}
