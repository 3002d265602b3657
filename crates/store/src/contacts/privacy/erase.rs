//! Erasure: first the contact and the keys of its conversations, so that nothing is
//! added to them, then their contents in small transactions, then what names the contact
//! elsewhere.
//!
//! From the first step on nobody is recognized as the contact: a new message creates
//! a new contact and conversation. While a worker holds a conversation's lease the
//! erasure is refused and the caller retries, because what the turn stores (files,
//! approvals) is found only once it is committed. A worker whose lease has expired
//! can no longer commit.

use ostler_domain::audit::AuditActor;
use ostler_domain::id::{AuditId, BlobId, ContactId, ConversationId, OrgId, SessionId, ThreadId};
use ostler_domain::time::Timestamp;

use super::find::{self, OwnConversation};
use super::tables::{
    DELETE_NOTICES, MESSAGES, OF_CONVERSATION, OF_SESSION, SESSIONS, Table, blobs_in_row,
};
use super::{PersonalDataCounts, PersonalDataKind, markers, records, sweep, workflows};
use crate::backend::job::StoreFuture;
use crate::backend::sql::{Sql, sql};
use crate::backend::value::{Row, Value};
use crate::backend::{Statement, Tx};
use crate::contacts::{contact, identifiers};
use crate::error::{Result, StoreError};
use crate::tenancy::audit::{self, NewAuditEntry};
use crate::tenancy::orgs::lock_org;
use crate::{OrgStore, Store};

/// Rows deleted per transaction.
const BATCH_ROWS: u64 = 200;
/// Pages read per transaction; most have take rows.
const PAGES: u32 = 50;
/// Files deleted together; each may be large.
const BATCH_FILES: usize = 8;

/// Makes the conversation unreachable: replaces its key, leaves nothing to claim and
/// fences off a worker with an expired lease.
const DETACH: Sql = sql!(
    "UPDATE conversations SET key = ?3, epoch = epoch + 1, lease_token = lease_token + 1,
       lease_until = 0, pending_at = NULL
     WHERE org = ?1 AND id = ?2 AND lease_until <= now_ms()"
);
const RELABEL_PEER: Sql = sql!(
    "UPDATE conversation_peers SET peer = ?4
     WHERE org = ?1 AND peer = ?2 AND conversation = ?3"
);
const START: Sql = sql!(
    "INSERT INTO erasures (org, contact, started_at, markers) VALUES (?1, ?2, now_ms(), ?3)
     ON CONFLICT (org, contact) DO NOTHING"
);
const DELETE_IDENTIFIERS: Sql =
    sql!("DELETE FROM contact_identifiers WHERE org = ?1 AND contact = ?2");
const DELETE_CONTACT: Sql = sql!("DELETE FROM contacts WHERE org = ?1 AND id = ?2");
const STARTED: Sql = sql!("SELECT 1 FROM erasures WHERE org = ?1 AND contact = ?2");
const NEXT_CONVERSATION: Sql = sql!(
    "SELECT conversation FROM conversation_peers WHERE org = ?1 AND peer = ?2
     ORDER BY conversation LIMIT 1"
);
const BLOB_USES: Sql =
    sql!("SELECT blob FROM blob_uses WHERE org = ?1 AND conversation = ?2 ORDER BY blob LIMIT ?3");
const DELETE_BLOB_USE: Sql =
    sql!("DELETE FROM blob_uses WHERE org = ?1 AND conversation = ?2 AND blob = ?3");
const DELETE_BLOB: Sql = sql!(
    "DELETE FROM blobs WHERE org = ?1 AND id = ?2
     AND NOT EXISTS (SELECT 1 FROM blob_uses u WHERE u.org = ?1 AND u.blob = ?2)"
);
const DELETE_PEER: Sql =
    sql!("DELETE FROM conversation_peers WHERE org = ?1 AND peer = ?2 AND conversation = ?3");
const DELETE_TEAM_MESSAGES: Sql =
    sql!("DELETE FROM team_messages WHERE org = ?1 AND conversation = ?2");
