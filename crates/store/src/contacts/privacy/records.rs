//! The records of a person: orders, bookings and answers to forms. Orders and bookings
//! belong to the books and the calendar of the org, so they stay without the person, and the
//! refunds of an order without what was written about them; answers to forms are deleted.

use ostler_domain::id::{ContactId, OrgId, RecordId};
use ostler_domain::refund::REFUNDS;
use serde_json::Value as Json;

use crate::backend::sql::{Sql, sql};
use crate::backend::value::Value;
use crate::backend::{Statement, Tx};
use crate::error::Result;

/// The beginning of the kinds of answers to forms.
const FORM_RESPONSES: &str = "form_response/";
/// Fields of a record that are about the person.
const PERSONAL_FIELDS: [&str; 2] = ["contact", "notes"];
/// Fields of a refund that hold words.
const REFUND_WORDS: [&str; 2] = ["reason", "note"];

/// A record of a person.
pub(super) struct PersonalRecord {
    pub(super) kind: String,
    pub(super) id: RecordId,
    pub(super) data: Json,
}

/// An id is unique, so its text stands for this contact only.
const FIND: Sql = Sql {
    sqlite: "SELECT kind, id, data FROM records WHERE org = ?1 AND instr(data, ?2) > 0
       ORDER BY kind, id",
    postgres: "SELECT kind, id, data FROM records WHERE org = $1 AND strpos(data, $2) > 0
       ORDER BY kind, id",
};
const REPLACE: Sql = sql!(
    "UPDATE records SET data = ?4, version = version + 1, updated_at = now_ms()
     WHERE org = ?1 AND kind = ?2 AND id = ?3"
);
const REFUNDS_OF: Sql = sql!("SELECT data FROM records WHERE org = ?1 AND kind = ?2 AND id = ?3");
const DELETE: Sql = sql!("DELETE FROM records WHERE org = ?1 AND kind = ?2 AND id = ?3");

/// Returns the records of a contact.
pub(super) fn of_contact(tx: &Tx, org: OrgId, contact: ContactId) -> Result<Vec<PersonalRecord>> {
    let id = contact.to_string();
    let rows = tx.query(&FIND, &[org.into(), id.as_str().into()])?;
    let mut records = Vec::new();
    for row in &rows {
        let data: Json = row.json(2, "record")?;
        if data["contact"] == id.as_str() {
            records.push(PersonalRecord { kind: row.text(0)?.to_owned(), id: row.id(1)?, data });
        }
    }
    Ok(records)
}

/// Removes a contact from its records. Returns the ids of the records.
pub(super) fn anonymize(tx: &Tx, org: OrgId, contact: ContactId) -> Result<Vec<RecordId>> {
    let records = of_contact(tx, org, contact)?;
    let statements = records.iter().map(|record| {
        let mut params: Vec<Value> =
            vec![org.into(), record.kind.as_str().into(), record.id.into()];
        if record.kind.starts_with(FORM_RESPONSES) {
            return Statement { sql: &DELETE, params, on_no_rows: None };
        }
        let mut data = record.data.clone();
        if let Some(fields) = data.as_object_mut() {
            fields.retain(|name, _| !PERSONAL_FIELDS.contains(&name.as_str()));
        }
        params.push(data.to_string().into());
        Statement { sql: &REPLACE, params, on_no_rows: None }
    });
    let mut statements: Vec<Statement> = statements.collect();
    for record in &records {
        statements.extend(without_refund_words(tx, org, record.id)?);
    }
    if !statements.is_empty() {
        tx.batch(&statements)?;
    }
    Ok(records.into_iter().map(|record| record.id).collect())
}

/// Returns the statement that removes the words from the refunds of an order, if it has any.
fn without_refund_words(tx: &Tx, org: OrgId, order: RecordId) -> Result<Option<Statement>> {
    let key: Vec<Value> = vec![org.into(), REFUNDS.into(), order.into()];
    let Some(row) = tx.first(&REFUNDS_OF, &key)? else { return Ok(None) };
    let mut data: Json = row.json(0, "refunds")?;
    for refund in data["refunds"].as_array_mut().into_iter().flatten() {
        for word in REFUND_WORDS {
            if let Some(text) = refund.get_mut(word) {
                *text = Json::String(String::new());
            }
        }
    }
    let params = key.into_iter().chain([data.to_string().into()]).collect();
    Ok(Some(Statement { sql: &REPLACE, params, on_no_rows: None }))
}
