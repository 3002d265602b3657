//! Properties of prices: an answer is clamped to what its budget can pay, for any
//! price.

use ostler_domain::money::price::{InputTokens, MINIMUM_CHARGE, ModelPrice, message_credits};
use ostler_domain::money::{Credits, Usd};
use proptest::prelude::*;

use crate::check;

/// Dollars per million tokens: free, usual, or anything at all.
fn prices() -> impl Strategy<Value = ModelPrice> {
    let usd = || {
        prop_oneof![1 => Just(0), 6 => 0..200_000_000u64, 3 => any::<u64>()]
            .prop_map(Usd::from_micros)
    };
    let optional = || prop_oneof![1 => Just(None), 2 => usd().prop_map(Some)];
    (usd(), usd(), optional(), optional()).prop_map(|(input, output, cached_input, cache_write)| {
        ModelPrice { input, output, cached_input, cache_write }
    })
}

fn tokens() -> impl Strategy<Value = u64> {
    prop_oneof![6 => 0..300_000u64, 3 => any::<u64>()]
}

fn budgets() -> impl Strategy<Value = Credits> {
    prop_oneof![6 => 0..500u64, 1 => 0..1_000_000_000_000u64].prop_map(Credits::new)
}

/// C02, C22: a clamped answer never costs more than its budget and has no more
/// tokens than wanted; one more token would be too expensive.
#[test]
fn c22_a_clamped_answer_costs_at_most_its_budget() {
    let cases = (prices(), tokens(), tokens(), budgets());
    check(2000, &cases, |(price, wanted, input, budget)| {
        let cost = |output| message_credits(price.max_cost(input, output));
        match price.clamp_output(wanted, input, budget) {
            Some(output) => {
                prop_assert!(output >= 1 && output <= wanted);
                prop_assert!(cost(output) <= budget, "{} of {}", cost(output), budget);
                prop_assert!(output == wanted || cost(output + 1) > budget, "too careful");
            }
            None => prop_assert!(wanted == 0 || budget < MINIMUM_CHARGE || cost(1) > budget),
        }
        Ok(())
    });
}

/// C02, E01: the estimate covers every answer within its limit, for any price and
/// any number of tokens.
#[test]
fn e01_an_estimate_covers_every_answer_within_its_limit() {
    let cases = (prices(), tokens(), tokens(), tokens());
    check(2000, &cases, |(price, input, one, other)| {
        let (output, limit) = (one.min(other), one.max(other));
        let estimate = price.estimate_credits(input, limit);
        prop_assert!(estimate >= message_credits(price.max_cost(input, output)));
        prop_assert!(estimate >= MINIMUM_CHARGE);
        Ok(())
    });
}

/// E01: more tokens never cost less; whatever the cache holds, an answer costs at
/// least as much as if all input had the cheapest price, and at most what was
/// reserved.
#[test]
fn e01_the_cache_keeps_the_cost_within_its_bounds() {
    let cases = (prices(), tokens(), tokens(), tokens(), tokens(), tokens());
    check(4000, &cases, |(price, total, cached, cache_written, output, more)| {
        let input = InputTokens { total, cached, cache_written };
        let cost = price.cost(input, output);
        prop_assert!(price.cost(input, output.saturating_add(more)) >= cost);
        let (cached, cache_written) =
            (cached.min(total), cache_written.min(total - cached.min(total)));
        let larger = InputTokens { total: total.saturating_add(more), cached, cache_written };
        prop_assert!(price.cost(larger, output) >= cost);
        let prices = [price.cached_input, price.cache_write].into_iter().flatten();
        let cheapest = prices.fold(price.input, Usd::min);
        let least = ModelPrice::new(cheapest, price.output).max_cost(total, output);
        prop_assert!((least..=price.max_cost(total, output)).contains(&cost));
        prop_assert!(message_credits(cost) <= price.estimate_credits(total, output));
        Ok(())
    });
}

/// E01: a message costs the least number of credits that covers it.
#[test]
fn e01_credits_cover_the_dollars_and_no_more() {
    check(1000, &(0..u64::MAX / 2), |micros| {
        let credits = message_credits(Usd::from_micros(micros)).get();
        let worth = |credits: u64| u128::from(credits) * 10_000;
        prop_assert!(credits >= 1 && worth(credits) >= u128::from(micros));
        prop_assert!(credits == 1 || worth(credits - 1) < u128::from(micros));
        Ok(())
    });
}
