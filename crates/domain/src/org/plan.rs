//! Plans: what an org gets each day and month, and how many sub-orgs.

use serde::{Deserialize, Serialize};

use crate::money::Credits;

/// The plan tiers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Plan {
    /// Daily credits only.
    Free,
    /// For a first agent.
    Starter,
    /// For a small team.
    Pro,
    /// For a busy team.
    Professional,
    /// For orgs with clients of their own.
    Agency,
    /// Without a limit.
    Enterprise,
}

/// An amount that may have no bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Allowance<T> {
    /// At most this much.
    UpTo(T),
    /// As much as is needed.
    Unlimited,
}

impl Plan {
    /// Every plan, from the smallest to the largest.
    pub const ALL: [Self; 6] =
        [Self::Free, Self::Starter, Self::Pro, Self::Professional, Self::Agency, Self::Enterprise];

    /// The name as it is stored and shown.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Free => "free",
            Self::Starter => "starter",
            Self::Pro => "pro",
            Self::Professional => "professional",
            Self::Agency => "agency",
            Self::Enterprise => "enterprise",
        }
    }

    /// The credits granted at the start of each month.
    pub const fn monthly_credits(self) -> Allowance<Credits> {
        Allowance::UpTo(Credits::new(match self {
            Self::Free => 0,
            Self::Starter => 100,
            Self::Pro => 200,
            Self::Professional => 500,
            Self::Agency => 2000,
            Self::Enterprise => return Allowance::Unlimited,
        }))
    }

    /// The credits granted at the start of each UTC day.
    pub const fn daily_credits(self) -> Allowance<Credits> {
        match self {
            Self::Enterprise => Allowance::Unlimited,
            _ => Allowance::UpTo(Credits::new(5)),
        }
    }

    /// How many sub-orgs the plan includes.
    pub const fn sub_orgs(self) -> Allowance<u32> {
        match self {
            Self::Agency => Allowance::UpTo(2),
            Self::Enterprise => Allowance::Unlimited,
            _ => Allowance::UpTo(0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Allowance, Plan};
    use crate::money::Credits;

    #[test]
    fn plans_grant_what_the_price_list_says() {
        let limited = |n| Allowance::UpTo(Credits::new(n));
        let table = [
            (Plan::Free, limited(0), limited(5), Allowance::UpTo(0)),
            (Plan::Starter, limited(100), limited(5), Allowance::UpTo(0)),
            (Plan::Pro, limited(200), limited(5), Allowance::UpTo(0)),
            (Plan::Professional, limited(500), limited(5), Allowance::UpTo(0)),
            (Plan::Agency, limited(2000), limited(5), Allowance::UpTo(2)),
            (Plan::Enterprise, Allowance::Unlimited, Allowance::Unlimited, Allowance::Unlimited),
        ];
        for (plan, monthly, daily, sub_orgs) in table {
            let granted = (plan.monthly_credits(), plan.daily_credits(), plan.sub_orgs());
            assert_eq!(granted, (monthly, daily, sub_orgs), "{}", plan.name());
        }
    }
}
