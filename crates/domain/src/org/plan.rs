//! Licence plans: credits per day and month, and the number of sub-orgs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::money::Credits;

/// A licence plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LicencePlan {
    /// Daily credits only.
    Free,
    Starter,
    Pro,
    Professional,
    /// For orgs with clients of their own.
    Agency,
    /// Without a limit.
    Enterprise,
}

/// An amount that may be unlimited.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Allowance<T> {
    UpTo(T),
    Unlimited,
}

impl LicencePlan {
    /// All plans, from the smallest to the largest.
    pub const ALL: [Self; 6] =
        [Self::Free, Self::Starter, Self::Pro, Self::Professional, Self::Agency, Self::Enterprise];

    /// Returns the name as stored and shown.
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

    /// Returns the credits granted at the start of each month.
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

    /// Returns the credits granted at the start of each UTC day.
    pub const fn daily_credits(self) -> Allowance<Credits> {
        match self {
            Self::Enterprise => Allowance::Unlimited,
            _ => Allowance::UpTo(Credits::new(5)),
        }
    }

    /// Returns how many sub-orgs the plan includes.
    pub const fn sub_orgs(self) -> Allowance<u32> {
        match self {
            Self::Agency => Allowance::UpTo(2),
            Self::Enterprise => Allowance::Unlimited,
            _ => Allowance::UpTo(0),
        }
    }
}

/// Credits per month and day that an org gets instead of those of its plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct CreditAllowance {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub monthly: Option<Credits>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub daily: Option<Credits>,
}

impl CreditAllowance {
    /// Returns whether the plan decides alone.
    pub const fn is_empty(&self) -> bool {
        self.monthly.is_none() && self.daily.is_none()
    }
}

/// Credits that an account gets at the start of each month and UTC day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PeriodCredits {
    pub monthly: Allowance<Credits>,
    pub daily: Allowance<Credits>,
}

impl From<LicencePlan> for PeriodCredits {
    fn from(plan: LicencePlan) -> Self {
        Self { monthly: plan.monthly_credits(), daily: plan.daily_credits() }
    }
}

#[cfg(test)]
mod tests {
    use super::{Allowance, LicencePlan};
    use crate::money::Credits;

    #[test]
    fn plans_grant_what_the_price_list_says() {
        let limited = |n| Allowance::UpTo(Credits::new(n));
        let table = [
            (LicencePlan::Free, limited(0), limited(5), Allowance::UpTo(0)),
            (LicencePlan::Starter, limited(100), limited(5), Allowance::UpTo(0)),
            (LicencePlan::Pro, limited(200), limited(5), Allowance::UpTo(0)),
            (LicencePlan::Professional, limited(500), limited(5), Allowance::UpTo(0)),
            (LicencePlan::Agency, limited(2000), limited(5), Allowance::UpTo(2)),
            (
                LicencePlan::Enterprise,
                Allowance::Unlimited,
                Allowance::Unlimited,
                Allowance::Unlimited,
            ),
        ];
        for (plan, monthly, daily, sub_orgs) in table {
            let granted = (plan.monthly_credits(), plan.daily_credits(), plan.sub_orgs());
            assert_eq!(granted, (monthly, daily, sub_orgs), "{}", plan.name());
        }
    }
}
