//! Prices: the cost of model calls in dollars and credits.

use serde::{Deserialize, Serialize};

use super::{Credits, Usd};

/// Credits for a dollar.
pub const CREDITS_PER_USD: u64 = 100;
/// The minimum charge for a message, which an agent must be able to pay.
pub const MINIMUM_CHARGE: Credits = Credits::new(1);

const MICROS_PER_CREDIT: u64 = 1_000_000 / CREDITS_PER_USD;
const TOKENS_PER_PRICE_UNIT: u128 = 1_000_000;

/// Returns the credits for one message whose model calls cost this much: rounded
/// up, and at least the minimum charge.
pub fn message_credits(cost: Usd) -> Credits {
    Credits::new(cost.as_micros().div_ceil(MICROS_PER_CREDIT)).max(MINIMUM_CHARGE)
}

/// The price of a model per million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelPrice {
    pub input: Usd,
    pub output: Usd,
    /// Input read from a cache; `None` means the input price.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached_input: Option<Usd>,
    /// Input written to a cache; `None` means the input price.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write: Option<Usd>,
}

/// The input tokens of a model call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct InputTokens {
    pub total: u64,
    /// Of these, tokens read from a cache.
    pub cached: u64,
    /// Of these, tokens written to a cache.
    pub cache_written: u64,
}

impl ModelPrice {
    /// Makes a price without cache prices.
    pub const fn new(input: Usd, output: Usd) -> Self {
        Self { input, output, cached_input: None, cache_write: None }
    }

    /// Returns the cost of a call, rounded up to a millionth of a dollar. No input
    /// token counts twice.
    pub fn cost(&self, input: InputTokens, output_tokens: u64) -> Usd {
        let cached = input.cached.min(input.total);
        let written = input.cache_written.min(input.total - cached);
        let priced = [
            (self.cached_input.unwrap_or(self.input), cached),
            (self.cache_write.unwrap_or(self.input), written),
            (self.input, input.total - cached - written),
            (self.output, output_tokens),
        ];
        let micros_of =
            |(price, tokens): (Usd, u64)| u128::from(price.as_micros()) * u128::from(tokens);
        let total = priced.into_iter().map(micros_of).fold(0, u128::saturating_add);
        Usd::from_micros(u64::try_from(total.div_ceil(TOKENS_PER_PRICE_UNIT)).unwrap_or(u64::MAX))
    }

    /// Returns the maximum cost of this many tokens, whatever the cache does.
    pub fn max_cost(&self, input_tokens: u64, output_tokens: u64) -> Usd {
        let without_cache = Self::new(self.max_input_price(), self.output);
        without_cache
            .cost(InputTokens { total: input_tokens, ..InputTokens::default() }, output_tokens)
    }

    fn max_input_price(&self) -> Usd {
        [self.cached_input, self.cache_write].into_iter().flatten().fold(self.input, Usd::max)
    }

    /// Returns the credits to reserve before a call, assuming the longest answer.
    pub fn estimate_credits(&self, input_tokens: u64, max_output_tokens: u64) -> Credits {
        message_credits(self.max_cost(input_tokens, max_output_tokens))
    }

    /// Clamps the wanted output tokens to what `budget` can pay after the input.
    /// Returns `None` if not even one token is affordable.
    pub fn clamp_output(&self, wanted: u64, input_tokens: u64, budget: Credits) -> Option<u64> {
        let micros = u128::from(budget.get()) * u128::from(MICROS_PER_CREDIT);
        let input = u128::from(self.max_input_price().as_micros()) * u128::from(input_tokens);
        let left = (micros * TOKENS_PER_PRICE_UNIT).checked_sub(input)?;
        let affordable = left
            .checked_div(u128::from(self.output.as_micros()))
            .map_or(u64::MAX, |tokens| u64::try_from(tokens).unwrap_or(u64::MAX));
        let clamped = wanted.min(affordable);
        (clamped > 0 && budget >= MINIMUM_CHARGE).then_some(clamped)
    }
}

#[cfg(test)]
mod tests {
    use super::{InputTokens, ModelPrice, message_credits};
    use crate::money::{Credits, Usd};

    const PRICE: ModelPrice = ModelPrice::new(Usd::from_dollars(3), Usd::from_dollars(15));

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
        assert_eq!(PRICE.max_cost(1_000_000, 0), Usd::from_dollars(3));
        assert_eq!(PRICE.max_cost(1000, 500), Usd::from_micros(3000 + 7500));
        assert_eq!(PRICE.max_cost(1, 0), Usd::from_micros(3));
        assert_eq!(PRICE.estimate_credits(1000, 4096), Credits::new(7));
    }

    #[test]
    fn cached_input_has_its_own_price() {
        let cached_input = Some(Usd::from_micros(300_000));
        let price = ModelPrice { cached_input, ..PRICE };
        let check = |price: ModelPrice, total, cached, cache_written, micros| {
            let cost = price.cost(InputTokens { total, cached, cache_written }, 0);
            assert_eq!(cost, Usd::from_micros(micros), "{cached} and {cache_written} of {total}");
        };
        check(PRICE, 1000, 400, 500, 3000);
        check(price, 1000, 0, 0, 3000);
        check(price, 1000, 400, 0, 600 * 3 + 120);
        check(price, 1000, 1000, 0, 300);
        check(price, 1000, 5000, 7000, 300);
        let dearer = ModelPrice { cache_write: Some(Usd::from_micros(3_750_000)), ..price };
        check(dearer, 1000, 400, 600, 120 + 2250);
        check(dearer, 1000, 0, 9000, 3750);
        assert_eq!(dearer.max_cost(1000, 0), Usd::from_micros(3750));
        assert_eq!(dearer.estimate_credits(1_000_000, 0), Credits::new(375));
    }

    /// C02, C22: output that cannot be paid for is not requested.
    #[test]
    fn c22_an_answer_is_clamped_to_what_is_affordable() {
        let check = |wanted, input, budget, expected| {
            assert_eq!(PRICE.clamp_output(wanted, input, Credits::new(budget)), expected);
        };
        check(4096, 1000, 7, Some(4096));
        check(4096, 1000, 2, Some(1133));
        check(4096, 10_000, 2, None);
        check(4096, 0, 0, None);
        let free = ModelPrice::new(Usd::from_micros(0), Usd::from_micros(0));
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
                    assert!(message_credits(PRICE.max_cost(input, tokens)) <= budget);
                }
            }
        }
    }
}
