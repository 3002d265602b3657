//! What a process is built with: the store, tools, models, the clock and the settings.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use futures_util::future::BoxFuture;
use ostler_domain::agent::limits::AgentLimits;
use ostler_domain::id::OrgId;
use ostler_domain::time::Timestamp;
use ostler_engine::outcome::ToolEffect;
use ostler_engine::turn::{ApprovalMode, ModelChains, STATE_VERSION, TurnLimits};
use ostler_store::{ClaimPolicy, RecordChange, Store, StoreError};

use crate::deltas::Deltas;
use crate::metrics::RuntimeMetrics;
use crate::toolbox::Toolbox;

/// Plans the changes that the effects of local tools lead to, against the current state of
/// the store. Effects of unknown kinds are skipped. Fails with
/// [`StoreError::StaleChanges`].
pub type EffectPlanner = Arc<
    dyn Fn(OrgId, Vec<ToolEffect>) -> BoxFuture<'static, Result<Vec<RecordChange>, StoreError>>
        + Send
        + Sync,
>;

/// The source of the current time.
#[derive(Clone)]
pub struct Clock(Arc<dyn Fn() -> Timestamp + Send + Sync>);

impl Clock {
    /// Returns the clock of the machine.
    pub fn system() -> Self {
        Self::from_fn(|| {
            let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
            let millis = since.unwrap_or_default().as_millis();
            Timestamp::from_millis(i64::try_from(millis).unwrap_or(i64::MAX))
        })
    }

    /// Returns a clock that calls `now`.
    pub fn from_fn(now: impl Fn() -> Timestamp + Send + Sync + 'static) -> Self {
        Self(Arc::new(now))
    }

    /// Returns the current time.
    pub fn now(&self) -> Timestamp {
        (self.0)()
    }
}

impl std::fmt::Debug for Clock {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Clock")
    }
}

/// The settings of an installation.
#[derive(Debug, Clone)]
pub struct Settings {
    pub claims: ClaimPolicy,
    /// The maximum number of unanswered messages of an org.
    pub max_backlog: u32,
    /// How long an idle worker waits for the bell before it polls.
    pub poll_interval: Duration,
    /// How long a failed message waits for its next attempt.
    pub retry_after: Duration,
    pub turn_timeout: Duration,
    pub turn_limits: TurnLimits,
    /// The limits of protected agents.
    pub platform_limits: AgentLimits,
    /// How long credits stay reserved for a turn.
    pub reservation_ttl: Duration,
    /// The size of a model's context; documents get a part of it.
    pub context_tokens: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            claims: ClaimPolicy {
                lease: Duration::from_secs(60),
                max_per_org: 64,
                max_attempts: 5,
                max_checkpoint_version: STATE_VERSION,
            },
            max_backlog: 10_000,
            poll_interval: Duration::from_secs(1),
            retry_after: Duration::from_secs(4),
            turn_timeout: Duration::from_secs(180),
            turn_limits: TurnLimits { approval_mode: ApprovalMode::Defer, ..TurnLimits::default() },
            platform_limits: AgentLimits::PLATFORM,
            reservation_ttl: Duration::from_secs(600),
            context_tokens: 128_000,
        }
    }
}

/// What a process is built with.
pub struct Deps {
    pub store: Store,
    pub tools: Toolbox,
    pub models: Arc<dyn ModelChains>,
    pub plan_effects: EffectPlanner,
    pub deltas: Deltas,
    pub clock: Clock,
    pub settings: Settings,
    pub metrics: RuntimeMetrics,
}
