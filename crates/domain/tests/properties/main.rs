//! Property tests of the rules: what holds for every input and every order of
//! events, one module per family of rules. Single cases with their exact
//! outcome are table tests next to the code.
//!
//! The cases are the same in every run, so that a build never fails by chance.
//! `PROPTEST_CASES=20000 cargo test -p ostler-domain --test properties` is a
//! campaign: that many fresh cases of each property.

mod agents;
mod approvals;
mod caps;
mod dispatch;
mod errors;
mod escalation;
mod gate;
mod guided;
mod handoff;
mod ids;
mod ledger;
mod lifetime;
mod phrases;
mod pools;
mod price;
mod reference;
mod scope;
mod soul;
mod workflow;
mod world;

use proptest::strategy::Strategy;
use proptest::test_runner::{Config, RngSeed, TestCaseResult, TestRunner};

/// Holds a property against `cases` values of a strategy, and shows the
/// smallest counterexample.
#[track_caller]
fn check<S: Strategy>(cases: u32, strategy: &S, property: impl Fn(S::Value) -> TestCaseResult) {
    let result = TestRunner::new(config(cases)).run(strategy, property);
    let failure = result.err().map(|failure| failure.to_string()).unwrap_or_default();
    assert!(failure.is_empty(), "{failure}");
}

fn config(cases: u32) -> Config {
    let drawn = Config { failure_persistence: None, max_shrink_iters: 20_000, ..Config::default() };
    if std::env::var_os("PROPTEST_CASES").is_some() {
        return drawn;
    }
    Config { cases, rng_seed: RngSeed::Fixed(1_794_750_000), ..drawn }
}
