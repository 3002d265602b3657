//! Rate limits of requests from outside: token buckets.
//!
//! A bucket begins full. Each request takes a token, and tokens come back evenly.

use std::time::Duration;

use crate::time::Timestamp;

/// How many requests are accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RateRule {
    /// Tokens that come back in a minute; at least 1.
    pub per_minute: u32,
    /// Tokens of a full bucket: requests that are accepted at once; at least 1.
    pub burst: u32,
}

/// Whose requests share a bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RateSubject {
    /// An address: requests of web chats, and requests without a valid key or signature.
    Address,
    /// An address: new visitors of web chats.
    NewVisitor,
    /// A visitor of a web chat: their messages.
    Visitor,
    /// A binding: messages from outside.
    Binding,
    /// An API key: its requests.
    Key,
    /// An org: all of the above that belong to it.
    Org,
}

impl RateSubject {
    /// All subjects, in the order of the document.
    pub const ALL: [Self; 6] =
        [Self::Address, Self::NewVisitor, Self::Visitor, Self::Binding, Self::Key, Self::Org];

    /// Returns the name in the configuration.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Address => "address",
            Self::NewVisitor => "new_visitor",
            Self::Visitor => "visitor",
            Self::Binding => "binding",
            Self::Key => "key",
            Self::Org => "org",
        }
    }

    /// Returns the rule that applies unless the configuration has another.
    pub const fn default_rule(self) -> RateRule {
        let (per_minute, burst) = match self {
            Self::Address => (1_200, 300),
            Self::NewVisitor => (10, 30),
            Self::Visitor => (30, 20),
            Self::Binding => (60_000, 5_000),
            Self::Key => (12_000, 1_000),
            Self::Org => (120_000, 10_000),
        };
        RateRule { per_minute, burst }
    }
}

impl RateRule {
    /// Returns the time in which one token comes back.
    const fn interval_micros(self) -> i64 {
        let per_minute = if self.per_minute == 0 { 1 } else { self.per_minute };
        60_000_000 / per_minute as i64
    }
}

/// A token bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Bucket {
    /// When it is full again, in microseconds since 1970.
    full_at: i64,
}

impl Bucket {
    /// Returns the bucket after a token is taken, or after which time there is one.
    pub fn take(self, rule: RateRule, now: Timestamp) -> Result<Self, Duration> {
        let (now, interval) = (micros(now), rule.interval_micros());
        let full_at = self.full_at.max(now).saturating_add(interval);
        let latest = now.saturating_add(interval.saturating_mul(rule.burst.max(1).into()));
        match u64::try_from(full_at - latest) {
            Ok(wait @ 1..) => Err(Duration::from_micros(wait)),
            _ => Ok(Self { full_at }),
        }
    }

    /// Returns whether nothing has to be remembered of it.
    pub fn is_full(self, now: Timestamp) -> bool {
        self.full_at <= micros(now)
    }
}

const fn micros(at: Timestamp) -> i64 {
    at.as_millis().saturating_mul(1000)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proptest::prelude::{prop, proptest};

    use super::{Bucket, RateRule, RateSubject};
    use crate::time::Timestamp;

    const RULE: RateRule = RateRule { per_minute: 60, burst: 3 };

    fn at(millis: i64) -> Timestamp {
        Timestamp::from_millis(1_700_000_000_000 + millis)
    }

    /// S06: the burst is accepted at once, then one request a second.
    #[test]
    fn s06_a_burst_is_accepted_and_then_the_rate() {
        let mut bucket = Bucket::default();
        for _ in 0..3 {
            bucket = bucket.take(RULE, at(0)).expect("within the burst");
        }
        assert_eq!(bucket.take(RULE, at(0)), Err(Duration::from_secs(1)));
        assert_eq!(bucket.take(RULE, at(400)), Err(Duration::from_millis(600)));
        bucket = bucket.take(RULE, at(1000)).expect("one token is back");
        assert_eq!(bucket.take(RULE, at(1000)), Err(Duration::from_secs(1)));
        assert!(!bucket.is_full(at(3999)));
        assert!(bucket.is_full(at(4000)));
    }

    /// S06: the document shows the default rules.
    #[test]
    fn s06_the_document_has_the_rules() {
        let document = include_str!("../../../docs/LIMITS.md");
        for subject in RateSubject::ALL {
            let RateRule { per_minute, burst } = subject.default_rule();
            let row = document
                .lines()
                .find(|line| line.starts_with(&format!("| `{}` |", subject.name())));
            let end = format!("| {per_minute} | {burst} |");
            assert!(row.is_some_and(|row| row.ends_with(&end)), "{subject:?}");
        }
    }

    proptest! {
        /// S06: never more than the burst and what came back meanwhile; who waits as long as
        /// told is accepted.
        #[test]
        fn s06_a_bucket_never_gives_more_than_its_rule(
            per_minute in 1_u32..100_000,
            burst in 1_u32..50,
            steps in prop::collection::vec(0_i64..2_000, 1..200),
        ) {
            let rule = RateRule { per_minute, burst };
            let (mut bucket, mut now, mut accepted) = (Bucket::default(), 0, 0_i64);
            for step in steps {
                now += step;
                match bucket.take(rule, at(now)) {
                    Ok(next) => (bucket, accepted) = (next, accepted + 1),
                    Err(wait) => {
                        let later = now + i64::try_from(wait.as_millis()).unwrap() + 1;
                        assert!(bucket.take(rule, at(later)).is_ok());
                    }
                }
                let back = now * 1000 / (60_000_000 / i64::from(per_minute));
                assert!(accepted <= i64::from(burst) + back);
            }
        }
    }
}
