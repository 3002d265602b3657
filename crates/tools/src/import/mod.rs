//! Reading files of business data: CSV, JSON (an array, or one object per line) and vCard.
//!
//! Every row is converted to the record that tools read and checked against its type.
//! Nothing here reads a file or the store: the caller passes text, and compares the rows
//! with what is stored.

mod cells;
mod csv_file;
mod json_file;
mod kinds;
mod vcard;

use std::collections::BTreeSet;

use ostler_domain::business_data::DataKind;
use ostler_domain::time::Timestamp;
use serde_json::{Map, Value};

use crate::org_clock::OrgClock;
use cells::Cells;

/// The most rows of a file.
pub const MAX_ROWS: usize = 100_000;

/// The format of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileFormat {
    Csv,
    /// An array of objects, or one object per line.
    Json,
    VCard,
}

/// How a file is read.
#[derive(Debug, Clone)]
pub struct ImportOptions {
    pub kind: DataKind,
    /// The column with the own key, instead of the columns that the kind has for it.
    pub key_field: Option<String>,
    /// The IANA name of the zone of times without an offset; an unknown one means UTC.
    pub time_zone: String,
}

/// A valid row.
#[derive(Debug, Clone, PartialEq)]
pub struct ParsedRow {
    /// Counted from 1. The header of a CSV file is row 1.
    pub number: u64,
    pub key: String,
    /// The fields of the record that the row sets, or removes if they are null.
    pub fields: Map<String, Value>,
    /// The path of a media item's file, as written.
    pub file: Option<String>,
}

/// A row that is not valid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefusedRow {
    pub number: u64,
    /// Empty if the reason concerns the whole row.
    pub column: String,
    pub reason: String,
}

/// The rows of a file.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ParsedFile {
    pub rows: Vec<ParsedRow>,
    pub refused: Vec<RefusedRow>,
    /// Columns that mean nothing for this kind.
    pub unused_columns: BTreeSet<String>,
}

/// Why a whole file cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ImportError {
    #[error("only contacts are imported from vCard files; use CSV or JSON for {0}")]
    VCardKind(DataKind),
    #[error("the file has no rows")]
    Empty,
    #[error("the file has more than {MAX_ROWS} rows; divide it into several")]
    TooManyRows,
    #[error("line {line}: {reason}")]
    Syntax { line: u64, reason: String },
    #[error("no column has an own key; add one of: {0}, or name the column with --key")]
    NoKey(String),
}

/// A row as the file has it: values by the clean name of their column.
#[derive(Debug, Clone, PartialEq)]
struct RawRow {
    number: u64,
    /// `Err` is the reason why the row has no cells.
    cells: Result<Map<String, Value>, String>,
}

/// Reads the rows of a file.
pub fn read(
    text: &str,
    format: FileFormat,
    options: &ImportOptions,
) -> Result<ParsedFile, ImportError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let rows = match format {
        FileFormat::Csv => csv_file::read(text)?,
        FileFormat::Json => json_file::read(text)?,
        FileFormat::VCard if options.kind == DataKind::Contacts => vcard::read(text)?,
        FileFormat::VCard => return Err(ImportError::VCardKind(options.kind)),
    };
    if rows.is_empty() {
        return Err(ImportError::Empty);
    }
    let columns: BTreeSet<&String> =
        rows.iter().filter_map(|row| row.cells.as_ref().ok()).flat_map(Map::keys).collect();
    let key_fields: Vec<String> = match &options.key_field {
        Some(field) => vec![clean_column(field)],
        None => options.kind.key_fields().iter().map(|field| (*field).to_owned()).collect(),
    };
    if !columns.is_empty() && !key_fields.iter().any(|field| columns.contains(field)) {
        return Err(ImportError::NoKey(key_fields.join(", ")));
    }
    let clock = OrgClock::new(Timestamp::default(), &options.time_zone);
    let mut file = ParsedFile::default();
    for row in rows {
        let number = row.number;
        match parse_row(row, options.kind, &key_fields, &clock, &mut file.unused_columns) {
            Ok(row) => file.rows.push(row),
            Err((column, reason)) => file.refused.push(RefusedRow { number, column, reason }),
        }
    }
    Ok(file)
}

fn parse_row(
    row: RawRow,
    kind: DataKind,
    key_fields: &[String],
    clock: &OrgClock,
    unused: &mut BTreeSet<String>,
) -> Result<ParsedRow, (String, String)> {
    let cells = row.cells.map_err(|reason| (String::new(), reason))?;
    let mut cells = Cells::new(cells, clock);
    let key = key_fields.iter().find_map(|field| cells.key(field));
    let (fields, file) =
        kinds::convert(kind, &mut cells).map_err(|refused| (refused.column, refused.reason))?;
    // A refused row was not read to its end, so it says nothing about its columns.
    unused.extend(cells.unused());
    let missing = || {
        let reason = format!("the row has no own key; fill in {}", key_fields.join(" or "));
        (key_fields[0].clone(), reason)
    };
    Ok(ParsedRow { number: row.number, key: key.ok_or_else(missing)?, fields, file })
}

/// Returns the name of a column in lower case, with underscores, and one name for several
/// spellings.
fn clean_column(name: &str) -> String {
    let name: String = name
        .trim()
        .to_lowercase()
        .chars()
        .map(|c| if c.is_whitespace() || c == '-' { '_' } else { c })
        .collect();
    let name = match name.as_str() {
        "e_mail" | "mail" | "email_address" | "e_mail_address" => "email",
        "tel" | "telephone" | "mobile" | "phone_number" => "phone",
        "language" => "locale",
        "notes" => "note",
        "order" | "order_number" | "order_no" => "number",
        "customer" | "customer_email" | "contact_email" => "contact",
        "start" | "starts" => "starts_at",
        "end" | "ends" => "ends_at",
        _ => return name,
    };
    name.to_owned()
}

#[cfg(test)]
mod tests;
