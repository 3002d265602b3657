//! Parameters and columns: integers, texts and bytes only, so that both databases
//! store the same.

use std::error::Error as StdError;
use std::fmt::Display;
use std::str::FromStr;
use std::time::Duration;

use ostler_domain::id::{
    AgentId, ApprovalId, AuditId, BindingId, BlobId, CallId, ContactId, ConversationId,
    DelegationId, DocumentId, EnvelopeId, EventId, InboxId, IntegrationId, InvitationId, KeyId,
    LoginId, MessageId, NoteId, NoticeId, OrgId, OutboxId, ProposalId, RecordId, ReservationId,
    RunId, SessionId, ThreadId, UserId, WebhookDeliveryId, WebhookId, WorkflowId,
};
use ostler_domain::time::Timestamp;
use rusqlite::types::{ToSqlOutput, ValueRef};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio_postgres::types::private::BytesMut;
use tokio_postgres::types::{IsNull, ToSql, Type, to_sql_checked};

use crate::error::{Result, StoreError};

/// A parameter or a column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Value {
    Null,
    Int(i64),
    Text(String),
    Bytes(Vec<u8>),
}

impl Value {
    /// Serializes a value as JSON text.
    pub(crate) fn json(value: &impl Serialize) -> Result<Self> {
        let text = serde_json::to_string(value)
            .map_err(|error| StoreError::Backend(format!("cannot be written: {error}")))?;
        Ok(Self::Text(text))
    }
}

/// The limit for all parameters of a statement together; PostgreSQL has it for each.
const MAX_BYTES: usize = 1 << 30;

/// Returns whether values can be sent as parameters of these types.
pub(crate) fn fit(values: &[Value], types: &[Type]) -> bool {
    let bytes: usize = values.iter().map(Value::bytes).sum();
    values.len() == types.len()
        && bytes < MAX_BYTES
        && values.iter().zip(types).all(|(value, ty)| value.fits(ty))
}

impl Value {
    const fn bytes(&self) -> usize {
        match self {
            Self::Null | Self::Int(_) => 8,
            Self::Text(value) => value.len(),
            Self::Bytes(value) => value.len(),
        }
    }

