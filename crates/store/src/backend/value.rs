//! Values on their way into and out of a database: whole numbers, texts and
//! bytes, and nothing else, so that both databases store the same.

use std::error::Error as StdError;
use std::time::Duration;

use ostler_domain::id::{
    AgentId, ApprovalId, AuditId, BindingId, BlobId, CallId, ContactId, ConversationId, DocumentId,
    InboxId, IntegrationId, KeyId, MessageId, NoticeId, OrgId, OutboxId, ProposalId, RecordId,
    ReservationId, RunId, SessionId, ThreadId, UserId,
};
use rusqlite::types::{ToSqlOutput, ValueRef};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio_postgres::types::private::BytesMut;
use tokio_postgres::types::{IsNull, ToSql, Type, to_sql_checked};

use crate::error::{Result, StoreError};

/// A value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Value {
    Null,
    Int(i64),
    Text(String),
    Bytes(Vec<u8>),
}

impl Value {
    /// Something as JSON text.
    pub(crate) fn json(value: &impl Serialize) -> Result<Self> {
        let text = serde_json::to_string(value)
            .map_err(|error| StoreError::Backend(format!("cannot be written: {error}")))?;
        Ok(Self::Text(text))
    }
}

impl From<i64> for Value {
    fn from(value: i64) -> Self {
        Self::Int(value)
    }
}

impl From<u32> for Value {
    fn from(value: u32) -> Self {
        Self::Int(i64::from(value))
    }
}

/// Durations are milliseconds.
impl From<Duration> for Value {
    fn from(value: Duration) -> Self {
        Self::Int(i64::try_from(value.as_millis()).unwrap_or(i64::MAX))
    }
}

impl From<&str> for Value {
    fn from(value: &str) -> Self {
        Self::Text(value.to_owned())
    }
}

impl From<String> for Value {
    fn from(value: String) -> Self {
        Self::Text(value)
    }
}

impl<T: Into<Self>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

/// Ids are 16 bytes, in an order that sorts like the ids.
pub(crate) trait StoredId: Sized {
    fn of(bits: u128) -> Self;
}

macro_rules! stored_ids {
    ($($id:ty),*) => {$(
        impl StoredId for $id {
            fn of(bits: u128) -> Self {
                Self::from_u128(bits)
            }
        }

        impl From<$id> for Value {
            fn from(id: $id) -> Self {
                Self::Bytes(id.as_u128().to_be_bytes().to_vec())
            }
        }
    )*};
}

stored_ids!(OrgId, AgentId, BindingId, ConversationId, SessionId, ThreadId, MessageId);
stored_ids!(RunId, InboxId, OutboxId, RecordId, ReservationId, ApprovalId, ProposalId, NoticeId);
stored_ids!(CallId, UserId, KeyId, ContactId, IntegrationId, DocumentId, BlobId, AuditId);

/// A row of an answer.
#[derive(Debug)]
pub(crate) struct Row(pub(crate) Vec<Value>);

impl Row {
    fn unreadable(what: &'static str, column: usize) -> StoreError {
        StoreError::Unreadable { what, why: format!("column {column} has another type") }
    }

    /// A number.
    pub(crate) fn int(&self, column: usize) -> Result<i64> {
        self.opt_int(column)?.ok_or_else(|| Self::unreadable("number", column))
    }

    /// A number that may be missing.
    pub(crate) fn opt_int(&self, column: usize) -> Result<Option<i64>> {
        match self.0.get(column) {
            Some(Value::Int(value)) => Ok(Some(*value)),
            Some(Value::Null) => Ok(None),
            _ => Err(Self::unreadable("number", column)),
        }
    }

    /// A text.
    pub(crate) fn text(&self, column: usize) -> Result<&str> {
        match self.0.get(column) {
            Some(Value::Text(value)) => Ok(value),
            _ => Err(Self::unreadable("text", column)),
        }
    }

    /// A value stored as JSON text.
    pub(crate) fn json<T: DeserializeOwned>(&self, column: usize, what: &'static str) -> Result<T> {
        serde_json::from_str(self.text(column)?)
            .map_err(|error| StoreError::Unreadable { what, why: error.to_string() })
    }

    /// An id.
    pub(crate) fn id<I: StoredId>(&self, column: usize) -> Result<I> {
        let bytes = match self.0.get(column) {
            Some(Value::Bytes(bytes)) => <[u8; 16]>::try_from(bytes.as_slice()).ok(),
            _ => None,
        };
        let bytes = bytes.ok_or_else(|| Self::unreadable("id", column))?;
        Ok(I::of(u128::from_be_bytes(bytes)))
    }
}

impl rusqlite::ToSql for Value {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Self::Null => ValueRef::Null,
            Self::Int(value) => ValueRef::Integer(*value),
            Self::Text(value) => ValueRef::Text(value.as_bytes()),
            Self::Bytes(value) => ValueRef::Blob(value),
        }))
    }
}

impl ToSql for Value {
    fn to_sql(
        &self,
        ty: &Type,
        out: &mut BytesMut,
    ) -> std::result::Result<IsNull, Box<dyn StdError + Sync + Send>> {
        match self {
            Self::Null => Ok(IsNull::Yes),
            Self::Int(value) if *ty == Type::INT4 => i32::try_from(*value)?.to_sql(ty, out),
            Self::Int(value) => value.to_sql(ty, out),
            Self::Text(value) => value.to_sql(ty, out),
            Self::Bytes(value) => value.to_sql(ty, out),
        }
    }

    fn accepts(ty: &Type) -> bool {
        matches!(*ty, Type::INT8 | Type::INT4 | Type::TEXT | Type::BYTEA)
    }

    to_sql_checked!();
}
