//! `update_contact`

use std::collections::BTreeSet;

use ostler_domain::id::ContactId;
use ostler_domain::knowledge::clean_tag;
use ostler_engine::outcome::Outcome;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::details::Details;
use crate::effects::{ContactPatch, StoreEffect};
use crate::local::{Desk, LocalTool, Problem};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// The id of the contact, from search_contacts: con_…
    #[schemars(with = "String", length(max = 64))]
    contact_id: ContactId,
    /// What is new. Tags and the note are added; everything else replaces what was
    /// known. What is left out stays.
    changes: Details,
    /// Tags to take away.
    #[serde(default)]
    #[schemars(length(max = 20), inner(length(max = 64)))]
    remove_tags: BTreeSet<String>,
}

pub(crate) struct UpdateContact;

impl LocalTool for UpdateContact {
    const DESCRIPTION: &'static str = "Changes what is known of a contact: name, telephone number, \
        e-mail address, language, tags, or one more note. What you leave out stays as it is.";
    type Arguments = Arguments;

    async fn run(arguments: Arguments, desk: Desk<'_>) -> Result<Outcome, Problem> {
        let Arguments { contact_id: id, changes, remove_tags } = arguments;
        let changes = changes.checked().map_err(|why| Problem::Correct(format!("{why}.")))?;
        for (phone, email) in [(changes.phone.as_deref(), None), (None, changes.email.as_deref())] {
            let other = desk.view.contact_like(phone, email).await?;
            if let Some(other) = other.filter(|other| other.id != id) {
                return Err(Problem::Declined(format!(
                    "Nothing was changed: {} ({}) has this telephone number or e-mail address.",
                    other.name, other.id
                )));
            }
        }
        let patch = ContactPatch {
            name: changes.name,
            phone: changes.phone,
            email: changes.email,
            locale: changes.locale,
            add_tags: changes.tags,
            remove_tags: remove_tags.iter().map(|tag| clean_tag(tag)).collect(),
            add_notes: changes.note.into_iter().collect(),
        };
        if patch == ContactPatch::default() {
            return Err(Problem::Correct("Say what is to be changed.".into()));
        }
        let told = json!({ "updated": id });
        desk.done(StoreEffect::UpdateContact { id, patch }, &told).await
    }
}
