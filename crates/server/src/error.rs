//! Every error as a problem. Internal causes go to the log; the client is told
//! what to do.

use std::time::Duration;

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use ostler_api::problem::{PROBLEM_MEDIA_TYPE, Problem, ProblemCode};
use ostler_channels::error::{OpenError, ReceiveError};
use ostler_domain::org::new_key::NewKeyRefused;
use ostler_domain::queue_agent::delegation::DelegationRefused;
use ostler_harness::HarnessError;
use ostler_runtime::agents::QueueError;
use ostler_runtime::conversation::receive::InboundError;
use ostler_runtime::operations::{OperationError, QueueAgentRefused, WorkflowRefused};
use ostler_store::StoreError;

/// `Retry-After` in seconds, unless the error says more.
const RETRY_AFTER_SECS: u64 = 5;

/// A request that failed, `Retry-After` in seconds, and the cause that only the operator at
/// the machine is told.
#[derive(Debug)]
pub(crate) struct ApiError(pub(crate) Problem, pub(crate) u64, Option<InternalCause>);

/// The cause of an error that clients are not told. An extension of the response, which never
/// leaves the process.
#[derive(Debug, Clone)]
pub(crate) struct InternalCause(pub(crate) String);

/// Result of a handler.
pub(crate) type Result<T> = std::result::Result<T, ApiError>;

impl ApiError {
    pub(crate) fn new(code: ProblemCode, detail: impl Into<String>) -> Self {
        Self(Problem::new(code, detail), RETRY_AFTER_SECS, None)
    }

    /// Returns the error of a sender who sends too much and has to wait.
    pub(crate) fn too_many(detail: impl Into<String>, wait: Duration) -> Self {
        // Rounded up, so that a client that waits is accepted.
        let seconds = wait.as_secs().saturating_add(1);
        Self(Problem::new(ProblemCode::TooMany, detail), seconds, None)
    }

    pub(crate) fn not_found(what: &str) -> Self {
        Self::new(ProblemCode::NotFound, format!("no such {what} here"))
    }

    /// Logs an internal error and hides it from the client.
    pub(crate) fn internal(error: &dyn std::fmt::Display) -> Self {
        tracing::error!(%error, "request failed");
        let detail = "an internal error occurred; see the server's log";
        Self::new(ProblemCode::Internal, detail).because(error)
    }

    /// Adds the cause for the operator at the machine.
    fn because(self, error: &dyn std::fmt::Display) -> Self {
        Self(self.0, self.1, Some(InternalCause(error.to_string())))
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.0.status);
        let status = status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let body = serde_json::to_vec(&self.0).unwrap_or_default();
        let mut response = (status, body).into_response();
        if let Some(cause) = self.2 {
            response.extensions_mut().insert(cause);
        }
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(PROBLEM_MEDIA_TYPE));
        match self.0.code {
            ProblemCode::Unauthorized => {
                headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
            }
            ProblemCode::TooMany | ProblemCode::Unavailable => {
                headers.insert(header::RETRY_AFTER, HeaderValue::from(self.1));
            }
            // The rest of the body is not read, so the connection cannot be used again.
            ProblemCode::TooLarge => {
                headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
            }
            _ => {}
        }
        // For protocols that have another form of errors.
        response.extensions_mut().insert(self.0);
        response
    }
}

impl From<StoreError> for ApiError {
    fn from(error: StoreError) -> Self {
        let code = match &error {
            StoreError::NotFound(_) => ProblemCode::NotFound,
            StoreError::Conflict(_)
            | StoreError::InUse { .. }
            | StoreError::LastWithRole(_)
            | StoreError::StaleChanges(_)
            | StoreError::ConversationBusy
            | StoreError::TakenOver
            | StoreError::ConversationChanged
            | StoreError::EventsPruned { .. } => ProblemCode::Conflict,
            StoreError::Approval(_)
            | StoreError::Proposal(_)
            | StoreError::Delegation(_)
            | StoreError::Team(_)
            | StoreError::Credits(_) => ProblemCode::NotNow,
            StoreError::BacklogFull { .. } => ProblemCode::TooMany,
            StoreError::TooManyCredits { .. } | StoreError::TooMany { .. } => ProblemCode::Invalid,
            StoreError::TooLarge { .. } | StoreError::StorageFull { .. } => ProblemCode::TooLarge,
            StoreError::Busy | StoreError::DiskFull | StoreError::Unavailable(_) => {
                tracing::warn!(%error, "database unavailable");
                let detail = "the database is not available; try again";
                return Self::new(ProblemCode::Unavailable, detail).because(&error);
            }
            _ => return Self::internal(&error),
        };
        Self::new(code, error.to_string())
    }
}

