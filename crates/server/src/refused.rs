//! Every error, as a problem. What is wrong inside is for the log; whoever asked
//! is told what they can do.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use ostler_api::problem::{Code, MEDIA_TYPE, Problem};
use ostler_channels::error::{OpenError, ReceiveError};
use ostler_runtime::inbound::receive::NotTaken;
use ostler_runtime::operations::{OperationError, WorkflowRefused};
use ostler_store::StoreError;

/// How long somebody should wait who is told to come later, in seconds.
const LATER: &str = "5";

/// Why a request was not done.
#[derive(Debug)]
pub(crate) struct Refused(pub(crate) Problem);

/// What handlers answer.
pub(crate) type Result<T> = std::result::Result<T, Refused>;

impl Refused {
    pub(crate) fn new(code: Code, detail: impl Into<String>) -> Self {
        Self(Problem::new(code, detail))
    }

    pub(crate) fn not_found(what: &str) -> Self {
        Self::new(Code::NotFound, format!("no such {what} here"))
    }

    /// Something is wrong inside.
    pub(crate) fn internal(error: &dyn std::fmt::Display) -> Self {
        tracing::error!(%error, "a request failed");
        Self::new(Code::Internal, "something went wrong here; the log of the server says what")
    }
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.0.status);
        let status = status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let body = serde_json::to_vec(&self.0).unwrap_or_default();
        let mut answer = (status, body).into_response();
        let headers = answer.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(MEDIA_TYPE));
        match self.0.code {
            Code::Unauthorized => {
                headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
            }
            Code::TooMany | Code::Unavailable => {
                headers.insert(header::RETRY_AFTER, HeaderValue::from_static(LATER));
            }
            _ => {}
        }
        answer
    }
}

impl From<StoreError> for Refused {
    fn from(error: StoreError) -> Self {
        let code = match &error {
            StoreError::NotFound(_) => Code::NotFound,
            StoreError::Conflict(_)
            | StoreError::LastOf(_)
            | StoreError::Outdated(_)
            | StoreError::InConversation
            | StoreError::TakenOver
            | StoreError::Moved
            | StoreError::EventsPruned { .. } => Code::Conflict,
            StoreError::Approval(_)
            | StoreError::Proposal(_)
            | StoreError::Delegation(_)
            | StoreError::Team(_)
            | StoreError::Credits(_) => Code::NotNow,
            StoreError::Backlog { .. } => Code::TooMany,
            StoreError::TooManyCredits { .. } | StoreError::TooMany { .. } => Code::Invalid,
            StoreError::TooLarge { .. } => Code::TooLarge,
            StoreError::Busy | StoreError::DiskFull | StoreError::Unavailable(_) => {
                tracing::warn!(%error, "the store cannot be used now");
                return Self::new(Code::Unavailable, "the database cannot be used now; try again");
            }
            _ => return Self::internal(&error),
        };
        Self::new(code, error.to_string())
    }
}

impl From<OperationError> for Refused {
    fn from(error: OperationError) -> Self {
        let code = match error {
            OperationError::Store(error) => return error.into(),
            OperationError::Unreadable(error) => return Self::internal(&error),
            OperationError::Forbidden { .. } => Code::Forbidden,
            OperationError::Busy => Code::Conflict,
            OperationError::Workflow(
                WorkflowRefused::NotWaiting { .. }
                | WorkflowRefused::Answered(_)
                | WorkflowRefused::Over,
            ) => Code::NotNow,
            OperationError::Workflow(_) => Code::Invalid,
            OperationError::Escalation(_)
            | OperationError::Status(_)
            | OperationError::NoTool(_)
            | OperationError::NoWay(_)
            | OperationError::Nobody => Code::NotNow,
            OperationError::Bound(_) => Code::Conflict,
            OperationError::Team(_)
            | OperationError::NoAgent(_)
            | OperationError::NoService { .. }
            | OperationError::NotConnected(_)
            | OperationError::Document(_)
            | OperationError::BadArguments { .. }
            | OperationError::Empty(_) => Code::Invalid,
        };
        Self::new(code, error.to_string())
    }
}

impl From<ReceiveError> for Refused {
    fn from(error: ReceiveError) -> Self {
        let code = match &error {
            ReceiveError::Unsigned(_) | ReceiveError::BadSignature | ReceiveError::Stale => {
                Code::BadSignature
            }
            ReceiveError::Expired => Code::Unauthorized,
            ReceiveError::BadBody(_) => Code::BadRequest,
            ReceiveError::TooLarge(_) => Code::TooLarge,
            ReceiveError::NotReceiving(_) => Code::NotFound,
        };
        Self::new(code, error.to_string())
    }
}

/// A binding that cannot be used is its org's to mend; whoever brings something
/// is not told how it is set up.
impl From<OpenError> for Refused {
    fn from(error: OpenError) -> Self {
        tracing::warn!(%error, "a binding cannot be used");
        Self::new(Code::Unavailable, "this binding cannot be used as it is set up; try again later")
    }
}

impl From<NotTaken> for Refused {
    fn from(error: NotTaken) -> Self {
        match error {
            NotTaken::NoBinding => Self::not_found("binding"),
            NotTaken::Open(error) => error.into(),
            NotTaken::Receive(error) => error.into(),
            NotTaken::Store(error) => error.into(),
        }
    }
}
