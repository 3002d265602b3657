//! Rate limits: what an agent may do in one UTC day.

use serde::{Deserialize, Serialize};

use super::{Agent, Protection};
use crate::money::Usd;
use crate::time::{Timestamp, UtcDay};

/// The limits of an agent for one UTC day.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentLimits {
    /// Messages that may be answered.
    pub max_messages_per_day: u32,
    /// Cost of models and tools.
    pub max_cost_per_day: Usd,
}

impl AgentLimits {
    /// The default for an org's agents.
    pub const ORG: Self =
        Self { max_messages_per_day: 100, max_cost_per_day: Usd::from_dollars(5) };
    /// The default of the platform, which applies to protected agents.
    pub const PLATFORM: Self =
        Self { max_messages_per_day: 1000, max_cost_per_day: Usd::from_dollars(50) };
}

/// Messages that one conversation may always use of an agent's day.
const MIN_CONVERSATION_MESSAGES: u32 = 10;

impl AgentLimits {
    /// Returns how many messages of one conversation may be answered in a day: a quarter of
    /// all, so that one visitor cannot use up what is meant for everybody.
    pub fn max_messages_per_conversation(self) -> u32 {
        let all = self.max_messages_per_day;
        all.min(MIN_CONVERSATION_MESSAGES.max(all / 4))
    }
}

impl Default for AgentLimits {
    fn default() -> Self {
        Self::ORG
    }
}

/// Returns the limits that apply to an agent: the platform's for a protected one,
/// its own for any other.
pub fn effective_limits(agent: &Agent, platform: AgentLimits) -> AgentLimits {
    match agent.protection {
        Protection::Protected => platform,
        Protection::Open => agent.limits,
    }
}

/// An agent's usage on one UTC day.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct DailyUsage {
    pub day: UtcDay,
    /// Messages that may be answered.
    pub messages: u32,
    pub cost: Usd,
}

impl DailyUsage {
    /// Returns the usage of today: zero if the stored usage is of an earlier day. A
    /// node whose clock is behind keeps counting on the newer day.
    pub fn current(self, now: Timestamp) -> Self {
        let day = now.utc_day();
        if self.day >= day { self } else { Self { day, ..Self::default() } }
    }

    /// Returns the usage after one more answered message.
    pub fn after_message(self, cost: Usd, now: Timestamp) -> Self {
        let today = self.current(now);
        Self { messages: today.messages.saturating_add(1), cost: today.cost + cost, ..today }
    }
}

/// The limit that was reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DailyLimit {
    Messages,
    /// The messages of this conversation.
    ConversationMessages,
    Cost,
}

/// The decision of the rate-limit check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RateLimitDecision {
    /// The message may be answered.
    Pass,
    /// The run ends as `rate_limited`.
    Limited {
        reached: DailyLimit,
        /// When the limit resets.
        resets_at: Timestamp,
        /// Whether to tell the customer now: once per day.
        notify_customer: bool,
    },
}

/// Checks whether one more message may be answered now. `in_conversation` is the number of
/// messages of this conversation that were answered today, `notified_on` the day on which this
/// customer was last told about a limit.
pub fn check(
    limits: AgentLimits,
    counters: DailyUsage,
    in_conversation: u32,
    notified_on: Option<UtcDay>,
    now: Timestamp,
) -> RateLimitDecision {
    let today = counters.current(now);
    let reached = if today.messages >= limits.max_messages_per_day {
        DailyLimit::Messages
    } else if in_conversation >= limits.max_messages_per_conversation() {
        DailyLimit::ConversationMessages
    } else if today.cost >= limits.max_cost_per_day {
        DailyLimit::Cost
    } else {
        return RateLimitDecision::Pass;
    };
    RateLimitDecision::Limited {
        reached,
        resets_at: today.day.next().start(),
        notify_customer: notified_on != Some(today.day),
    }
}

#[cfg(test)]
mod tests {
    use super::{AgentLimits, DailyLimit, DailyUsage, RateLimitDecision, check, effective_limits};
    use crate::agent::Protection;
    use crate::agent::subtype::Subtype;
    use crate::money::Usd;
    use crate::testing;
    use crate::time::{Timestamp, UtcDay};
    use std::time::Duration;

    const NOON: Timestamp = Timestamp::from_millis(12 * 3600 * 1000);

    fn counters(messages: u32, cents: u64) -> DailyUsage {
        DailyUsage { day: NOON.utc_day(), messages, cost: Usd::from_micros(cents * 10_000) }
    }

