//! Transactions on SQLite.

use rusqlite::types::ValueRef;
use rusqlite::{Connection, Statement as Prepared, params_from_iter};

use super::prepared::Writer;
use crate::backend::Statement;
use crate::backend::bulk::EachRow;
use crate::backend::value::{Row, Value};
use crate::error::Result;

/// A transaction of the writer, or of a read-only connection.
pub(crate) enum SqliteTx<'t, 'c> {
    Write(&'t Writer<'c>),
    Read(&'t Connection),
}

impl SqliteTx<'_, '_> {
    fn prepared<T>(
        &self,
        text: &'static str,
        run: impl FnOnce(&mut Prepared<'_>) -> rusqlite::Result<T>,
    ) -> Result<T> {
        Ok(match self {
            Self::Write(writer) => writer.prepared(text, run)?,
            Self::Read(connection) => run(&mut *connection.prepare_cached(text)?)?,
        })
    }

    pub(crate) fn execute(&self, text: &'static str, params: &[Value]) -> Result<u64> {
        self.prepared(text, |statement| {
            if !statement.readonly() {
                return Ok(statement.execute(params_from_iter(params))? as u64);
            }
            let (mut rows, mut found) = (statement.query(params_from_iter(params))?, 0);
            while rows.next()?.is_some() {
                found += 1;
            }
            Ok(found)
        })
    }

    pub(crate) fn query(&self, text: &'static str, params: &[Value]) -> Result<Vec<Row>> {
        self.prepared(text, |statement| {
            let columns = statement.column_count();
            let mut rows = statement.query(params_from_iter(params))?;
            let mut all = Vec::new();
            while let Some(row) = rows.next()? {
                let value = |column| Ok(owned(row.get_ref(column)?));
                all.push(Row((0..columns).map(value).collect::<rusqlite::Result<_>>()?));
            }
            Ok(all)
        })
    }

    pub(crate) fn batch(&self, batch: &[Statement]) -> Result<Vec<u64>> {
        let mut touched = Vec::with_capacity(batch.len());
        for statement in batch {
            let rows = self.execute(statement.sql.sqlite, &statement.params)?;
            if rows == 0
                && let Some(refusal) = statement.on_no_rows
            {
                return Err(refusal.into());
            }
            touched.push(rows);
        }
        Ok(touched)
    }

    pub(crate) fn script(&self, text: &str) -> Result<()> {
        Ok(self.connection().execute_batch(text)?)
    }

    pub(crate) fn stream(&self, query: &str, params: &[Value], each: EachRow<'_>) -> Result<()> {
        let mut statement = self.connection().prepare(query)?;
        let columns = statement.column_count();
        let mut rows = statement.query(params_from_iter(params))?;
        while let Some(row) = rows.next()? {
            let value = |column| Ok(owned(row.get_ref(column)?));
            each(Row((0..columns).map(value).collect::<rusqlite::Result<_>>()?))?;
        }
        Ok(())
    }

    pub(crate) fn execute_rows(&self, statement: &str, rows: &[Vec<Value>]) -> Result<()> {
        let mut statement = self.connection().prepare_cached(statement)?;
        for row in rows {
            statement.execute(params_from_iter(row))?;
        }
        Ok(())
    }

    fn connection(&self) -> &Connection {
        match self {
            Self::Write(writer) => writer.connection,
            Self::Read(connection) => connection,
        }
    }
}

fn owned(value: ValueRef<'_>) -> Value {
    match value {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(value) => Value::Int(value),
        ValueRef::Real(value) => Value::Text(value.to_string()),
        ValueRef::Text(value) => Value::Text(match std::str::from_utf8(value) {
            Ok(text) => text.to_owned(),
            Err(_) => String::from_utf8_lossy(value).into_owned(),
        }),
        ValueRef::Blob(value) => Value::Bytes(value.to_vec()),
    }
}
