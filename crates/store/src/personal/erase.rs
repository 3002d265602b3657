//! Deleting: first the contact and its conversations' keys, so that nothing new
//! is added to what goes, and then the contents in small transactions.
//!
//! Nobody is recognized as the contact from the first step on: whoever writes
//! again is somebody new, in a new conversation. A worker that is answering is
//! waited for, by the caller: what it has stored for its turn (files, approvals)
//! is found only once the turn is committed. One whose lease is over is shut out.

use ostler_domain::audit::Actor;
use ostler_domain::id::{AuditId, BlobId, ContactId, ConversationId, OrgId, SessionId, ThreadId};

use super::find::{self, Own};
use super::tables::{
    DELETE_NOTICES, MESSAGES, OF_CONVERSATION, OF_SESSION, SESSIONS, Table, blobs,
};
use super::{Personal, PersonalCounts};
use crate::OrgStore;
use crate::audit::{self, NewAudit};
use crate::backend::sql::{Sql, sql};
use crate::backend::value::{Row, Value};
use crate::backend::{Operation, Scope, Statement, Tx};
use crate::contacts;
use crate::error::{Result, StoreError};
use crate::orgs::hold;

/// Rows that one transaction deletes.
const BATCH: u64 = 200;
/// Pages that one transaction looks at, most of which have a few rows.
const PAGES: u32 = 50;
/// Files that are deleted together; each may be large.
const FILES: usize = 8;

/// The conversation is nobody's any more: its key is no key, it is not claimed,
/// and whoever had claimed it is refused.
const DETACH: Sql = sql!(
    "UPDATE conversations SET key = ?3, epoch = epoch + 1, lease_token = lease_token + 1,
       lease_until = 0, pending_at = NULL
     WHERE org = ?1 AND id = ?2 AND lease_until <= now_ms()"
);
const RENAME: Sql = sql!(
    "UPDATE conversation_people SET person = ?4
     WHERE org = ?1 AND person = ?2 AND conversation = ?3"
);
const BEGIN: Sql = sql!(
    "INSERT INTO erasures (org, contact, begun_at) VALUES (?1, ?2, now_ms())
     ON CONFLICT (org, contact) DO NOTHING"
);
const UNLINK: Sql = sql!("DELETE FROM contact_identifiers WHERE org = ?1 AND contact = ?2");
const DELETE_CONTACT: Sql = sql!("DELETE FROM contacts WHERE org = ?1 AND id = ?2");
const BEGUN: Sql = sql!("SELECT 1 FROM erasures WHERE org = ?1 AND contact = ?2");
const NEXT: Sql = sql!(
    "SELECT conversation FROM conversation_people WHERE org = ?1 AND person = ?2
     ORDER BY conversation LIMIT 1"
);
const USES: Sql =
    sql!("SELECT blob FROM blob_uses WHERE org = ?1 AND conversation = ?2 ORDER BY blob LIMIT ?3");
const UNUSE: Sql = sql!("DELETE FROM blob_uses WHERE org = ?1 AND conversation = ?2 AND blob = ?3");
const DELETE_BLOB: Sql = sql!(
    "DELETE FROM blobs WHERE org = ?1 AND id = ?2
     AND NOT EXISTS (SELECT 1 FROM blob_uses u WHERE u.org = ?1 AND u.blob = ?2)"
);
const FORGET_PERSON: Sql =
    sql!("DELETE FROM conversation_people WHERE org = ?1 AND person = ?2 AND conversation = ?3");
const FORGET_ANNOUNCED: Sql =
    sql!("DELETE FROM announcements WHERE org = ?1 AND conversation = ?2");
const DELETE_CONVERSATION: Sql = sql!("DELETE FROM conversations WHERE org = ?1 AND id = ?2");
/// That something happened stays, and what it was about does not.
const STRIP_AUDIT: Sql = Sql {
    sqlite: "UPDATE audit INDEXED BY audit_of SET data = '{}'
       WHERE org = ?1 AND subject = ?2 AND data <> '{}'",
    postgres: "UPDATE audit SET data = '{}' WHERE org = $1 AND subject = $2 AND data <> '{}'",
};
const FINISH: Sql = sql!(
    "UPDATE erasures SET finished_at = now_ms()
     WHERE org = ?1 AND contact = ?2 AND finished_at IS NULL"
);

/// What the audit log says of it.
const ACTION: &str = "contact_deleted";

impl OrgStore<'_> {
    /// Deletes all that the org keeps of a contact, and says how much it was.
    /// Refused as [`InConversation`](StoreError::InConversation) while a worker
    /// answers them. If it does not come to its end, a repeat goes on with it;
    /// a repeat of one that did finds nothing to do. An audit line with the id
    /// `line` says that `actor` has done it.
    pub async fn erase_contact(
        &self,
        contact: ContactId,
        actor: Actor,
        line: AuditId,
    ) -> Result<PersonalCounts> {
        let org = self.org;
        let mut counts = PersonalCounts::new();
        while self.store.write(Detach(org, contact)).await?.add_to(&mut counts) == Left::More {}
        while self.store.write(Clear(org, contact)).await?.add_to(&mut counts) == Left::More {}
        let (action, subject, data) = (ACTION.into(), contact.to_string(), "{}".into());
        let line = NewAudit { id: line, actor, action, subject, data };
        self.store.write(Finish(org, contact, line)).await?;
        Ok(counts)
    }
}