    fn fits(&self, ty: &Type) -> bool {
        match self {
            Self::Null => <Self as ToSql>::accepts(ty),
            Self::Int(value) if *ty == Type::INT4 => i32::try_from(*value).is_ok(),
            Self::Int(_) => *ty == Type::INT8,
            Self::Text(_) => *ty == Type::TEXT,
            Self::Bytes(_) => *ty == Type::BYTEA,
        }
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

/// In milliseconds.
impl From<Duration> for Value {
    fn from(value: Duration) -> Self {
        Self::Int(i64::try_from(value.as_millis()).unwrap_or(i64::MAX))
    }
}

/// In milliseconds since 1970.
impl From<Timestamp> for Value {
    fn from(value: Timestamp) -> Self {
        Self::Int(value.as_millis())
    }
}

/// PostgreSQL cannot store NUL characters; both databases store U+FFFD instead.
/// JSON text never contains one.
impl From<&str> for Value {
    fn from(value: &str) -> Self {
        Self::from(value.to_owned())
    }
}

impl From<String> for Value {
    fn from(value: String) -> Self {
        let zero = value.as_bytes().contains(&0);
        Self::Text(if zero { value.replace('\0', "\u{fffd}") } else { value })
    }
}

impl<T: Into<Self>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

/// An id, stored as 16 big-endian bytes that sort like the id.
pub(crate) trait StoredId: Sized {
    fn from_bits(bits: u128) -> Self;
}

macro_rules! stored_ids {
    ($($id:ty),*) => {$(
        impl StoredId for $id {
            fn from_bits(bits: u128) -> Self {
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
stored_ids!(DelegationId, EnvelopeId, WorkflowId, EventId, InvitationId, LoginId, NoteId);
stored_ids!(WebhookId, WebhookDeliveryId);

/// A row of a query result.
#[derive(Debug)]
pub(crate) struct Row(pub(crate) Vec<Value>);

impl Row {
    fn wrong_type(what: &'static str, column: usize) -> StoreError {
        StoreError::CorruptValue { what, why: format!("column {column} has another type") }
    }

    pub(crate) fn int(&self, column: usize) -> Result<i64> {
        self.opt_int(column)?.ok_or_else(|| Self::wrong_type("number", column))
    }

    /// Returns an integer, or None for NULL.
    pub(crate) fn opt_int(&self, column: usize) -> Result<Option<i64>> {
        match self.0.get(column) {
            Some(Value::Int(value)) => Ok(Some(*value)),
            Some(Value::Null) => Ok(None),
            _ => Err(Self::wrong_type("number", column)),
        }
    }

    /// Returns a version, counted from 1.
    pub(crate) fn version(&self, column: usize) -> Result<u32> {
        u32::try_from(self.int(column)?).map_err(|_| Self::wrong_type("version", column))
    }

    /// Returns a time stored in milliseconds.
    pub(crate) fn time(&self, column: usize) -> Result<Timestamp> {
        self.int(column).map(Timestamp::from_millis)
    }

    /// Returns a time, or None for NULL.
    pub(crate) fn opt_time(&self, column: usize) -> Result<Option<Timestamp>> {
        Ok(self.opt_int(column)?.map(Timestamp::from_millis))
    }

    pub(crate) fn text(&self, column: usize) -> Result<&str> {
        match self.0.get(column) {
            Some(Value::Text(value)) => Ok(value),
            _ => Err(Self::wrong_type("text", column)),
        }
    }

    /// Parses a value from its text form.
    pub(crate) fn parsed<T>(&self, column: usize, what: &'static str) -> Result<T>
    where
        T: FromStr<Err: Display>,
    {
        let read = self.text(column)?.parse();
        read.map_err(|error: T::Err| StoreError::CorruptValue { what, why: error.to_string() })
    }

    /// Parses a value from its text form, or returns None for NULL.
    pub(crate) fn opt_parsed<T>(&self, column: usize, what: &'static str) -> Result<Option<T>>
    where
        T: FromStr<Err: Display>,
    {
        match self.0.get(column) {
            Some(Value::Null) => Ok(None),
            _ => self.parsed(column, what).map(Some),
        }
    }

    /// Deserializes a value from JSON text.
    pub(crate) fn json<T: DeserializeOwned>(&self, column: usize, what: &'static str) -> Result<T> {
        serde_json::from_str(self.text(column)?)
            .map_err(|error| StoreError::CorruptValue { what, why: error.to_string() })
    }

    /// Returns a copy of the value, for another statement.
    pub(crate) fn value(&self, column: usize) -> Result<Value> {
        self.0.get(column).cloned().ok_or_else(|| Self::wrong_type("value", column))
    }

    /// Moves bytes out of the row.
    pub(crate) fn into_bytes(mut self, column: usize) -> Result<Vec<u8>> {
        match self.0.get_mut(column) {
            Some(Value::Bytes(bytes)) => Ok(std::mem::take(bytes)),
            _ => Err(Self::wrong_type("bytes", column)),
        }
    }

    /// Returns an id, or None for NULL.
    pub(crate) fn opt_id<I: StoredId>(&self, column: usize) -> Result<Option<I>> {
        match self.0.get(column) {
            Some(Value::Null) => Ok(None),
            _ => self.id(column).map(Some),
        }
    }

    pub(crate) fn id<I: StoredId>(&self, column: usize) -> Result<I> {
        let bytes = match self.0.get(column) {
            Some(Value::Bytes(bytes)) => <[u8; 16]>::try_from(bytes.as_slice()).ok(),
            _ => None,
        };
        let bytes = bytes.ok_or_else(|| Self::wrong_type("id", column))?;
        Ok(I::from_bits(u128::from_be_bytes(bytes)))
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

#[cfg(test)]
mod tests {
    use super::{Value, fit};
    use tokio_postgres::types::Type;

    #[test]
    fn parameters_of_wrong_types_or_number_do_not_fit() {
        let all = [Value::Null, Value::Int(1), Value::from("a"), Value::Bytes(vec![1])];
        let types = [Type::TEXT, Type::INT8, Type::TEXT, Type::BYTEA];
        assert!(fit(&all, &types));
        assert!(!fit(&all, &types[..3]), "one too many");
        assert!(!fit(&all[..3], &types), "one too few");
        for (value, ty) in [
            (Value::Null, Type::BOOL),
            (Value::Int(1), Type::TEXT),
            (Value::Int(i64::MAX), Type::INT4),
            (Value::from("a"), Type::INT8),
            (Value::from("a"), Type::BYTEA),
            (Value::Bytes(vec![]), Type::TEXT),
        ] {
            assert!(
                !fit(std::slice::from_ref(&value), std::slice::from_ref(&ty)),
                "{value:?} as {ty}"
            );
        }
        assert!(fit(&[Value::Int(7)], &[Type::INT4]));
    }
}
