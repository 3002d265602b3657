//! Money: credits, prices, pools, the ledger, and spending caps.
//!
//! All amounts are integers and never negative: an operation that would overdraw is
//! refused and changes nothing.

pub mod caps;
pub mod ledger;
pub mod pools;
pub mod price;
pub mod sharing;
pub mod spend;

use std::fmt;
use std::iter::Sum;
use std::ops::Add;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An amount of credits, which orgs are granted and spend.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Default,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(transparent)]
pub struct Credits(u64);

impl Credits {
    /// No credits.
    pub const ZERO: Self = Self(0);
    /// The largest amount of one grant, hold or charge; a larger one is a calculation
    /// error.
    pub const MAX_AMOUNT: Self = Self(1_000_000_000_000_000);
    /// The largest total ever granted to a pool, so that sums over all pools of an
    /// account fit 63 bits.
    pub const MAX_TOTAL: Self = Self(1_000_000_000_000_000_000);

    /// Makes an amount of credits.
    pub const fn new(amount: u64) -> Self {
        Self(amount)
    }

    /// Returns the number of credits.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// Returns whether the amount is zero.
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// Subtracts `other`, down to zero.
    #[must_use]
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

/// Returns `percent` of an amount, rounded down.
pub fn percent_of(amount: Credits, percent: u64) -> Credits {
    let part = u128::from(amount.0) * u128::from(percent) / 100;
    Credits(u64::try_from(part).unwrap_or(u64::MAX))
}

impl Add for Credits {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl Sum for Credits {
    fn sum<I: Iterator<Item = Self>>(iter: I) -> Self {
        iter.fold(Self::ZERO, Add::add)
    }
}

impl fmt::Display for Credits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} credit{}", self.0, if self.0 == 1 { "" } else { "s" })
    }
}

/// An amount in US dollars, stored in millionths.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Usd(u64);

impl Usd {
    /// Makes an amount of this many millionths of a dollar.
    pub const fn from_micros(micros: u64) -> Self {
        Self(micros)
    }

    /// Makes an amount of whole dollars.
    pub const fn from_dollars(dollars: u64) -> Self {
        Self(dollars * 1_000_000)
    }

    /// Returns the millionths of a dollar.
    pub const fn as_micros(self) -> u64 {
        self.0
    }
}

impl Add for Usd {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl fmt::Display for Usd {
    /// Shows dollars and cents, with more digits only where cents would hide the
    /// amount.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (dollars, micros) = (self.0 / 1_000_000, self.0 % 1_000_000);
        if micros % 10_000 == 0 {
            write!(f, "${dollars}.{:02}", micros / 10_000)
        } else {
            write!(f, "${dollars}.{micros:06}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Credits, Usd};

    #[test]
    fn money_is_shown_with_its_unit() {
        assert_eq!(Usd::from_dollars(5).to_string(), "$5.00");
        assert_eq!(Usd::from_micros(10_500_000).to_string(), "$10.50");
        assert_eq!(Usd::from_micros(1_234).to_string(), "$0.001234");
        assert_eq!(Credits::new(1).to_string(), "1 credit");
        assert_eq!(Credits::new(300).to_string(), "300 credits");
    }
}
