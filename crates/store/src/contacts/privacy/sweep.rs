//! What names a deleted contact elsewhere: in conversations with others, notices, the audit
//! log, threads, and in what the org has sent to its agency, its clients or the platform.
//!
//! The texts of all tables are searched, as the database lists them, so that a new table is
//! not forgotten. What is found there is replaced. A name counts if it has several words and
//! nobody and nothing else is called so; other names are words.

use ostler_domain::id::{AuditId, ContactId, OrgId, ThreadId};
use ostler_domain::org::OrgPlace;

use super::markers::Marker;
use crate::OrgStore;
use crate::backend::Tx;
use crate::backend::sql::{Sql, sql};
use crate::backend::value::Value;
use crate::error::Result;
use crate::memory::recall;

/// Tables that are left as they are: what the org has configured or published, and the keys
/// by which other people are found.
const LEFT_ALONE: [&str; 18] = [
    "agent_versions",
    "agents",
    "api_keys",
    "bindings",
    "contact_identifiers",
    "contacts",
    "conversation_peers",
    "conversations",
    "document_tags",
    "documents",
    "erasures",
    "harness_settings",
    "integrations",
    "invitations",
    "org_tools",
    "soul_versions",
    "tool_policies",
    "webhooks",
];
/// Those of them that hold people and conversations: a name there is no configuration.
const OF_PEOPLE: [&str; 5] =
    ["contact_identifiers", "contacts", "conversation_peers", "conversations", "erasures"];
/// Columns of keys; rows with a marker there are deleted.
const KEYS: [(&str, &str); 2] = [("notice_cooldowns", "subject"), ("rate_counters", "name")];

/// The texts of which a search index has the words.
const INDEXED: (&str, &str) = ("memory_messages", "text");
const INDEXED_MESSAGES: Sql = Sql {
    sqlite: "SELECT thread, seq FROM memory_messages WHERE org = ?1 AND instr(text, ?2) > 0",
    postgres: "SELECT thread, seq FROM memory_messages WHERE org = $1 AND strpos(text, $2) > 0",
};

/// Ids of what an audit entry is about: after the deletion they name nobody.
const SUBJECTS: (&str, &str) = ("audit", "subject");

/// The columns with texts, other than keys, of tables that belong to orgs.
const TEXT_COLUMNS: Sql = Sql {
    sqlite: "SELECT t.name, c.name FROM sqlite_master t, pragma_table_info(t.name) c
       WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite_%' AND c.type = 'TEXT' AND c.pk = 0
         AND EXISTS (SELECT 1 FROM pragma_table_info(t.name) o WHERE o.name = 'org')
       ORDER BY t.name, c.cid",
    postgres: "SELECT c.table_name::text, c.column_name::text FROM information_schema.columns c
       WHERE c.table_schema = current_schema() AND c.data_type = 'text'
         AND EXISTS (SELECT 1 FROM information_schema.columns o
           WHERE o.table_schema = c.table_schema AND o.table_name = c.table_name
             AND o.column_name = 'org')
         AND NOT EXISTS (SELECT 1 FROM pg_index i
           JOIN pg_class t ON t.oid = i.indrelid
           JOIN pg_attribute a ON a.attrelid = t.oid AND a.attnum = ANY (i.indkey)
           WHERE i.indisprimary AND t.relnamespace = current_schema()::text::regnamespace
             AND t.relname = c.table_name AND a.attname = c.column_name)
       ORDER BY c.table_name, c.ordinal_position",
};
const MARKERS: Sql =
    sql!("SELECT markers FROM erasures WHERE org = ?1 AND contact = ?2 AND markers IS NOT NULL");
/// Whether another contact has the same address, number or name.
const SHARED: Sql = Sql {
    sqlite: "SELECT 1 FROM contacts WHERE org = ?1 AND instr(data, ?2) > 0 LIMIT 1",
    postgres: "SELECT 1 FROM contacts WHERE org = $1 AND strpos(data, $2) > 0 LIMIT 1",
};
/// Whether the org or one of its people has this name.
const OF_ORG: Sql = Sql {
    sqlite: "SELECT 1 FROM orgs WHERE id = ?1 AND instr(data, ?2) > 0
       UNION ALL SELECT 1 FROM memberships m JOIN users u ON u.id = m.user_id
       WHERE m.org = ?1 AND instr(u.name, ?2) > 0 LIMIT 1",
    postgres: "SELECT 1 FROM orgs WHERE id = $1 AND strpos(data, $2) > 0
       UNION ALL SELECT 1 FROM memberships m JOIN users u ON u.id = m.user_id
       WHERE m.org = $1 AND strpos(u.name, $2) > 0 LIMIT 1",
};

/// Returns what stands instead of a marker. It differs from that of other markers and other
/// contacts, because a column may have to be unique, such as the references of grants.
fn replacement(erasure: AuditId, number: usize) -> String {
    format!("[deleted {:x}.{number}]", erasure.as_u128() & 0xffff_ffff)
}

/// A column in which a marker was found.
struct MarkedColumn {
    table: String,
    column: String,
    marker: String,
    replacement: String,
}

