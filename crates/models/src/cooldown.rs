//! Cooldowns: API keys that are not used for a while because a provider has
//! rate-limited or refused them.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use ostler_domain::time::Timestamp;
use ostler_engine::model::{ModelError, ModelErrorKind};

/// The cooldown after a rate limit without `Retry-After`.
pub const RATE_LIMIT_COOLDOWN: Duration = Duration::from_secs(60);
/// The cooldown after a key was refused.
pub const REFUSED_KEY_COOLDOWN: Duration = Duration::from_secs(10 * 60);
/// The longest cooldown a provider can request.
pub const MAX_COOLDOWN: Duration = Duration::from_secs(60 * 60);

/// The clock of cooldowns, replaceable in tests.
#[derive(Clone)]
pub struct CooldownClock(Arc<dyn Fn() -> Timestamp + Send + Sync>);

impl CooldownClock {
    /// Returns the system clock.
    pub fn system() -> Self {
        Self::new(|| {
            let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
            let millis = since.unwrap_or_default().as_millis();
            Timestamp::from_millis(i64::try_from(millis).unwrap_or(i64::MAX))
        })
    }

    /// Creates a clock from a function.
    pub fn new(now: impl Fn() -> Timestamp + Send + Sync + 'static) -> Self {
        Self(Arc::new(now))
    }

    fn now(&self) -> Timestamp {
        (self.0)()
    }
}

impl fmt::Debug for CooldownClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CooldownClock")
    }
}

/// The cooldown of a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cooldown {
    pub until: Timestamp,
    pub why: String,
}

/// The keys that are cooling down. Clones share the state. Keys are identified by
/// where they are stored or by their provider, never by their value, so there are
/// only as many as are configured.
#[derive(Debug, Clone)]
pub struct Cooldowns {
    clock: CooldownClock,
    active: Arc<Mutex<BTreeMap<String, Cooldown>>>,
}

impl Cooldowns {
    /// Creates an empty set.
    pub fn new(clock: CooldownClock) -> Self {
        Self { clock, active: Arc::default() }
    }

    /// Returns the cooldown of a key, if it has one.
    pub fn get(&self, key: &str) -> Option<Cooldown> {
        let now = self.clock.now();
        let mut active = self.active.lock().unwrap_or_else(PoisonError::into_inner);
        if active.get(key).is_some_and(|cooldown| cooldown.until <= now) {
            active.remove(key);
        }
        active.get(key).cloned()
    }

    /// Starts a cooldown if the error calls for one.
    pub fn record_failure(&self, key: &str, error: &ModelError) {
        let wait = match error.kind {
            ModelErrorKind::Status(429) => error.retry_after.unwrap_or(RATE_LIMIT_COOLDOWN),
            ModelErrorKind::Status(401 | 403) => REFUSED_KEY_COOLDOWN,
            _ => return,
        };
        let cooldown = Cooldown {
            until: self.clock.now() + wait.min(MAX_COOLDOWN),
            why: error.message.clone(),
        };
        let mut active = self.active.lock().unwrap_or_else(PoisonError::into_inner);
        active.insert(key.to_owned(), cooldown);
    }

    /// Ends the cooldown of a key after a successful call.
    pub fn clear(&self, key: &str) {
        self.active.lock().unwrap_or_else(PoisonError::into_inner).remove(key);
    }
}