const DELETE_CONVERSATION: Sql = sql!("DELETE FROM conversations WHERE org = ?1 AND id = ?2");
/// Keeps the audit entries but removes their details.
const STRIP_AUDIT: Sql = Sql {
    sqlite: "UPDATE audit INDEXED BY audit_by_subject SET data = '{}'
       WHERE org = ?1 AND subject = ?2 AND data <> '{}'",
    postgres: "UPDATE audit SET data = '{}' WHERE org = $1 AND subject = $2 AND data <> '{}'",
};
/// Notices about something else that name an object, such as one about an escalation of a
/// session.
const DELETE_NOTICES_NAMING: Sql = Sql {
    sqlite: "DELETE FROM notices WHERE org = ?1 AND instr(data, ?2) > 0",
    postgres: "DELETE FROM notices WHERE org = $1 AND strpos(data, $2) > 0",
};
/// The responses to repeated requests that were about an object.
const DELETE_RESPONSES: Sql = Sql {
    sqlite: "DELETE FROM records
       WHERE org = ?1 AND kind = 'idempotency' AND instr(data, ?2) > 0",
    postgres: "DELETE FROM records
       WHERE org = $1 AND kind = 'idempotency' AND strpos(data, $2) > 0",
};
/// Entries about a part of an object, such as a step of a workflow: `OBJECT/PART`.
const STRIP_AUDIT_OF_PARTS: Sql = Sql {
    sqlite: "UPDATE audit INDEXED BY audit_by_subject SET data = '{}'
       WHERE org = ?1 AND subject > ?2 || '/' AND subject < ?2 || '0' AND data <> '{}'",
    postgres: r#"UPDATE audit SET data = '{}' WHERE org = $1 AND data <> '{}'
       AND subject COLLATE "C" > $2 || '/' AND subject COLLATE "C" < $2 || '0'"#,
};
const LAST: Sql = sql!("SELECT max(finished_at) FROM erasures");
const FINISH: Sql = sql!(
    "UPDATE erasures SET finished_at = now_ms(), markers = NULL
     WHERE org = ?1 AND contact = ?2 AND finished_at IS NULL"
);

/// The action of the audit entry.
const ACTION: &str = "contact_deleted";

impl Store {
    /// Returns when the last erasure of any org finished. What a process has read before may
    /// name somebody who is deleted.
    pub fn last_erasure(&self) -> StoreFuture<Option<Timestamp>> {
        self.read_all_orgs(|tx| tx.first(&LAST, &[])?.map_or(Ok(None), |row| row.opt_time(0)))
    }
}

impl OrgStore<'_> {
    /// Deletes everything the org stores about a contact and returns how much it was. Orders
    /// and bookings stay, without the contact.
    /// Fails with [`ConversationBusy`](StoreError::ConversationBusy) while a worker
    /// answers the contact. An interrupted erasure is continued by a repeat; repeating
    /// a finished one does nothing. Appends an audit entry with the id `audit_id` for
    /// `actor`.
    pub async fn erase_contact(
        &self,
        contact: ContactId,
        actor: AuditActor,
        audit_id: AuditId,
    ) -> Result<PersonalDataCounts> {
        let org = self.org;
        let mut counts = PersonalDataCounts::new();
        for delete in [detach_some, delete_contents] {
            let step = move |tx: &Tx| delete(tx, org, contact);
            while self.write(step).await?.add_to(&mut counts) == Remaining::More {}
        }
        sweep::sweep(*self, contact, audit_id).await?;
        let (action, subject, data) = (ACTION.into(), contact.to_string(), "{}".into());
        let entry = NewAuditEntry { id: audit_id, actor, action, subject, data };
        self.write(move |tx| finish(tx, org, contact, &entry)).await?;
        Ok(counts)
    }
}

fn add(counts: &mut PersonalDataCounts, kind: PersonalDataKind, rows: u64) {
    if rows > 0 {
        *counts.entry(kind).or_default() += rows;
    }
}

/// Whether there is more to delete.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Remaining {
    Nothing,
    More,
}

/// What one transaction deleted.
struct Deleted {
    counts: PersonalDataCounts,
    remaining: Remaining,
}

impl Deleted {
    fn add_to(self, sum: &mut PersonalDataCounts) -> Remaining {
        self.counts.into_iter().for_each(|(kind, rows)| add(sum, kind, rows));
        self.remaining
    }
}

fn statement<const N: usize>(sql: &'static Sql, params: [Value; N]) -> Statement {
    Statement { sql, params: params.into(), on_no_rows: None }
}

/// The peer under which the conversations of a contact are listed during its erasure.
fn erasure_peer(contact: ContactId) -> String {
    format!("erasing {contact}")
}

