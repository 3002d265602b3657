//! Export of everything an org stores about one contact, in pages, so that no
//! contact is too large. Files are listed; their bytes are read on demand.

use std::collections::BTreeSet;

use ostler_domain::id::{BlobId, ContactId, ConversationId, OrgId, SessionId, ThreadId};
use ostler_domain::message::Attachment;
use serde::Serialize;
use serde_json::{Value as Json, json};

use super::find::{self, OwnConversation};
use super::tables::{
    MESSAGES, NOTICES, OF_CONVERSATION, OF_SESSION, SESSIONS, Table, blobs_in_row, notice_json,
};
use super::{PersonalDataCounts, PersonalDataKind};
use super::{markers, records, workflows};
use crate::OrgStore;
use crate::backend::Tx;
use crate::backend::job::StoreFuture;
use crate::backend::sql::{Sql, sql};
use crate::backend::value::{Row, Value};
use crate::contacts::contact;
use crate::contacts::identifiers;
use crate::contacts::visitors::{self, ChannelVisitor};
use crate::error::Result;

/// One item of a contact export.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ExportedItem {
    pub kind: PersonalDataKind,
    pub value: Json,
}

/// A paged reader of everything an org stores about a contact: first the contact,
/// then each conversation with its sessions. Changes made while it is read may or
/// may not be included.
#[derive(Debug)]
pub struct ContactExport<'s> {
    org: OrgStore<'s>,
    /// What is still to be read, in reverse order.
    pending: Vec<ExportStep>,
    /// Files that have been exported.
    files: BTreeSet<BlobId>,
}

#[derive(Debug)]
enum ExportStep {
    Contact(ContactId),
    Visitor(ChannelVisitor),
    Rows(TablePosition),
    Sessions(TablePosition),
    Files(ConversationId, BlobId),
}

/// The rows of an owner after a key.
#[derive(Debug, Clone)]
struct TablePosition {
    table: &'static Table,
    owner: Value,
    after: Value,
}

impl TablePosition {
    fn start(table: &'static Table, owner: Value) -> Self {
        Self { table, owner, after: (table.start)() }
    }

    /// The position after these rows, if there may be more.
    fn next(&self, rows: &[Row]) -> Result<Option<Self>> {
        let is_full = rows.len() as u64 == u64::from(PAGE_SIZE);
        let Some(last) = rows.last().filter(|_| is_full) else { return Ok(None) };
        Ok(Some(Self { after: last.value(0)?, ..self.clone() }))
    }
}

/// Rows per query.
const PAGE_SIZE: u32 = 200;

const FILE: Sql = sql!("SELECT data FROM blobs WHERE org = ?1 AND id = ?2");
const BLOB_USES: Sql = sql!(
    "SELECT blob FROM blob_uses WHERE org = ?1 AND conversation = ?2 AND blob > ?3
     ORDER BY blob LIMIT ?4"
);

impl<'s> OrgStore<'s> {
    /// Starts an export of everything the org stores about a contact. The bytes of a
    /// file are read with [`OrgStore::blob`].
    pub fn export_contact(&self, contact: ContactId) -> ContactExport<'s> {
        ContactExport {
            org: *self,
            pending: vec![ExportStep::Contact(contact)],
            files: BTreeSet::new(),
        }
    }
}

impl<'s> OrgStore<'s> {
    /// Starts an export of everything the org stores about a visitor who is no contact.
    pub fn export_visitor(&self, visitor: ChannelVisitor) -> ContactExport<'s> {
        let pending = vec![ExportStep::Visitor(visitor)];
        ContactExport { org: *self, pending, files: BTreeSet::new() }
    }
}

