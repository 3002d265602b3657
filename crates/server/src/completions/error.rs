//! Errors in the form of the OpenAI API, which its clients turn into their own.

use axum::Json;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use ostler_api::completion::{CompletionError, CompletionErrorDetail};
use ostler_api::problem::{Problem, ProblemCode};

use crate::error::ApiError;

/// Tells the official clients whether to repeat the request.
const SHOULD_RETRY: HeaderName = HeaderName::from_static("x-should-retry");

/// A request that failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ChatError {
    status: StatusCode,
    kind: &'static str,
    code: Option<&'static str>,
    param: Option<String>,
    message: String,
    may_retry: bool,
}

impl ChatError {
    fn new(status: StatusCode, kind: &'static str, message: impl Into<String>) -> Self {
        let message = message.into();
        Self { status, kind, code: None, param: None, message, may_retry: false }
    }

    /// Returns the error of a request with a wrong part.
    pub(super) fn invalid(param: impl Into<String>, message: impl Into<String>) -> Self {
        let param = Some(param.into());
        let error = Self::new(StatusCode::BAD_REQUEST, "invalid_request_error", message);
        Self { param, ..error }
    }

    /// Returns the error of an option that cannot be honoured.
    pub(super) fn unsupported(param: impl Into<String>, message: impl Into<String>) -> Self {
        Self { code: Some("unsupported_parameter"), ..Self::invalid(param, message) }
    }

    /// Returns the error of a model that is no agent of the caller.
    pub(super) fn no_model(name: &str) -> Self {
        Self {
            status: StatusCode::NOT_FOUND,
            code: Some("model_not_found"),
            ..Self::invalid(
                "model",
                format!("no agent `{name}` takes messages here; GET /v1/models lists them"),
            )
        }
    }

    /// Returns the error of an agent that cannot be paid for.
    pub(super) fn no_credits(message: impl Into<String>) -> Self {
        let error = Self::new(StatusCode::TOO_MANY_REQUESTS, "insufficient_quota", message);
        Self { code: Some("insufficient_quota"), ..error }
    }

    /// Returns the error of an agent that has reached its limits of the day.
    pub(super) fn rate_limited(message: impl Into<String>) -> Self {
        let error = Self::new(StatusCode::TOO_MANY_REQUESTS, "requests", message);
        Self { code: Some("rate_limit_exceeded"), ..error }
    }

    /// Returns the error of a conversation that a person has.
    pub(super) fn with_person(message: impl Into<String>) -> Self {
        let error = Self::new(StatusCode::CONFLICT, "invalid_request_error", message);
        Self { code: Some("conversation_with_person"), ..error }
    }

    /// Returns the error of an agent that could not answer.
    pub(super) fn failed(message: impl Into<String>) -> Self {
        let error = Self::new(StatusCode::BAD_GATEWAY, "server_error", message);
        Self { code: Some("agent_failed"), ..error }
    }

    fn of_problem(problem: &Problem) -> Self {
        use ProblemCode as Code;
        let (kind, code) = match problem.code {
            Code::Unauthorized => ("invalid_request_error", "invalid_api_key"),
            Code::TooMany => ("requests", "rate_limit_exceeded"),
            Code::NoCredits => ("insufficient_quota", "insufficient_quota"),
            Code::TimedOut | Code::Internal | Code::Unavailable => {
                ("server_error", problem.code.word())
            }
            Code::Forbidden => ("permission_error", problem.code.word()),
            other => ("invalid_request_error", other.word()),
        };
        let status = StatusCode::from_u16(problem.status);
        let status = status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let error = Self::new(status, kind, problem.detail.clone());
        let may_retry = matches!(problem.code, Code::TooMany | Code::Internal | Code::Unavailable);
        Self { code: Some(code), may_retry, ..error }
    }

    /// Returns the error as it is sent.
    pub(super) fn to_wire(&self) -> CompletionError {
        let Self { kind, code, param, message, .. } = self.clone();
        let (kind, code) = (kind.to_owned(), code.map(str::to_owned));
        CompletionError { error: CompletionErrorDetail { message, kind, param, code } }
    }
}

impl From<ApiError> for ChatError {
    fn from(error: ApiError) -> Self {
        Self::of_problem(&error.0)
    }
}

impl IntoResponse for ChatError {
    fn into_response(self) -> Response {
        let retry = HeaderValue::from_static(if self.may_retry { "true" } else { "false" });
        (self.status, [(SHOULD_RETRY, retry)], Json(self.to_wire())).into_response()
    }
}

/// Returns a response whose problem, if it is one, has the form of the OpenAI API.
pub(crate) async fn reshape(response: Response) -> Response {
    let Some(problem) = response.extensions().get::<Problem>() else { return response };
    let mut reshaped = ChatError::of_problem(problem).into_response();
    let headers: &HeaderMap = response.headers();
    for name in [header::RETRY_AFTER, header::WWW_AUTHENTICATE] {
        if let Some(value) = headers.get(&name) {
            reshaped.headers_mut().insert(name, value.clone());
        }
    }
    reshaped
}
