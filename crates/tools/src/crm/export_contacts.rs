//! The `export_contacts` tool.

use std::fmt::Write;

use ostler_domain::contact::Contact;
use ostler_engine::outcome::ToolOutcome;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::overlay::{Row, Table};
use crate::page::{PageRequest, list_page};
use crate::store_tool::{CallContext, StoreTool, ToolError};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// Only contacts with this tag.
    #[serde(default)]
    #[schemars(length(max = 64))]
    tag: Option<String>,
    /// The page to return.
    #[serde(default)]
    page: PageRequest,
}

pub(crate) struct ExportContacts;

const HEADER: &str = "id,name,phone,email,locale,tags";

impl StoreTool for ExportContacts {
    const DESCRIPTION: &'static str = "Exports contacts as CSV, page by page: all of them or those \
        with a tag. To find one person, use search_contacts.";
    type Arguments = Arguments;

    async fn run(arguments: Arguments, context: CallContext<'_>) -> Result<ToolOutcome, ToolError> {
        let Arguments { tag, page } = arguments;
        let select = |row: &Row| {
            let contact = Contact::deserialize(&row.value).ok()?;
            let matches = tag.as_ref().is_none_or(|tag| contact.tags.contains(&tag.to_lowercase()));
            matches.then(|| Value::String(csv_line(&contact)))
        };
        let page = list_page(&context.overlay, &Table::Contacts, &page, select).await?;
        let mut csv = HEADER.to_owned();
        for item in &page.items {
            let _ = write!(csv, "\n{}", item.as_str().unwrap_or_default());
        }
        if let Some(next) = page.next_cursor {
            let _ = write!(csv, "\n\nThere is more. Continue with the cursor {next}");
        }
        Ok(ToolOutcome::ok(csv))
    }
}

fn csv_line(contact: &Contact) -> String {
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
    cells.map(|cell| quote(&cell)).join(",")
}

/// Quotes a cell if CSV requires it.
fn quote(cell: &str) -> String {
    if cell.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", cell.replace('"', "\"\""))
    } else {
        cell.to_owned()
    }
}