impl ContactExport<'_> {
    /// Returns the next items, or `None` at the end. Fails with
    /// [`StoreError::NotFound`](crate::StoreError::NotFound) if there is no such contact.
    pub async fn next_page(&mut self) -> Result<Option<Vec<ExportedItem>>> {
        while let Some(step) = self.pending.pop() {
            let page = match step {
                ExportStep::Contact(contact) => self.export_contact(contact).await?,
                ExportStep::Visitor(visitor) => self.export_visitor(visitor).await?,
                ExportStep::Rows(position) => self.export_rows(position).await?,
                ExportStep::Sessions(position) => self.export_sessions(position).await?,
                ExportStep::Files(conversation, after) => {
                    self.export_unlisted_files(conversation, after).await?
                }
            };
            if !page.is_empty() {
                return Ok(Some(page));
            }
        }
        Ok(None)
    }

    /// Reads to the end and returns the number of items of each kind.
    pub async fn count(mut self) -> Result<PersonalDataCounts> {
        let mut counts = PersonalDataCounts::new();
        while let Some(page) = self.next_page().await? {
            for exported in page {
                *counts.entry(exported.kind).or_default() += 1;
            }
        }
        Ok(counts)
    }

    async fn export_contact(&mut self, contact: ContactId) -> Result<Vec<ExportedItem>> {
        let org = self.org.id();
        let (page, own) = self.org.read(move |tx| read_contact(tx, org, contact)).await?;
        self.add_conversations(own);
        Ok(page)
    }

    async fn export_visitor(&mut self, visitor: ChannelVisitor) -> Result<Vec<ExportedItem>> {
        let org = self.org.id();
        let own = self.org.read(move |tx| visitors::conversations(tx, org, &visitor)).await?;
        let page = own.iter().map(conversation_item).collect();
        self.add_conversations(own.into_iter().map(|own| own.id).collect());
        Ok(page)
    }

    fn add_conversations(&mut self, own: Vec<ConversationId>) {
        for conversation in own.into_iter().rev() {
            let owner = Value::from(conversation);
            self.pending.push(ExportStep::Files(conversation, BlobId::from_u128(0)));
            self.pending.push(ExportStep::Sessions(TablePosition::start(&SESSIONS, owner.clone())));
            let tables = OF_CONVERSATION.iter().rev();
            self.pending.extend(
                tables.map(|table| ExportStep::Rows(TablePosition::start(table, owner.clone()))),
            );
        }
    }

    async fn export_rows(&mut self, position: TablePosition) -> Result<Vec<ExportedItem>> {
        let (mut page, rows) = self.read_page(&position).await?;
        self.pending.extend(position.next(&rows)?.map(ExportStep::Rows));
        page.extend(self.export_files_in(&rows).await?);
        Ok(page)
    }

    async fn export_sessions(&mut self, position: TablePosition) -> Result<Vec<ExportedItem>> {
        let (mut page, rows) = self.read_page(&position).await?;
        self.pending.extend(position.next(&rows)?.map(ExportStep::Sessions));
        for row in rows.iter().rev() {
            let (session, thread): (SessionId, ThreadId) = (row.id(0)?, row.id(1)?);
            let tables = OF_SESSION.iter().rev();
            let tables =
                tables.map(|table| ExportStep::Rows(TablePosition::start(table, session.into())));
            self.pending.extend(tables);
            self.pending.push(ExportStep::Rows(TablePosition::start(&MESSAGES, thread.into())));
        }
        page.extend(self.export_files_in(&rows).await?);
        Ok(page)
    }

    fn read_page(&self, position: &TablePosition) -> StoreFuture<(Vec<ExportedItem>, Vec<Row>)> {
        let (org, position) = (self.org.id(), position.clone());
        self.org.read(move |tx| read_page(tx, org, &position))
    }

    /// Exports files whose messages were pruned.
    async fn export_unlisted_files(
        &mut self,
        of: ConversationId,
        after: BlobId,
    ) -> Result<Vec<ExportedItem>> {
        let params = [of.into(), after.into(), PAGE_SIZE.into()];
        let used: Vec<BlobId> = self.org.rows(&BLOB_USES, params, |row| row.id(0)).await?;
        if let Some(last) = used.last().filter(|_| used.len() as u64 == u64::from(PAGE_SIZE)) {
            self.pending.push(ExportStep::Files(of, *last));
        }
        self.export_files(used).await
    }

    async fn export_files_in(&mut self, rows: &[Row]) -> Result<Vec<ExportedItem>> {
        self.export_files(rows.iter().flat_map(blobs_in_row)).await
    }

    /// Exports the files that have not been exported yet.
    async fn export_files(
        &mut self,
        blobs: impl IntoIterator<Item = BlobId>,
    ) -> Result<Vec<ExportedItem>> {
        let new: Vec<BlobId> = blobs.into_iter().filter(|blob| self.files.insert(*blob)).collect();
        if new.is_empty() {
            return Ok(Vec::new());
        }
        let org = self.org.id();
        self.org.read(move |tx| read_files(tx, org, &new)).await
    }
}

