//! Notices to people and agents, with a cooldown for the same notice.

use ostler_domain::audit::AuditActor;
use ostler_domain::event::{NoticeStored, OrgEvent};
use ostler_domain::id::{NoticeId, OrgId};
use ostler_domain::notice::{NoticeKind, NoticeRecipient};
use ostler_domain::time::Timestamp;

use crate::backend::Tx;
use crate::backend::job::StoreFuture;
use crate::backend::sql::{Sql, sql};
use crate::backend::value::{Row, Value};
use crate::conversation::turn::NewEvent;
use crate::error::{Result, StoreError};
use crate::events;
use crate::{OrgStore, Store};

/// A notice to store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewNotice {
    pub id: NoticeId,
    pub kind: NoticeKind,
    pub recipient: NoticeRecipient,
    /// Notices of a kind on the same subject are suppressed within the cooldown.
    pub subject: String,
    /// JSON.
    pub data: String,
}

/// A stored notice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredNotice {
    pub notice: NewNotice,
    pub created_at: Timestamp,
    /// When somebody acknowledged it.
    pub read_at: Option<Timestamp>,
    /// The actor who did, if it was a person.
    pub read_by: Option<AuditActor>,
}

/// The result of storing a notice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotifyOutcome {
    Stored,
    /// The same notice was stored within the cooldown.
    Suppressed,
}

/// Changes a row only if the cooldown is over, even with concurrent calls.
const START_COOLDOWN: Sql = sql!(
    "INSERT INTO notice_cooldowns (org, kind, subject, recipient, quiet_until)
     VALUES (?1, ?2, ?3, ?4, now_ms() + ?5)
     ON CONFLICT (org, kind, subject, recipient) DO UPDATE SET quiet_until = excluded.quiet_until
     WHERE notice_cooldowns.quiet_until <= now_ms()"
);
const INSERT: Sql = sql!(
    "INSERT INTO notices (org, id, kind, recipient, subject, data, created_at, planned)
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, now_ms(), ?7)"
);
pub(crate) const UNREAD: Sql = sql!(
    "SELECT id, kind, recipient, subject, data, created_at, read_at, read_by FROM notices
     WHERE org = ?1 AND recipient = ?2 AND read_at IS NULL AND id > ?3 ORDER BY id LIMIT ?4"
);
pub(crate) const MARK_READ: Sql =
    sql!("UPDATE notices SET read_at = coalesce(read_at, now_ms()) WHERE org = ?1 AND id = ?2");
const ACKNOWLEDGE: Sql = sql!(
    "UPDATE notices SET read_at = coalesce(read_at, now_ms()), read_by = coalesce(read_by, ?3)
     WHERE org = ?1 AND id = ?2"
);
/// The newest notices of a recipient, also those that were read.
const LIST: Sql = sql!(
    "SELECT id, kind, recipient, subject, data, created_at, read_at, read_by FROM notices
     WHERE org = ?1 AND recipient = ?2 ORDER BY id DESC LIMIT ?3"
);
const GET: Sql = sql!(
    "SELECT id, kind, recipient, subject, data, created_at, read_at, read_by FROM notices
     WHERE org = ?1 AND id = ?2"
);
const DELETE_COOLDOWNS: Sql = Sql {
    sqlite: "DELETE FROM notice_cooldowns WHERE (org, kind, subject, recipient) IN (
       SELECT org, kind, subject, recipient FROM notice_cooldowns
       WHERE quiet_until <= (SELECT now_ms()) ORDER BY quiet_until LIMIT ?1)",
    postgres: "WITH over AS MATERIALIZED (
         SELECT org, kind, subject, recipient FROM notice_cooldowns
         WHERE quiet_until <= (SELECT now_ms()) ORDER BY quiet_until LIMIT $1
         FOR UPDATE SKIP LOCKED)
       DELETE FROM notice_cooldowns c USING over o
       WHERE c.org = o.org AND c.kind = o.kind AND c.subject = o.subject
         AND c.recipient = o.recipient",
};

