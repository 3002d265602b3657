//! `send_email`: writes an e-mail to a contact.

use ostler_domain::channel::Channel;
use ostler_engine::outcome::ToolOutcome;
use ostler_engine::tool::ToolReply;
use schemars::JsonSchema;
use serde::Deserialize;

use super::recipients::Draft;
use crate::turn_tool::{TurnCall, TurnTool};

pub(super) struct SendEmail;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// The contact: an id or an e-mail address.
    to: String,
    subject: String,
    /// The message, in Markdown.
    text: String,
}

impl TurnTool for SendEmail {
    const DESCRIPTION: &'static str = "Send an e-mail to a contact of your organization.";
    type Arguments = Arguments;

    async fn run(
        &self,
        Arguments { to, subject, text }: Arguments,
        call: &TurnCall<'_>,
    ) -> Result<ToolReply, ToolOutcome> {
        Draft::new(call, Channel::Email, Some(&subject), &text)?.send_to(call, &to).await
    }
}
