//! JSON: an array of objects, or one object per line.

use serde_json::{Map, Value};

use super::{ImportError, MAX_ROWS, RawRow, clean_column};

/// Reads the rows of a JSON file.
pub(super) fn read(text: &str) -> Result<Vec<RawRow>, ImportError> {
    if text.trim_start().starts_with('[') {
        let items: Vec<Value> =
            serde_json::from_str(text).map_err(|error| syntax(error.line() as u64, &error))?;
        return rows(items.into_iter().zip(1..).map(|(item, number)| Ok((number, item))));
    }
    let lines = text.lines().zip(1..).filter(|(line, _)| !line.trim().is_empty());
    rows(lines.map(|(line, number)| {
        let item = serde_json::from_str(line).map_err(|error| syntax(number, &error))?;
        Ok((number, item))
    }))
}

fn rows(
    items: impl Iterator<Item = Result<(u64, Value), ImportError>>,
) -> Result<Vec<RawRow>, ImportError> {
    let mut rows = Vec::new();
    for item in items {
        let (number, item) = item?;
        if rows.len() == MAX_ROWS {
            return Err(ImportError::TooManyRows);
        }
        let cells = match item {
            Value::Object(fields) => Ok(clean(fields)),
            _ => Err("each row is an object, such as {\"name\": \"…\"}".to_owned()),
        };
        rows.push(RawRow { number, cells });
    }
    Ok(rows)
}

fn clean(fields: Map<String, Value>) -> Map<String, Value> {
    fields.into_iter().map(|(name, value)| (clean_column(&name), value)).collect()
}

fn syntax(line: u64, error: &serde_json::Error) -> ImportError {
    ImportError::Syntax { line, reason: format!("this is not JSON: {error}") }
}
