//! The `import_contacts` tool.

use ostler_domain::id::ContactId;
use ostler_domain::org::guardrail::{BULK_LIMIT, GuardedAction, check};
use ostler_domain::org::layer::BusinessPosition;
use ostler_engine::outcome::ToolOutcome;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::contact_input::ContactInput;
use crate::effects::{ContactPatch, StoreEffect};
use crate::ids;
use crate::store_tool::{CallContext, StoreTool, ToolError, json_outcome};

/// The most contacts of one call, at any business layer.
const MAX_CONTACTS: usize = 500;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// The people: at most 100 in one call, or 500 at the layers of agencies and the platform.
    #[schemars(length(min = 1, max = 500))]
    contacts: Vec<ContactInput>,
    /// What to do with a person whose telephone number or e-mail address is known
    /// already.
    #[serde(default)]
    on_duplicate: OnDuplicate,
}

#[derive(Debug, Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum OnDuplicate {
    /// Leave the existing contact as it is.
    #[default]
    Skip,
    /// Update the existing contact.
    Update,
}

pub(crate) struct ImportContacts;

impl StoreTool for ImportContacts {
    const DESCRIPTION: &'static str = "Saves several people as contacts in one call. Those \
        whose telephone number or e-mail address is known already are skipped or \
        updated. Returns how many were created, updated and skipped, and which rows were wrong.";
    type Arguments = Arguments;

    async fn run(
        arguments: Arguments,
        mut context: CallContext<'_>,
    ) -> Result<ToolOutcome, ToolError> {
        let Arguments { contacts, on_duplicate } = arguments;
        check_count(&context, contacts.len()).await?;
        let (mut effects, mut wrong) = (Vec::new(), Vec::new());
        let (mut created, mut updated, mut skipped) = (0, 0, 0);
        for (row, input) in contacts.into_iter().enumerate() {
            let number = row + 1;
            match import_row(&context, row, input, on_duplicate).await? {
                ImportedRow::Invalid(reason) => {
                    wrong.push(json!({ "row": number, "why": reason }));
                    continue;
                }
                ImportedRow::Skipped => {
                    skipped += 1;
                    continue;
                }
                ImportedRow::Created(effect) => {
                    created += 1;
                    effects.push(effect);
                }
                ImportedRow::Updated(effect) => {
                    updated += 1;
                    effects.push(effect);
                }
            }
            // The following rows see the change.
            if let Some(effect) = effects.last() {
                context.overlay.apply_effect(effect).await?;
            }
        }
        let answer = json!({
            "created": created, "updated": updated, "skipped": skipped, "wrong": wrong,
        });
        Ok(effects
            .into_iter()
            .fold(json_outcome(&answer), |outcome, effect| outcome.with_effect(effect.into())))
    }
}

/// Checks that the agent may save this many contacts in one call. Every layer that has the tool
/// may save a few, so that only a long list is a question of the agent's layer.
async fn check_count(context: &CallContext<'_>, count: usize) -> Result<(), ToolError> {
    let records = u32::try_from(count).unwrap_or(u32::MAX);
    if records <= BULK_LIMIT {
        return Ok(());
    }
    if count > MAX_CONTACTS {
        let why = format!("Give at most {MAX_CONTACTS} contacts in one call.");
        return Err(ToolError::Invalid(why));
    }
    let agent = context.org().agent(context.tool_context.agent).await?;
    let position = BusinessPosition::of(&context.org().org().await?, &agent.subtype);
    check(&position, GuardedAction::Bulk { records })
        .map_err(|why| ToolError::Refused(format!("Nothing was saved: {why}.")))
}

/// The result of one row of an import.
enum ImportedRow {
    Created(StoreEffect),
    Updated(StoreEffect),
    Skipped,
    /// The reason, for the model.
    Invalid(String),
}

async fn import_row(
    context: &CallContext<'_>,
    row: usize,
    input: ContactInput,
    on_duplicate: OnDuplicate,
) -> Result<ImportedRow, ToolError> {
    let input = match input.validate() {
        Ok(input) => input,
        Err(reason) => return Ok(ImportedRow::Invalid(reason)),
    };
    let (phone, email) = (input.phone.as_deref(), input.email.as_deref());
    let existing = context.overlay.find_contact(phone, email).await?;
    Ok(match (existing, on_duplicate) {
        (Some(_), OnDuplicate::Skip) => ImportedRow::Skipped,
        (Some(existing), OnDuplicate::Update) => {
            let patch = ContactPatch {
                name: input.name,
                phone: input.phone,
                email: input.email,
                locale: input.locale,
                add_tags: input.tags,
                add_notes: input.note.into_iter().collect(),
                ..ContactPatch::default()
            };
            ImportedRow::Updated(StoreEffect::UpdateContact { id: existing.id, patch })
        }
        (None, _) => {
            let id = ContactId::from_u128(ids::derive_uuid(context.tool_context, row));
            match input.into_contact(id) {
                Some(contact) => ImportedRow::Created(StoreEffect::CreateContact { contact }),
                None => ImportedRow::Invalid(
                    "a contact needs a name, a telephone number or an e-mail address".to_owned(),
                ),
            }
        }
    })
}
