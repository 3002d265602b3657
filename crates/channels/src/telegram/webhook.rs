//! Updates that Telegram brings, and saying where to.

use http::HeaderMap;
use serde_json::{Value, json};

use super::{Telegram, update};
use crate::encoding::hex;
use crate::error::{CallError, ReceiveError};
use crate::inbound::Received;
use crate::signature;

/// The header in which Telegram repeats what it was told.
const HEADER: &str = "x-telegram-bot-api-secret-token";
/// The kinds of updates that are read.
pub(super) const KINDS: [&str; 4] =
    ["message", "callback_query", "my_chat_member", "edited_message"];

impl Telegram {
    /// Has Telegram bring updates to an address of this binding.
    pub async fn set_webhook(&self, url: &str) -> Result<(), CallError> {
        let body =
            json!({"url": url, "secret_token": self.webhook_secret(), "allowed_updates": KINDS});
        self.invoke("setWebhook", &body).await.map(drop)
    }

    /// Has Telegram keep updates until somebody asks for them.
    pub async fn delete_webhook(&self) -> Result<(), CallError> {
        self.invoke("deleteWebhook", &json!({})).await.map(drop)
    }

    /// Checks and reads an update that somebody brought.
    pub(crate) fn receive(
        &self,
        headers: &HeaderMap,
        body: &[u8],
    ) -> Result<Received, ReceiveError> {
        let given = headers.get(HEADER).ok_or(ReceiveError::Unsigned(HEADER))?;
        // Compared by its own signature, in constant time whatever it is.
        let expected = signature::seal(&self.token, "compare", self.webhook_secret().as_bytes());
        if !signature::is_sealed(&self.token, "compare", given.as_bytes(), &expected) {
            return Err(ReceiveError::BadSignature);
        }
        let update: Value = serde_json::from_slice(body)
            .map_err(|error| ReceiveError::BadBody(format!("it is not JSON: {error}")))?;
        if !update["update_id"].is_i64() {
            return Err(ReceiveError::BadBody("it is not an update of Telegram".into()));
        }
        Ok(update::read(&update, self.username.as_deref()))
    }

    /// What Telegram has to repeat. It follows from the token, so nobody has to
    /// keep a second secret, and does not give the token away.
    fn webhook_secret(&self) -> String {
        let binding = self.binding.to_string();
        hex(&signature::seal(&self.token, "telegram webhook", binding.as_bytes()))
    }
}