    /// A08: at 100 messages or $5.00 the message is not answered.
    #[test]
    fn a08_a_message_is_refused_at_either_daily_limit() {
        let limited = |reached| RateLimitDecision::Limited {
            reached,
            resets_at: UtcDay::default().next().start(),
            notify_customer: true,
        };
        let table = [
            (counters(0, 0), RateLimitDecision::Pass),
            (counters(99, 499), RateLimitDecision::Pass),
            (counters(100, 0), limited(DailyLimit::Messages)),
            (counters(3, 500), limited(DailyLimit::Cost)),
            (counters(100, 500), limited(DailyLimit::Messages)),
        ];
        for (counters, expected) in table {
            assert_eq!(check(AgentLimits::ORG, counters, 0, None, NOON), expected, "{counters:?}");
        }
    }

    /// S06: one conversation gets a quarter of an agent's day and at least ten messages.
    #[test]
    fn s06_one_conversation_cannot_use_up_the_day_of_an_agent() {
        for (all, expected) in [(1, 1), (10, 10), (30, 10), (100, 25), (1000, 250)] {
            let limits = AgentLimits { max_messages_per_day: all, ..AgentLimits::ORG };
            assert_eq!(limits.max_messages_per_conversation(), expected, "{all}");
        }
        let reached = |used| match check(AgentLimits::ORG, counters(used, 0), used, None, NOON) {
            RateLimitDecision::Pass => None,
            RateLimitDecision::Limited { reached, .. } => Some(reached),
        };
        assert_eq!(reached(24), None);
        assert_eq!(reached(25), Some(DailyLimit::ConversationMessages));
        assert_eq!(reached(100), Some(DailyLimit::Messages));
    }

    /// A08: each customer is told once per window.
    #[test]
    fn a08_each_customer_is_notified_once_per_day() {
        let notifies = |notified_on| {
            let decision = check(AgentLimits::ORG, counters(100, 0), 0, notified_on, NOON);
            let RateLimitDecision::Limited { notify_customer, .. } = decision else {
                panic!("the limit is reached");
            };
            notify_customer
        };
        assert!(notifies(None));
        assert!(!notifies(Some(NOON.utc_day())));
        let next_day = check(
            AgentLimits::ORG,
            DailyUsage { day: NOON.utc_day().next(), ..counters(100, 0) },
            0,
            Some(NOON.utc_day()),
            NOON + Duration::from_secs(86_400),
        );
        assert!(matches!(next_day, RateLimitDecision::Limited { notify_customer: true, .. }));
    }

    /// A09: the counters are sums over the UTC day, and a new day starts at zero.
    #[test]
    fn a09_counters_add_up_and_reset_at_midnight() {
        let cent = Usd::from_micros(10_000);
        let twice = counters(0, 0).after_message(cent, NOON).after_message(cent, NOON);
        assert_eq!(twice, counters(2, 2));
        let tomorrow = NOON + Duration::from_secs(12 * 3600);
        let fresh = DailyUsage { day: tomorrow.utc_day(), ..counters(1, 1) };
        assert_eq!(counters(100, 500).after_message(cent, tomorrow), fresh);
        assert_eq!(
            check(AgentLimits::ORG, counters(100, 500), 0, None, tomorrow),
            RateLimitDecision::Pass
        );
        let full = DailyUsage { day: tomorrow.utc_day(), ..counters(100, 0) };
        assert_ne!(check(AgentLimits::ORG, full, 0, None, NOON), RateLimitDecision::Pass);
        assert_eq!(full.after_message(cent, NOON).messages, 101);
    }

    /// E13: a protected agent is bound by the platform's limits, not the org's.
    #[test]
    fn e13_protected_agents_use_the_platforms_limits() {
        let strict = AgentLimits { max_messages_per_day: 1, ..AgentLimits::ORG };
        let mut agent = testing::agent("quinn", Subtype::System);
        (agent.limits, agent.protection) = (strict, Protection::Protected);
        let limits = effective_limits(&agent, AgentLimits::PLATFORM);
        assert_eq!(check(limits, counters(999, 4999), 0, None, NOON), RateLimitDecision::Pass);
        assert_ne!(check(limits, counters(1000, 0), 0, None, NOON), RateLimitDecision::Pass);
        agent.protection = Protection::Open;
        assert_eq!(effective_limits(&agent, AgentLimits::PLATFORM), strict);
    }
}
