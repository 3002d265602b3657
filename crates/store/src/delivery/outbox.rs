//! The outbox: committed messages, sent in order by any running process.
//!
//! An entry is claimed before it is sent. If the sender does not report, the outcome is
//! unknown, and a person learns that the message may or may not have been sent.

use std::collections::BTreeMap;
use std::time::Duration;

use ostler_domain::id::{BindingId, ConversationId, NoticeId, OrgId, OutboxId};
use ostler_domain::notice::{NoticeKind, NoticeRecipient};
use ostler_domain::time::Timestamp;
use serde::{Deserialize, Serialize};

use crate::backend::job::StoreFuture;
use crate::backend::sql::{Sql, sql};
use crate::backend::value::{Row, Value};
use crate::backend::{Statement, Tx};
use crate::conversation::turn::Author;
use crate::delivery::notice_deliveries;
use crate::delivery::notices::{self, NewNotice, NoticePush};
use crate::delivery::send_state::{TeamMessage, record_team_message};
use crate::error::{Result, StoreError};
use crate::round_robin::round_robin;
use crate::{OrgStore, Store};

/// An outbox entry that a sender has claimed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutboxEntry {
    pub org: OrgId,
    pub id: OutboxId,
    pub conversation: ConversationId,
    pub author: Author,
    /// JSON.
    pub payload: String,
    /// The number of claims, including this one.
    pub attempts: u32,
    /// Stored with the next report of the sender.
    pub progress: SendProgress,
}

/// How entries are claimed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SendPolicy {
    /// How long a sender may take until it reports.
    pub claim_time: Duration,
    /// How many messages are sent through a binding at the same time, by all senders.
    pub max_per_binding: u32,
}

/// How much of a message was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct SendProgress {
    /// The first piece that is not sent.
    pub next_piece: u32,
    /// How often sending that piece failed.
    pub failed_attempts: u32,
    /// Since when it fails, by the clock of the sender.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failing_since: Option<Timestamp>,
    /// How often the message became a dead letter.
    pub times_dead: u32,
    /// Whether the message is sent without formatting.
    pub plain_text: bool,
    /// Whether the next piece may have arrived already.
    pub may_have_arrived: bool,
}

/// The report of a sender on a claimed entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OutboxDelivery {
    Sent,
    RetryAfter(Duration),
    /// The message becomes a dead letter, for this reason.
    Dead(String),
    /// The message becomes a dead letter that is retried automatically.
    Postponed {
        why: String,
        retry_after: Duration,
    },
    /// The message is given up after many attempts, for this reason.
    Abandoned(String),
    /// The message may or may not have been sent, for this reason.
    Unknown(String),
}

impl OutboxDelivery {
    /// Returns the name of the result, for metrics.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Sent => "sent",
            Self::RetryAfter(_) => "retry",
            Self::Dead(_) | Self::Postponed { .. } => "dead_letter",
            Self::Abandoned(_) => "abandoned",
            Self::Unknown(_) => "unknown",
        }
    }
}

/// What is stored together with the report of a sender.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DeliveryFollowUp {
    pub notice: Option<NewNotice>,
    /// The sent message, if people of the org can reply to it.
    pub team_message: Option<TeamMessage>,
}

/// The state of an outbox entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutboxState {
    Pending,
    /// Claimed by a sender.
    Sending,
    Sent,
    Dead,
    /// May or may not have been sent.
    Unknown,
    /// A takeover came before it was sent.
    Withdrawn,
    /// A dead letter that is not sent any more: its retries are used up, or a person has
    /// closed it.
    Abandoned,
}

impl OutboxState {
    pub(crate) const ALL: [Self; 7] = [
        Self::Pending,
        Self::Sending,
        Self::Sent,
        Self::Dead,
        Self::Unknown,
        Self::Withdrawn,
        Self::Abandoned,
    ];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Sending => "sending",
            Self::Sent => "sent",
            Self::Dead => "dead",
            Self::Unknown => "unknown",
            Self::Withdrawn => "withdrawn",
            Self::Abandoned => "abandoned",
        }
    }
}

/// The messages of agents that a takeover withdrew or could not withdraw.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WithdrawnMessages {
    /// The number of withdrawn messages.
    pub withdrawn: u64,
    /// Messages that a sender has claimed already.
    pub in_flight: Vec<OutboxId>,
}

