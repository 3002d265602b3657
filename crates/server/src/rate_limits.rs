//! Rate limits of requests: who sends more than the rules allow is told when to come back.
//!
//! The rules are in [`ostler_domain::rate_limit`]; this keeps the buckets. They are those of
//! one process: with several behind a proxy, each accepts its own share.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ostler_domain::id::{BindingId, KeyId, OrgId};
use ostler_domain::rate_limit::{Bucket, RateRule, RateSubject};
use ostler_domain::time::Timestamp;

use crate::client_address::counted_address;
use crate::error::{ApiError, Result};

/// How many buckets are kept at most.
const MAX_BUCKETS: usize = 200_000;
/// From how many buckets on full ones are looked for.
const MIN_PURGE: usize = 1_024;

/// The bucket of a request.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum RateKey {
    Address(IpAddr),
    NewVisitor(IpAddr),
    Visitor(BindingId, String),
    Binding(BindingId),
    Key(KeyId),
    Org(OrgId),
}

impl RateKey {
    pub(crate) fn address(address: IpAddr) -> Self {
        Self::Address(counted_address(address))
    }

    pub(crate) fn new_visitor(address: IpAddr) -> Self {
        Self::NewVisitor(counted_address(address))
    }

    const fn subject(&self) -> RateSubject {
        match self {
            Self::Address(_) => RateSubject::Address,
            Self::NewVisitor(_) => RateSubject::NewVisitor,
            Self::Visitor(..) => RateSubject::Visitor,
            Self::Binding(_) => RateSubject::Binding,
            Self::Key(_) => RateSubject::Key,
            Self::Org(_) => RateSubject::Org,
        }
    }

    const fn refusal(&self) -> &'static str {
        match self {
            Self::Address(_) => "too many requests from this address",
            Self::NewVisitor(_) => "too many new visitors from this address",
            Self::Visitor(..) => "too many messages of this visitor",
            Self::Binding(_) => "too many messages for this binding",
            Self::Key(_) => "too many requests with this key",
            Self::Org(_) => "too many requests for this organization",
        }
    }
}

/// The rules that apply; a subject without one is not limited.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RateRules([Option<RateRule>; RateSubject::ALL.len()]);

impl Default for RateRules {
    fn default() -> Self {
        Self(RateSubject::ALL.map(|subject| Some(subject.default_rule())))
    }
}

impl RateRules {
    /// Limits nothing.
    pub const UNLIMITED: Self = Self([None; RateSubject::ALL.len()]);

    /// Sets the rule of a subject.
    pub const fn set(&mut self, subject: RateSubject, rule: RateRule) {
        self.0[subject as usize] = Some(rule);
    }

    const fn rule(&self, subject: RateSubject) -> Option<RateRule> {
        self.0[subject as usize]
    }
}

/// The buckets of a server. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct RateLimits {
    rules: Arc<RateRules>,
    buckets: Arc<Mutex<Buckets>>,
}

#[derive(Debug, Default)]
struct Buckets {
    by_key: HashMap<RateKey, Bucket>,
    /// How many there were after full ones were removed.
    after_purge: usize,
}

impl RateLimits {
    pub(crate) fn new(rules: RateRules) -> Self {
        Self { rules: Arc::new(rules), buckets: Arc::default() }
    }

    /// Takes a token, or fails with the time after which there is one.
    pub(crate) fn take(&self, key: RateKey, now: Timestamp) -> Result<()> {
        let Some(rule) = self.rules.rule(key.subject()) else { return Ok(()) };
        let mut buckets = self.lock();
        buckets.purge(now);
        let bucket = buckets.by_key.get(&key).copied().unwrap_or_default();
        match bucket.take(rule, now) {
            Ok(bucket) => {
                buckets.by_key.insert(key, bucket);
                Ok(())
            }
            Err(wait) => Err(ApiError::too_many(key.refusal(), wait)),
        }
    }

    /// Fails if there is no token, and takes none.
    pub(crate) fn check(&self, key: &RateKey, now: Timestamp) -> Result<()> {
        let Some(rule) = self.rules.rule(key.subject()) else { return Ok(()) };
        let bucket = self.lock().by_key.get(key).copied().unwrap_or_default();
        match bucket.take(rule, now) {
            Ok(_) => Ok(()),
            Err(wait) => Err(ApiError::too_many(key.refusal(), wait)),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Buckets> {
        self.buckets.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Buckets {
    /// Forgets buckets that are full, when there are twice as many as after the last time. If
    /// there are too many others, all begin again: that is better than to use up the memory.
    fn purge(&mut self, now: Timestamp) {
        if self.by_key.len() < MIN_PURGE.max(2 * self.after_purge) {
            return;
        }
        self.by_key.retain(|_, bucket| !bucket.is_full(now));
        if self.by_key.len() >= MAX_BUCKETS {
            self.by_key.clear();
        }
        self.after_purge = self.by_key.len();
    }
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};

    use ostler_domain::id::{KeyId, OrgId};
    use ostler_domain::rate_limit::{RateRule, RateSubject};
    use ostler_domain::time::Timestamp;

    use super::{RateKey, RateLimits, RateRules};

    const NOW: Timestamp = Timestamp::from_millis(1_700_000_000_000);

    /// S06: each sender has a bucket of its own, and is told when to come back.
    #[test]
    fn s06_senders_do_not_use_up_each_others_tokens() {
        let mut rules = RateRules::UNLIMITED;
        rules.set(RateSubject::Key, RateRule { per_minute: 6, burst: 2 });
        let limits = RateLimits::new(rules);
        let key = |id| RateKey::Key(KeyId::from_u128(id));
        for _ in 0..2 {
            limits.take(key(1), NOW).unwrap();
        }
        let refused = limits.take(key(1), NOW).unwrap_err();
        assert_eq!((refused.0.status, refused.1), (429, 11));
        assert!(limits.check(&key(1), NOW).is_err());
        limits.take(key(2), NOW).unwrap();
        limits.take(RateKey::Org(OrgId::from_u128(1)), NOW).unwrap();
        let later = Timestamp::from_millis(NOW.as_millis() + 11_000);
        limits.take(key(1), later).unwrap();
    }

    /// S06: buckets that are full again are forgotten, so that many senders cost no memory.
    #[test]
    fn s06_full_buckets_are_forgotten() {
        let limits = RateLimits::new(RateRules::default());
        for n in 0..10_000_u32 {
            let now = Timestamp::from_millis(NOW.as_millis() + i64::from(n) * 1000);
            let address = IpAddr::V4(Ipv4Addr::from(0x0100_0000 + n));
            limits.take(RateKey::address(address), now).unwrap();
        }
        assert!(limits.lock().by_key.len() <= 2_048, "{}", limits.lock().by_key.len());
    }
}
