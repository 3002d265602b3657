//! Where and when notices are sent to people, with their receipts.
//!
//! A notice is planned once: its deliveries are stored with the mark that it is planned. A
//! delivery is sent once: the outbox entry is stored with the change of its state. Who is
//! late finds nothing to change, so any number of processes may plan and send.

use ostler_domain::id::{ConversationId, NoticeId, OrgId, OutboxId, ThreadId};
use ostler_domain::notice::preferences::NoticeDestination;
use ostler_domain::notice::schedule::{NoticeStage, PlannedDelivery};
use ostler_domain::session::key::ConversationKey;
use ostler_domain::time::Timestamp;

use super::notices::{self, StoredNotice};
use crate::backend::Tx;
use crate::backend::job::StoreFuture;
use crate::backend::sql::{Sql, sql};
use crate::backend::value::{Row, Value};
use crate::contacts::privacy;
use crate::conversation::turn::{MessageWriter, NewOutboxEntry};
use crate::delivery::outbox::OutboxState;
use crate::error::{Result, StoreError};
use crate::{OrgStore, Store};

/// Identifies a delivery of a notice.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct NoticeDeliveryKey {
    pub notice: NoticeId,
    /// The person, as the org's settings name them.
    pub person: String,
    pub destination: NoticeDestination,
    pub stage: NoticeStage,
}

/// A delivery that is due.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DueNoticeDelivery {
    pub org: OrgId,
    pub key: NoticeDeliveryKey,
    pub notice: StoredNotice,
}

/// A delivery with its receipt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredNoticeDelivery {
    pub key: NoticeDeliveryKey,
    pub due_at: Timestamp,
    pub state: NoticeDeliveryState,
}

/// The receipt of a delivery.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoticeDeliveryState {
    /// It is sent when it is due, unless somebody reacts before.
    Planned,
    /// It is not sent, for this reason.
    Skipped(String),
    /// It waits in the outbox or is being sent.
    Sending,
    Delivered,
    /// The message may or may not have arrived.
    Unknown,
    Failed(String),
}

/// The conversation that a notice belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoticeConversation {
    /// The customer's, whose session the notice is about.
    Existing(ConversationId),
    /// The person's own, which is created with this id if it does not exist.
    OfPerson { key: ConversationKey, new_id: ConversationId },
}

/// A message that carries one or more notices to a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoticeMessage {
    pub deliveries: Vec<NoticeDeliveryKey>,
    pub conversation: NoticeConversation,
    pub entry: NewOutboxEntry,
}

const UNPLANNED: Sql = sql!(
    "SELECT id, kind, recipient, subject, data, created_at, read_at, read_by, org FROM notices
     WHERE planned = 0 ORDER BY org, id LIMIT ?1"
);
const MARK_PLANNED: Sql =
    sql!("UPDATE notices SET planned = 1 WHERE org = ?1 AND id = ?2 AND planned = 0");
const IS_PLANNED: Sql = sql!("SELECT planned FROM notices WHERE org = ?1 AND id = ?2");
const INSERT: Sql = sql!(
    "INSERT INTO notice_deliveries (org, notice, person, destination, stage, due_at)
     VALUES (?1, ?2, ?3, ?4, ?5, ?6)"
);
const DUE: Sql = sql!(
    "SELECT n.id, n.kind, n.recipient, n.subject, n.data, n.created_at, n.read_at, n.read_by,
       d.org, d.person, d.destination, d.stage
     FROM notice_deliveries d JOIN notices n ON n.org = d.org AND n.id = d.notice
     WHERE d.state = 'planned' AND d.due_at <= ?1 ORDER BY d.due_at, d.org, d.notice LIMIT ?2"
);
const MARK_SENT: Sql = sql!(
    "UPDATE notice_deliveries SET state = 'sent', outbox = ?6
     WHERE org = ?1 AND notice = ?2 AND person = ?3 AND destination = ?4 AND stage = ?5
       AND state = 'planned'"
);
const MARK_SKIPPED: Sql = sql!(
    "UPDATE notice_deliveries SET state = 'skipped', outcome = ?6
     WHERE org = ?1 AND notice = ?2 AND person = ?3 AND destination = ?4 AND stage = ?5
       AND state = 'planned'"
);
const OF_NOTICE: Sql = sql!(
    "SELECT d.person, d.destination, d.stage, d.due_at, d.state, coalesce(d.outcome, ''),
       coalesce(o.state, 'sent'), coalesce(o.reason, ''), d.notice
     FROM notice_deliveries d LEFT JOIN outbox o ON o.org = d.org AND o.id = d.outbox
     WHERE d.org = ?1 AND d.notice = ?2 ORDER BY d.stage, d.due_at, d.person, d.destination"
);
const ADVANCE_NEXT: Sql = sql!(
    "UPDATE notice_deliveries SET due_at = 0
     WHERE org = ?1 AND state = 'planned' AND stage = 'next' AND EXISTS (
       SELECT 1 FROM notice_deliveries f
       WHERE f.org = ?1 AND f.outbox = ?2 AND f.notice = notice_deliveries.notice
         AND f.person = notice_deliveries.person)"
);
const FIND_CONVERSATION: Sql = sql!("SELECT id FROM conversations WHERE org = ?1 AND key = ?2");
const CREATE_CONVERSATION: Sql = sql!(
    "INSERT INTO conversations (org, id, key) VALUES (?1, ?2, ?3) ON CONFLICT (org, key) DO NOTHING"
);
/// Reserves a number and locks the row of the conversation.
const NEXT_OUT_SEQ: Sql = sql!(
    "UPDATE conversations SET out_seq = out_seq + 1 WHERE org = ?1 AND id = ?2 RETURNING epoch"
);