/// Claims that expired without a report.
const UNREPORTED: Sql = sql!(
    "SELECT org, id, conversation, payload, attempts, author, progress FROM outbox
     WHERE state = 'sending' AND claimed_until <= (SELECT now_ms())
     ORDER BY claimed_until LIMIT ?1"
);
const MARK_UNREPORTED: Sql = sql!(
    "UPDATE outbox SET state = 'unknown', reason = 'the sender did not report', due_at = now_ms()
     WHERE org = ?1 AND id = ?2 AND attempts = ?3
       AND state = 'sending' AND claimed_until <= (SELECT now_ms())"
);
/// Not after a takeover: whether the message has arrived is then for a person to find out.
const REPEAT_UNREPORTED: Sql = sql!(
    "UPDATE outbox SET state = 'pending', due_at = now_ms(), progress = ?4
     WHERE org = ?1 AND id = ?2 AND attempts = ?3
       AND state = 'sending' AND claimed_until <= (SELECT now_ms())
       AND (author <> 'agent' OR epoch = (
         SELECT c.epoch FROM conversations c
         WHERE c.org = outbox.org AND c.id = outbox.conversation))"
);
/// Lanes with due entries and how many of each are being sent, and may be, those with the
/// fewest first. A lane whose binding is paused has none, one with an open breaker one. The
/// query skips along the index from one lane to the next, so that a long one costs no more
/// than another.
const DUE_LANES: Sql = sql!(
    "WITH RECURSIVE lanes (lane) AS (
       SELECT (SELECT o.lane FROM outbox o WHERE o.state = 'pending' ORDER BY o.lane LIMIT 1)
       UNION ALL
       SELECT (SELECT o.lane FROM outbox o
               WHERE o.state = 'pending' AND o.lane > lanes.lane ORDER BY o.lane LIMIT 1)
       FROM lanes WHERE lanes.lane IS NOT NULL),
     due (lane, org, active, most) AS (
       SELECT lanes.lane,
         (SELECT l.org FROM outbox l WHERE l.state = 'pending' AND l.lane = lanes.lane LIMIT 1),
         (SELECT count(*) FROM outbox s WHERE s.state = 'sending' AND s.lane = lanes.lane),
         coalesce((SELECT min(CASE WHEN p.paused_until > (SELECT now_ms()) THEN 0
                                   WHEN p.is_open = 1 THEN 1 ELSE ?1 END)
                   FROM send_pauses p WHERE p.lane = lanes.lane), ?1)
       FROM lanes WHERE lanes.lane IS NOT NULL AND EXISTS (
         SELECT 1 FROM outbox d WHERE d.state = 'pending' AND d.lane = lanes.lane
           AND d.due_at <= (SELECT now_ms())))
     SELECT lane, org, active, most FROM due WHERE active < most
     ORDER BY active, random() LIMIT ?2"
);
/// The due entries of a lane, of each conversation the first open one. An entry of an
/// agent from before a takeover is neither sent nor waited for, unless it is being
/// sent.
const DUE_IN_LANE: Sql = Sql {
    sqlite: "SELECT o.org, o.id, o.conversation, o.payload, o.attempts + 1, o.author, o.progress
       FROM outbox o INDEXED BY outbox_due
       JOIN conversations c ON c.org = o.org AND c.id = o.conversation
       WHERE o.lane = ?1 AND o.state = 'pending' AND o.due_at <= (SELECT now_ms())
         AND (o.author <> 'agent' OR o.epoch = c.epoch)
         AND (o.author IN ('notice', 'outreach') OR NOT EXISTS (
           SELECT 1 FROM outbox e INDEXED BY outbox_open
           WHERE e.org = o.org AND e.conversation = o.conversation AND e.seq < o.seq
             AND e.state IN ('pending', 'sending') AND e.author NOT IN ('notice', 'outreach')
             AND (e.state = 'sending' OR e.author <> 'agent' OR e.epoch = c.epoch)))
       ORDER BY o.due_at, o.id LIMIT ?2",
    postgres: "SELECT o.org, o.id, o.conversation, o.payload, o.attempts + 1, o.author, o.progress
       FROM outbox o
       JOIN conversations c ON c.org = o.org AND c.id = o.conversation
       WHERE o.lane = $1 AND o.state = 'pending' AND o.due_at <= (SELECT now_ms())
         AND (o.author <> 'agent' OR o.epoch = c.epoch)
         AND (o.author IN ('notice', 'outreach') OR NOT EXISTS (
           SELECT 1 FROM outbox e
           WHERE e.org = o.org AND e.conversation = o.conversation AND e.seq < o.seq
             AND e.state IN ('pending', 'sending') AND e.author NOT IN ('notice', 'outreach')
             AND (e.state = 'sending' OR e.author <> 'agent' OR e.epoch = c.epoch)))
       ORDER BY o.due_at, o.id LIMIT $2
       FOR UPDATE OF o SKIP LOCKED FOR SHARE OF c SKIP LOCKED",
};
const START_SENDING: Sql = sql!(
    "UPDATE outbox SET state = 'sending', attempts = attempts + 1, claimed_until = now_ms() + ?3
     WHERE org = ?1 AND id = ?2"
);
/// How many lanes a claim considers.
const MAX_LANES: i64 = 256;
/// Applies to the claim with this number of attempts only. A retry of an agent's message
/// is withdrawn after a takeover.
const RECORD: Sql = sql!(
    "UPDATE outbox SET reason = ?4, due_at = now_ms() + ?5, progress = ?7,
       retry_at = now_ms() + ?8, state = CASE
       WHEN ?3 = 'pending' AND author = 'agent' AND epoch <> (
         SELECT c.epoch FROM conversations c
         WHERE c.org = outbox.org AND c.id = outbox.conversation) THEN 'withdrawn'
       ELSE ?3 END
     WHERE org = ?1 AND id = ?2 AND attempts = ?6
       AND (state = 'sending' OR (state = 'unknown' AND ?3 <> 'pending'))"
);
const RAISE_EPOCH: Sql =
    sql!("UPDATE conversations SET epoch = epoch + 1 WHERE org = ?1 AND id = ?2");