/// Detaches conversations from their contact, and deletes the contact once there are
/// no more.
fn detach_some(tx: &Tx, org: OrgId, id: ContactId) -> Result<Deleted> {
    // Prevents concurrent linking and recognition.
    lock_org(tx, org)?;
    let mut counts = PersonalDataCounts::new();
    let contact = match contact::get(tx, org, id) {
        Err(StoreError::NotFound(what)) => {
            let started = tx.first(&STARTED, &[org.into(), id.into()])?;
            started.ok_or(StoreError::NotFound(what))?;
            return Ok(Deleted { counts, remaining: Remaining::Nothing });
        }
        found => found?,
    };
    let limit = usize::try_from(BATCH_ROWS).unwrap_or(usize::MAX);
    let own = find::conversations(tx, org, &contact, limit)?;
    for own in &own {
        detach(tx, org, id, own)?;
    }
    if own.len() == limit {
        return Ok(Deleted { counts, remaining: Remaining::More });
    }
    let linked = identifiers::identifiers_of(tx, org, id, u32::MAX)?;
    let markers = markers::markers(&contact.contact, &linked);
    let workflows = workflows::delete(tx, org, &contact.contact, &markers)?;
    add(&mut counts, PersonalDataKind::Workflow, workflows.len() as u64);
    let key = || [Value::from(org), id.into()];
    let markers = Value::json(&markers)?;
    let statements = [
        statement(&DELETE_CONTACT, key()),
        statement(&DELETE_IDENTIFIERS, key()),
        statement(&START, [org.into(), id.into(), markers]),
    ];
    add(&mut counts, PersonalDataKind::Contact, tx.batch(&statements)?[0]);
    let records = records::anonymize(tx, org, id)?;
    add(&mut counts, PersonalDataKind::Record, records.len() as u64);
    let objects = records.iter().map(ToString::to_string).chain([id.to_string()]);
    let objects: Vec<String> = objects.chain(workflows.iter().map(ToString::to_string)).collect();
    let parts = workflows
        .iter()
        .map(|id| statement(&STRIP_AUDIT_OF_PARTS, [org.into(), id.to_string().into()]));
    tx.batch(&parts.collect::<Vec<_>>())?;
    add(&mut counts, PersonalDataKind::Notice, delete_notices_about(tx, org, objects.clone())?);
    delete_mentions(tx, org, &objects)?;
    Ok(Deleted { counts, remaining: Remaining::Nothing })
}

fn detach(tx: &Tx, org: OrgId, contact: ContactId, own: &OwnConversation) -> Result<()> {
    let no_key = format!("erasing {}", own.id);
    if tx.execute(&DETACH, &[org.into(), own.id.into(), no_key.into()])? == 0 {
        return Err(StoreError::ConversationBusy);
    }
    let peer = find::peer_form(&own.key);
    let rename = [org.into(), peer.into(), own.id.into(), erasure_peer(contact).into()];
    tx.execute(&RELABEL_PEER, &rename)?;
    Ok(())
}

/// Deletes the notices about objects and the details of audit entries about them.
/// Returns the number of notices.
pub(super) fn delete_notices_about(
    tx: &Tx,
    org: OrgId,
    ids: impl IntoIterator<Item = String>,
) -> Result<u64> {
    let mut statements = Vec::new();
    for id in ids {
        statements.push(statement(&DELETE_NOTICES, [org.into(), id.as_str().into()]));
        statements.push(statement(&STRIP_AUDIT, [org.into(), id.into()]));
    }
    Ok(tx.batch(&statements)?.iter().step_by(2).sum())
}

/// Deletes what names objects elsewhere: notices about something else, and the stored responses
/// to requests about them.
fn delete_mentions(tx: &Tx, org: OrgId, ids: &[String]) -> Result<()> {
    let of_id = |id: &String| {
        [&DELETE_NOTICES_NAMING, &DELETE_RESPONSES]
            .map(|sql| statement(sql, [org.into(), id.as_str().into()]))
    };
    tx.batch(&ids.iter().flat_map(of_id).collect::<Vec<_>>()).map(drop)
}

/// Deletes contents of detached conversations in one transaction.
fn delete_contents(tx: &Tx, org: OrgId, contact: ContactId) -> Result<Deleted> {
    let mut counts = PersonalDataCounts::new();
    for _ in 0..PAGES {
        let budget = BATCH_ROWS.saturating_sub(used_budget(&counts));
        if budget == 0 {
            break;
        }
        let params = [Value::from(org), erasure_peer(contact).into()];
        let Some(row) = tx.first(&NEXT_CONVERSATION, &params)? else {
            return Ok(Deleted { counts, remaining: Remaining::Nothing });
        };
        let erasure = ConversationErasure { tx, org, conversation: row.id(0)? };
        if !erasure.delete_some(budget, &mut counts)? {
            erasure.delete_conversation(contact, &mut counts)?;
        }
    }
    Ok(Deleted { counts, remaining: Remaining::More })
}

/// The share of a transaction's rows that these take; a file counts as many rows.
fn used_budget(counts: &PersonalDataCounts) -> u64 {
    let files = counts.get(&PersonalDataKind::File).copied().unwrap_or_default();
    counts.values().sum::<u64>() + files * (BATCH_ROWS / BATCH_FILES as u64)
}

/// A conversation whose contents are being deleted.
struct ConversationErasure<'t, 'c> {
    tx: &'t Tx<'t, 'c>,
    org: OrgId,
    conversation: ConversationId,
}

