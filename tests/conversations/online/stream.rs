//! A client of server-sent events.

use std::time::Duration;

use serde_json::Value;

use super::Online;
use crate::support::WEBCHAT;

/// The timeout of an event.
const PATIENCE: Duration = Duration::from_secs(60);

#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Event {
    pub(super) id: Option<String>,
    pub(super) kind: Option<String>,
    pub(super) data: Value,
}

/// An open stream.
pub(super) struct Stream {
    answer: reqwest::Response,
    rest: String,
}

impl Stream {
    pub(super) async fn open(request: reqwest::RequestBuilder, last: Option<&str>) -> Self {
        let request = match last {
            Some(last) => request.header("last-event-id", last),
            None => request,
        };
        let answer = request.send().await.unwrap();
        assert_eq!(answer.status(), 200);
        assert_eq!(answer.headers()["content-type"], "text/event-stream");
        Self { answer, rest: String::new() }
    }

    /// Returns the next event, or `None` at the end of the stream.
    pub(super) async fn next(&mut self) -> Option<Event> {
        tokio::time::timeout(PATIENCE, self.read()).await.expect("an event in time")
    }

    async fn read(&mut self) -> Option<Event> {
        loop {
            if let Some(end) = self.rest.find("\n\n") {
                let text: String = self.rest.drain(..end + 2).collect();
                if let Some(event) = parse(&text) {
                    return Some(event);
                }
                continue;
            }
            let chunk = self.answer.chunk().await.unwrap_or(None)?;
            self.rest.push_str(std::str::from_utf8(&chunk).unwrap());
        }
    }

    /// Returns the next event of a visitor that is a message.
    pub(super) async fn message(&mut self) -> Event {
        loop {
            let event = self.next().await.expect("the stream goes on");
            if event.data["type"] == "message" {
                return event;
            }
            assert_eq!(event.id, None, "what is ephemeral has no id: {event:?}");
        }
    }
}

/// Returns `None` for an event without data.
fn parse(text: &str) -> Option<Event> {
    let (mut event, mut data) = (Event::default(), None);
    for line in text.lines() {
        match line.split_once(':').map(|(name, value)| (name, value.trim_start())) {
            Some(("id", value)) => event.id = Some(value.into()),
            Some(("event", value)) => event.kind = Some(value.into()),
            Some(("data", value)) => data = Some(value.to_owned()),
            _ => {}
        }
    }
    event.data = serde_json::from_str(&data?).unwrap();
    Some(event)
}

impl Online {
    /// Opens the stream of a visitor.
    pub(super) async fn listen(&self, token: &str, last: Option<&str>) -> Stream {
        let request = self.http.get(self.url(&format!("/chat/{WEBCHAT}/events")));
        let ticket = self.ticket(token).await;
        Stream::open(request.query(&[("ticket", ticket)]), last).await
    }

    /// Returns a ticket for the stream of a visitor.
    pub(super) async fn ticket(&self, token: &str) -> String {
        let request = self.http.post(self.url(&format!("/chat/{WEBCHAT}/tickets")));
        let answer: Value = request.bearer_auth(token).send().await.unwrap().json().await.unwrap();
        answer["ticket"].as_str().unwrap().to_owned()
    }
}