const WITHDRAW: Sql = sql!(
    "UPDATE outbox SET state = 'withdrawn', reason = 'a person took over', due_at = now_ms()
     WHERE org = ?1 AND conversation = ?2 AND state IN ('pending', 'sending')
       AND state = 'pending' AND author = 'agent'"
);
const IN_FLIGHT: Sql = sql!(
    "SELECT id FROM outbox
     WHERE org = ?1 AND conversation = ?2 AND state IN ('pending', 'sending')
       AND state = 'sending' AND author = 'agent' ORDER BY seq"
);
const STATE: Sql = sql!("SELECT state FROM outbox WHERE org = ?1 AND id = ?2");

impl Store {
    /// Claims up to `limit` due entries: fairly among orgs and their bindings, the longest
    /// due first in each, and no more of a binding than are sent at a time. Messages of
    /// a conversation are sent in order; a dead or unknown one does not block the others.
    /// The limit of a binding may be exceeded by senders that claim at the same moment.
    pub fn claim_outbox(&self, policy: SendPolicy, limit: usize) -> StoreFuture<Vec<OutboxEntry>> {
        self.write_all_orgs(move |tx| claim(tx, policy, limit))
    }

    /// Returns entries whose sender did not report in time, the oldest first.
    pub fn unreported_sends(&self, limit: u32) -> StoreFuture<Vec<OutboxEntry>> {
        self.read_all_orgs(move |tx| {
            tx.query(&UNREPORTED, &[limit.into()])?.iter().map(read_claimed).collect()
        })
    }
}

