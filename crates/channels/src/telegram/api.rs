//! One call of the Bot API, and the meaning of its response.

use std::time::Duration;

use reqwest::RequestBuilder;
use serde_json::Value;

use super::Telegram;
use crate::error::CallError;
use crate::http::{HttpError, HttpResponse, one_line};
use crate::outcome::SendOutcome;

/// The outcome of a call.
pub(super) enum ApiOutcome {
    /// The field `result` of the response.
    Success(Value),
    Error(ApiError),
    /// The request did not arrive.
    NotSent(String),
    /// The request may have arrived, and there is no usable response.
    Unknown(String),
}

/// An error that Telegram returns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ApiError {
    pub(super) status: u16,
    pub(super) message: String,
    pub(super) retry_after: Option<Duration>,
}

impl Telegram {
    /// Calls a method that sends no message.
    pub(super) async fn call_method(&self, method: &str, body: &Value) -> Result<Value, CallError> {
        let request = self.request(method).json(body);
        self.interpret(self.http.send(request).await).into_result()
    }

    pub(super) fn request(&self, method: &str) -> RequestBuilder {
        let url = format!("{}/bot{}/{method}", self.base, self.token.expose());
        self.http.client.post(url)
    }

    /// Interprets a response. The token is removed from all texts.
    pub(super) fn interpret(&self, response: Result<HttpResponse, HttpError>) -> ApiOutcome {
        let response = match response {
            Ok(response) => response,
            Err(HttpError::NotSent(reason)) => return ApiOutcome::NotSent(self.redact(&reason)),
            Err(HttpError::NoResponse(reason)) => return ApiOutcome::Unknown(self.redact(&reason)),
            Err(HttpError::TooLarge) => {
                return ApiOutcome::Unknown(self.redact("the response is too large"));
            }
        };
        let body: Value = serde_json::from_slice(&response.body).unwrap_or_default();
        if (200..300).contains(&response.status) {
            return match body {
                Value::Object(mut body) if body.get("ok") == Some(&Value::Bool(true)) => {
                    ApiOutcome::Success(body.remove("result").unwrap_or_default())
                }
                _ => ApiOutcome::Unknown(self.redact("the response is not from the Bot API")),
            };
        }
        ApiOutcome::Error(self.api_error(response.status, &body))
    }

    fn api_error(&self, status: u16, body: &Value) -> ApiError {
        let message = match (status, body["description"].as_str()) {
            (401 | 404, _) => format!("the bot's token is not accepted (HTTP {status})"),
            (_, Some(description)) => format!("{} (HTTP {status})", one_line(description)),
            (_, None) => format!("it responded with HTTP {status}"),
        };
        let parameters = &body["parameters"];
        let moved = parameters["migrate_to_chat_id"].as_i64();
        let moved = moved.map(|id| format!("; the group has moved to {id}")).unwrap_or_default();
        ApiError {
            status,
            message: self.redact(&format!("{message}{moved}")),
            retry_after: parameters["retry_after"].as_u64().map(Duration::from_secs),
        }
    }

    fn redact(&self, message: &str) -> String {
        self.token.redact(&format!("Telegram: {message}"))
    }
}

impl ApiOutcome {
    pub(super) fn into_result(self) -> Result<Value, CallError> {
        match self {
            Self::Success(result) => Ok(result),
            Self::NotSent(reason) | Self::Unknown(reason) => {
                Err(CallError::Retryable { retry_after: None, reason })
            }
            Self::Error(ApiError { status, message, retry_after }) => {
                if status == 429 || status >= 500 {
                    Err(CallError::Retryable { retry_after, reason: message })
                } else {
                    Err(CallError::Rejected(message))
                }
            }
        }
    }

    pub(super) fn into_send_outcome(self) -> SendOutcome {
        match self {
            Self::Success(result) => {
                let provider_id = result["message_id"].as_i64().map(|id| id.to_string());
                SendOutcome::Delivered { provider_id }
            }
            Self::NotSent(reason) => SendOutcome::retry(reason),
            Self::Unknown(reason) => SendOutcome::unknown(reason),
            Self::Error(ApiError { status, message: reason, retry_after }) => match status {
                // Too many requests, or a failure: all messages of the bot wait that long.
                429 | 500.. => SendOutcome::Retry { retry_after, reason },
                400 if reason.contains("can't parse entities") => {
                    SendOutcome::FormattingRejected { reason }
                }
                _ => SendOutcome::Rejected { reason },
            },
        }
    }
}
