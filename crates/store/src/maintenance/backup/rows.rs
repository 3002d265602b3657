//! Rows as bytes: for each column a byte for its kind, and its value.

use super::error::BackupError;
use crate::backend::value::{Row, Value};

const NULL: u8 = 0;
const INT: u8 = 1;
const TEXT: u8 = 2;
const BYTES: u8 = 3;

/// Appends a row to bytes.
pub(super) fn encode(row: &Row, out: &mut Vec<u8>) {
    for value in &row.0 {
        match value {
            Value::Null => out.push(NULL),
            Value::Int(number) => {
                out.push(INT);
                out.extend(number.to_le_bytes());
            }
            Value::Text(text) => encode_bytes(TEXT, text.as_bytes(), out),
            Value::Bytes(bytes) => encode_bytes(BYTES, bytes, out),
        }
    }
}

fn encode_bytes(kind: u8, bytes: &[u8], out: &mut Vec<u8>) {
    out.push(kind);
    // The databases hold no value of 4 GiB.
    out.extend(u32::try_from(bytes.len()).unwrap_or(u32::MAX).to_le_bytes());
    out.extend(bytes);
}

/// Takes a row off the beginning of bytes.
pub(super) fn decode(bytes: &mut &[u8], columns: usize) -> Result<Vec<Value>, BackupError> {
    (0..columns).map(|_| decode_value(bytes)).collect()
}

fn decode_value(bytes: &mut &[u8]) -> Result<Value, BackupError> {
    let [kind] = take_array(bytes)?;
    Ok(match kind {
        NULL => Value::Null,
        INT => Value::Int(i64::from_le_bytes(take_array(bytes)?)),
        TEXT => {
            let text = std::str::from_utf8(take_sized(bytes)?);
            Value::Text(text.map_err(|_| malformed())?.to_owned())
        }
        BYTES => Value::Bytes(take_sized(bytes)?.to_owned()),
        _ => return Err(malformed()),
    })
}

fn take_sized<'b>(bytes: &mut &'b [u8]) -> Result<&'b [u8], BackupError> {
    let length = usize::try_from(u32::from_le_bytes(take_array(bytes)?));
    let length = length.map_err(|_| malformed())?;
    let (value, rest) = bytes.split_at_checked(length).ok_or_else(malformed)?;
    *bytes = rest;
    Ok(value)
}

fn take_array<const N: usize>(bytes: &mut &[u8]) -> Result<[u8; N], BackupError> {
    let (value, rest) = bytes.split_first_chunk::<N>().ok_or_else(malformed)?;
    *bytes = rest;
    Ok(*value)
}

fn malformed() -> BackupError {
    BackupError::damaged("a row cannot be read")
}

#[cfg(test)]
mod tests {
    use super::{Row, Value, decode, encode};

    #[test]
    fn rows_are_decoded_as_they_were_encoded() {
        let rows = [
            vec![Value::Null, Value::Int(i64::MIN), Value::Text("é".into())],
            vec![Value::Bytes(vec![0, 255]), Value::Text(String::new()), Value::Int(7)],
        ];
        let mut bytes = Vec::new();
        rows.iter().for_each(|row| encode(&Row(row.clone()), &mut bytes));
        let mut rest = bytes.as_slice();
        for row in &rows {
            assert_eq!(decode(&mut rest, 3).expect("a row"), *row);
        }
        assert!(rest.is_empty());
        for length in 0..bytes.len() {
            let mut cut = &bytes[..length];
            let first = decode(&mut cut, 3);
            assert!(first.is_err() || decode(&mut cut, 3).is_err(), "{length}");
        }
    }
}