impl OrgStore<'_> {
    /// Stores the report of a sender. A late report counts unless another sender has
    /// claimed the entry, but it does not retry a message with an unknown outcome.
    pub async fn record_delivery(
        &self,
        claimed: &OutboxEntry,
        delivery: OutboxDelivery,
    ) -> Result<()> {
        self.record_delivery_with(claimed, delivery, DeliveryFollowUp::default()).await
    }

    /// Stores the report of a sender and a follow-up in one transaction.
    pub async fn record_delivery_with(
        &self,
        claimed: &OutboxEntry,
        delivery: OutboxDelivery,
        follow_up: DeliveryFollowUp,
    ) -> Result<()> {
        if claimed.org != self.org {
            return Err(StoreError::NotFound("message that is being sent"));
        }
        let claimed = claimed.clone();
        self.write(move |tx| record_report(tx, &claimed, &delivery, &follow_up)).await
    }

    /// Marks an entry whose sender did not report as unknown, and notifies the owner. Returns
    /// false if it was reported meanwhile.
    pub async fn mark_unreported(&self, entry: &OutboxEntry) -> Result<bool> {
        let (org, entry) = (self.org, entry.clone());
        self.write(move |tx| {
            let key = [org.into(), entry.id.into(), entry.attempts.into()];
            if tx.execute(&MARK_UNREPORTED, &key)? == 0 {
                return Ok(false);
            }
            report_unknown(tx, org, &entry)?;
            Ok(true)
        })
        .await
    }

    /// Sends an entry whose sender did not report again, with this progress. Returns false if
    /// it was reported meanwhile, or if a person has taken over.
    pub async fn repeat_unreported(
        &self,
        entry: &OutboxEntry,
        progress: SendProgress,
    ) -> Result<bool> {
        let params = [entry.id.into(), entry.attempts.into(), progress_value(&progress)?];
        Ok(self.execute(&REPEAT_UNREPORTED, params).await? > 0)
    }

    /// Withdraws the pending messages of agents in a conversation; from this commit on,
    /// none of them is claimed.
    pub fn withdraw_agent_messages(
        &self,
        conversation: ConversationId,
    ) -> StoreFuture<WithdrawnMessages> {
        let org = self.org;
        self.write(move |tx| withdraw_agent_messages(tx, org, conversation))
    }

    /// Returns the state of an entry.
    pub fn outbox_state(&self, id: OutboxId) -> StoreFuture<OutboxState> {
        self.one("message", &STATE, [id.into()], read_state)
    }
}

fn claim(tx: &Tx, policy: SendPolicy, limit: usize) -> Result<Vec<OutboxEntry>> {
    let max = i64::from(policy.max_per_binding);
    let mut by_org: BTreeMap<OrgId, Vec<(i64, i64)>> = BTreeMap::new();
    for row in tx.query(&DUE_LANES, &[max.into(), MAX_LANES.into()])? {
        by_org.entry(row.id(1)?).or_default().push((row.int(0)?, row.int(3)? - row.int(2)?));
    }
    let lanes = round_robin(by_org, limit);
    let share = limit.div_ceil(lanes.len().max(1)) as i64;
    let params: Vec<Vec<Value>> = lanes
        .into_iter()
        .map(|(_, (lane, free))| vec![lane.into(), share.min(free).into()])
        .collect();
    let found = tx.query_each(&DUE_IN_LANE, &params)?;
    let mut claimed = Vec::new();
    for (_, row) in round_robin(found.into_iter().map(|rows| ((), rows)), limit) {
        claimed.push(read_claimed(&row)?);
    }
    let start = |entry: &OutboxEntry| Statement {
        sql: &START_SENDING,
        params: vec![entry.org.into(), entry.id.into(), policy.claim_time.into()],
        on_no_rows: None,
    };
    tx.batch(&claimed.iter().map(start).collect::<Vec<_>>())?;
    Ok(claimed)
}

/// Returns the lane of a message that is sent through a binding, or through none. Two
/// bindings whose ids mix to the same number share a lane, which is harmless.
pub(crate) fn lane(org: OrgId, binding: Option<BindingId>) -> i64 {
    let binding = binding.map_or(0, BindingId::as_u128);
    let mixed = org.as_u128().wrapping_mul(MIX) ^ binding.wrapping_mul(MIX).rotate_left(64);
    ((mixed >> 64) ^ mixed) as i64
}

/// An odd number with bits everywhere, so that similar ids get distant lanes.
const MIX: u128 = 0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835;

fn read_claimed(row: &Row) -> Result<OutboxEntry> {
    Ok(OutboxEntry {
        org: row.id(0)?,
        id: row.id(1)?,
        conversation: row.id(2)?,
        payload: row.text(3)?.to_owned(),
        attempts: u32::try_from(row.int(4)?).unwrap_or(u32::MAX),
        author: author(row.text(5)?)?,
        progress: progress(row, 6)?,
    })
}

fn author(name: &str) -> Result<Author> {
    Author::ALL.into_iter().find(|author| author.name() == name).ok_or_else(|| {
        StoreError::CorruptValue { what: "author", why: format!("unknown value `{name}`") }
    })
}

/// Reads the progress; NULL means that nothing was sent or tried.
pub(crate) fn progress(row: &Row, column: usize) -> Result<SendProgress> {
    match row.value(column)? {
        Value::Null => Ok(SendProgress::default()),
        _ => row.json(column, "progress of a message"),
    }
}

