//! `export_contacts`

use std::fmt::Write;

use ostler_domain::contact::Contact;
use ostler_engine::outcome::Outcome;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::local::{Desk, LocalTool, Problem};
use crate::page::{Wanted, list};
use crate::view::{Row, Table};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// Only contacts with this tag.
    #[serde(default)]
    #[schemars(length(max = 64))]
    tag: Option<String>,
    /// Which page.
    #[serde(default)]
    page: Wanted,
}

pub(crate) struct ExportContacts;

const HEAD: &str = "id,name,phone,email,locale,tags";

impl LocalTool for ExportContacts {
    const DESCRIPTION: &'static str = "Exports contacts as CSV, page by page: all of them or those \
        with a tag. To find one person, use search_contacts.";
    type Arguments = Arguments;

    async fn run(arguments: Arguments, desk: Desk<'_>) -> Result<Outcome, Problem> {
        let Arguments { tag, page } = arguments;
        let pick = |row: &Row| {
            let contact = Contact::deserialize(&row.value).ok()?;
            let wanted = tag.as_ref().is_none_or(|tag| contact.tags.contains(&tag.to_lowercase()));
            wanted.then(|| Value::String(line(&contact)))
        };
        let page = list(&desk.view, &Table::Contacts, &page, pick).await?;
        let mut csv = HEAD.to_owned();
        for item in &page.items {
            let _ = write!(csv, "\n{}", item.as_str().unwrap_or_default());
        }
        if let Some(next) = page.next {
            let _ = write!(csv, "\n\nThere is more: go on with the cursor {next}");
        }
        Ok(Outcome::ok(csv))
    }
}

fn line(contact: &Contact) -> String {
    let Contact { id, name, details, locale, tags, .. } = contact;
    let tags: Vec<&str> = tags.iter().map(String::as_str).collect();
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    let cells = [
        id.to_string(),
        name.clone(),
        text(&details.phone),
        text(&details.email),
        text(locale),
        tags.join(" "),
    ];
    cells.map(|cell| quoted(&cell)).join(",")
}

/// A cell, in quotes if it needs them.
fn quoted(cell: &str) -> String {
    if cell.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", cell.replace('"', "\"\""))
    } else {
        cell.to_owned()
    }
}
