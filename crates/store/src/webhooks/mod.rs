//! Webhooks of an org and the events that are sent to them. What follows from an attempt is
//! decided in `ostler_domain::webhook`.
//!
//! | file | holds |
//! |---|---|
//! | `queue`    | events that become deliveries, claims of webhooks, attempts |
//! | `log`      | the log of deliveries, and sending one again |

pub(crate) mod log;
pub(crate) mod queue;

use std::fmt;

use ostler_domain::id::{OrgId, WebhookId};
use ostler_domain::time::Timestamp;
use ostler_domain::webhook::{MAX_WEBHOOKS, WebhookConfig, WebhookHealth, WebhookStatus};
use serde::{Deserialize, Serialize};

use crate::OrgStore;
use crate::backend::Tx;
use crate::backend::job::StoreFuture;
use crate::backend::sql::{Sql, sql};
use crate::backend::value::{Row, Value};
use crate::error::{Result, StoreError};
use crate::events::{EventCursor, end_of_log};
use crate::tenancy::orgs::lock_org;

/// A key that signs the requests to a webhook. It is never printed.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WebhookKey {
    /// Of the form `whsec_…`.
    pub secret: String,
    /// When it stops signing, because a newer one has replaced it.
    pub expires_at: Option<Timestamp>,
}

impl fmt::Debug for WebhookKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "WebhookKey(…, {:?})", self.expires_at)
    }
}

/// A stored webhook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredWebhook {
    pub id: WebhookId,
    pub config: WebhookConfig,
    /// Newest first.
    pub keys: Vec<WebhookKey>,
    pub status: WebhookStatus,
    /// Why it is switched off; else empty.
    pub reason: String,
    pub version: i64,
    /// The last event for which deliveries were made.
    pub cursor: EventCursor,
    pub health: WebhookHealth,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

/// What is changed of a webhook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebhookWrite {
    pub config: WebhookConfig,
    pub keys: Vec<WebhookKey>,
    pub status: WebhookStatus,
}

macro_rules! columns {
    ($rest:literal) => {
        sql!(concat!(
            "SELECT id, config, keys, status, reason, version, event_xid, event_id, failures, \
             failing_since, created_at, updated_at FROM webhooks WHERE org = ?1 ",
            $rest
        ))
    };
}

const LIST: Sql = columns!("ORDER BY id");
const GET: Sql = columns!("AND id = ?2");
const COUNT: Sql = sql!("SELECT count(*) FROM webhooks WHERE org = ?1");
const INSERT: Sql = sql!(
    "INSERT INTO webhooks
       (org, id, config, keys, status, event_xid, event_id, created_at, updated_at)
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, now_ms(), now_ms())"
);
/// A person who changes a webhook wants it tried at once. Why it is off stays while it is.
const UPDATE: Sql = sql!(
    "UPDATE webhooks SET config = ?4, keys = ?5, status = ?6,
       reason = CASE WHEN status = ?6 THEN reason ELSE '' END, resume_at = 0,
       version = version + 1, updated_at = now_ms()
     WHERE org = ?1 AND id = ?2 AND version = ?3"
);
const FORGET_FAILURES: Sql =
    sql!("UPDATE webhooks SET failures = 0, failing_since = NULL WHERE org = ?1 AND id = ?2");
const SKIP_TO: Sql =
    sql!("UPDATE webhooks SET event_xid = ?3, event_id = ?4 WHERE org = ?1 AND id = ?2");
const END_PENDING: Sql = sql!(
    "UPDATE webhook_deliveries SET state = 'failed', reason = 'skipped by a person'
     WHERE org = ?1 AND webhook = ?2 AND state = 'pending'"
);
const DELETE: Sql = sql!("DELETE FROM webhooks WHERE org = ?1 AND id = ?2");

