//! Property tests of the rules: what holds for every input and every order of events.
//! Table tests of single cases are next to the code.
//!
//! The seed is fixed, so that a build never fails by chance. To run many random cases of
//! each property: `PROPTEST_CASES=20000 cargo test -p ostler-domain --test properties`.

mod agents;
mod approvals;
mod caps;
mod errors;
mod escalation;
mod gate;
mod guided;
mod handoff;
mod ids;
mod ledger;
mod lifetime;
mod permission_rules;
mod phrases;
mod pools;
mod price;
mod queue_agent;
mod reference;
mod scope;
mod scope_inputs;
mod soul;
mod workflow;

use proptest::strategy::Strategy;
use proptest::test_runner::{Config, RngSeed, TestCaseResult, TestRunner};

/// Checks a property with `cases` values of a strategy, and fails with the smallest
/// counterexample.
#[track_caller]
fn check<S: Strategy>(cases: u32, strategy: &S, property: impl Fn(S::Value) -> TestCaseResult) {
    let result = TestRunner::new(config(cases)).run(strategy, property);
    let failure = result.err().map(|failure| failure.to_string()).unwrap_or_default();
    assert!(failure.is_empty(), "{failure}");
}

fn config(cases: u32) -> Config {
    let random =
        Config { failure_persistence: None, max_shrink_iters: 20_000, ..Config::default() };
    if std::env::var_os("PROPTEST_CASES").is_some() {
        return random;
    }
    Config { cases, rng_seed: RngSeed::Fixed(1_794_750_000), ..random }
}