impl From<OperationError> for ApiError {
    fn from(error: OperationError) -> Self {
        let code = match error {
            OperationError::Store(error) => return error.into(),
            OperationError::Unreadable(error) => return Self::internal(&error),
            OperationError::NoRandomNumbers => return Self::internal(&error),
            OperationError::Forbidden { .. } => ProblemCode::Forbidden,
            OperationError::Busy => ProblemCode::Conflict,
            OperationError::Changed => ProblemCode::Changed,
            OperationError::Workflow(
                WorkflowRefused::NotWaiting { .. }
                | WorkflowRefused::AlreadyAnswered(_)
                | WorkflowRefused::AlreadyEnded
                | WorkflowRefused::Control(_)
                | WorkflowRefused::IsChild(_)
                | WorkflowRefused::ChangedSince,
            ) => ProblemCode::NotNow,
            OperationError::Workflow(WorkflowRefused::NoDefinition(_)) => ProblemCode::NotFound,
            OperationError::Workflow(_) => ProblemCode::Invalid,
            OperationError::Escalation(_)
            | OperationError::TakenOverBy(_)
            | OperationError::Refund(_)
            | OperationError::Exchange(_)
            | OperationError::Status(_)
            | OperationError::NoTool(_)
            | OperationError::ToolUnavailable { .. }
            | OperationError::Unreachable(_)
            | OperationError::NotReplayable { .. }
            | OperationError::WebhookOff
            | OperationError::NoAnsweringAgent => ProblemCode::NotNow,
            OperationError::QueueAgent(
                QueueAgentRefused::NotOnWorkList(_) | QueueAgentRefused::NoPlan(_),
            ) => ProblemCode::NotFound,
            OperationError::QueueAgent(QueueAgentRefused::NoReply(_)) => ProblemCode::TimedOut,
            OperationError::QueueAgent(_) => ProblemCode::NotNow,
            OperationError::Queue(ref error) => queue_code(error),
            OperationError::AlreadyBound(_)
            | OperationError::AlreadyApproved(_)
            | OperationError::AlreadyMember { .. }
            | OperationError::SlugTaken(_)
            | OperationError::Exists(_)
            | OperationError::SameDocument { .. } => ProblemCode::Conflict,
            OperationError::RoleChange(_)
            | OperationError::NewKey(
                NewKeyRefused::WiderScopes(_) | NewKeyRefused::OutlivesMaker,
            )
            | OperationError::NotPlatform
            | OperationError::NotInvited
            | OperationError::Guardrail(_)
            | OperationError::OwnersSetting(_) => ProblemCode::Forbidden,
            OperationError::NoMember(_)
            | OperationError::NoAssignee(_)
            | OperationError::NoOrg(_)
            | OperationError::NoUser(_)
            | OperationError::NoChannel { .. }
            | OperationError::NoAccountLink(_)
            | OperationError::NoLevelProposal(_)
            | OperationError::NoRoute(_)
            | OperationError::NoOwnTool { .. }
            | OperationError::NoContact(_)
            | OperationError::NoRecord { .. } => ProblemCode::NotFound,
            OperationError::Team(_)
            | OperationError::NotEmail(_)
            | OperationError::NewKey(NewKeyRefused::Lifetime)
            | OperationError::TooLong { .. }
            | OperationError::ManyPeople { .. }
            | OperationError::Invitation(_)
            | OperationError::SameContact
            | OperationError::NoAgent(_)
            | OperationError::NoService { .. }
            | OperationError::NotConnected(_)
            | OperationError::InvalidTool { .. }
            | OperationError::NotOwnTool(_)
            | OperationError::Document(_)
            | OperationError::BadArguments { .. }
            | OperationError::BadResource(_)
            | OperationError::SoulVersion(_)
            | OperationError::SoulProposal(_)
            | OperationError::LevelChanged(_)
            | OperationError::NoSoul
            | OperationError::NoModel
            | OperationError::NoCredits(_)
            | OperationError::ModelFailed
            | OperationError::Email(_)
            | OperationError::Agent(_)
            | OperationError::MissingField(_)
            | OperationError::Webhook(_)
            | OperationError::UnusableBot(_)
            | OperationError::Empty(_) => ProblemCode::Invalid,
            OperationError::AgentChange(_) => ProblemCode::Forbidden,
        };
        Self::new(code, error.to_string())
    }
}

