//! `import_contacts`

use ostler_domain::id::ContactId;
use ostler_engine::outcome::Outcome;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::details::Details;
use crate::effects::{ContactPatch, StoreEffect};
use crate::ids;
use crate::local::{Desk, LocalTool, Problem, answer};

/// The most records of a call.
const MAX_RECORDS: usize = 100;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// The people, at most 100 in one call.
    #[schemars(length(min = 1, max = 100))]
    contacts: Vec<Details>,
    /// What to do with somebody whose telephone number or e-mail address is known
    /// already.
    #[serde(default)]
    on_duplicate: OnDuplicate,
}

#[derive(Debug, Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum OnDuplicate {
    /// Leave the known contact as it is.
    #[default]
    Skip,
    /// Add what is new to the known contact.
    Update,
}

pub(crate) struct ImportContacts;

impl LocalTool for ImportContacts {
    const DESCRIPTION: &'static str = "Saves many people as contacts at once, up to 100 in one \
        call. Those whose telephone number or e-mail address is known already are skipped or \
        updated. Returns how many were created, updated and skipped, and which rows were wrong.";
    type Arguments = Arguments;

    async fn run(arguments: Arguments, mut desk: Desk<'_>) -> Result<Outcome, Problem> {
        let Arguments { contacts, on_duplicate } = arguments;
        if contacts.len() > MAX_RECORDS {
            return Err(Problem::Correct(format!("Give at most {MAX_RECORDS} in one call.")));
        }
        let (mut effects, mut wrong) = (Vec::new(), Vec::new());
        let (mut created, mut updated, mut skipped) = (0, 0, 0);
        for (row, details) in contacts.into_iter().enumerate() {
            let number = row + 1;
            match import(&desk, row, details, on_duplicate).await? {
                Row::Wrong(why) => {
                    wrong.push(json!({ "row": number, "why": why }));
                    continue;
                }
                Row::Known => {
                    skipped += 1;
                    continue;
                }
                Row::New(effect) => {
                    created += 1;
                    effects.push(effect);
                }
                Row::Changed(effect) => {
                    updated += 1;
                    effects.push(effect);
                }
            }
            // The rows after it see it.
            if let Some(effect) = effects.last() {
                desk.view.perform(effect).await?;
            }
        }
        let told = json!({
            "created": created, "updated": updated, "skipped": skipped, "wrong": wrong,
        });
        Ok(effects.into_iter().fold(answer(&told), |outcome, effect| outcome.with(effect.into())))
    }
}

/// What becomes of a row.
enum Row {
    New(StoreEffect),
    Changed(StoreEffect),
    Known,
    Wrong(String),
}

async fn import(
    desk: &Desk<'_>,
    row: usize,
    details: Details,
    on_duplicate: OnDuplicate,
) -> Result<Row, Problem> {
    let details = match details.checked() {
        Ok(details) => details,
        Err(why) => return Ok(Row::Wrong(why)),
    };
    let (phone, email) = (details.phone.as_deref(), details.email.as_deref());
    let known = desk.view.contact_like(phone, email).await?;
    Ok(match (known, on_duplicate) {
        (Some(_), OnDuplicate::Skip) => Row::Known,
        (Some(known), OnDuplicate::Update) => {
            let patch = ContactPatch {
                name: details.name,
                phone: details.phone,
                email: details.email,
                locale: details.locale,
                add_tags: details.tags,
                add_notes: details.note.into_iter().collect(),
                ..ContactPatch::default()
            };
            Row::Changed(StoreEffect::UpdateContact { id: known.id, patch })
        }
        (None, _) => {
            let id = ContactId::from_u128(ids::fresh(desk.context, row));
            match details.into_contact(id) {
                Some(contact) => Row::New(StoreEffect::CreateContact { contact }),
                None => Row::Wrong("a contact needs a name, a number or an address".to_owned()),
            }
        }
    })
}
