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
    /// What goes in from a cache; like everything that goes in if it is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached_input: Option<Usd>,
    /// What goes in and is written to a cache; like everything that goes in if it
    /// is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write: Option<Usd>,
}

/// Tokens that go in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct InputTokens {
    /// All of them.
    pub all: u64,
    /// How many of them came from a cache.
    pub cached: u64,
    /// How many of them were written to a cache.
    pub written: u64,
}

impl ModelPrice {
    /// A price without a cache.
    pub const fn new(input: Usd, output: Usd) -> Self {
        Self { input, output, cached_input: None, cache_write: None }
    }

    /// The cost of these tokens, rounded up to a millionth of a dollar. No part of
    /// the input counts twice.
    pub fn cost(&self, input: InputTokens, output_tokens: u64) -> Usd {
        let cached = input.cached.min(input.all);
        let written = input.written.min(input.all - cached);
        let priced = [
            (self.cached_input.unwrap_or(self.input), cached),
            (self.cache_write.unwrap_or(self.input), written),
            (self.input, input.all - cached - written),
            (self.output, output_tokens),
        ];
        let part = |(price, tokens): (Usd, u64)| u128::from(price.as_micros()) * u128::from(tokens);
        let total = priced.into_iter().map(part).fold(0, u128::saturating_add);
        Usd::from_micros(u64::try_from(total.div_ceil(TOKENS_PER_PRICE)).unwrap_or(u64::MAX))
    }

    /// The most that this many tokens cost, whatever a cache does.
    pub fn most(&self, input_tokens: u64, output_tokens: u64) -> Usd {
        let dearest = Self::new(self.dearest_input(), self.output);
        dearest.cost(InputTokens { all: input_tokens, ..InputTokens::default() }, output_tokens)
    }

    fn dearest_input(&self) -> Usd {
        [self.cached_input, self.cache_write].into_iter().flatten().fold(self.input, Usd::max)
    }

    /// What to reserve before a call: as if the answer took all it may.
    pub fn estimate(&self, input_tokens: u64, max_output_tokens: u64) -> Credits {
        message_credits(self.most(input_tokens, max_output_tokens))
    }

    /// How many of the wanted output tokens `budget` can pay for, after the
    /// input. None when not even the input is affordable.
    pub fn clamp_output(&self, wanted: u64, input_tokens: u64, budget: Credits) -> Option<u64> {
        let micros = u128::from(budget.get()) * u128::from(MICROS_PER_CREDIT);
        let input = u128::from(self.dearest_input().as_micros()) * u128::from(input_tokens);
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
        assert_eq!(PRICE.most(1_000_000, 0), Usd::from_dollars(3));
        assert_eq!(PRICE.most(1000, 500), Usd::from_micros(3000 + 7500));
        assert_eq!(PRICE.most(1, 0), Usd::from_micros(3));
        assert_eq!(PRICE.estimate(1000, 4096), Credits::new(7));
    }

    #[test]
    fn what_a_cache_holds_has_a_price_of_its_own() {
        let cached_input = Some(Usd::from_micros(300_000));
        let price = ModelPrice { cached_input, ..PRICE };
        let check = |price: ModelPrice, all, cached, written, micros| {
            let cost = price.cost(InputTokens { all, cached, written }, 0);
            assert_eq!(cost, Usd::from_micros(micros), "{cached} and {written} of {all}");
        };
        check(PRICE, 1000, 400, 500, 3000);
        check(price, 1000, 0, 0, 3000);
        check(price, 1000, 400, 0, 600 * 3 + 120);
        check(price, 1000, 1000, 0, 300);
        check(price, 1000, 5000, 7000, 300);
        let dearer = ModelPrice { cache_write: Some(Usd::from_micros(3_750_000)), ..price };
        check(dearer, 1000, 400, 600, 120 + 2250);
        check(dearer, 1000, 0, 9000, 3750);
        assert_eq!(dearer.most(1000, 0), Usd::from_micros(3750));
        assert_eq!(dearer.estimate(1_000_000, 0), Credits::new(375));
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
                    assert!(message_credits(PRICE.most(input, tokens)) <= budget);
                }
            }
        }
    }
}
