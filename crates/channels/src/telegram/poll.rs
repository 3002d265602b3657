//! Polling for updates. Telegram deletes updates before the requested offset, so the
//! offset follows only what the caller has stored.

use std::time::Duration;

use serde_json::{Value, json};

use super::webhook::ALLOWED_UPDATES;
use super::{Telegram, update};
use crate::error::CallError;
use crate::inbound::ReceiveOutcome;

/// The id of an update, which increases.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct UpdateId(i64);

/// Parsed updates in order.
pub type UpdateBatch = Vec<(UpdateId, ReceiveOutcome)>;

/// Polls for updates, batch by batch. Only one poller per bot may run.
#[derive(Debug)]
pub struct Poller {
    telegram: Telegram,
    next_offset: Option<i64>,
}

impl Telegram {
    /// Creates a poller. Telegram itself remembers what was confirmed before.
    pub fn poller(&self) -> Poller {
        Poller { telegram: self.clone(), next_offset: None }
    }
}

impl Poller {
    /// Waits for updates, at most for `wait`. The batch may be empty. Updates that
    /// are not confirmed are returned again.
    pub async fn poll(&mut self, wait: Duration) -> Result<UpdateBatch, CallError> {
        let mut body =
            json!({"timeout": wait.as_secs(), "limit": 100, "allowed_updates": ALLOWED_UPDATES});
        if let Some(next) = self.next_offset {
            body["offset"] = next.into();
        }
        let telegram = &self.telegram;
        let limits = telegram.http.limits;
        let request = telegram.request("getUpdates").json(&body);
        let response = telegram
            .http
            .send_with_limits(request, wait + limits.send_timeout, limits.max_response_bytes)
            .await;
        let updates = telegram.interpret(response).into_result()?;
        let Value::Array(updates) = updates else {
            return Err(CallError::Rejected(
                "Telegram: the response is not from the Bot API".into(),
            ));
        };
        let with_id = |update: &Value| {
            let id = UpdateId(update["update_id"].as_i64()?);
            Some((id, update::parse(update, telegram.username.as_deref())))
        };
        Ok(updates.iter().filter_map(with_id).collect())
    }

    /// Confirms an update and all before it: they are stored, or ignored.
    pub fn confirm(&mut self, stored: UpdateId) {
        let offset = stored.0.saturating_add(1);
        self.next_offset = Some(self.next_offset.map_or(offset, |next| next.max(offset)));
    }
}
