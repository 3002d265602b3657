//! Rate limits: what an agent may do in one UTC day.

use serde::{Deserialize, Serialize};

use super::{Agent, Protection};
use crate::money::Usd;
use crate::time::{Timestamp, UtcDay};

/// The most of a day.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentLimits {
    /// Messages answered.
    pub max_messages_per_day: u32,
    /// Money spent on models and tools.
    pub max_cost_per_day: Usd,
}

impl AgentLimits {
    /// The default of an org's agent.
    pub const ORG: Self =
        Self { max_messages_per_day: 100, max_cost_per_day: Usd::from_dollars(5) };
    /// The default of the platform, which protected agents use.
    pub const PLATFORM: Self =
        Self { max_messages_per_day: 1000, max_cost_per_day: Usd::from_dollars(50) };
}

impl Default for AgentLimits {
    fn default() -> Self {
        Self::ORG
    }
}

/// The limits that bind an agent: a protected one is bound by the platform's,
/// whatever its org has set.
pub fn limits_of(agent: &Agent, platform: AgentLimits) -> AgentLimits {
    match agent.protection {
        Protection::Protected => platform,
        Protection::Open => agent.limits,
    }
}

/// What an agent has done on one day.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct DayCounters {
    /// The day they count.
    pub day: UtcDay,
    /// Messages answered.
    pub messages: u32,
    /// Money spent.
    pub cost: Usd,
}

impl DayCounters {
    /// The counters that apply now: those of an earlier day count nothing. A
    /// node whose clock is behind counts on with the newer day.
    pub fn current(self, now: Timestamp) -> Self {
        let day = now.utc_day();
        if self.day >= day { self } else { Self { day, ..Self::default() } }
    }

    /// The counters after one more answered message.
    pub fn after_message(self, cost: Usd, now: Timestamp) -> Self {
        let today = self.current(now);
        Self { messages: today.messages.saturating_add(1), cost: today.cost + cost, ..today }
    }
}

/// Which limit was reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LimitReached {
    /// The number of messages.
    Messages,
    /// The money.
    Cost,
}

/// The answer of the rate-limit gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RateVerdict {
    /// The message may be answered.
    Pass,
    /// The run ends as `rate_limited`.
    Limited {
        /// Which limit.
        reached: LimitReached,
        /// When the window ends.
        resets_at: Timestamp,
        /// Whether the customer is told now: once in a window.
        tell_customer: bool,
    },
}

/// Whether one more message may be answered now. `told_on` is the day on which
/// this customer was last told about a limit.
pub fn check(
    limits: AgentLimits,
    counters: DayCounters,
    told_on: Option<UtcDay>,
    now: Timestamp,
) -> RateVerdict {
    let today = counters.current(now);
    let reached = if today.messages >= limits.max_messages_per_day {
        LimitReached::Messages
    } else if today.cost >= limits.max_cost_per_day {
        LimitReached::Cost
    } else {
        return RateVerdict::Pass;
    };
    RateVerdict::Limited {
        reached,
        resets_at: today.day.next().start(),
        tell_customer: told_on != Some(today.day),
    }
}

#[cfg(test)]
mod tests {
    use super::{AgentLimits, DayCounters, LimitReached, RateVerdict, check, limits_of};
    use crate::agent::Protection;
    use crate::agent::subtype::Subtype;
    use crate::money::Usd;
    use crate::testing;
    use crate::time::{Timestamp, UtcDay};
    use std::time::Duration;

    const NOON: Timestamp = Timestamp::from_millis(12 * 3600 * 1000);

    fn counters(messages: u32, cents: u64) -> DayCounters {
        DayCounters { day: NOON.utc_day(), messages, cost: Usd::from_micros(cents * 10_000) }
    }

    /// A08: at 100 messages or $5.00 the message is not answered.
    #[test]
    fn a08_the_day_ends_at_either_limit() {
        let limited = |reached| RateVerdict::Limited {
            reached,
            resets_at: UtcDay::default().next().start(),
            tell_customer: true,
        };
        let table = [
            (counters(0, 0), RateVerdict::Pass),
            (counters(99, 499), RateVerdict::Pass),
            (counters(100, 0), limited(LimitReached::Messages)),
            (counters(3, 500), limited(LimitReached::Cost)),
            (counters(100, 500), limited(LimitReached::Messages)),
        ];
        for (counters, expected) in table {
            assert_eq!(check(AgentLimits::ORG, counters, None, NOON), expected, "{counters:?}");
        }
    }

    /// A08: each customer is told once per window.
    #[test]
    fn a08_each_customer_is_told_once() {
        let told = |told_on| {
            let verdict = check(AgentLimits::ORG, counters(100, 0), told_on, NOON);
            let RateVerdict::Limited { tell_customer, .. } = verdict else {
                panic!("the limit is reached");
            };
            tell_customer
        };
        assert!(told(None));
        assert!(!told(Some(NOON.utc_day())));
        let next_day = check(
            AgentLimits::ORG,
            DayCounters { day: NOON.utc_day().next(), ..counters(100, 0) },
            Some(NOON.utc_day()),
            NOON + Duration::from_secs(86_400),
        );
        assert!(matches!(next_day, RateVerdict::Limited { tell_customer: true, .. }));
    }

    /// A09: the counters are sums over the UTC day, and a new day starts at zero.
    #[test]
    fn a09_counters_add_up_and_reset_at_midnight() {
        let cent = Usd::from_micros(10_000);
        let twice = counters(0, 0).after_message(cent, NOON).after_message(cent, NOON);
        assert_eq!(twice, counters(2, 2));
        let tomorrow = NOON + Duration::from_secs(12 * 3600);
        let fresh = DayCounters { day: tomorrow.utc_day(), ..counters(1, 1) };
        assert_eq!(counters(100, 500).after_message(cent, tomorrow), fresh);
        assert_eq!(check(AgentLimits::ORG, counters(100, 500), None, tomorrow), RateVerdict::Pass);
        let full = DayCounters { day: tomorrow.utc_day(), ..counters(100, 0) };
        assert_ne!(check(AgentLimits::ORG, full, None, NOON), RateVerdict::Pass);
        assert_eq!(full.after_message(cent, NOON).messages, 101);
    }

    /// E13: a protected agent is bound by the platform's limits, not the org's.
    #[test]
    fn e13_protected_agents_use_the_platforms_limits() {
        let strict = AgentLimits { max_messages_per_day: 1, ..AgentLimits::ORG };
        let mut agent = testing::agent("quinn", Subtype::System);
        (agent.limits, agent.protection) = (strict, Protection::Protected);
        let limits = limits_of(&agent, AgentLimits::PLATFORM);
        assert_eq!(check(limits, counters(999, 4999), None, NOON), RateVerdict::Pass);
        assert_ne!(check(limits, counters(1000, 0), None, NOON), RateVerdict::Pass);
        agent.protection = Protection::Open;
        assert_eq!(limits_of(&agent, AgentLimits::PLATFORM), strict);
    }
}