impl Store {
    /// Returns notices of all orgs for which it is not decided yet where they are sent.
    pub fn unplanned_notices(&self, limit: u32) -> StoreFuture<Vec<(OrgId, StoredNotice)>> {
        self.read_all_orgs(move |tx| {
            let rows = tx.query(&UNPLANNED, &[limit.into()])?;
            rows.iter().map(|row| Ok((row.id(8)?, notices::notice(row)?))).collect()
        })
    }

    /// Returns deliveries of all orgs that are due, longest due first.
    pub fn due_notice_deliveries(
        &self,
        now: Timestamp,
        limit: u32,
    ) -> StoreFuture<Vec<DueNoticeDelivery>> {
        self.read_all_orgs(move |tx| {
            let rows = tx.query(&DUE, &[now.as_millis().into(), limit.into()])?;
            rows.iter().map(due_delivery).collect()
        })
    }
}

impl OrgStore<'_> {
    /// Stores the deliveries of a notice to each person. Returns false if it was planned
    /// before.
    pub fn plan_notice(
        &self,
        id: NoticeId,
        deliveries: Vec<(String, PlannedDelivery)>,
    ) -> StoreFuture<bool> {
        let org = self.org;
        self.write(move |tx| {
            if tx.execute(&MARK_PLANNED, &[org.into(), id.into()])? == 0 {
                return Ok(false);
            }
            for (person, delivery) in &deliveries {
                let [stage, destination] = [delivery.stage.name(), delivery.destination.name()];
                let mut params = vec![org.into(), id.into(), person.as_str().into()];
                params.extend([destination.into(), stage.into()]);
                params.push(delivery.due_at.as_millis().into());
                tx.execute(&INSERT, &params)?;
            }
            Ok(true)
        })
    }

    /// Puts a message with notices into the outbox. Returns false, and changes nothing, if
    /// one of its deliveries was sent or skipped before.
    pub async fn send_notices(&self, message: NoticeMessage) -> Result<bool> {
        let org = self.org;
        match self.write(move |tx| send(tx, org, &message)).await {
            Err(StoreError::StaleChanges(_)) => Ok(false),
            result => result.map(|()| true),
        }
    }

    /// Records why a delivery is not sent. A repeat changes nothing.
    pub async fn skip_notice_delivery(&self, key: &NoticeDeliveryKey, why: &str) -> Result<()> {
        let mut params = key_params(self.org, key);
        params.push(why.into());
        self.write(move |tx| tx.execute(&MARK_SKIPPED, &params).map(drop)).await
    }

    /// Returns whether it is decided where a notice is sent.
    pub fn is_notice_planned(&self, id: NoticeId) -> StoreFuture<bool> {
        self.one("notice", &IS_PLANNED, [id.into()], |row| Ok(row.int(0)? == 1))
    }

    /// Returns the deliveries of a notice with their receipts.
    pub fn notice_deliveries(&self, id: NoticeId) -> StoreFuture<Vec<StoredNoticeDelivery>> {
        self.rows(&OF_NOTICE, [id.into()], stored_delivery)
    }
}

