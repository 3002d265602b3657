//! `create_contact`

use ostler_domain::id::ContactId;
use ostler_engine::outcome::Outcome;
use serde_json::json;

use super::details::{Details, shown};
use crate::effects::StoreEffect;
use crate::ids;
use crate::local::{Desk, LocalTool, Problem};

pub(crate) struct CreateContact;

impl LocalTool for CreateContact {
    const DESCRIPTION: &'static str = "Saves a new person as a contact of the organization. \
        Search first: nobody should be saved twice. Give a name, and a telephone number or \
        e-mail address if you know one.";
    type Arguments = Details;

    async fn run(details: Details, desk: Desk<'_>) -> Result<Outcome, Problem> {
        let details = details.checked().map_err(|why| Problem::Correct(format!("{why}.")))?;
        let (phone, email) = (details.phone.as_deref(), details.email.as_deref());
        if let Some(known) = desk.view.contact_like(phone, email).await? {
            return Err(Problem::Declined(format!(
                "Nothing was saved: {} ({}) has this telephone number or e-mail address already. \
                 Use update_contact to change what is known of them.",
                known.name, known.id
            )));
        }
        let id = ContactId::from_u128(ids::fresh(desk.context, 0));
        let contact = details.into_contact(id).ok_or_else(|| {
            Problem::Correct("A contact needs a name, a telephone number or an address.".into())
        })?;
        let told = json!({ "created": shown(&contact) });
        desk.done(StoreEffect::CreateContact { contact }, &told).await
    }
}
