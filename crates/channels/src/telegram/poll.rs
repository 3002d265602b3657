//! Asking for updates. Telegram forgets an update when it is asked for later
//! ones, so only what is stored is confirmed.

use std::time::Duration;

use serde_json::{Value, json};

use super::webhook::KINDS;
use super::{Telegram, update};
use crate::error::CallError;
use crate::inbound::Received;

/// The number of an update.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct UpdateId(i64);

/// Updates in order, each with its number.
pub type Batch = Vec<(UpdateId, Received)>;

/// Asks for updates, one batch after the other. There may be one per bot.
#[derive(Debug)]
pub struct Poller {
    telegram: Telegram,
    next: Option<i64>,
}

impl Telegram {
    /// Begins to ask. Telegram itself knows what was confirmed before.
    pub fn poller(&self) -> Poller {
        Poller { telegram: self.clone(), next: None }
    }
}

impl Poller {
    /// Waits for updates, at most this long; none is an answer too. Updates that
    /// are not confirmed come again.
    pub async fn poll(&mut self, wait: Duration) -> Result<Batch, CallError> {
        let mut body = json!({"timeout": wait.as_secs(), "limit": 100, "allowed_updates": KINDS});
        if let Some(next) = self.next {
            body["offset"] = next.into();
        }
        let telegram = &self.telegram;
        let limits = telegram.http.limits;
        let request = telegram.request("getUpdates").json(&body);
        let answer =
            telegram.http.ask_within(request, wait + limits.send, limits.answer_bytes).await;
        let updates = telegram.result(telegram.understand(answer))?;
        let Value::Array(updates) = updates else {
            return Err(CallError::Refused("Telegram: what answers is not the Bot API".into()));
        };
        let numbered = |update: &Value| {
            let id = UpdateId(update["update_id"].as_i64()?);
            Some((id, update::read(update, telegram.username.as_deref())))
        };
        Ok(updates.iter().filter_map(numbered).collect())
    }

    /// Says that an update and all before it are stored, or need not be.
    pub fn confirm(&mut self, stored: UpdateId) {
        let behind = stored.0.saturating_add(1);
        self.next = Some(self.next.map_or(behind, |next| next.max(behind)));
    }
}
