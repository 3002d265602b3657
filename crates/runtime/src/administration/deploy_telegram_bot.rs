//! `deploy_telegram_bot`: connects a client to a Telegram bot of its own.

use ostler_domain::secret::SecretRef;
use schemars::JsonSchema;
use serde::Deserialize;

use super::call::{Administration, AdministrationTool};
use crate::operations::OperationError;

pub(super) struct DeployTelegramBot;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct Arguments {
    /// The short name of the client, such as `bella`; your own organization if you leave it out.
    #[serde(default)]
    client_slug: Option<String>,
    /// The agent that answers: a short name or a role; customer service if you leave it out.
    #[serde(default)]
    agent: Option<String>,
    /// Where a person has stored the token that @BotFather issued: `env:NAME` or `file:PATH`.
    /// Never the token itself. If you leave it out, the variable of the client is used.
    #[serde(default)]
    token: Option<String>,
}

impl AdministrationTool for DeployTelegramBot {
    const DESCRIPTION: &'static str = "Connect a client to a Telegram bot of its own. A person \
        has to store the bot's token on the server first.";
    type Arguments = Arguments;

    async fn run(
        Arguments { client_slug, agent, token }: Arguments,
        call: &Administration<'_>,
    ) -> Result<String, OperationError> {
        let token = token.as_deref().map(str::parse::<SecretRef>).transpose();
        let token = token.map_err(|error| OperationError::UnusableBot(error.to_string()))?;
        let org = call.org(client_slug.as_deref()).await?;
        let (bot, id) = org.deploy_telegram_bot(agent, token, call.host).await?;
        Ok(format!("The bot @{bot} is connected; its binding is {id}."))
    }
}
