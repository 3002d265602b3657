//! Saving documents together with their tag and word indexes.

use ostler_domain::id::{DocumentId, OrgId};
use ostler_domain::knowledge::Document;
use ostler_domain::knowledge::tokenizer::word_weights;

use super::GET;
use crate::backend::sql::{Sql, sql};
use crate::backend::value::{Row, Value};
use crate::backend::{Statement, Tx};
use crate::error::{Result, StoreError};

const CREATE: Sql = sql!(
    "INSERT INTO documents (org, id, version, created_at, updated_at, title, tags, size, body)
     VALUES (?1, ?2, 1, now_ms(), now_ms(), ?3, ?4, ?5, ?6) RETURNING updated_at"
);
const UPDATE: Sql = sql!(
    "UPDATE documents
     SET version = version + 1, updated_at = now_ms(), title = ?3, tags = ?4, size = ?5, body = ?6
     WHERE org = ?1 AND id = ?2 AND version = ?7 RETURNING updated_at"
);
const DELETE: Sql = sql!("DELETE FROM documents WHERE org = ?1 AND id = ?2");
const DELETE_TAGS: Sql = sql!("DELETE FROM document_tags WHERE org = ?1 AND document = ?2");
const DELETE_WORDS: Sql = sql!("DELETE FROM document_words WHERE org = ?1 AND document = ?2");
const INSERT_TAGS: Sql = Sql {
    sqlite: "INSERT INTO document_tags (org, document, updated_at, tag)
       SELECT ?1, ?2, ?3, value FROM json_each(?4)",
    postgres: "INSERT INTO document_tags (org, document, updated_at, tag)
       SELECT $1, $2, $3, tag FROM json_array_elements_text(($4::text)::json) AS given (tag)",
};
const INSERT_WORDS: Sql = Sql {
    sqlite: "INSERT INTO document_words (org, document, word, weight)
       SELECT ?1, ?2, key, value FROM json_each(?3)",
    postgres: "INSERT INTO document_words (org, document, word, weight)
       SELECT $1, $2, key, value::bigint FROM json_each_text(($3::text)::json)",
};

/// Creates a document, inside a transaction.
pub(crate) fn create(tx: &Tx, org: OrgId, id: DocumentId, document: &Document) -> Result<()> {
    let exists = || StoreError::Conflict(format!("document {id}"));
    let created = tx.first(&CREATE, &columns(org, id, document)?);
    let row = created.map_err(|error| match error {
        StoreError::Conflict(_) => exists(),
        other => other,
    })?;
    write_index(tx, org, id, document, &row.ok_or_else(exists)?)
}

pub(super) fn update(
    tx: &Tx,
    org: OrgId,
    id: DocumentId,
    version: i64,
    document: &Document,
) -> Result<()> {
    let mut params = columns(org, id, document)?;
    params.push(version.into());
    if let Some(row) = tx.first(&UPDATE, &params)? {
        tx.batch(&delete_index(org, id))?;
        return write_index(tx, org, id, document, &row);
    }
    match tx.first(&GET, &[org.into(), id.into()])? {
        Some(_) => Err(StoreError::Conflict(format!("a newer version of document {id}"))),
        None => Err(StoreError::NotFound("document")),
    }
}

/// Creates a document or replaces the one with its id, inside a transaction.
pub(crate) fn replace(tx: &Tx, org: OrgId, id: DocumentId, document: &Document) -> Result<()> {
    match tx.first(&GET, &[org.into(), id.into()])? {
        Some(row) => update(tx, org, id, row.int(1)?, document),
        None => create(tx, org, id, document),
    }
}

/// Deletes a document, inside a transaction.
pub(crate) fn delete(tx: &Tx, org: OrgId, id: DocumentId) -> Result<()> {
    if tx.execute(&DELETE, &[org.into(), id.into()])? == 0 {
        return Err(StoreError::NotFound("document"));
    }
    tx.batch(&delete_index(org, id)).map(|_| ())
}

fn columns(org: OrgId, id: DocumentId, document: &Document) -> Result<Vec<Value>> {
    let size = i64::try_from(document.body().len()).unwrap_or(i64::MAX);
    Ok(vec![
        org.into(),
        id.into(),
        document.title().into(),
        Value::json(document.tags())?,
        size.into(),
        document.body().into(),
    ])
}

/// Writes the index entries of a document; `row` holds its time of change.
fn write_index(tx: &Tx, org: OrgId, id: DocumentId, document: &Document, row: &Row) -> Result<()> {
    let tags = Value::json(document.tags())?;
    let words = Value::json(&word_weights(document))?;
    let statements = [
        Statement {
            sql: &INSERT_TAGS,
            params: vec![org.into(), id.into(), row.int(0)?.into(), tags],
            on_no_rows: None,
        },
        Statement {
            sql: &INSERT_WORDS,
            params: vec![org.into(), id.into(), words],
            on_no_rows: None,
        },
    ];
    tx.batch(&statements).map(|_| ())
}

fn delete_index(org: OrgId, id: DocumentId) -> [Statement; 2] {
    [&DELETE_TAGS, &DELETE_WORDS].map(|sql| Statement {
        sql,
        params: vec![org.into(), id.into()],
        on_no_rows: None,
    })
}