fn key_params(org: OrgId, key: &NoticeDeliveryKey) -> Vec<Value> {
    let NoticeDeliveryKey { notice, person, destination, stage } = key;
    let names = [destination.name().into(), stage.name().into()];
    [org.into(), (*notice).into(), person.as_str().into()].into_iter().chain(names).collect()
}

fn send(tx: &Tx, org: OrgId, message: &NoticeMessage) -> Result<()> {
    let conversation = match &message.conversation {
        NoticeConversation::Existing(id) => *id,
        NoticeConversation::OfPerson { key, new_id } => person_conversation(tx, key, *new_id)?,
    };
    let row = tx.first(&NEXT_OUT_SEQ, &[org.into(), conversation.into()])?;
    let epoch = row.ok_or(StoreError::NotFound("conversation"))?.int(0)?;
    for key in &message.deliveries {
        let mut params = key_params(org, key);
        params.push(message.entry.id.into());
        if tx.execute(&MARK_SENT, &params)? == 0 {
            let gone = StoreError::NotFound("planned delivery");
            return Err(StoreError::StaleChanges(gone.into()));
        }
    }
    let writer = MessageWriter { org, conversation, epoch, thread: ThreadId::from_u128(0) };
    tx.finish(&writer.write(&[], std::slice::from_ref(&message.entry))).map(drop)
}

/// Returns the conversation of a person, which is created if it does not exist.
fn person_conversation(
    tx: &Tx,
    key: &ConversationKey,
    new_id: ConversationId,
) -> Result<ConversationId> {
    let find = [Value::from(key.org), key.to_text().into()];
    if let Some(row) = tx.first(&FIND_CONVERSATION, &find)? {
        return row.id(0);
    }
    let [org, text] = find.clone();
    if tx.execute(&CREATE_CONVERSATION, &[org, new_id.into(), text])? == 1 {
        tx.batch(&[privacy::record_conversation_peer(key, new_id)])?;
    }
    tx.first(&FIND_CONVERSATION, &find)?.ok_or(StoreError::NotFound("conversation"))?.id(0)
}

/// Makes the next stage of the notices that a message carries due, because the message
/// failed.
pub(crate) fn advance_next_stage(tx: &Tx, org: OrgId, failed: OutboxId) -> Result<()> {
    tx.execute(&ADVANCE_NEXT, &[org.into(), failed.into()]).map(drop)
}

fn due_delivery(row: &Row) -> Result<DueNoticeDelivery> {
    let notice = notices::notice(row)?;
    let key = delivery_key(row, 9, notice.notice.id)?;
    Ok(DueNoticeDelivery { org: row.id(8)?, key, notice })
}

/// Reads person, destination and stage.
fn delivery_key(row: &Row, column: usize, notice: NoticeId) -> Result<NoticeDeliveryKey> {
    let unknown = |why: &str| StoreError::CorruptValue {
        what: "delivery of a notice",
        why: format!("unknown value `{why}`"),
    };
    let destination = row.text(column + 1)?;
    let destination = destination.parse().map_err(|_| unknown(destination))?;
    let name = row.text(column + 2)?;
    let stage = NoticeStage::ALL.into_iter().find(|stage| stage.name() == name);
    let stage = stage.ok_or_else(|| unknown(name))?;
    Ok(NoticeDeliveryKey { notice, person: row.text(column)?.to_owned(), destination, stage })
}

fn stored_delivery(row: &Row) -> Result<StoredNoticeDelivery> {
    let outbox = OutboxState::ALL
        .into_iter()
        .find(|state| row.text(6).is_ok_and(|name| name == state.name()));
    let state = match (row.text(4)?, outbox) {
        ("planned", _) => NoticeDeliveryState::Planned,
        ("skipped", _) => NoticeDeliveryState::Skipped(row.text(5)?.to_owned()),
        (_, Some(OutboxState::Pending | OutboxState::Sending)) => NoticeDeliveryState::Sending,
        (_, Some(OutboxState::Sent) | None) => NoticeDeliveryState::Delivered,
        (_, Some(OutboxState::Unknown)) => NoticeDeliveryState::Unknown,
        (_, Some(OutboxState::Dead | OutboxState::Withdrawn | OutboxState::Abandoned)) => {
            NoticeDeliveryState::Failed(row.text(7)?.to_owned())
        }
    };
    let key = delivery_key(row, 0, row.id(8)?)?;
    Ok(StoredNoticeDelivery { key, due_at: row.time(3)?, state })
}
