//! Registering the webhook, and receiving its updates.

use http::HeaderMap;
use serde_json::{Value, json};

use super::{Telegram, update};
use crate::encoding::hex_encode;
use crate::error::{CallError, ReceiveError};
use crate::inbound::ReceiveOutcome;
use crate::signature;

/// The header in which Telegram repeats the secret of the webhook.
const SECRET_HEADER: &str = "x-telegram-bot-api-secret-token";
/// The kinds of updates to receive.
pub(super) const ALLOWED_UPDATES: [&str; 4] =
    ["message", "callback_query", "my_chat_member", "edited_message"];

impl Telegram {
    /// Registers a URL to which Telegram posts updates.
    pub async fn set_webhook(&self, url: &str) -> Result<(), CallError> {
        let body = json!({"url": url, "secret_token": self.webhook_secret(), "allowed_updates": ALLOWED_UPDATES});
        self.call_method("setWebhook", &body).await.map(drop)
    }

    /// Fetches the URL to which Telegram posts updates; empty if there is none.
    pub async fn fetch_webhook_url(&self) -> Result<String, CallError> {
        let info = self.call_method("getWebhookInfo", &json!({})).await?;
        Ok(info["url"].as_str().unwrap_or_default().to_owned())
    }

    /// Removes the webhook, so that updates can be polled.
    pub async fn delete_webhook(&self) -> Result<(), CallError> {
        self.call_method("deleteWebhook", &json!({})).await.map(drop)
    }

    /// Checks the secret of the webhook.
    pub(crate) fn check_headers(&self, headers: &HeaderMap) -> Result<(), ReceiveError> {
        let given = headers.get(SECRET_HEADER).ok_or(ReceiveError::Unsigned(SECRET_HEADER))?;
        // Signatures are compared instead of the texts, for constant time.
        let expected =
            signature::sign_for(&self.token, "compare", self.webhook_secret().as_bytes());
        if !signature::verify_for(&self.token, "compare", given.as_bytes(), &expected) {
            return Err(ReceiveError::BadSignature);
        }
        Ok(())
    }

    /// Verifies and parses an update.
    pub(crate) fn receive(
        &self,
        headers: &HeaderMap,
        body: &[u8],
    ) -> Result<ReceiveOutcome, ReceiveError> {
        self.check_headers(headers)?;
        let update: Value = serde_json::from_slice(body)
            .map_err(|error| ReceiveError::BadBody(format!("it is not JSON: {error}")))?;
        if !update["update_id"].is_i64() {
            return Err(ReceiveError::BadBody("it is not a Telegram update".into()));
        }
        Ok(update::parse(&update, self.username.as_deref()))
    }

    /// Returns the secret that Telegram repeats with each update. It is derived from
    /// the token, so there is no second secret to store.
    fn webhook_secret(&self) -> String {
        let binding = self.binding.to_string();
        hex_encode(&signature::sign_for(&self.token, "telegram webhook", binding.as_bytes()))
    }
}
