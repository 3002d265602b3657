//! `create_client_org`: creates a client with its first agents and a web chat.

use schemars::JsonSchema;
use serde::Deserialize;

use super::call::{Administration, AdministrationTool};
use crate::operations::{CreatedClient, NewClient, OperationError};

pub(super) struct CreateClientOrg;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct Arguments {
    /// The short name: lower-case letters, digits and `-`, such as `bella`.
    slug: String,
    /// The name of the business, such as `Bella Pizza`.
    name: String,
    /// The e-mail addresses of the people who own the business.
    #[serde(default)]
    owners: Vec<String>,
    /// The IANA name of the time zone, such as `Europe/Rome`; UTC if you leave it out.
    #[serde(default)]
    time_zone: Option<String>,
    /// Whether the client also gets a coordinator, which routes between you and it.
    #[serde(default)]
    coordinator: bool,
    /// The short name of the agency; only for the platform's agent.
    #[serde(default)]
    agency: Option<String>,
}

impl AdministrationTool for CreateClientOrg {
    const DESCRIPTION: &'static str = "Create a client organization of your agency, with a PM, \
        customer service and a web chat.";
    type Arguments = Arguments;

    async fn run(
        Arguments { slug, name, owners, time_zone, coordinator, agency }: Arguments,
        call: &Administration<'_>,
    ) -> Result<String, OperationError> {
        let time_zone = time_zone.unwrap_or_else(|| "UTC".to_owned());
        let new = NewClient { slug: slug.trim().to_owned(), name, time_zone, owners, coordinator };
        let agency = call.org(agency.as_deref()).await?;
        let CreatedClient { org, existed, missing, deep_link } =
            agency.create_client(&new, call.host).await?;
        let done = if existed { "exists already" } else { "is created" };
        let mut text = format!("{} (`{}`) {done}.", org.name, org.slug);
        if let Some(why) = missing {
            text.push_str(&format!(
                " It has its PM only, because the rest failed: {why}. Call this again to add it."
            ));
        }
        if let Some(url) = deep_link.and_then(|link| link.url) {
            text.push_str(&format!(" People reach it in Telegram at {url}"));
        }
        Ok(text)
    }
}
