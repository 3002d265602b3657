//! One call of the Bot API, and what its answer means.

use std::time::Duration;

use reqwest::RequestBuilder;
use serde_json::Value;

use super::Telegram;
use crate::error::CallError;
use crate::http::{Answer, Failure, presentable};
use crate::outcome::Outcome;

/// What a call came to.
pub(super) enum Said {
    /// It worked, and this is the result.
    Done(Value),
    /// Telegram says no.
    No(Refusal),
    /// The call cannot have arrived.
    NotSent(String),
    /// The call may have arrived, and there is no answer that can be read.
    Unclear(String),
}

/// What Telegram says when it says no.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Refusal {
    pub(super) status: u16,
    pub(super) words: String,
    pub(super) after: Option<Duration>,
}

impl Telegram {
    /// Calls a method that sends no message.
    pub(super) async fn invoke(&self, method: &str, body: &Value) -> Result<Value, CallError> {
        let request = self.request(method).json(body);
        let answer = self.http.ask(request).await;
        self.result(self.understand(answer))
    }

    pub(super) fn request(&self, method: &str) -> RequestBuilder {
        let url = format!("{}/bot{}/{method}", self.base, self.token.expose());
        self.http.client.post(url)
    }

    pub(super) fn result(&self, said: Said) -> Result<Value, CallError> {
        match said {
            Said::Done(result) => Ok(result),
            Said::NotSent(reason) | Said::Unclear(reason) => {
                Err(CallError::Later { after: None, reason })
            }
            Said::No(no) if no.status == 429 || no.status >= 500 => {
                Err(CallError::Later { after: no.after, reason: no.words })
            }
            Said::No(no) => Err(CallError::Refused(no.words)),
        }
    }

    /// What an answer says, with the token taken out of every word.
    pub(super) fn understand(&self, answer: Result<Answer, Failure>) -> Said {
        let answer = match answer {
            Ok(answer) => answer,
            Err(Failure::NotSent(why)) => return Said::NotSent(self.told(&why)),
            Err(Failure::NoAnswer(why)) => return Said::Unclear(self.told(&why)),
            Err(Failure::TooLarge) => return Said::Unclear(self.told("the answer is too long")),
        };
        let body: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
        if (200..300).contains(&answer.status) {
            return match body {
                Value::Object(mut body) if body.get("ok") == Some(&Value::Bool(true)) => {
                    Said::Done(body.remove("result").unwrap_or_default())
                }
                _ => Said::Unclear(self.told("what answers is not the Bot API")),
            };
        }
        Said::No(self.refusal(answer.status, &body))
    }

    fn refusal(&self, status: u16, body: &Value) -> Refusal {
        let words = match (status, body["description"].as_str()) {
            (401 | 404, _) => format!("it does not know the bot's token (HTTP {status})"),
            (_, Some(words)) => format!("{} (HTTP {status})", presentable(words)),
            (_, None) => format!("it answered with HTTP {status}"),
        };
        let parameters = &body["parameters"];
        let moved = parameters["migrate_to_chat_id"].as_i64();
        let moved = moved.map(|id| format!("; the group is {id} now")).unwrap_or_default();
        Refusal {
            status,
            words: self.told(&format!("{words}{moved}")),
            after: parameters["retry_after"].as_u64().map(Duration::from_secs),
        }
    }

    fn told(&self, words: &str) -> String {
        self.token.hide_in(&format!("Telegram: {words}"))
    }
}

/// What a send came to.
pub(super) fn outcome(said: Said) -> Outcome {
    match said {
        Said::Done(result) => {
            let provider_id = result["message_id"].as_i64().map(|id| id.to_string());
            Outcome::Delivered { provider_id }
        }
        Said::NotSent(reason) => Outcome::retry(reason),
        Said::Unclear(reason) => Outcome::unknown(reason),
        Said::No(no) => refused(no),
    }
}

fn refused(Refusal { status, words: reason, after }: Refusal) -> Outcome {
    match status {
        429 | 500.. => Outcome::Retry { after, reason },
        400 if reason.contains("can't parse entities") => Outcome::Formatting { reason },
        _ => Outcome::Rejected { reason },
    }
}
