//! The `search_contacts` tool.

use ostler_domain::contact::Contact;
use ostler_engine::outcome::ToolOutcome;
use schemars::JsonSchema;
use serde::Deserialize;

use super::contact_input::contact_json;
use crate::overlay::{Row, Table};
use crate::page::{Page, PageRequest, limit_size, list_page};
use crate::store_tool::{CallContext, StoreTool, ToolError};
use crate::text_query::TextQuery;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// A whole telephone number or e-mail address, or words (or beginnings of words)
    /// of the name, tags, number or address. Leave it empty to list all contacts.
    #[serde(default)]
    #[schemars(length(max = 200))]
    query: String,
    /// The page to return.
    #[serde(default)]
    page: PageRequest,
}

pub(crate) struct SearchContacts;

impl StoreTool for SearchContacts {
    const DESCRIPTION: &'static str = "Finds contacts of the organization by name, tag, telephone \
        number or e-mail address. Returns their ids, which other tools need. In a customer's conversation \
        it finds that customer only.";
    type Arguments = Arguments;

    async fn run(arguments: Arguments, context: CallContext<'_>) -> Result<ToolOutcome, ToolError> {
        let Arguments { query, page } = arguments;
        let text = Some(query.as_str());
        if page.cursor.is_none()
            && let Some(found) = context.overlay.find_contact(text, text).await?
            && context.may_access(Some(found.id))
        {
            let item = limit_size(&found.id.to_string(), contact_json(&found));
            return Ok(Page { items: vec![item], next_cursor: None }.into_outcome("contacts"));
        }
        let query = TextQuery::new(text);
        let select = |row: &Row| {
            let contact = Contact::deserialize(&row.value).ok()?;
            if !context.may_access(Some(contact.id)) {
                return None;
            }
            let details = [&contact.details.phone, &contact.details.email];
            let texts = std::iter::once(contact.name.as_str())
                .chain(contact.tags.iter().map(String::as_str))
                .chain(details.into_iter().filter_map(Option::as_deref));
            query.matches(texts).then(|| contact_json(&contact))
        };
        Ok(list_page(&context.overlay, &Table::Contacts, &page, select)
            .await?
            .into_outcome("contacts"))
    }
}
