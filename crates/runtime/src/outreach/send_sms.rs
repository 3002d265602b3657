//! `send_sms`: writes a text message to a contact.

use ostler_domain::channel::Channel;
use ostler_engine::outcome::ToolOutcome;
use ostler_engine::tool::ToolReply;
use schemars::JsonSchema;
use serde::Deserialize;

use super::recipients::Draft;
use crate::turn_tool::{TurnCall, TurnTool};

pub(super) struct SendSms;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// The contact: an id or a telephone number.
    to: String,
    text: String,
}

impl TurnTool for SendSms {
    const DESCRIPTION: &'static str = "Send a text message to the telephone of a contact of your \
        organization.";
    type Arguments = Arguments;

    async fn run(
        &self,
        Arguments { to, text }: Arguments,
        call: &TurnCall<'_>,
    ) -> Result<ToolReply, ToolOutcome> {
        Draft::new(call, Channel::Sms, None, &text)?.send_to(call, &to).await
    }
}
