//! Handing over: all that an org keeps of one contact, page by page, so that no
//! contact is too large. Files are named, and their bytes are read on demand.

use std::collections::BTreeSet;

use ostler_domain::id::{BlobId, ContactId, ConversationId, OrgId, SessionId, ThreadId};
use ostler_domain::message::Attachment;
use serde::Serialize;
use serde_json::{Value as Json, json};

use super::find::{self, Own};
use super::tables::{
    MESSAGES, NOTICES, OF_CONVERSATION, OF_SESSION, SESSIONS, Table, blobs, notice,
};
use super::{Personal, PersonalCounts};
use crate::OrgStore;
use crate::backend::sql::{Sql, sql};
use crate::backend::value::{Row, Value};
use crate::backend::{Operation, Scope, Tx};
use crate::error::Result;
use crate::{contacts, identifiers};

/// Something that an org keeps of a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Exported {
    /// What it is.
    pub kind: Personal,
    /// All of it.
    pub value: Json,
}

/// All that an org keeps of a contact. The contact comes first and then one
/// conversation after the other, each with its sessions. What is changed while
/// it is being read may be in it or not.
#[derive(Debug)]
pub struct ContactExport<'s> {
    of: OrgStore<'s>,
    /// What is still to be read, the next one last.
    todo: Vec<Task>,
    /// Files that have been named.
    files: BTreeSet<BlobId>,
}

#[derive(Debug)]
enum Task {
    Contact(ContactId),
    Rows(Place),
    Sessions(Place),
    Files(ConversationId, BlobId),
}

/// Rows of an owner that come after a key.
#[derive(Debug, Clone)]
struct Place {
    table: &'static Table,
    owner: Value,
    after: Value,
}

impl Place {
    fn start(table: &'static Table, owner: Value) -> Self {
        Self { table, owner, after: (table.start)() }
    }

    /// Where to go on after these rows, if there may be more.
    fn behind(&self, rows: &[Row]) -> Result<Option<Self>> {
        let full = rows.len() as u64 == u64::from(PAGE);
        let Some(last) = rows.last().filter(|_| full) else { return Ok(None) };
        Ok(Some(Self { after: last.value(0)?, ..self.clone() }))
    }
}

/// Rows that are read together.
const PAGE: u32 = 200;

const FILE: Sql = sql!("SELECT data FROM blobs WHERE org = ?1 AND id = ?2");
const USES: Sql = sql!(
    "SELECT blob FROM blob_uses WHERE org = ?1 AND conversation = ?2 AND blob > ?3
     ORDER BY blob LIMIT ?4"
);

impl<'s> OrgStore<'s> {
    /// All that the org keeps of a contact, to be read page by page. The bytes
    /// of a file are read with [`OrgStore::blob`].
    pub fn export_contact(&self, contact: ContactId) -> ContactExport<'s> {
        ContactExport { of: *self, todo: vec![Task::Contact(contact)], files: BTreeSet::new() }
    }
}

impl ContactExport<'_> {
    /// The next things; nothing when that was all.
    pub async fn next_page(&mut self) -> Result<Option<Vec<Exported>>> {
        while let Some(task) = self.todo.pop() {
            let page = match task {
                Task::Contact(contact) => self.begin(contact).await?,
                Task::Rows(place) => self.rows(place).await?,
                Task::Sessions(place) => self.sessions(place).await?,
                Task::Files(conversation, after) => self.uses(conversation, after).await?,
            };
            if !page.is_empty() {
                return Ok(Some(page));
            }
        }
        Ok(None)
    }

    /// Reads to the end and counts what there is.
    pub async fn count(mut self) -> Result<PersonalCounts> {
        let mut counts = PersonalCounts::new();
        while let Some(page) = self.next_page().await? {
            for exported in page {
                *counts.entry(exported.kind).or_default() += 1;
            }
        }
        Ok(counts)
    }

    async fn begin(&mut self, contact: ContactId) -> Result<Vec<Exported>> {
        let (page, own) = self.of.store.read(Begin(self.of.org, contact)).await?;
        for conversation in own.into_iter().rev() {
            let owner = Value::from(conversation);
            self.todo.push(Task::Files(conversation, BlobId::from_u128(0)));
            self.todo.push(Task::Sessions(Place::start(&SESSIONS, owner.clone())));
            let tables = OF_CONVERSATION.iter().rev();
            self.todo.extend(tables.map(|table| Task::Rows(Place::start(table, owner.clone()))));
        }
        Ok(page)
    }

    async fn rows(&mut self, place: Place) -> Result<Vec<Exported>> {
        let (mut page, rows) = self.of.store.read(Page(self.of.org, place.clone())).await?;
        self.todo.extend(place.behind(&rows)?.map(Task::Rows));
        page.extend(self.files_in(&rows).await?);
        Ok(page)
    }

    async fn sessions(&mut self, place: Place) -> Result<Vec<Exported>> {
        let (mut page, rows) = self.of.store.read(Page(self.of.org, place.clone())).await?;
        self.todo.extend(place.behind(&rows)?.map(Task::Sessions));
        for row in rows.iter().rev() {
            let (session, thread): (SessionId, ThreadId) = (row.id(0)?, row.id(1)?);
            let tables = OF_SESSION.iter().rev();
            let tables = tables.map(|table| Task::Rows(Place::start(table, session.into())));
            self.todo.extend(tables);
            self.todo.push(Task::Rows(Place::start(&MESSAGES, thread.into())));
        }
        page.extend(self.files_in(&rows).await?);
        Ok(page)
    }

    /// Files of messages that are gone.
    async fn uses(&mut self, of: ConversationId, after: BlobId) -> Result<Vec<Exported>> {
        let used = self.of.store.read(Uses(self.of.org, of, after)).await?;
        if let Some(last) = used.last().filter(|_| used.len() as u64 == u64::from(PAGE)) {
            self.todo.push(Task::Files(of, *last));
        }
        self.files(used).await
    }

    async fn files_in(&mut self, rows: &[Row]) -> Result<Vec<Exported>> {
        self.files(rows.iter().flat_map(blobs)).await
    }

    /// Those that have not been named yet.
    async fn files(&mut self, blobs: impl IntoIterator<Item = BlobId>) -> Result<Vec<Exported>> {
        let new: Vec<BlobId> = blobs.into_iter().filter(|blob| self.files.insert(*blob)).collect();
        if new.is_empty() {
            return Ok(Vec::new());
        }
        self.of.store.read(Files(self.of.org, new)).await
    }
}