impl ConversationErasure<'_, '_> {
    /// Deletes some of its contents; returns whether there was anything.
    fn delete_some(&self, budget: u64, counts: &mut PersonalDataCounts) -> Result<bool> {
        let owner = Value::from(self.conversation);
        for table in &OF_CONVERSATION {
            if self.delete_rows(table, &owner, budget, counts)? {
                return Ok(true);
            }
        }
        if let Some(row) = self.page(&SESSIONS, &owner, 1)?.first() {
            let (session, thread): (SessionId, ThreadId) = (row.id(0)?, row.id(1)?);
            for table in &OF_SESSION {
                if self.delete_rows(table, &session.into(), budget, counts)? {
                    return Ok(true);
                }
            }
            if !self.delete_rows(&MESSAGES, &thread.into(), budget, counts)? {
                self.delete_rows(&SESSIONS, &owner, 1, counts)?;
                delete_mentions(self.tx, self.org, &[session.to_string()])?;
            }
            return Ok(true);
        }
        let params = [self.org.into(), owner, Value::Int(BATCH_FILES as i64)];
        let rows = self.tx.query(&BLOB_USES, &params)?;
        let used = rows.iter().map(|row| row.id(0)).collect::<Result<Vec<BlobId>>>()?;
        self.delete_files(&used, counts)?;
        Ok(!used.is_empty())
    }

    fn page(&self, table: &'static Table, owner: &Value, limit: u64) -> Result<Vec<Row>> {
        let limit = Value::Int(i64::try_from(limit).unwrap_or(i64::MAX));
        let params = [self.org.into(), owner.clone(), (table.start)(), limit];
        self.tx.query(&table.page, &params)
    }

    /// Deletes the first rows of a table with their notices and files; returns whether
    /// there were any.
    fn delete_rows(
        &self,
        table: &'static Table,
        owner: &Value,
        budget: u64,
        counts: &mut PersonalDataCounts,
    ) -> Result<bool> {
        let mut rows = self.page(table, owner, budget)?;
        let mut files = Vec::new();
        let is_full = |row: &Row| {
            files.extend(blobs_in_row(row));
            files.len() >= BATCH_FILES
        };
        let take = rows.iter().position(is_full).map_or(rows.len(), |last| last + 1);
        rows.truncate(take);
        let Some(last) = rows.last() else { return Ok(false) };
        let params = [self.org.into(), owner.clone(), last.value(0)?];
        self.tx.execute(&table.delete, &params)?;
        for row in &rows {
            add(counts, table.kind, table.item_count(row)?);
        }
        if let Some(id_text) = table.id_text {
            let ids = rows.iter().map(id_text).collect::<Result<Vec<_>>>()?;
            add(counts, PersonalDataKind::Notice, delete_notices_about(self.tx, self.org, ids)?);
        }
        self.delete_files(&files, counts)?;
        Ok(true)
    }

    /// Deletes files, unless another conversation refers to them.
    fn delete_files(&self, files: &[BlobId], counts: &mut PersonalDataCounts) -> Result<()> {
        let mut statements = Vec::new();
        for file in files {
            let [org, file] = [Value::from(self.org), (*file).into()];
            let key = self.conversation.into();
            statements.push(statement(&DELETE_BLOB_USE, [org.clone(), key, file.clone()]));
            statements.push(statement(&DELETE_BLOB, [org, file]));
        }
        let affected = self.tx.batch(&statements)?;
        add(counts, PersonalDataKind::File, affected.iter().skip(1).step_by(2).sum());
        Ok(())
    }

    /// Deletes the conversation itself, once it is empty.
    fn delete_conversation(
        &self,
        contact: ContactId,
        counts: &mut PersonalDataCounts,
    ) -> Result<()> {
        let Self { tx, org, conversation } = *self;
        let statements = [
            statement(&DELETE_CONVERSATION, [org.into(), conversation.into()]),
            statement(
                &DELETE_PEER,
                [org.into(), erasure_peer(contact).into(), conversation.into()],
            ),
            statement(&DELETE_TEAM_MESSAGES, [org.into(), conversation.into()]),
        ];
        add(counts, PersonalDataKind::Conversation, tx.batch(&statements)?[0]);
        let notices = delete_notices_about(tx, org, [conversation.to_string()])?;
        add(counts, PersonalDataKind::Notice, notices);
        Ok(())
    }
}

/// Marks the erasure as finished and appends its audit entry, once.
fn finish(tx: &Tx, org: OrgId, contact: ContactId, entry: &NewAuditEntry) -> Result<()> {
    if tx.execute(&FINISH, &[org.into(), contact.into()])? == 1 {
        tx.batch(&[audit::append(org, entry)?])?;
    }
    Ok(())
}
