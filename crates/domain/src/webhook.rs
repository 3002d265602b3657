//! Webhooks: addresses of an organization's own systems, to which its events are sent. Here is
//! what they get, when a delivery is tried again, and when a webhook is switched off.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::address::non_public_range;
use crate::channel::breaker::SendBreaker;
use crate::event::OrgEventKind;
use crate::id::OrgId;
use crate::retry::RetryPolicy;
use crate::time::Timestamp;

/// How many webhooks an org may have.
pub const MAX_WEBHOOKS: usize = 20;
/// The most bytes of a URL.
const MAX_URL_BYTES: usize = 2048;
/// The most characters of a description.
const MAX_DESCRIPTION_CHARS: usize = 200;
/// For how long the key before also signs after a rotation.
pub const ROTATION_OVERLAP: Duration = Duration::from_secs(24 * 60 * 60);
/// For how long a webhook may fail without a success in between, before it is switched off.
const SWITCH_OFF_AFTER: Duration = Duration::from_secs(5 * 24 * 60 * 60);
/// Failures in a row after which deliveries wait, and one at a time probes the receiver.
const BREAKER: SendBreaker = SendBreaker {
    threshold: 3,
    initial_wait: Duration::from_secs(1),
    max_wait: Duration::from_secs(5 * 60),
};

/// What an org decides about a webhook.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(from = "StoredConfig", into = "StoredConfig")]
pub struct WebhookConfig {
    pub url: String,
    /// What it is for, in the words of those who made it.
    pub description: String,
    /// The events that it gets; all if it and `newer_events` are empty.
    pub events: BTreeSet<OrgEventKind>,
    /// Events that a newer program has added, by name. This one keeps and does not send them.
    pub newer_events: BTreeSet<String>,
}

/// A configuration as it is stored: with all events by name.
#[derive(Serialize, Deserialize)]
struct StoredConfig {
    url: String,
    description: String,
    events: BTreeSet<String>,
}

impl From<StoredConfig> for WebhookConfig {
    fn from(StoredConfig { url, description, events: names }: StoredConfig) -> Self {
        let events = names.iter().filter_map(|name| name.parse().ok()).collect();
        let is_newer = |name: &String| name.parse::<OrgEventKind>().is_err();
        let newer_events = names.into_iter().filter(is_newer).collect();
        Self { url, description, events, newer_events }
    }
}

impl From<WebhookConfig> for StoredConfig {
    fn from(config: WebhookConfig) -> Self {
        let WebhookConfig { url, description, events, newer_events } = config;
        let names = events.into_iter().map(|kind| kind.name().to_owned());
        Self { url, description, events: names.chain(newer_events).collect() }
    }
}

/// What is wrong with a webhook.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidWebhook {
    #[error("a webhook's URL starts with https://; http:// is for addresses of your own network")]
    Scheme,
    #[error("the URL has no host")]
    Host,
    #[error("a user name or password must not be written in a URL; requests are signed instead")]
    Credentials,
    #[error("a URL has no spaces, no backslashes and no part after `#`")]
    Characters,
    #[error("a URL has at most {MAX_URL_BYTES} bytes")]
    LongUrl,
    #[error("a description has at most {MAX_DESCRIPTION_CHARS} characters")]
    LongDescription,
    #[error("the event `webhook_test` is sent by a test only; nobody subscribes to it")]
    TestEvent,
}

impl WebhookConfig {
    /// Checks the URL and the texts. Whether the address may be contacted is checked at each
    /// request.
    pub fn check(&self) -> Result<(), InvalidWebhook> {
        check_url(&self.url)?;
        if self.description.chars().count() > MAX_DESCRIPTION_CHARS {
            return Err(InvalidWebhook::LongDescription);
        }
        if self.events.contains(&OrgEventKind::WebhookTest) {
            return Err(InvalidWebhook::TestEvent);
        }
        Ok(())
    }

    /// Returns the host of the URL, for people.
    pub fn host(&self) -> &str {
        let rest = self.url.split_once("://").map_or("", |(_, rest)| rest);
        rest.split(['/', '?']).next().unwrap_or_default()
    }

    /// Returns whether the webhook gets events of a kind.
    pub fn wants(&self, kind: OrgEventKind) -> bool {
        let is_all = self.events.is_empty() && self.newer_events.is_empty();
        is_all || self.events.contains(&kind)
    }
}

fn check_url(url: &str) -> Result<(), InvalidWebhook> {
    if url.len() > MAX_URL_BYTES {
        return Err(InvalidWebhook::LongUrl);
    }
    let is_bad = |c: char| c.is_whitespace() || c.is_control() || matches!(c, '\\' | '#');
    if url.chars().any(is_bad) {
        return Err(InvalidWebhook::Characters);
    }
    let (is_https, rest) = match (url.strip_prefix("https://"), url.strip_prefix("http://")) {
        (Some(rest), _) => (true, rest),
        (None, Some(rest)) => (false, rest),
        (None, None) => return Err(InvalidWebhook::Scheme),
    };
    let authority = rest.split(['/', '?']).next().unwrap_or_default();
    if authority.contains('@') {
        return Err(InvalidWebhook::Credentials);
    }
    let host = host_of(authority);
    if host.is_empty() {
        return Err(InvalidWebhook::Host);
    }
    if !is_https && !is_local(host) {
        return Err(InvalidWebhook::Scheme);
    }
    Ok(())
}

