//! The `delete_contact` tool.

use ostler_domain::id::ContactId;
use ostler_engine::outcome::ToolOutcome;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::effects::{EffectError, StoreEffect};
use crate::store_tool::{CallContext, StoreTool, ToolError};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// The id of the contact, from search_contacts: con_…
    #[schemars(with = "String", length(max = 64))]
    contact_id: ContactId,
}

pub(crate) struct DeleteContact;

impl StoreTool for DeleteContact {
    const DESCRIPTION: &'static str = "Deletes a contact permanently, with all identifiers they are \
        recognized by. It cannot be undone. Use it only if somebody asked for exactly this.";
    type Arguments = Arguments;

    async fn run(arguments: Arguments, context: CallContext<'_>) -> Result<ToolOutcome, ToolError> {
        let id = arguments.contact_id;
        let Some((_, contact)) = context.overlay.contact(id).await? else {
            return Err(EffectError::ContactNotFound(id).into());
        };
        let answer = json!({ "deleted": { "id": id, "name": contact.name } });
        context.finish(StoreEffect::DeleteContact { id }, &answer).await
    }
}
