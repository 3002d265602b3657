//! `search_contacts`

use ostler_domain::contact::Contact;
use ostler_engine::outcome::Outcome;
use schemars::JsonSchema;
use serde::Deserialize;

use super::details::shown;
use crate::local::{Desk, LocalTool, Problem};
use crate::page::{Page, Query, Wanted, bounded, list};
use crate::view::Table;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// A whole telephone number or e-mail address, or the beginnings of words of
    /// the name, the tags, the number or the address. Empty lists all contacts.
    #[serde(default)]
    #[schemars(length(max = 200))]
    query: String,
    /// Which page.
    #[serde(default)]
    page: Wanted,
}

pub(crate) struct SearchContacts;

impl LocalTool for SearchContacts {
    const DESCRIPTION: &'static str = "Finds people whom the organization knows, by name, tag, \
        telephone number or e-mail address. Returns their ids, which other tools need.";
    type Arguments = Arguments;

    async fn run(arguments: Arguments, desk: Desk<'_>) -> Result<Outcome, Problem> {
        let Arguments { query, page } = arguments;
        let whole = Some(query.as_str());
        if page.cursor.is_none()
            && let Some(found) = desk.view.contact_like(whole, whole).await?
        {
            let item = bounded(&found.id.to_string(), shown(&found));
            return Ok(Page { items: vec![item], next: None }.told("contacts"));
        }
        let query = Query::new(whole);
        let pick = |row: &crate::view::Row| {
            let contact = Contact::deserialize(&row.value).ok()?;
            let details = [&contact.details.phone, &contact.details.email];
            let texts = std::iter::once(contact.name.as_str())
                .chain(contact.tags.iter().map(String::as_str))
                .chain(details.into_iter().filter_map(Option::as_deref));
            query.fits(texts).then(|| shown(&contact))
        };
        Ok(list(&desk.view, &Table::Contacts, &page, pick).await?.told("contacts"))
    }
}
