//! The `update_contact` tool.

use std::collections::BTreeSet;

use ostler_domain::id::ContactId;
use ostler_domain::knowledge::clean_tag;
use ostler_engine::outcome::ToolOutcome;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::contact_input::ContactInput;
use crate::effects::{ContactPatch, EffectError, StoreEffect};
use crate::store_tool::{CallContext, StoreTool, ToolError};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// The id of the contact, from search_contacts: con_…
    #[schemars(with = "String", length(max = 64))]
    contact_id: ContactId,
    /// The new values. Tags and the note are added; everything else replaces the old
    /// value. What is left out stays.
    changes: ContactInput,
    /// Tags to remove.
    #[serde(default)]
    #[schemars(length(max = 20), inner(length(max = 64)))]
    remove_tags: BTreeSet<String>,
}

pub(crate) struct UpdateContact;

impl StoreTool for UpdateContact {
    const DESCRIPTION: &'static str = "Changes a contact: name, telephone number, e-mail address, \
        language and tags, or adds a note. What you leave out stays as it is.";
    type Arguments = Arguments;

    async fn run(arguments: Arguments, context: CallContext<'_>) -> Result<ToolOutcome, ToolError> {
        let Arguments { contact_id: id, changes, remove_tags } = arguments;
        let changes =
            changes.validate().map_err(|reason| ToolError::Invalid(format!("{reason}.")))?;
        if !context.may_access(Some(id)) {
            return Err(EffectError::ContactNotFound(id).into());
        }
        let renames = changes.name.is_some();
        let mut changes = context.for_audience(changes);
        changes.name = changes.name.filter(|_| renames);
        for (phone, email) in [(changes.phone.as_deref(), None), (None, changes.email.as_deref())] {
            let other = context.overlay.find_contact(phone, email).await?;
            if let Some(other) = other.filter(|other| other.id != id) {
                return Err(ToolError::Refused(format!(
                    "Nothing was changed: {} has this telephone number or e-mail address.",
                    context.describe_contact(&other)
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
            return Err(ToolError::Invalid("Say what to change.".into()));
        }
        let answer = json!({ "updated": id });
        context.finish(StoreEffect::UpdateContact { id, patch }, &answer).await
    }
}
