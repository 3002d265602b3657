//! Keys that had better not be used for a while, because a provider has had
//! enough of them or does not know them.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use ostler_domain::time::Timestamp;
use ostler_engine::model::{ModelError, ModelErrorKind};

/// How long a key rests after too many requests, if the provider does not say.
pub const AFTER_TOO_MANY: Duration = Duration::from_secs(60);
/// How long a key rests after it was refused.
pub const AFTER_REFUSAL: Duration = Duration::from_secs(10 * 60);
/// The longest that a provider can put a key to rest for.
pub const LONGEST: Duration = Duration::from_secs(60 * 60);

/// The time, handed in so that tests can move it.
#[derive(Clone)]
pub struct Clock(Arc<dyn Fn() -> Timestamp + Send + Sync>);

impl Clock {
    /// The clock of the machine.
    pub fn system() -> Self {
        Self::new(|| {
            let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
            let millis = since.unwrap_or_default().as_millis();
            Timestamp::from_millis(i64::try_from(millis).unwrap_or(i64::MAX))
        })
    }

    /// Any other clock.
    pub fn new(now: impl Fn() -> Timestamp + Send + Sync + 'static) -> Self {
        Self(Arc::new(now))
    }

    fn now(&self) -> Timestamp {
        (self.0)()
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Clock")
    }
}

/// A key at rest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rest {
    /// Until when.
    pub until: Timestamp,
    /// Why.
    pub why: String,
}

/// Which keys rest. A copy shares what is known. Keys are known by where they
/// are kept or by the name of their provider, never by themselves; there are as
/// many as are configured.
#[derive(Debug, Clone)]
pub struct Cooldowns {
    clock: Clock,
    resting: Arc<Mutex<BTreeMap<String, Rest>>>,
}

impl Cooldowns {
    /// None rests yet.
    pub fn new(clock: Clock) -> Self {
        Self { clock, resting: Arc::default() }
    }

    /// Whether a key rests.
    pub fn of(&self, key: &str) -> Option<Rest> {
        let now = self.clock.now();
        let mut resting = self.resting.lock().unwrap_or_else(PoisonError::into_inner);
        if resting.get(key).is_some_and(|rest| rest.until <= now) {
            resting.remove(key);
        }
        resting.get(key).cloned()
    }

    /// Puts a key to rest if its failure calls for it.
    pub fn after(&self, key: &str, error: &ModelError) {
        let wait = match error.kind {
            ModelErrorKind::Status(429) => error.retry_after.unwrap_or(AFTER_TOO_MANY),
            ModelErrorKind::Status(401 | 403) => AFTER_REFUSAL,
            _ => return,
        };
        let rest = Rest { until: self.clock.now() + wait.min(LONGEST), why: error.message.clone() };
        let mut resting = self.resting.lock().unwrap_or_else(PoisonError::into_inner);
        resting.insert(key.to_owned(), rest);
    }

    /// Lets a key be used again: it has just worked.
    pub fn clear(&self, key: &str) {
        self.resting.lock().unwrap_or_else(PoisonError::into_inner).remove(key);
    }
}
