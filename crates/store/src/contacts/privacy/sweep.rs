//! What names a deleted contact elsewhere: in conversations with others, notices, the audit
//! log, threads, and in what the org has sent to its agency, its clients or the platform.
//!
//! The texts of all tables are searched, as the database lists them, so that a new table is
//! not forgotten. What is found there is replaced. Names are no markers: they are words, and
//! other people's too.

use std::collections::BTreeSet;

use ostler_domain::contact::Contact;
use ostler_domain::id::{AuditId, ContactId, OrgId};
use ostler_domain::org::OrgPlace;

use crate::OrgStore;
use crate::backend::Tx;
use crate::backend::sql::{Sql, sql};
use crate::backend::value::Value;
use crate::error::Result;

/// Shorter addresses and numbers stand in too many texts by chance.
const MIN_ADDRESS: usize = 6;
const MIN_NUMBER: usize = 9;

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
/// Columns of keys; rows with a marker there are deleted.
const KEYS: [(&str, &str); 2] = [("notice_cooldowns", "subject"), ("rate_counters", "name")];

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
/// Whether another contact has the same address or number.
const SHARED: Sql = Sql {
    sqlite: "SELECT 1 FROM contacts WHERE org = ?1 AND instr(data, ?2) > 0 LIMIT 1",
    postgres: "SELECT 1 FROM contacts WHERE org = $1 AND strpos(data, $2) > 0 LIMIT 1",
};

/// Returns the texts that name a contact and nobody else: its id, its address, and its
/// number if that begins with a `+`. They are never a part of a number in JSON.
pub(super) fn markers(contact: &Contact) -> Vec<String> {
    let mut all = BTreeSet::from([contact.id.to_string()]);
    if let Some(email) = contact.details.email.as_deref().map(str::trim)
        && email.contains('@')
        && email.len() >= MIN_ADDRESS
    {
        all.extend([email.to_owned(), email.to_lowercase()]);
    }
    if let Some(phone) = contact.details.phone.as_deref().map(str::trim)
        && phone.starts_with('+')
        && phone.len() >= MIN_NUMBER
    {
        let digits: String = phone.chars().filter(|c| *c == '+' || c.is_ascii_digit()).collect();
        all.extend([phone.to_owned(), digits]);
    }
    all.into_iter().collect()
}

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
            row.map_or(Ok(Vec::new()), |row| row.json::<Vec<String>>(0, "erasure"))
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

/// Returns the columns of an org with a marker that no other contact of the org has.
fn find(tx: &Tx, org: OrgId, markers: &[String], erasure: AuditId) -> Result<Vec<MarkedColumn>> {
    let mut found = Vec::new();
    let mut columns: Vec<(String, String)> = Vec::new();
    for row in tx.query(&TEXT_COLUMNS, &[])? {
        let column = (row.text(0)?, row.text(1)?);
        if !LEFT_ALONE.contains(&column.0) && column != SUBJECTS {
            columns.push((row.text(0)?.to_owned(), row.text(1)?.to_owned()));
        }
    }
    columns.extend(KEYS.map(|(table, column)| (table.to_owned(), column.to_owned())));
    for (number, marker) in markers.iter().enumerate() {
        if tx.first(&SHARED, &[org.into(), marker.as_str().into()])?.is_some() {
            continue;
        }
        for (table, column) in &columns {
            let mut has_marker = false;
            let condition = contains(tx, column);
            let query = format!("SELECT 1 FROM {table} WHERE org = {condition} LIMIT 1");
            tx.stream(&query, &[org.into(), marker.as_str().into()], &mut |_| {
                has_marker = true;
                Ok(())
            })?;
            if has_marker {
                let (table, column, marker) = (table.clone(), column.clone(), marker.clone());
                let replacement = replacement(erasure, number);
                found.push(MarkedColumn { table, column, marker, replacement });
            }
        }
    }
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
    tx.execute_rows(&statement, &[params])
}

#[cfg(test)]
mod tests {
    use super::markers;

    #[test]
    fn s09_markers_are_texts_that_name_one_person_only() {
        let check = |details: serde_json::Value, expected: &[&str]| {
            let contact = serde_json::json!({"id": ostler_domain::id::ContactId::from_u128(1),
                "name": "Rosa", "tags": [], "notes": [], "details": details});
            let contact: ostler_domain::contact::Contact =
                serde_json::from_value(contact).expect("a contact");
            let id = contact.id.to_string();
            let others: Vec<String> =
                markers(&contact).into_iter().filter(|one| *one != id).collect();
            assert_eq!(others, expected);
        };
        check(serde_json::json!({}), &[]);
        check(
            serde_json::json!({"email": "Rosa@Example.com", "phone": "+39 06 771234"}),
            &["+39 06 771234", "+3906771234", "Rosa@Example.com", "rosa@example.com"],
        );
        check(serde_json::json!({"email": "a@b.c", "phone": "06771234"}), &[]);
    }
}