/// Returns the host without its port.
fn host_of(authority: &str) -> &str {
    match authority.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((address, _)) => address,
        None => authority.split_once(':').map_or(authority, |(host, _)| host),
    }
}

/// Returns whether a host is this machine or an address that is not on the public internet.
fn is_local(host: &str) -> bool {
    host == "localhost"
        || host.parse::<IpAddr>().is_ok_and(|address| non_public_range(address).is_some())
}

/// Whether a webhook is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WebhookStatus {
    Enabled,
    /// A person switched it off. Events wait for it in the event log.
    Disabled,
    /// Its receiver failed for days, or said that it is gone. Events wait in the event log.
    SwitchedOff,
}

impl WebhookStatus {
    /// All statuses.
    pub const ALL: [Self; 3] = [Self::Enabled, Self::Disabled, Self::SwitchedOff];

    /// Returns the name in JSON and in the database.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Enabled => "enabled",
            Self::Disabled => "disabled",
            Self::SwitchedOff => "switched_off",
        }
    }
}

/// The state of a delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WebhookDeliveryState {
    /// It was not sent yet, or waits for its next attempt.
    Pending,
    Delivered,
    /// All attempts failed.
    Failed,
}

impl WebhookDeliveryState {
    /// All states.
    pub const ALL: [Self; 3] = [Self::Pending, Self::Delivered, Self::Failed];

    /// Returns the name in JSON and in the database.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Delivered => "delivered",
            Self::Failed => "failed",
        }
    }
}

/// The body of a request to a webhook: names and ids, and no words of people or agents. What
/// else a receiver needs it reads from the API, with the rights of its key.
pub fn payload(org: OrgId, kind: OrgEventKind, at: Timestamp, mut data: Value) -> Value {
    for field in kind.word_fields() {
        remove(&mut data, field);
    }
    json!({"type": kind, "timestamp": at.to_rfc3339(), "org": org, "data": data})
}

/// Removes a field; a dot in its name leads into an object.
fn remove(data: &mut Value, field: &str) {
    let Some(object) = data.as_object_mut() else { return };
    match field.split_once('.') {
        Some((outer, inner)) => {
            if let Some(outer) = object.get_mut(outer) {
                remove(outer, inner);
            }
        }
        None => drop(object.remove(field)),
    }
}

/// How an attempt to deliver ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AttemptOutcome {
    /// The receiver answered with a status of 200 to 299.
    Delivered,
    /// It did not answer, or with another status.
    Failed { retry_after: Option<Duration> },
    /// It answered that the address is gone for good.
    Gone,
}

/// What a webhook is like before an attempt is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WebhookHealth {
    /// Failed attempts in a row.
    pub failures: u32,
    pub failing_since: Option<Timestamp>,
}

/// What follows from an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AttemptVerdict {
    pub state: WebhookDeliveryState,
    /// When the delivery is tried again.
    pub next_at: Option<Timestamp>,
    pub health: WebhookHealth,
    /// For how long nothing is sent to the webhook.
    pub pause: Duration,
    pub switch_off: bool,
    /// The receiver works again after the breaker was open: what waits is due.
    pub recovered: bool,
}

/// Decides what follows from attempt number `attempt` (the first is 1) of a delivery.
pub fn after_attempt(
    outcome: AttemptOutcome,
    attempt: u32,
    health: WebhookHealth,
    now: Timestamp,
    random_permille: u32,
) -> AttemptVerdict {
    let retry_after = match outcome {
        AttemptOutcome::Delivered => {
            return AttemptVerdict {
                state: WebhookDeliveryState::Delivered,
                next_at: None,
                health: WebhookHealth { failures: 0, failing_since: None },
                pause: Duration::ZERO,
                switch_off: false,
                recovered: is_probing(health.failures),
            };
        }
        // One that asks for more than the longest wait gets that.
        AttemptOutcome::Failed { retry_after } => {
            retry_after.map(|asked| asked.min(RetryPolicy::WEBHOOK.max_retry_after))
        }
        AttemptOutcome::Gone => None,
    };
    let asked_pause = retry_after.unwrap_or_default();
    let wait = RetryPolicy::WEBHOOK.wait_after(attempt, retry_after, random_permille);
    let failures = health.failures.saturating_add(1);
    let since = health.failing_since.unwrap_or(now);
    AttemptVerdict {
        state: match wait {
            Some(_) => WebhookDeliveryState::Pending,
            None => WebhookDeliveryState::Failed,
        },
        next_at: wait.map(|wait| now + wait),
        health: WebhookHealth { failures, failing_since: Some(since) },
        // It asks the sender to wait, whatever is sent.
        pause: BREAKER.wait_after(failures).unwrap_or_default().max(asked_pause),
        switch_off: outcome == AttemptOutcome::Gone || now.since(since) >= SWITCH_OFF_AFTER,
        recovered: false,
    }
}

/// Returns whether the breaker is open after this many failures in a row: then one delivery at
/// a time probes the receiver.
pub const fn is_probing(failures: u32) -> bool {
    failures >= BREAKER.threshold
}

#[cfg(test)]
mod tests;