impl OrgStore<'_> {
    /// Stores a notice, unless the recipient got the same within the cooldown of its
    /// kind.
    pub fn notify(&self, notice: NewNotice) -> StoreFuture<NotifyOutcome> {
        let org = self.org;
        self.write(move |tx| notify(tx, org, &notice))
    }

    /// Lists the unread notices of a recipient, oldest first.
    pub fn unread_notices(
        &self,
        recipient: NoticeRecipient,
        after: Option<NoticeId>,
        limit: u32,
    ) -> StoreFuture<Vec<StoredNotice>> {
        let (org, after) = (self.org, after.unwrap_or(NoticeId::from_u128(0)));
        self.read(move |tx| {
            let params = [org.into(), Value::json(&recipient)?, after.into(), limit.into()];
            tx.query(&UNREAD, &params)?.iter().map(notice).collect()
        })
    }

    /// Lists the newest notices of a recipient, newest first.
    pub fn notices(
        &self,
        recipient: NoticeRecipient,
        limit: u32,
    ) -> StoreFuture<Vec<StoredNotice>> {
        let org = self.org;
        self.read(move |tx| {
            let params = [org.into(), Value::json(&recipient)?, limit.into()];
            tx.query(&LIST, &params)?.iter().map(notice).collect()
        })
    }

    /// Returns a notice.
    pub fn notice(&self, id: NoticeId) -> StoreFuture<StoredNotice> {
        self.one("notice", &GET, [id.into()], notice)
    }

    /// Acknowledges a notice, so that nobody is notified of it again; a repeat changes
    /// nothing.
    pub async fn acknowledge_notice(&self, id: NoticeId, by: &AuditActor) -> Result<()> {
        self.change("notice", &ACKNOWLEDGE, [id.into(), Value::json(by)?]).await
    }
}

impl Store {
    /// Deletes up to `limit` expired cooldowns of all orgs and returns their number.
    pub fn prune_notice_cooldowns(&self, limit: u32) -> StoreFuture<u64> {
        self.write_all_orgs(move |tx| tx.execute(&DELETE_COOLDOWNS, &[limit.into()]))
    }
}

/// Whether a stored notice is also sent to people.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NoticePush {
    Send,
    /// It only appears in the list of notices.
    ListOnly,
}

/// Stores a notice and has it sent to people, inside a transaction.
pub(crate) fn notify(tx: &Tx, org: OrgId, notice: &NewNotice) -> Result<NotifyOutcome> {
    let push = match notice.recipient {
        NoticeRecipient::Owner | NoticeRecipient::User(_) => NoticePush::Send,
        NoticeRecipient::Customer | NoticeRecipient::Agent(_) => NoticePush::ListOnly,
    };
    store(tx, org, notice, push)
}

/// Stores a notice, inside a transaction.
pub(crate) fn store(
    tx: &Tx,
    org: OrgId,
    notice: &NewNotice,
    push: NoticePush,
) -> Result<NotifyOutcome> {
    let NewNotice { id, kind, recipient, subject, data } = notice;
    let (kind_text, recipient) = (Value::json(kind)?, Value::json(recipient)?);
    let subject = Value::from(subject.as_str());
    let cooldown = kind.cooldown().into();
    let key = [org.into(), kind_text.clone(), subject.clone(), recipient.clone(), cooldown];
    if tx.execute(&START_COOLDOWN, &key)? == 0 {
        return Ok(NotifyOutcome::Suppressed);
    }
    let planned = i64::from(push == NoticePush::ListOnly).into();
    let data = data.as_str().into();
    let params = [org.into(), (*id).into(), kind_text, recipient, subject, data, planned];
    match tx.execute(&INSERT, &params) {
        Err(StoreError::Conflict(_)) => Err(StoreError::Conflict(format!("notice {id}"))),
        other => other,
    }?;
    if notice.recipient == NoticeRecipient::Owner {
        let event = OrgEvent::Notice(NoticeStored { notice: *id, kind: *kind });
        tx.batch(&[events::append_alone(org, &NewEvent::new(&event))?])?;
    }
    Ok(NotifyOutcome::Stored)
}

pub(crate) fn notice(row: &Row) -> Result<StoredNotice> {
    Ok(StoredNotice {
        notice: NewNotice {
            id: row.id(0)?,
            kind: row.json(1, "notice")?,
            recipient: row.json(2, "notice")?,
            subject: row.text(3)?.to_owned(),
            data: row.text(4)?.to_owned(),
        },
        created_at: Timestamp::from_millis(row.int(5)?),
        read_at: row.opt_int(6)?.map(Timestamp::from_millis),
        read_by: match row.value(7)? {
            Value::Null => None,
            _ => Some(row.json(7, "actor")?),
        },
    })
}
