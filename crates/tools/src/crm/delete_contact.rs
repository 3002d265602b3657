//! `delete_contact`

use ostler_domain::id::ContactId;
use ostler_engine::outcome::Outcome;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::effects::{EffectError, StoreEffect};
use crate::local::{Desk, LocalTool, Problem};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// The id of the contact, from search_contacts: con_…
    #[schemars(with = "String", length(max = 64))]
    contact_id: ContactId,
}

pub(crate) struct DeleteContact;

impl LocalTool for DeleteContact {
    const DESCRIPTION: &'static str = "Deletes a contact for good, with everything they are \
        recognized by. It cannot be undone. Use it only if somebody asked for exactly this.";
    type Arguments = Arguments;

    async fn run(arguments: Arguments, desk: Desk<'_>) -> Result<Outcome, Problem> {
        let id = arguments.contact_id;
        let Some((_, contact)) = desk.view.contact(id).await? else {
            return Err(EffectError::NoContact(id).into());
        };
        let told = json!({ "deleted": { "id": id, "name": contact.name } });
        desk.done(StoreEffect::DeleteContact { id }, &told).await
    }
}
