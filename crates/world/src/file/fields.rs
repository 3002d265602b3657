//! One resource as its fields alone, which people edit without the header of its table.

use toml_edit::{Document, Item, TableLike};

use super::parse::parse;
use super::problem::Problems;
use crate::address::{Address, Kind};
use crate::resource::{Resource, Resources};

/// Parses the fields of one resource, as [`fields`](crate::export::fields) writes them. The
/// mistakes have their places in `text`. The result has the name that the text gives.
pub fn parse_fields(
    address: &Address,
    name: &str,
    text: &str,
) -> Result<Option<(Address, Resource)>, Problems> {
    let table = address.kind.table();
    let header = match address.kind {
        Kind::Platform => format!("[{table}]\n"),
        Kind::Org => format!("[[{table}]]\n"),
        _ => format!("[[{table}]]\norg = \"{}\"\n", address.org),
    };
    let whole = format!("{header}{}", nest(text, table));
    let parsed = parse([(name, whole.as_str())]).map_err(|Problems(mut problems)| {
        for problem in &mut problems {
            problem.line = problem.line.saturating_sub(header.lines().count()).max(1);
        }
        Problems(problems)
    })?;
    let resources: Resources = parsed.resources;
    Ok(resources.into_iter().next())
}

/// Puts the tables of a text below another one.
fn nest(text: &str, table: &str) -> String {
    // What cannot be read is reported when the whole is parsed.
    let Ok(document) = Document::parse(text) else { return text.to_owned() };
    let mut headers = Vec::new();
    find_headers(document.as_table(), &mut headers);
    headers.sort_unstable();
    headers.dedup();
    let mut nested = text.to_owned();
    for start in headers.into_iter().rev() {
        let brackets = text[start..].chars().take_while(|c| *c == '[').count();
        nested.insert_str(start + brackets, &format!("{table}."));
    }
    nested
}

/// Adds where the headers of tables begin.
fn find_headers(table: &dyn TableLike, headers: &mut Vec<usize>) {
    for (_, item) in table.iter() {
        match item {
            Item::Table(inner) => {
                if !inner.is_implicit() && !inner.is_dotted() {
                    headers.extend(inner.span().map(|span| span.start));
                }
                find_headers(inner, headers);
            }
            Item::ArrayOfTables(inner) => {
                for one in inner.iter() {
                    headers.extend(one.span().map(|span| span.start));
                    find_headers(one, headers);
                }
            }
            Item::None | Item::Value(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::nest;

    #[test]
    fn only_headers_are_nested() {
        let text = "slug = \"ida\"\nnote = \"\"\"\n[soul]\n[a link](b)\n\"\"\"\n\n# Hers.\n[soul]\n\
                    always_do = [\n\"[x]\"]\nlimits.day = 1\n[soul.more]\n[[rule]]\na = 1\n[[rule]]\na = 2\n";
        let nested = "slug = \"ida\"\nnote = \"\"\"\n[soul]\n[a link](b)\n\"\"\"\n\n# Hers.\n[agent.soul]\n\
                    always_do = [\n\"[x]\"]\nlimits.day = 1\n[agent.soul.more]\n[[agent.rule]]\na = 1\n[[agent.rule]]\na = 2\n";
        assert_eq!(nest(text, "agent"), nested);
    }
}
