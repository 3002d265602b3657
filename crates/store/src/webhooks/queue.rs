//! The way of an event to a webhook: the event log is durable, so an event becomes a delivery
//! in the transaction that moves the webhook's position in the log, once, however often a
//! process dies. A webhook is leased to one process at a time, so that a receiver that hangs
//! holds up its own deliveries only.

use std::time::Duration;

use ostler_domain::event::OrgEventKind;
use ostler_domain::id::{NoticeId, OrgId, WebhookDeliveryId, WebhookId};
use ostler_domain::notice::{NoticeKind, NoticeRecipient};
use ostler_domain::time::Timestamp;
use ostler_domain::webhook::{
    AttemptOutcome, AttemptVerdict, WebhookHealth, WebhookStatus, after_attempt, is_probing,
};
use serde_json::json;

use super::{StoredWebhook, webhook};
use crate::backend::Tx;
use crate::backend::job::StoreFuture;
use crate::backend::sql::{Sql, sql};
use crate::backend::value::Row;
use crate::delivery::notices::{self, NewNotice};
use crate::error::{Result, StoreError};
use crate::events::EventCursor;
use crate::{OrgStore, Store};

/// An event for a webhook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewWebhookDelivery {
    /// Sent with every attempt.
    pub id: WebhookDeliveryId,
    pub kind: OrgEventKind,
    /// The body of the request.
    pub payload: String,
}

/// A delivery that is due.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DueWebhookDelivery {
    pub id: WebhookDeliveryId,
    pub payload: String,
}

/// A webhook that this process alone sends to for a while.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimedWebhook {
    pub webhook: StoredWebhook,
    pub deliveries: Vec<DueWebhookDelivery>,
    /// Identifies the claim.
    until: i64,
}

/// An attempt to deliver an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebhookAttempt {
    /// The version of the webhook with whose address and keys it was made.
    pub version: i64,
    pub outcome: AttemptOutcome,
    /// The HTTP status of the answer.
    pub answer: Option<u16>,
    pub took: Duration,
    /// Why it failed, for people.
    pub reason: String,
    /// For the variation of waits, from 0 to 1000.
    pub random_permille: u32,
    /// The id of the notice if the webhook is switched off.
    pub notice: NoticeId,
}

/// While so many deliveries wait, further events wait in the event log.
const MAX_WAITING: u32 = 1000;

/// PostgreSQL shows events only once all transactions before theirs have ended.
const WITH_EVENTS: Sql = Sql {
    sqlite: "SELECT w.org, w.id FROM webhooks w
       WHERE w.status = 'enabled'
         AND EXISTS (SELECT 1 FROM events e INDEXED BY events_by_org
                     WHERE e.org = w.org AND e.id > w.event_id)
         AND (SELECT count(*) FROM (SELECT 1 FROM webhook_deliveries d
              WHERE d.org = w.org AND d.webhook = w.id AND d.state = 'pending' LIMIT ?2)) < ?2
       LIMIT ?1",
    postgres: "SELECT w.org, w.id FROM webhooks w
       WHERE w.status = 'enabled'
         AND EXISTS (SELECT 1 FROM events e
                     WHERE e.org = w.org AND (e.xid, e.id) > (w.event_xid, w.event_id)
                       AND e.xid < pg_snapshot_xmin(pg_current_snapshot())::text::bigint)
         AND (SELECT count(*) FROM (SELECT 1 FROM webhook_deliveries d
              WHERE d.org = w.org AND d.webhook = w.id AND d.state = 'pending'
              LIMIT $2::bigint) AS waiting) < $2::bigint
       LIMIT $1",
};
const MOVE_ON: Sql = sql!(
    "UPDATE webhooks SET event_xid = ?5, event_id = ?6
     WHERE org = ?1 AND id = ?2 AND event_xid = ?3 AND event_id = ?4 AND status = 'enabled'"
);
const INSERT: Sql = sql!(
    "INSERT INTO webhook_deliveries (org, id, webhook, kind, payload, due_at, created_at)
     VALUES (?1, ?2, ?3, ?4, ?5, now_ms(), now_ms())"
);
const WITH_DUE: Sql = sql!(
    "SELECT w.org, w.id FROM webhooks w
     WHERE w.status = 'enabled' AND w.claimed_until <= (SELECT now_ms())
       AND w.resume_at <= (SELECT now_ms())
       AND EXISTS (SELECT 1 FROM webhook_deliveries d
                   WHERE d.org = w.org AND d.webhook = w.id AND d.state = 'pending'
                     AND d.due_at <= (SELECT now_ms()))
     ORDER BY w.served_at LIMIT ?1"
);
const CLAIM: Sql = sql!(
    "UPDATE webhooks SET claimed_until = now_ms() + ?3, served_at = now_ms()
     WHERE org = ?1 AND id = ?2 AND status = 'enabled' AND claimed_until <= now_ms()
       AND resume_at <= now_ms()
     RETURNING id, config, keys, status, reason, version, event_xid, event_id, failures,
       failing_since, created_at, updated_at, claimed_until"
);
const DUE: Sql = sql!(
    "SELECT id, payload FROM webhook_deliveries
     WHERE org = ?1 AND webhook = ?2 AND state = 'pending' AND due_at <= (SELECT now_ms())
     ORDER BY due_at, id LIMIT ?3"
);
const RELEASE: Sql =
    sql!("UPDATE webhooks SET claimed_until = 0 WHERE org = ?1 AND id = ?2 AND claimed_until = ?3");
