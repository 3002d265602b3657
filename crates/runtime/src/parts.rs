//! What conversations are made with: handed in by whoever builds the program.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use futures_util::future::BoxFuture;
use ostler_domain::agent::limits::AgentLimits;
use ostler_domain::id::OrgId;
use ostler_domain::time::Timestamp;
use ostler_engine::outcome::Effect;
use ostler_engine::tool::ToolSet;
use ostler_engine::turn::{Limits, ModelChains, OnAsk, STATE_VERSION};
use ostler_store::{Change, ClaimPolicy, Store, StoreError};

use crate::deltas::Deltas;

/// Works out what local tools want stored: the changes that effects of an org
/// come to, as things stand now. Effects of kinds that it does not know are not
/// its own and are left out. What cannot be had any more is
/// [`StoreError::Outdated`].
pub type Planner = Arc<
    dyn Fn(OrgId, Vec<Effect>) -> BoxFuture<'static, Result<Vec<Change>, StoreError>> + Send + Sync,
>;

/// Where the time comes from.
#[derive(Clone)]
pub struct Clock(Arc<dyn Fn() -> Timestamp + Send + Sync>);

impl Clock {
    /// The machine's.
    pub fn system() -> Self {
        Self::of(|| {
            let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
            let millis = since.unwrap_or_default().as_millis();
            Timestamp::from_millis(i64::try_from(millis).unwrap_or(i64::MAX))
        })
    }

    /// A clock of one's own.
    pub fn of(now: impl Fn() -> Timestamp + Send + Sync + 'static) -> Self {
        Self(Arc::new(now))
    }

    /// The time.
    pub fn now(&self) -> Timestamp {
        (self.0)()
    }
}

impl std::fmt::Debug for Clock {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Clock")
    }
}

/// What an operator has set for the whole installation.
#[derive(Debug, Clone)]
pub struct Settings {
    /// How conversations are claimed.
    pub claims: ClaimPolicy,
    /// The most unanswered messages of an org.
    pub backlog: u32,
    /// How long a worker that found nothing waits for the bell at most.
    pub look_every: Duration,
    /// How often a message that failed is tried, and with which waits between.
    pub retry_after: Duration,
    /// How long a turn may take.
    pub turn_timeout: Duration,
    /// The limits of a turn.
    pub turn: Limits,
    /// The limits that protected agents have.
    pub platform_limits: AgentLimits,
    /// How long credits are held for a turn.
    pub reservation: Duration,
    /// The tokens that a model's context holds, of which documents get a part.
    pub context_tokens: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            claims: ClaimPolicy {
                lease: Duration::from_secs(60),
                per_org: 64,
                max_attempts: 5,
                understands: STATE_VERSION,
            },
            backlog: 10_000,
            look_every: Duration::from_secs(1),
            retry_after: Duration::from_secs(4),
            turn_timeout: Duration::from_secs(180),
            turn: Limits { on_ask: OnAsk::Defer, ..Limits::default() },
            platform_limits: AgentLimits::PLATFORM,
            reservation: Duration::from_secs(600),
            context_tokens: 128_000,
        }
    }
}

/// What conversations are made with.
pub struct Parts {
    /// What is kept.
    pub store: Store,
    /// Every tool there is.
    pub tools: Arc<ToolSet>,
    /// The models.
    pub models: Arc<dyn ModelChains>,
    /// What local tools want stored.
    pub effects: Planner,
    /// What is being written right now.
    pub deltas: Deltas,
    /// The time.
    pub clock: Clock,
    /// What an operator has set.
    pub settings: Settings,
}