struct Begin(OrgId, ContactId);

impl Operation for Begin {
    type Output = (Vec<Exported>, Vec<ConversationId>);

    fn scope(&self) -> Scope {
        Scope::Org(self.0)
    }

    async fn run<T: Tx>(&self, tx: &T) -> Result<Self::Output> {
        let Self(org, id) = *self;
        let contact = contacts::get(tx, org, id).await?;
        let linked = identifiers::of(tx, org, id, u32::MAX).await?;
        let value = json!({
            "contact": contact.contact,
            "identifiers": linked.iter()
                .map(|(channel, identifier)| json!({"channel": channel, "identifier": identifier}))
                .collect::<Vec<_>>(),
            "created_at": contact.created_at,
            "updated_at": contact.updated_at,
            // They belong to several people, and are not handed to one of them.
            "group_conversations_left_out": find::groups(tx, org, id).await?,
        });
        let mut page = vec![Exported { kind: Personal::Contact, value }];
        page.extend(about(tx, org, &[id.to_string()]).await?);
        let own = find::conversations(tx, org, &contact, usize::MAX).await?;
        page.extend(own.iter().map(conversation));
        let names: Vec<String> = own.iter().map(|own| own.id.to_string()).collect();
        page.extend(about(tx, org, &names).await?);
        Ok((page, own.into_iter().map(|own| own.id).collect()))
    }
}

fn conversation(own: &Own) -> Exported {
    let Own { id, key } = own;
    let value = json!({
        "id": id,
        "binding": key.binding,
        "peer": key.peer,
        "entry": key.entry,
    });
    Exported { kind: Personal::Conversation, value }
}

/// The notices about things.
async fn about<T: Tx>(tx: &T, org: OrgId, names: &[String]) -> Result<Vec<Exported>> {
    let params: Vec<Vec<Value>> =
        names.iter().map(|name| vec![org.into(), name.as_str().into()]).collect();
    let rows = tx.query_each(&NOTICES, &params).await?;
    let shown = |row: &Row| notice(row).map(|value| Exported { kind: Personal::Notice, value });
    rows.iter().flatten().map(shown).collect()
}

struct Page(OrgId, Place);

impl Operation for Page {
    type Output = (Vec<Exported>, Vec<Row>);

    fn scope(&self) -> Scope {
        Scope::Org(self.0)
    }

    async fn run<T: Tx>(&self, tx: &T) -> Result<Self::Output> {
        let Self(org, Place { table, owner, after }) = self;
        let params = [(*org).into(), owner.clone(), after.clone(), PAGE.into()];
        let rows = tx.query(&table.page, &params).await?;
        let mut page = Vec::with_capacity(rows.len());
        for row in &rows {
            let things = table.show(row)?.into_iter();
            page.extend(things.map(|value| Exported { kind: table.kind, value }));
        }
        if let Some(name) = table.name {
            let names = rows.iter().map(name).collect::<Result<Vec<_>>>()?;
            page.extend(about(tx, *org, &names).await?);
        }
        Ok((page, rows))
    }
}

struct Uses(OrgId, ConversationId, BlobId);

impl Operation for Uses {
    type Output = Vec<BlobId>;

    fn scope(&self) -> Scope {
        Scope::Org(self.0)
    }

    async fn run<T: Tx>(&self, tx: &T) -> Result<Vec<BlobId>> {
        let params = [self.0.into(), self.1.into(), self.2.into(), PAGE.into()];
        tx.query(&USES, &params).await?.iter().map(|row| row.id(0)).collect()
    }
}

struct Files(OrgId, Vec<BlobId>);

impl Operation for Files {
    type Output = Vec<Exported>;

    fn scope(&self) -> Scope {
        Scope::Org(self.0)
    }

    async fn run<T: Tx>(&self, tx: &T) -> Result<Vec<Exported>> {
        let params: Vec<Vec<Value>> =
            self.1.iter().map(|blob| vec![self.0.into(), (*blob).into()]).collect();
        let rows = tx.query_each(&FILE, &params).await?;
        let shown = |row: &Row| {
            let file: Attachment = row.json(0, "blob")?;
            Ok(Exported { kind: Personal::File, value: json!(file) })
        };
        rows.iter().flatten().map(shown).collect()
    }
}