const LOCK: Sql = Sql {
    sqlite: "SELECT failures, failing_since, status, now_ms(), version FROM webhooks
       WHERE org = ?1 AND id = ?2",
    postgres: "SELECT failures, failing_since, status, now_ms(), version FROM webhooks
       WHERE org = $1 AND id = $2 FOR UPDATE",
};
const ATTEMPTS: Sql = sql!(
    "SELECT attempts FROM webhook_deliveries WHERE org = ?1 AND id = ?2 AND state = 'pending'"
);
const RECORD: Sql = sql!(
    "UPDATE webhook_deliveries SET state = ?3, attempts = attempts + 1,
       due_at = coalesce(?4, due_at), answer = ?5, millis = ?6, reason = ?7, attempted_at = ?8
     WHERE org = ?1 AND id = ?2 AND state = 'pending'"
);
/// Of attempts at the same time the longest pause holds, unless one shows that all is well.
const SET_HEALTH: Sql = sql!(
    "UPDATE webhooks SET failures = ?3, failing_since = ?4,
       resume_at = CASE WHEN resume_at > ?5 AND ?6 = 0 THEN resume_at ELSE ?5 END
     WHERE org = ?1 AND id = ?2"
);
const SWITCH_OFF: Sql = sql!(
    "UPDATE webhooks SET status = ?3, reason = ?4, version = version + 1, updated_at = now_ms()
     WHERE org = ?1 AND id = ?2"
);
const MAKE_DUE: Sql = sql!(
    "UPDATE webhook_deliveries SET due_at = now_ms()
     WHERE org = ?1 AND webhook = ?2 AND state = 'pending' AND due_at > (SELECT now_ms())"
);

impl Store {
    /// Returns webhooks of all orgs that have not got the newest events of their orgs.
    pub fn webhooks_with_events(&self, limit: u32) -> StoreFuture<Vec<(OrgId, WebhookId)>> {
        self.read_all_orgs(move |tx| {
            let rows = tx.query(&WITH_EVENTS, &[limit.into(), MAX_WAITING.into()])?;
            rows.iter().map(org_and_id).collect()
        })
    }

    /// Returns webhooks of all orgs with deliveries that are due, first those that were served
    /// longest ago.
    pub fn webhooks_with_due_deliveries(&self, limit: u32) -> StoreFuture<Vec<(OrgId, WebhookId)>> {
        self.read_all_orgs(move |tx| {
            tx.query(&WITH_DUE, &[limit.into()])?.iter().map(org_and_id).collect()
        })
    }
}

impl OrgStore<'_> {
    /// Adds deliveries and moves the webhook's position in the event log from the one that was
    /// read to another. Returns false, and changes nothing, if it has moved meanwhile.
    pub fn add_webhook_deliveries(
        &self,
        id: WebhookId,
        from: EventCursor,
        to: EventCursor,
        deliveries: Vec<NewWebhookDelivery>,
    ) -> StoreFuture<bool> {
        let org = self.org;
        self.write(move |tx| {
            let ((xid, event), (to_xid, to_event)) = (from.parts(), to.parts());
            let key = [org.into(), id.into(), xid.into(), event.into()];
            let [org_value, id_value, xid, event] = key;
            let params = [org_value, id_value, xid, event, to_xid.into(), to_event.into()];
            if tx.execute(&MOVE_ON, &params)? == 0 {
                return Ok(false);
            }
            for delivery in &deliveries {
                insert(tx, org, id, delivery)?;
            }
            Ok(true)
        })
    }

    /// Leases a webhook and returns its due deliveries, at most `limit`, or one if its receiver
    /// failed before. `None` if another process has it, or it is off or paused.
    pub fn claim_webhook(
        &self,
        id: WebhookId,
        lease: Duration,
        limit: u32,
    ) -> StoreFuture<Option<ClaimedWebhook>> {
        let org = self.org;
        self.write(move |tx| {
            let Some(row) = tx.first(&CLAIM, &[org.into(), id.into(), lease.into()])? else {
                return Ok(None);
            };
            let (webhook, until) = (webhook(&row)?, row.int(12)?);
            let limit = if is_probing(webhook.health.failures) { 1 } else { limit };
            let rows = tx.query(&DUE, &[org.into(), id.into(), limit.into()])?;
            let due = |row: &Row| {
                Ok(DueWebhookDelivery { id: row.id(0)?, payload: row.text(1)?.to_owned() })
            };
            let deliveries = rows.iter().map(due).collect::<Result<_>>()?;
            Ok(Some(ClaimedWebhook { webhook, deliveries, until }))
        })
    }

    /// Ends a claim. One that has lapsed changes nothing.
    pub async fn release_webhook(&self, claim: &ClaimedWebhook) -> Result<()> {
        let params = [claim.webhook.id.into(), claim.until.into()];
        self.execute(&RELEASE, params).await.map(drop)
    }

    /// Stores the outcome of an attempt, and what follows from it for the webhook: nothing, if
    /// the webhook was changed meanwhile. Returns whether the webhook is switched off now.
    pub fn record_webhook_attempt(
        &self,
        id: WebhookId,
        delivery: WebhookDeliveryId,
        attempt: WebhookAttempt,
    ) -> StoreFuture<bool> {
        let org = self.org;
        self.write(move |tx| record(tx, org, id, delivery, &attempt))
    }
}