fn add(counts: &mut PersonalCounts, kind: Personal, rows: u64) {
    if rows > 0 {
        *counts.entry(kind).or_default() += rows;
    }
}

/// Whether there is more to do.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Left {
    Nothing,
    More,
}

/// What one transaction has deleted.
struct Deleted {
    counts: PersonalCounts,
    left: Left,
}

impl Deleted {
    fn add_to(self, sum: &mut PersonalCounts) -> Left {
        self.counts.into_iter().for_each(|(kind, rows)| add(sum, kind, rows));
        self.left
    }
}

fn statement<const N: usize>(sql: &'static Sql, params: [Value; N]) -> Statement {
    Statement { sql, params: params.into(), must: None }
}

/// Under what conversations stand whose contact is being deleted.
fn erasing(contact: ContactId) -> String {
    format!("erasing {contact}")
}

/// Takes conversations away from their contact, and the contact itself once
/// there are no more.
struct Detach(OrgId, ContactId);

impl Operation for Detach {
    type Output = Deleted;

    fn scope(&self) -> Scope {
        Scope::Org(self.0)
    }

    async fn run<T: Tx>(&self, tx: &T) -> Result<Deleted> {
        let Self(org, id) = *self;
        // Nobody is linked or recognized meanwhile.
        hold(tx, org).await?;
        let mut counts = PersonalCounts::new();
        let contact = match contacts::get(tx, org, id).await {
            Err(StoreError::NotFound(what)) => {
                let begun = tx.first(&BEGUN, &[org.into(), id.into()]).await?;
                begun.ok_or(StoreError::NotFound(what))?;
                return Ok(Deleted { counts, left: Left::Nothing });
            }
            found => found?,
        };
        let most = usize::try_from(BATCH).unwrap_or(usize::MAX);
        let own = find::conversations(tx, org, &contact, most).await?;
        for own in &own {
            detach(tx, org, id, own).await?;
        }
        if own.len() == most {
            return Ok(Deleted { counts, left: Left::More });
        }
        let place = || [Value::from(org), id.into()];
        let gone = [
            statement(&DELETE_CONTACT, place()),
            statement(&UNLINK, place()),
            statement(&BEGIN, place()),
        ];
        add(&mut counts, Personal::Contact, tx.batch(&gone).await?[0]);
        add(&mut counts, Personal::Notice, forget_about(tx, org, [id.to_string()]).await?);
        Ok(Deleted { counts, left: Left::Nothing })
    }
}

async fn detach<T: Tx>(tx: &T, org: OrgId, contact: ContactId, own: &Own) -> Result<()> {
    let no_key = format!("erasing {}", own.id);
    if tx.execute(&DETACH, &[org.into(), own.id.into(), no_key.into()]).await? == 0 {
        return Err(StoreError::InConversation);
    }
    let person = find::person(&own.key);
    let rename = [org.into(), person.into(), own.id.into(), erasing(contact).into()];
    tx.execute(&RENAME, &rename).await?;
    Ok(())
}

/// Deletes the notices about things, whose number it answers, and the details of
/// the audit lines.
async fn forget_about<T: Tx>(
    tx: &T,
    org: OrgId,
    names: impl IntoIterator<Item = String>,
) -> Result<u64> {
    let mut forget = Vec::new();
    for name in names {
        forget.push(statement(&DELETE_NOTICES, [org.into(), name.as_str().into()]));
        forget.push(statement(&STRIP_AUDIT, [org.into(), name.into()]));
    }
    Ok(tx.batch(&forget).await?.iter().step_by(2).sum())
}

/// One transaction of contents.
struct Clear(OrgId, ContactId);

impl Operation for Clear {
    type Output = Deleted;

    fn scope(&self) -> Scope {
        Scope::Org(self.0)
    }

    async fn run<T: Tx>(&self, tx: &T) -> Result<Deleted> {
        let mut counts = PersonalCounts::new();
        for _ in 0..PAGES {
            let room = BATCH.saturating_sub(weight(&counts));
            if room == 0 {
                break;
            }
            let params = [Value::from(self.0), erasing(self.1).into()];
            let Some(row) = tx.first(&NEXT, &params).await? else {
                return Ok(Deleted { counts, left: Left::Nothing });
            };
            let clearing = Clearing { tx, org: self.0, conversation: row.id(0)? };
            if !clearing.some(room, &mut counts).await? {
                clearing.conversation(self.1, &mut counts).await?;
            }
        }
        Ok(Deleted { counts, left: Left::More })
    }
}