impl OrgStore<'_> {
    /// Returns the webhooks of the org, oldest first.
    pub fn webhooks(&self) -> StoreFuture<Vec<StoredWebhook>> {
        self.rows(&LIST, [], webhook)
    }

    /// Returns a webhook.
    pub fn webhook(&self, id: WebhookId) -> StoreFuture<StoredWebhook> {
        self.one("webhook", &GET, [id.into()], webhook)
    }
}

/// Creates a webhook, which gets the events from now on. Fails with [`StoreError::TooMany`] if
/// the org has too many.
pub(crate) fn create(tx: &Tx, org: OrgId, id: WebhookId, new: &WebhookWrite) -> Result<()> {
    lock_org(tx, org)?;
    let count = tx.first(&COUNT, &[org.into()])?.map_or(Ok(0), |row| row.int(0))?;
    if usize::try_from(count).unwrap_or(usize::MAX) >= MAX_WEBHOOKS {
        return Err(StoreError::TooMany { what: "webhooks", limit: MAX_WEBHOOKS });
    }
    let (xid, event) = end_of_log(tx, org)?.parts();
    let params = [
        org.into(),
        id.into(),
        Value::json(&new.config)?,
        Value::json(&new.keys)?,
        new.status.name().into(),
        xid.into(),
        event.into(),
    ];
    tx.execute(&INSERT, &params).map(drop)
}

/// Changes the webhook that was read with a version. With `skip_missed`, what happened until
/// now is not sent, also if it is a delivery already. Fails with [`StoreError::ConfigChanged`] if it has another version.
pub(crate) fn change(
    tx: &Tx,
    org: OrgId,
    id: WebhookId,
    version: i64,
    write: &WebhookWrite,
    skip_missed: bool,
) -> Result<()> {
    let params = [
        org.into(),
        id.into(),
        version.into(),
        Value::json(&write.config)?,
        Value::json(&write.keys)?,
        write.status.name().into(),
    ];
    let before = tx.first(&GET, &[org.into(), id.into()])?.as_ref().map(webhook).transpose()?;
    if tx.execute(&UPDATE, &params)? == 0 {
        return Err(StoreError::ConfigChanged);
    }
    let is_same = |before: StoredWebhook| {
        before.config.url == write.config.url && before.status == write.status
    };
    if !before.is_some_and(is_same) {
        tx.execute(&FORGET_FAILURES, &[org.into(), id.into()])?;
    }
    if skip_missed {
        tx.execute(&END_PENDING, &[org.into(), id.into()])?;
        let (xid, event) = end_of_log(tx, org)?.parts();
        tx.execute(&SKIP_TO, &[org.into(), id.into(), xid.into(), event.into()])?;
    }
    Ok(())
}

/// Deletes a webhook with its deliveries.
pub(crate) fn delete(tx: &Tx, org: OrgId, id: WebhookId) -> Result<()> {
    match tx.execute(&DELETE, &[org.into(), id.into()])? {
        0 => Err(StoreError::NotFound("webhook")),
        _ => Ok(()),
    }
}

fn webhook(row: &Row) -> Result<StoredWebhook> {
    let status = row.text(3)?;
    let status =
        WebhookStatus::ALL.into_iter().find(|one| one.name() == status).ok_or_else(|| {
            StoreError::CorruptValue { what: "webhook", why: format!("unknown status {status}") }
        })?;
    Ok(StoredWebhook {
        id: row.id(0)?,
        config: row.json(1, "webhook")?,
        keys: row.json(2, "webhook")?,
        status,
        reason: row.text(4)?.to_owned(),
        version: row.int(5)?,
        cursor: EventCursor::from_parts(row.int(6)?, row.int(7)?),
        health: WebhookHealth {
            failures: u32::try_from(row.int(8)?).unwrap_or(u32::MAX),
            failing_since: row.opt_int(9)?.map(Timestamp::from_millis),
        },
        created_at: row.time(10)?,
        updated_at: row.time(11)?,
    })
}
