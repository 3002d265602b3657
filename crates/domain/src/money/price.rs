//! Prices: from tokens to dollars to credits, and what an answer may cost.

use serde::{Deserialize, Serialize};

use super::{Credits, Usd};

/// Credits for a dollar.
pub const CREDITS_PER_USD: u64 = 100;
/// The least that a message costs, and what a new agent must be able to pay.
pub const MINIMUM_CHARGE: Credits = Credits::new(1);

const MICROS_PER_CREDIT: u64 = 1_000_000 / CREDITS_PER_USD;
const TOKENS_PER_PRICE: u128 = 1_000_000;

/// The credits for one message whose model calls cost this much: rounded up,
/// and at least one.
pub fn message_credits(cost: Usd) -> Credits {
    Credits::new(cost.as_micros().div_ceil(MICROS_PER_CREDIT)).max(MINIMUM_CHARGE)
}

/// What a model costs per million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelPrice {
    /// What goes in.
    pub input: Usd,
    /// What comes out.
    pub output: Usd,
}

impl ModelPrice {
    /// The cost of this many tokens, rounded up to a millionth of a dollar.
    pub fn cost(&self, input_tokens: u64, output_tokens: u64) -> Usd {
        let input = u128::from(self.input.as_micros()) * u128::from(input_tokens);
        let output = u128::from(self.output.as_micros()) * u128::from(output_tokens);
        let total = input.saturating_add(output);
        Usd::from_micros(u64::try_from(total.div_ceil(TOKENS_PER_PRICE)).unwrap_or(u64::MAX))
    }

    /// What to reserve before a call: as if the answer took all it may.
    pub fn estimate(&self, input_tokens: u64, max_output_tokens: u64) -> Credits {
        message_credits(self.cost(input_tokens, max_output_tokens))
    }

    /// How many of the wanted output tokens `budget` can pay for, after the
    /// input. None when not even the input is affordable.
    pub fn clamp_output(&self, wanted: u64, input_tokens: u64, budget: Credits) -> Option<u64> {
        let micros = u128::from(budget.get()) * u128::from(MICROS_PER_CREDIT);
        let input = u128::from(self.input.as_micros()) * u128::from(input_tokens);
        let left = (micros * TOKENS_PER_PRICE).checked_sub(input)?;
        let affordable = left
            .checked_div(u128::from(self.output.as_micros()))
            .map_or(u64::MAX, |tokens| u64::try_from(tokens).unwrap_or(u64::MAX));
        let clamped = wanted.min(affordable);
        (clamped > 0 && budget >= MINIMUM_CHARGE).then_some(clamped)
    }
}

#[cfg(test)]
mod tests {
    use super::{ModelPrice, message_credits};
    use crate::money::{Credits, Usd};

    const PRICE: ModelPrice =
        ModelPrice { input: Usd::from_dollars(3), output: Usd::from_dollars(15) };

    /// E01: 100 credits per dollar, rounded up, at least one per message.
    #[test]
    fn e01_a_message_costs_whole_credits() {
        let check = |micros, credits| {
            assert_eq!(
                message_credits(Usd::from_micros(micros)),
                Credits::new(credits),
                "{micros}"
            );
        };
        check(0, 1);
        check(1, 1);
        check(10_000, 1);
        check(10_001, 2);
        check(1_000_000, 100);
    }

    #[test]
    fn tokens_are_priced_per_million() {
        assert_eq!(PRICE.cost(1_000_000, 0), Usd::from_dollars(3));
        assert_eq!(PRICE.cost(1000, 500), Usd::from_micros(3000 + 7500));
        assert_eq!(PRICE.cost(1, 0), Usd::from_micros(3));
        assert_eq!(PRICE.estimate(1000, 4096), Credits::new(7));
    }

    /// C02, C22: what cannot be paid for is not asked for.
    #[test]
    fn c22_an_answer_is_clamped_to_what_is_affordable() {
        let check = |wanted, input, budget, expected| {
            assert_eq!(PRICE.clamp_output(wanted, input, Credits::new(budget)), expected);
        };
        check(4096, 1000, 7, Some(4096));
        check(4096, 1000, 2, Some(1133));
        check(4096, 10_000, 2, None);
        check(4096, 0, 0, None);
        let free = ModelPrice { input: Usd::from_micros(0), output: Usd::from_micros(0) };
        assert_eq!(free.clamp_output(4096, 1_000_000, Credits::new(1)), Some(4096));
        assert_eq!(free.clamp_output(4096, 0, Credits::ZERO), None);
    }

    /// A clamped answer never costs more than the budget it was clamped to.
    #[test]
    fn c22_a_clamped_answer_stays_within_its_budget() {
        for budget in 1..200 {
            for input in [0, 1, 999, 20_000] {
                let budget = Credits::new(budget);
                if let Some(tokens) = PRICE.clamp_output(100_000, input, budget) {
                    assert!(message_credits(PRICE.cost(input, tokens)) <= budget);
                }
            }
        }
    }
}