/// Returns the stored form of the progress: NULL for most messages.
pub(crate) fn progress_value(progress: &SendProgress) -> Result<Value> {
    match *progress == SendProgress::default() {
        true => Ok(Value::Null),
        false => Value::json(progress),
    }
}

fn record_report(
    tx: &Tx,
    claimed: &OutboxEntry,
    delivery: &OutboxDelivery,
    follow_up: &DeliveryFollowUp,
) -> Result<()> {
    let OutboxEntry { org, id, conversation, attempts, progress, .. } = claimed;
    let now = Duration::ZERO;
    let (state, reason, wait, retry) = match delivery {
        OutboxDelivery::Sent => (OutboxState::Sent, None, now, None),
        OutboxDelivery::RetryAfter(wait) => (OutboxState::Pending, None, *wait, None),
        OutboxDelivery::Dead(why) => (OutboxState::Dead, Some(why.as_str()), now, None),
        OutboxDelivery::Postponed { why, retry_after } => {
            (OutboxState::Dead, Some(why.as_str()), now, Some(*retry_after))
        }
        OutboxDelivery::Abandoned(why) => (OutboxState::Abandoned, Some(why.as_str()), now, None),
        OutboxDelivery::Unknown(why) => (OutboxState::Unknown, Some(why.as_str()), now, None),
    };
    let params = [
        (*org).into(),
        (*id).into(),
        state.name().into(),
        reason.into(),
        wait.into(),
        (*attempts).into(),
        // Nobody asks how much of a sent message was sent.
        if state == OutboxState::Sent { Value::Null } else { progress_value(progress)? },
        retry.map_or(Value::Null, Value::from),
    ];
    if tx.execute(&RECORD, &params)? == 0 {
        return Err(StoreError::NotFound("message that is being sent"));
    }
    if let Some(team_message) = &follow_up.team_message {
        record_team_message(tx, *org, *conversation, team_message)?;
    }
    if claimed.author == Author::Notice
        && !matches!(state, OutboxState::Sent | OutboxState::Pending)
    {
        notice_deliveries::advance_next_stage(tx, *org, *id)?;
    }
    match &follow_up.notice {
        // A notice about a notice that cannot be sent could not be sent either.
        Some(notice) if claimed.author == Author::Notice => {
            notices::store(tx, *org, notice, NoticePush::ListOnly).map(drop)
        }
        Some(notice) => notices::notify(tx, *org, notice).map(drop),
        None => Ok(()),
    }
}

/// Notifies the owner of a message whose sender did not report, or has the next stage of a
/// notice sent.
fn report_unknown(tx: &Tx, org: OrgId, entry: &OutboxEntry) -> Result<()> {
    let id = entry.id;
    if entry.author == Author::Notice {
        return notice_deliveries::advance_next_stage(tx, org, id);
    }
    let data = serde_json::json!({"message": id, "conversation": entry.conversation,
        "why": "the sender did not report"});
    let notice = NewNotice {
        id: NoticeId::from_u128(id.as_u128()),
        kind: NoticeKind::UnknownOutcome,
        recipient: NoticeRecipient::Owner,
        subject: id.to_string(),
        data: data.to_string(),
    };
    notices::notify(tx, org, &notice).map(drop)
}

/// Withdraws the pending messages of agents in a conversation, inside a transaction.
pub(crate) fn withdraw_agent_messages(
    tx: &Tx,
    org: OrgId,
    conversation: ConversationId,
) -> Result<WithdrawnMessages> {
    let key = [Value::from(org), conversation.into()];
    if tx.execute(&RAISE_EPOCH, &key)? == 0 {
        return Err(StoreError::NotFound("conversation"));
    }
    let withdrawn = tx.execute(&WITHDRAW, &key)?;
    let rows = tx.query(&IN_FLIGHT, &key)?;
    let in_flight = rows.iter().map(|row| row.id(0)).collect::<Result<_>>()?;
    Ok(WithdrawnMessages { withdrawn, in_flight })
}

fn read_state(row: &Row) -> Result<OutboxState> {
    let name = row.text(0)?;
    OutboxState::ALL.into_iter().find(|state| state.name() == name).ok_or_else(|| {
        StoreError::CorruptValue { what: "outbox state", why: format!("unknown value `{name}`") }
    })
}
