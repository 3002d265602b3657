//! A request that brings an event to a webhook of an org, signed as Standard Webhooks. It uses
//! the client of the channels, so that the same hosts may be contacted.

use std::time::{Duration, SystemTime};

use ostler_domain::time::Timestamp;
use ostler_domain::webhook::AttemptOutcome;

use crate::Channels;
use crate::http::{HttpError, retry_after};
use crate::signature::SigningKeys;

/// The most bytes that are read of an answer. It is not looked at.
const MAX_ANSWER: usize = 64 * 1024;

/// An event to send.
#[derive(Debug, Clone, Copy)]
pub struct EventRequest<'r> {
    pub url: &'r str,
    pub keys: &'r SigningKeys,
    /// The same at every attempt.
    pub id: &'r str,
    /// JSON.
    pub body: &'r str,
    pub now: Timestamp,
}

/// The outcome of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventResponse {
    pub outcome: AttemptOutcome,
    /// The HTTP status.
    pub status: Option<u16>,
    /// Why it failed; else empty. It never quotes the answer.
    pub reason: String,
}

impl Channels {
    /// Sends an event once, within the time limit for requests to providers.
    pub async fn send_event(&self, request: EventRequest<'_>) -> EventResponse {
        let EventRequest { url, keys, id, body, now } = request;
        let mut sent = self.http.client.post(url).header("content-type", "application/json");
        for (name, value) in keys.sign(id, now, body.as_bytes()) {
            sent = sent.header(name, value);
        }
        let time_limit = self.http.limits.send_timeout;
        let sent = sent.body(body.to_owned());
        match self.http.send_with_limits(sent, time_limit, MAX_ANSWER).await {
            Ok(response) => {
                let wait = retry_after(&response.headers, SystemTime::now());
                answered(response.status, wait)
            }
            Err(HttpError::NotSent(reason) | HttpError::NoResponse(reason)) => failed(reason),
            Err(HttpError::TooLarge) => failed(format!("the answer has over {MAX_ANSWER} bytes")),
        }
    }
}

fn failed(reason: String) -> EventResponse {
    EventResponse { outcome: AttemptOutcome::Failed { retry_after: None }, status: None, reason }
}

fn answered(status: u16, retry_after: Option<Duration>) -> EventResponse {
    let (outcome, reason) = match status {
        200..300 => (AttemptOutcome::Delivered, String::new()),
        410 => (AttemptOutcome::Gone, "the receiver answered that it is gone (HTTP 410)".into()),
        300..400 => (
            AttemptOutcome::Failed { retry_after: None },
            format!("the receiver redirects (HTTP {status}), which is not followed"),
        ),
        _ => (
            AttemptOutcome::Failed { retry_after },
            format!("the receiver answered with HTTP {status}"),
        ),
    };
    EventResponse { outcome, status: Some(status), reason }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use ostler_domain::webhook::AttemptOutcome;

    use super::answered;

    #[test]
    fn k07_only_2xx_is_delivered_and_410_is_gone() {
        let failed = AttemptOutcome::Failed { retry_after: None };
        let wait = Some(Duration::from_secs(9));
        let table = [
            (200, None, AttemptOutcome::Delivered),
            (204, None, AttemptOutcome::Delivered),
            (302, wait, failed),
            (400, None, failed),
            (410, wait, AttemptOutcome::Gone),
            (429, wait, AttemptOutcome::Failed { retry_after: wait }),
            (503, None, failed),
        ];
        for (status, wait, expected) in table {
            assert_eq!(answered(status, wait).outcome, expected, "{status}");
        }
    }
}