/// Adds a delivery that is due at once.
pub(super) fn insert(
    tx: &Tx,
    org: OrgId,
    webhook: WebhookId,
    new: &NewWebhookDelivery,
) -> Result<()> {
    let NewWebhookDelivery { id, kind, payload } = new;
    let (kind, payload) = (kind.name().into(), payload.as_str().into());
    tx.execute(&INSERT, &[org.into(), (*id).into(), webhook.into(), kind, payload]).map(drop)
}

fn record(
    tx: &Tx,
    org: OrgId,
    id: WebhookId,
    delivery: WebhookDeliveryId,
    attempt: &WebhookAttempt,
) -> Result<bool> {
    // It may have been deleted meanwhile.
    let Some(row) = tx.first(&LOCK, &[org.into(), id.into()])? else { return Ok(false) };
    let health = WebhookHealth {
        failures: u32::try_from(row.int(0)?).unwrap_or(u32::MAX),
        failing_since: row.opt_int(1)?.map(Timestamp::from_millis),
    };
    let (is_enabled, now) = (row.text(2)? == WebhookStatus::Enabled.name(), row.time(3)?);
    let is_current = row.int(4)? == attempt.version;
    let Some(row) = tx.first(&ATTEMPTS, &[org.into(), delivery.into()])? else {
        return Ok(false);
    };
    let number = u32::try_from(row.int(0)? + 1).unwrap_or(u32::MAX);
    let verdict = after_attempt(attempt.outcome, number, health, now, attempt.random_permille);
    let params = [
        org.into(),
        delivery.into(),
        verdict.state.name().into(),
        verdict.next_at.into(),
        attempt.answer.map(u32::from).into(),
        attempt.took.into(),
        attempt.reason.as_str().into(),
        now.into(),
    ];
    tx.execute(&RECORD, &params)?;
    if !is_current {
        return Ok(false);
    }
    apply(tx, org, id, &verdict, now)?;
    if verdict.switch_off && is_enabled {
        switch_off(tx, org, id, attempt)?;
    }
    Ok(verdict.switch_off)
}

/// Applies what follows from an attempt for the other deliveries.
fn apply(
    tx: &Tx,
    org: OrgId,
    id: WebhookId,
    verdict: &AttemptVerdict,
    now: Timestamp,
) -> Result<()> {
    let (failures, since) = (verdict.health.failures, verdict.health.failing_since);
    let resume_at = now + verdict.pause;
    let recovered = i64::from(verdict.recovered).into();
    let params =
        [org.into(), id.into(), failures.into(), since.into(), resume_at.into(), recovered];
    tx.execute(&SET_HEALTH, &params)?;
    if verdict.recovered {
        tx.execute(&MAKE_DUE, &[org.into(), id.into()])?;
    }
    Ok(())
}

fn switch_off(tx: &Tx, org: OrgId, id: WebhookId, attempt: &WebhookAttempt) -> Result<()> {
    let off = WebhookStatus::SwitchedOff.name();
    let reason = attempt.reason.as_str();
    tx.execute(&SWITCH_OFF, &[org.into(), id.into(), off.into(), reason.into()])?;
    let row = tx.first(&super::GET, &[org.into(), id.into()])?;
    let stored = webhook(&row.ok_or(StoreError::NotFound("webhook"))?)?;
    let notice = NewNotice {
        id: attempt.notice,
        kind: NoticeKind::WebhookSwitchedOff,
        recipient: NoticeRecipient::Owner,
        subject: id.to_string(),
        data: json!({"webhook": id, "host": stored.config.host(), "why": reason}).to_string(),
    };
    notices::notify(tx, org, &notice).map(drop)
}

fn org_and_id(row: &Row) -> Result<(OrgId, WebhookId)> {
    Ok((row.id(0)?, row.id(1)?))
}
