//! vCard, versions 3 and 4: the name, addresses, numbers, tags and notes of people.

use serde_json::{Map, Value, json};

use super::{ImportError, MAX_ROWS, RawRow};

/// Reads the cards of a file; row 1 is the first card.
pub(super) fn read(text: &str) -> Result<Vec<RawRow>, ImportError> {
    let mut rows = Vec::new();
    let mut card: Option<Map<String, Value>> = None;
    for (line_number, line) in unfold(text) {
        let Some((name, value)) = property(&line) else { continue };
        let wrong = |reason: &str| ImportError::Syntax { line: line_number, reason: reason.into() };
        match (name.as_str(), value.trim().to_uppercase().as_str()) {
            ("BEGIN", "VCARD") if card.is_some() => {
                return Err(wrong("a card begins before the one before it has ended"));
            }
            ("BEGIN", "VCARD") => card = Some(Map::new()),
            ("END", "VCARD") => {
                let cells = card.take().ok_or_else(|| wrong("a card ends that has not begun"))?;
                if rows.len() == MAX_ROWS {
                    return Err(ImportError::TooManyRows);
                }
                rows.push(RawRow { number: rows.len() as u64 + 1, cells: Ok(cells) });
            }
            _ => {
                let card = card.as_mut().ok_or_else(|| wrong("there is no BEGIN:VCARD before"))?;
                add(card, &name, &value);
            }
        }
    }
    match card {
        Some(_) => {
            let line = text.lines().count() as u64;
            Err(ImportError::Syntax { line, reason: "the last card has no END:VCARD".into() })
        }
        None => Ok(rows),
    }
}

/// Puts a property into a card. The first of several addresses and numbers wins.
fn add(card: &mut Map<String, Value>, name: &str, value: &str) {
    let column = match name {
        "FN" => "name",
        "EMAIL" => "email",
        "TEL" => "phone",
        "UID" => "key",
        "NOTE" => "note",
        "LANG" => "locale",
        "CATEGORIES" => "tags",
        // The structured name counts if there is no formatted one.
        "N" if !card.contains_key("name") => {
            let mut parts = split(value, ';').into_iter();
            let (last, first) = (parts.next(), parts.next());
            let name = [first, last].into_iter().flatten().filter(|part| !part.is_empty());
            let name = name.collect::<Vec<_>>().join(" ");
            if !name.is_empty() {
                card.insert("name".into(), name.into());
            }
            return;
        }
        _ => return,
    };
    let text = unescape(value.trim());
    let text = text.strip_prefix("tel:").unwrap_or(&text).trim();
    if text.is_empty() {
        return;
    }
    let value = match column {
        "tags" => json!(split(value, ',')),
        "name" => return drop(card.insert(column.into(), text.into())),
        _ => text.into(),
    };
    card.entry(column).or_insert(value);
}

/// Returns the name of a property in upper case, without group and parameters, and its
/// value. A colon inside quotes belongs to a parameter.
fn property(line: &str) -> Option<(String, String)> {
    let mut quoted = false;
    let colon = line.char_indices().find(|(_, c)| {
        quoted ^= *c == '"';
        *c == ':' && !quoted
    })?;
    let (head, value) = line.split_at(colon.0);
    let name = head.split(';').next().unwrap_or_default();
    let name = name.rsplit('.').next().unwrap_or_default();
    Some((name.trim().to_uppercase(), value[1..].to_owned()))
}

/// Returns the lines with their numbers; a line that begins with white space continues the
/// one before.
fn unfold(text: &str) -> Vec<(u64, String)> {
    let mut lines: Vec<(u64, String)> = Vec::new();
    for (line, number) in text.lines().zip(1..) {
        match (line.strip_prefix([' ', '\t']), lines.last_mut()) {
            (Some(rest), Some((_, last))) => last.push_str(rest),
            _ => lines.push((number, line.to_owned())),
        }
    }
    lines
}

/// Splits a value at separators that are not escaped.
fn split(value: &str, separator: char) -> Vec<String> {
    let (mut parts, mut part, mut escaped) = (Vec::new(), String::new(), false);
    for c in value.chars() {
        if c == separator && !escaped {
            parts.push(std::mem::take(&mut part));
            continue;
        }
        escaped = c == '\\' && !escaped;
        part.push(c);
    }
    parts.push(part);
    parts.iter().map(|part| unescape(part.trim())).collect()
}

fn unescape(text: &str) -> String {
    let (mut out, mut escaped) = (String::with_capacity(text.len()), false);
    for c in text.chars() {
        match (escaped, c) {
            (false, '\\') => escaped = true,
            (true, 'n' | 'N') => {
                out.push('\n');
                escaped = false;
            }
            (_, c) => {
                out.push(c);
                escaped = false;
            }
        }
    }
    out
}