/// Replaces what names a deleted contact in the texts of its org, and of the orgs that may
/// have copies of them. Nothing is left to do once the erasure has finished.
pub(super) async fn sweep(store: OrgStore<'_>, contact: ContactId, erasure: AuditId) -> Result<()> {
    let org = store.id();
    let markers = store
        .read(move |tx| {
            let row = tx.first(&MARKERS, &[org.into(), contact.into()])?;
            row.map_or(Ok(Vec::new()), |row| row.json::<Vec<Marker>>(0, "erasure"))
        })
        .await?;
    if markers.is_empty() {
        return Ok(());
    }
    for other in related_orgs(store).await? {
        let wanted = markers.clone();
        let of_org = store.store.org(other);
        for marked in of_org.read(move |tx| find(tx, other, &wanted, erasure)).await? {
            of_org.write(move |tx| replace(tx, other, &marked)).await?;
        }
    }
    Ok(())
}

/// Returns an org, its agency and clients, and the platform.
async fn related_orgs(store: OrgStore<'_>) -> Result<Vec<OrgId>> {
    let own = store.org().await?;
    let all = store.store.orgs().await?;
    let is_related = |org: &ostler_domain::org::Org| {
        org.id == own.id
            || own.parent() == Some(org.id)
            || org.parent() == Some(own.id)
            || org.place == OrgPlace::Platform
    };
    Ok(all.into_iter().filter(is_related).map(|org| org.id).collect())
}

/// Returns the columns of an org with a marker that names nobody and nothing else there.
fn find(tx: &Tx, org: OrgId, markers: &[Marker], erasure: AuditId) -> Result<Vec<MarkedColumn>> {
    let mut found = Vec::new();
    let (mut columns, mut configured): (Vec<Column>, Vec<Column>) = (Vec::new(), Vec::new());
    for row in tx.query(&TEXT_COLUMNS, &[])? {
        let column = (row.text(0)?.to_owned(), row.text(1)?.to_owned());
        if OF_PEOPLE.contains(&column.0.as_str()) {
            continue;
        }
        if LEFT_ALONE.contains(&column.0.as_str()) {
            configured.push(column);
        } else if (column.0.as_str(), column.1.as_str()) != SUBJECTS {
            columns.push(column);
        }
    }
    columns.extend(KEYS.map(|(table, column)| (table.to_owned(), column.to_owned())));
    for (number, marker) in markers.iter().enumerate() {
        let params = [org.into(), marker.text().into()];
        let is_shared = tx.first(&SHARED, &params)?.is_some();
        if is_shared || (marker.is_name() && is_configured(tx, org, marker, &configured)?) {
            continue;
        }
        for column in &columns {
            if has_marker(tx, org, marker, column)? {
                let ((table, column), marker) = (column.clone(), marker.text().to_owned());
                let replacement = replacement(erasure, number);
                found.push(MarkedColumn { table, column, marker, replacement });
            }
        }
    }
    Ok(found)
}

/// A table and a column.
type Column = (String, String);

/// Returns whether the org, its people or what it has configured have a name.
fn is_configured(tx: &Tx, org: OrgId, name: &Marker, columns: &[Column]) -> Result<bool> {
    if tx.first(&OF_ORG, &[org.into(), name.text().into()])?.is_some() {
        return Ok(true);
    }
    for column in columns {
        if has_marker(tx, org, name, column)? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn has_marker(tx: &Tx, org: OrgId, marker: &Marker, column: &Column) -> Result<bool> {
    let (table, column) = column;
    let query = format!("SELECT 1 FROM {table} WHERE org = {} LIMIT 1", contains(tx, column));
    let mut found = false;
    tx.stream(&query, &[org.into(), marker.text().into()], &mut |_| {
        found = true;
        Ok(())
    })?;
    Ok(found)
}

/// The end of a condition: the org, and that a column has the marker.
fn contains(tx: &Tx, column: &str) -> String {
    if tx.is_sqlite() {
        format!("?1 AND instr({column}, ?2) > 0")
    } else {
        format!("$1 AND strpos({column}, $2) > 0")
    }
}

fn replace(tx: &Tx, org: OrgId, marked: &MarkedColumn) -> Result<()> {
    let MarkedColumn { table, column, marker, replacement } = marked;
    let condition = contains(tx, column);
    let mut params = vec![Value::from(org), marker.as_str().into()];
    let is_key = KEYS.contains(&(table.as_str(), column.as_str()));
    let indexed = if (table.as_str(), column.as_str()) == INDEXED {
        indexed_messages(tx, org, marker)?
    } else {
        Vec::new()
    };
    let statement = if is_key {
        format!("DELETE FROM {table} WHERE org = {condition}")
    } else {
        params.push(replacement.as_str().into());
        let (marker, instead) = if tx.is_sqlite() { ("?2", "?3") } else { ("$2", "$3") };
        format!(
            "UPDATE {table} SET {column} = replace({column}, {marker}, {instead})
             WHERE org = {condition}"
        )
    };
    tx.execute_rows(&statement, &[params])?;
    for (thread, seq) in indexed {
        recall::index_again(tx, org, thread, seq)?;
    }
    Ok(())
}

/// Returns the messages with a marker whose words are in the search index.
fn indexed_messages(tx: &Tx, org: OrgId, marker: &str) -> Result<Vec<(ThreadId, i64)>> {
    let rows = tx.query(&INDEXED_MESSAGES, &[org.into(), marker.into()])?;
    rows.iter().map(|row| Ok((row.id(0)?, row.int(1)?))).collect()
}
