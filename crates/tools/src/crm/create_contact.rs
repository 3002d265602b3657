//! The `create_contact` tool.

use ostler_domain::id::ContactId;
use ostler_engine::outcome::ToolOutcome;
use serde_json::json;

use super::contact_input::{ContactInput, contact_json};
use crate::effects::StoreEffect;
use crate::ids;
use crate::store_tool::{CallContext, StoreTool, ToolError};

pub(crate) struct CreateContact;

impl StoreTool for CreateContact {
    const DESCRIPTION: &'static str = "Saves a new person as a contact of the organization. \
        Search first, so that nobody is saved twice. Give a name, and a telephone number or \
        e-mail address if you know one.";
    type Arguments = ContactInput;

    async fn run(input: ContactInput, context: CallContext<'_>) -> Result<ToolOutcome, ToolError> {
        let input = input.validate().map_err(|reason| ToolError::Invalid(format!("{reason}.")))?;
        let input = context.for_audience(input);
        let (phone, email) = (input.phone.as_deref(), input.email.as_deref());
        if let Some(existing) = context.overlay.find_contact(phone, email).await? {
            return Err(ToolError::Refused(format!(
                "Nothing was saved: {} has this telephone number or e-mail address already. \
                 Use update_contact to change that contact.",
                context.describe_contact(&existing)
            )));
        }
        let id = ContactId::from_u128(ids::derive_uuid(context.tool_context, 0));
        let contact = input.into_contact(id).ok_or_else(|| {
            ToolError::Invalid(
                "A contact needs a name, a telephone number or an e-mail address.".into(),
            )
        })?;
        let answer = json!({ "created": contact_json(&contact) });
        context.finish(StoreEffect::CreateContact { contact }, &answer).await
    }
}