/// Returns the code of an error of agents on queues.
const fn queue_code(error: &QueueError) -> ProblemCode {
    match error {
        QueueError::UnknownAgent(_)
        | QueueError::UnknownTeam(_)
        | QueueError::UnknownPlan(_)
        | QueueError::NotOnWorkList(_)
        | QueueError::Delegation(DelegationRefused::Unknown(_)) => ProblemCode::NotFound,
        QueueError::TeamExists(_) => ProblemCode::Conflict,
        QueueError::Delegation(_)
        | QueueError::Team(_)
        | QueueError::Plan(_)
        | QueueError::NoAgentAvailable(_)
        | QueueError::AgentStopped(_)
        | QueueError::AlreadyRunning(_)
        | QueueError::PlacementConflict(_)
        | QueueError::NoQuorum { .. } => ProblemCode::NotNow,
        QueueError::UnknownAgentType(_) | QueueError::InvalidRecord { .. } => ProblemCode::Invalid,
        QueueError::Bus(_) | QueueError::Records(_) | QueueError::Stopped => {
            ProblemCode::Unavailable
        }
    }
}

impl From<HarnessError> for ApiError {
    fn from(error: HarnessError) -> Self {
        let code = match &error {
            HarnessError::UnknownThread(_) => return Self::not_found("thread"),
            HarnessError::UnknownImage(_) => return Self::not_found("image"),
            HarnessError::ImageTooLarge(_) => ProblemCode::TooLarge,
            HarnessError::ThreadInUse { .. } => ProblemCode::InUse,
            HarnessError::NoThread | HarnessError::ThreadLost => ProblemCode::Conflict,
            HarnessError::Busy
            | HarnessError::NothingToResume
            | HarnessError::AskNotOpen(_)
            | HarnessError::NoMemory
            | HarnessError::NoWorkspace => ProblemCode::NotNow,
            HarnessError::QueueFull(_) | HarnessError::TooManyImages(_) => ProblemCode::TooMany,
            HarnessError::NoCredits => ProblemCode::NoCredits,
            HarnessError::UnknownMode(_)
            | HarnessError::UnknownModel(_)
            | HarnessError::ModelNotReady { .. }
            | HarnessError::UnknownSubagent(_)
            | HarnessError::OtherKindOfAsk { .. }
            | HarnessError::InvalidArguments(_)
            | HarnessError::InvalidState(_)
            | HarnessError::MemorySettings(_)
            | HarnessError::NotAnImage
            | HarnessError::EmptyMessage => ProblemCode::Invalid,
            HarnessError::Store(_) => {
                let HarnessError::Store(error) = error else { return Self::internal(&error) };
                return error.into();
            }
            _ => return Self::internal(&error),
        };
        Self::new(code, error.to_string())
    }
}

impl From<ReceiveError> for ApiError {
    fn from(error: ReceiveError) -> Self {
        let code = match &error {
            ReceiveError::Unsigned(_)
            | ReceiveError::BadSignature
            | ReceiveError::StaleTimestamp => ProblemCode::BadSignature,
            ReceiveError::TokenExpired | ReceiveError::ProofExpired => ProblemCode::Unauthorized,
            ReceiveError::BadBody(_) => ProblemCode::BadRequest,
            ReceiveError::TooLarge(_) => ProblemCode::TooLarge,
            ReceiveError::InboundDisabled(_) => ProblemCode::NotFound,
        };
        Self::new(code, error.to_string())
    }
}

/// A binding that cannot be opened is a matter of its org; the sender is not told
/// how it is configured.
impl From<OpenError> for ApiError {
    fn from(error: OpenError) -> Self {
        tracing::warn!(%error, "binding cannot be opened");
        Self::new(
            ProblemCode::Unavailable,
            "this binding is not usable with its current settings; try again later",
        )
    }
}

impl From<InboundError> for ApiError {
    fn from(error: InboundError) -> Self {
        match error {
            InboundError::NoBinding => Self::not_found("binding"),
            InboundError::Open(error) => error.into(),
            InboundError::Receive(error) => error.into(),
            InboundError::Store(error) => error.into(),
        }
    }
}