/// Returns the items of the contact itself, and its conversations.
fn read_contact(
    tx: &Tx,
    org: OrgId,
    id: ContactId,
) -> Result<(Vec<ExportedItem>, Vec<ConversationId>)> {
    let contact = contact::get(tx, org, id)?;
    let linked = identifiers::identifiers_of(tx, org, id, u32::MAX)?;
    let value = json!({
        "contact": contact.contact,
        "identifiers": linked.iter()
            .map(|(channel, identifier)| json!({"channel": channel, "identifier": identifier}))
            .collect::<Vec<_>>(),
        "created_at": contact.created_at,
        "updated_at": contact.updated_at,
        // They belong to several people and are not exported to one of them.
        "group_conversations_left_out": find::count_group_conversations(tx, org, id)?,
    });
    let mut page = vec![ExportedItem { kind: PersonalDataKind::Contact, value }];
    page.extend(records::of_contact(tx, org, id)?.into_iter().map(|record| ExportedItem {
        kind: PersonalDataKind::Record,
        value: json!({"kind": record.kind, "id": record.id, "data": record.data}),
    }));
    let linked = identifiers::identifiers_of(tx, org, id, u32::MAX)?;
    let markers = markers::markers(&contact.contact, &linked);
    let workflows = workflows::of_contact(tx, org, &contact.contact, &markers)?;
    page.extend(
        workflows.into_iter().map(|workflow| ExportedItem {
            kind: PersonalDataKind::Workflow,
            value: workflow.data,
        }),
    );
    page.extend(notices_about(tx, org, &[id.to_string()])?);
    let own = find::conversations(tx, org, &contact, usize::MAX)?;
    page.extend(own.iter().map(conversation_item));
    let ids: Vec<String> = own.iter().map(|own| own.id.to_string()).collect();
    page.extend(notices_about(tx, org, &ids)?);
    Ok((page, own.into_iter().map(|own| own.id).collect()))
}

fn conversation_item(own: &OwnConversation) -> ExportedItem {
    let OwnConversation { id, key } = own;
    let value = json!({
        "id": id,
        "binding": key.binding,
        "peer": key.peer,
        "entry": key.entry,
    });
    ExportedItem { kind: PersonalDataKind::Conversation, value }
}

/// The notices about these objects.
fn notices_about(tx: &Tx, org: OrgId, ids: &[String]) -> Result<Vec<ExportedItem>> {
    let params: Vec<Vec<Value>> =
        ids.iter().map(|id| vec![org.into(), id.as_str().into()]).collect();
    let rows = tx.query_each(&NOTICES, &params)?;
    let item = |row: &Row| {
        notice_json(row).map(|value| ExportedItem { kind: PersonalDataKind::Notice, value })
    };
    rows.iter().flatten().map(item).collect()
}

fn read_page(
    tx: &Tx,
    org: OrgId,
    position: &TablePosition,
) -> Result<(Vec<ExportedItem>, Vec<Row>)> {
    let TablePosition { table, owner, after } = position;
    let params = [org.into(), owner.clone(), after.clone(), PAGE_SIZE.into()];
    let rows = tx.query(&table.page, &params)?;
    let mut page = Vec::with_capacity(rows.len());
    for row in &rows {
        let items = table.items(row)?.into_iter();
        page.extend(items.map(|value| ExportedItem { kind: table.kind, value }));
    }
    if let Some(id_text) = table.id_text {
        let ids = rows.iter().map(id_text).collect::<Result<Vec<_>>>()?;
        page.extend(notices_about(tx, org, &ids)?);
    }
    Ok((page, rows))
}

fn read_files(tx: &Tx, org: OrgId, blobs: &[BlobId]) -> Result<Vec<ExportedItem>> {
    let params: Vec<Vec<Value>> =
        blobs.iter().map(|blob| vec![org.into(), (*blob).into()]).collect();
    let rows = tx.query_each(&FILE, &params)?;
    let item = |row: &Row| {
        let file: Attachment = row.json(0, "blob")?;
        Ok(ExportedItem { kind: PersonalDataKind::File, value: json!(file) })
    };
    rows.iter().flatten().map(item).collect()
}