/// How much of a transaction's rows these take: a file as much as many rows.
fn weight(counts: &PersonalCounts) -> u64 {
    let files = counts.get(&Personal::File).copied().unwrap_or_default();
    counts.values().sum::<u64>() + files * (BATCH / FILES as u64)
}

/// A conversation that is being emptied.
struct Clearing<'t, T> {
    tx: &'t T,
    org: OrgId,
    conversation: ConversationId,
}

impl<T: Tx> Clearing<'_, T> {
    /// Deletes some of its contents; says whether there was anything.
    async fn some(&self, room: u64, counts: &mut PersonalCounts) -> Result<bool> {
        let owner = Value::from(self.conversation);
        for table in &OF_CONVERSATION {
            if self.table(table, &owner, room, counts).await? {
                return Ok(true);
            }
        }
        if let Some(row) = self.page(&SESSIONS, &owner, 1).await?.first() {
            let (session, thread): (SessionId, ThreadId) = (row.id(0)?, row.id(1)?);
            for table in &OF_SESSION {
                if self.table(table, &session.into(), room, counts).await? {
                    return Ok(true);
                }
            }
            if !self.table(&MESSAGES, &thread.into(), room, counts).await? {
                self.table(&SESSIONS, &owner, 1, counts).await?;
            }
            return Ok(true);
        }
        let params = [self.org.into(), owner, Value::Int(FILES as i64)];
        let rows = self.tx.query(&USES, &params).await?;
        let used = rows.iter().map(|row| row.id(0)).collect::<Result<Vec<BlobId>>>()?;
        self.files(&used, counts).await?;
        Ok(!used.is_empty())
    }

    async fn page(&self, table: &'static Table, owner: &Value, most: u64) -> Result<Vec<Row>> {
        let most = Value::Int(i64::try_from(most).unwrap_or(i64::MAX));
        let params = [self.org.into(), owner.clone(), (table.start)(), most];
        self.tx.query(&table.page, &params).await
    }

    /// Deletes the first rows of a table, and what belongs to them.
    async fn table(
        &self,
        table: &'static Table,
        owner: &Value,
        room: u64,
        counts: &mut PersonalCounts,
    ) -> Result<bool> {
        let mut rows = self.page(table, owner, room).await?;
        let mut files = Vec::new();
        let full = |row: &Row| {
            files.extend(blobs(row));
            files.len() >= FILES
        };
        let few = rows.iter().position(full).map_or(rows.len(), |last| last + 1);
        rows.truncate(few);
        let Some(last) = rows.last() else { return Ok(false) };
        let params = [self.org.into(), owner.clone(), last.value(0)?];
        self.tx.execute(&table.delete, &params).await?;
        for row in &rows {
            add(counts, table.kind, table.things(row)?);
        }
        if let Some(name) = table.name {
            let names = rows.iter().map(name).collect::<Result<Vec<_>>>()?;
            add(counts, Personal::Notice, forget_about(self.tx, self.org, names).await?);
        }
        self.files(&files, counts).await?;
        Ok(true)
    }

    /// Deletes files, unless another conversation refers to them as well.
    async fn files(&self, files: &[BlobId], counts: &mut PersonalCounts) -> Result<()> {
        let mut all = Vec::new();
        for file in files {
            let [org, file] = [Value::from(self.org), (*file).into()];
            let place = self.conversation.into();
            all.push(statement(&UNUSE, [org.clone(), place, file.clone()]));
            all.push(statement(&DELETE_BLOB, [org, file]));
        }
        let touched = self.tx.batch(&all).await?;
        add(counts, Personal::File, touched.iter().skip(1).step_by(2).sum());
        Ok(())
    }

    /// Deletes the conversation itself, which is empty.
    async fn conversation(&self, contact: ContactId, counts: &mut PersonalCounts) -> Result<()> {
        let Self { tx, org, conversation } = *self;
        let gone = [
            statement(&DELETE_CONVERSATION, [org.into(), conversation.into()]),
            statement(&FORGET_PERSON, [org.into(), erasing(contact).into(), conversation.into()]),
            statement(&FORGET_ANNOUNCED, [org.into(), conversation.into()]),
        ];
        add(counts, Personal::Conversation, tx.batch(&gone).await?[0]);
        let about = forget_about(tx, org, [conversation.to_string()]).await?;
        add(counts, Personal::Notice, about);
        Ok(())
    }
}

/// Says that it is done, once.
struct Finish(OrgId, ContactId, NewAudit);

impl Operation for Finish {
    type Output = ();

    fn scope(&self) -> Scope {
        Scope::Org(self.0)
    }

    async fn run<T: Tx>(&self, tx: &T) -> Result<()> {
        let Self(org, contact, line) = self;
        if tx.execute(&FINISH, &[(*org).into(), (*contact).into()]).await? == 1 {
            tx.batch(&[audit::append(*org, line)?]).await?;
        }
        Ok(())
    }
}
