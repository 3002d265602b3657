//! Notices: what people and agents are told, and not too often.

use ostler_domain::id::{NoticeId, OrgId};
use ostler_domain::notice::{NoticeKind, Recipient};
use ostler_domain::time::Timestamp;

use crate::backend::sql::{Sql, sql};
use crate::backend::value::{Row, Value};
use crate::backend::{Operation, Scope, Tx};
use crate::error::{Result, StoreError};
use crate::{OrgStore, Store};

/// Something to tell somebody.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewNotice {
    /// Its id.
    pub id: NoticeId,
    /// What kind it is.
    pub kind: NoticeKind,
    /// Who is told.
    pub recipient: Recipient,
    /// What it is about: the same is not said again within the cooldown.
    pub subject: String,
    /// All of it, as JSON.
    pub data: String,
}

/// A notice that is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredNotice {
    /// What it says.
    pub notice: NewNotice,
    /// When it was stored.
    pub created_at: Timestamp,
    /// When it was read, if it was.
    pub read_at: Option<Timestamp>,
}

/// What became of a notice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Notified {
    /// It is stored.
    Told,
    /// The same was said a short while ago; it is not said again.
    Quiet,
}

/// Touches a row only if it is time to say it again, whoever asks at once.
const DUE: Sql = sql!(
    "INSERT INTO notice_cooldowns (org, kind, subject, recipient, quiet_until)
     VALUES (?1, ?2, ?3, ?4, now_ms() + ?5)
     ON CONFLICT (org, kind, subject, recipient) DO UPDATE SET quiet_until = excluded.quiet_until
     WHERE notice_cooldowns.quiet_until <= now_ms()"
);
const ADD: Sql = sql!(
    "INSERT INTO notices (org, id, kind, recipient, subject, data, created_at)
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, now_ms())"
);
pub(crate) const UNREAD: Sql = sql!(
    "SELECT id, kind, recipient, subject, data, created_at, read_at FROM notices
     WHERE org = ?1 AND recipient = ?2 AND read_at IS NULL AND id > ?3 ORDER BY id LIMIT ?4"
);
pub(crate) const READ: Sql =
    sql!("UPDATE notices SET read_at = coalesce(read_at, now_ms()) WHERE org = ?1 AND id = ?2");
const FORGET: Sql = Sql {
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
    /// Tells somebody something, unless the same was said to them within the
    /// cooldown of its kind.
    pub async fn notify(&self, notice: NewNotice) -> Result<Notified> {
        self.store.write(Notify(self.org, notice)).await
    }

    /// What somebody has not read, after one of them, oldest first.
    pub async fn unread_notices(
        &self,
        recipient: Recipient,
        after: Option<NoticeId>,
        most: u32,
    ) -> Result<Vec<StoredNotice>> {
        let after = after.unwrap_or(NoticeId::from_u128(0));
        self.store.read(Unread(self.org, recipient, after, most)).await
    }

    /// Marks a notice as read; a repeat changes nothing.
    pub async fn mark_notice_read(&self, id: NoticeId) -> Result<()> {
        self.store.write(MarkRead(self.org, id)).await
    }
}

impl Store {
    /// Forgets cooldowns of all orgs that are over, and says how many.
    pub async fn forget_cooldowns(&self, most: u32) -> Result<u64> {
        self.write(Forget(most)).await
    }
}

pub(crate) struct Notify(pub(crate) OrgId, pub(crate) NewNotice);

impl Operation for Notify {
    type Output = Notified;

    fn scope(&self) -> Scope {
        Scope::Org(self.0)
    }

    async fn run<T: Tx>(&self, tx: &T) -> Result<Notified> {
        let Self(org, NewNotice { id, kind, recipient, subject, data }) = self;
        let (kind_text, recipient) = (Value::json(kind)?, Value::json(recipient)?);
        let subject = Value::from(subject.as_str());
        let cooldown = kind.cooldown().into();
        let key = [(*org).into(), kind_text.clone(), subject.clone(), recipient.clone(), cooldown];
        if tx.execute(&DUE, &key).await? == 0 {
            return Ok(Notified::Quiet);
        }
        let params =
            [(*org).into(), (*id).into(), kind_text, recipient, subject, data.as_str().into()];
        match tx.execute(&ADD, &params).await {
            Err(StoreError::Conflict(_)) => Err(StoreError::Conflict(format!("notice {id}"))),
            other => other.map(|_| Notified::Told),
        }
    }
}

struct Unread(OrgId, Recipient, NoticeId, u32);

impl Operation for Unread {
    type Output = Vec<StoredNotice>;

    fn scope(&self) -> Scope {
        Scope::Org(self.0)
    }

    async fn run<T: Tx>(&self, tx: &T) -> Result<Vec<StoredNotice>> {
        let Self(org, recipient, after, most) = self;
        let params = [(*org).into(), Value::json(recipient)?, (*after).into(), (*most).into()];
        tx.query(&UNREAD, &params).await?.iter().map(notice).collect()
    }
}

struct MarkRead(OrgId, NoticeId);

impl Operation for MarkRead {
    type Output = ();

    fn scope(&self) -> Scope {
        Scope::Org(self.0)
    }

    async fn run<T: Tx>(&self, tx: &T) -> Result<()> {
        match tx.execute(&READ, &[self.0.into(), self.1.into()]).await? {
            0 => Err(StoreError::NotFound("notice")),
            _ => Ok(()),
        }
    }
}

struct Forget(u32);

impl Operation for Forget {
    type Output = u64;

    fn scope(&self) -> Scope {
        Scope::All
    }

    async fn run<T: Tx>(&self, tx: &T) -> Result<u64> {
        tx.execute(&FORGET, &[self.0.into()]).await
    }
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
    })
}
