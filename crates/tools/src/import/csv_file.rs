//! CSV with a header row. Commas, semicolons and tabs separate; quotes protect.

use csv::{ReaderBuilder, StringRecord};
use serde_json::{Map, Value};

use super::{ImportError, MAX_ROWS, RawRow, clean_column};

/// Reads the rows of a CSV file. An empty cell counts as absent.
pub(super) fn read(text: &str) -> Result<Vec<RawRow>, ImportError> {
    let mut reader =
        ReaderBuilder::new().delimiter(delimiter(text)).flexible(true).from_reader(text.as_bytes());
    let header: Vec<String> =
        reader.headers().map_err(|error| syntax(&error))?.iter().map(clean_column).collect();
    if let Some(twice) = header.iter().enumerate().find(|(at, name)| header[..*at].contains(name)) {
        let reason = format!("two columns are called `{}`; rename one of them", twice.1);
        return Err(ImportError::Syntax { line: 1, reason });
    }
    let mut rows = Vec::new();
    for (record, number) in reader.records().zip(2..) {
        let record = record.map_err(|error| syntax(&error))?;
        if rows.len() == MAX_ROWS {
            return Err(ImportError::TooManyRows);
        }
        if record.iter().any(|cell| !cell.trim().is_empty()) {
            rows.push(RawRow { number, cells: cells(&header, &record) });
        }
    }
    Ok(rows)
}

fn cells(header: &[String], record: &StringRecord) -> Result<Map<String, Value>, String> {
    if record.len() > header.len() {
        let (cells, columns) = (record.len(), header.len());
        return Err(format!(
            "the row has {cells} cells and the header {columns}; quote cells that contain the \
             separator"
        ));
    }
    let pairs = header.iter().zip(record).map(|(name, cell)| (name, cell.trim()));
    let filled = pairs.filter(|(name, cell)| !cell.is_empty() && !name.is_empty());
    Ok(filled.map(|(name, cell)| (name.clone(), cell.into())).collect())
}

/// Returns the separator that the header has most often.
fn delimiter(text: &str) -> u8 {
    let header = text.lines().next().unwrap_or_default();
    let count = |separator: &u8| header.bytes().filter(|byte| byte == separator).count();
    // The last of several is the maximum, so a comma wins if there is none.
    [b'\t', b';', b','].into_iter().max_by_key(count).unwrap_or(b',')
}

fn syntax(error: &csv::Error) -> ImportError {
    let line = error.position().map_or(1, csv::Position::line);
    ImportError::Syntax { line, reason: error.to_string() }
}
