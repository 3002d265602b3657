//! Property tests on a bus: after random steps, each published message was
//! settled once, as handled or as a dead letter.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use ostler_bus::DeadLetterFilter;
use ostler_domain::id::EnvelopeId;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngSeed, TestRunner};

use super::{Backend, Bus, eventually};

/// A count per message.
pub(crate) type MessageCounts = Arc<Mutex<BTreeMap<EnvelopeId, u32>>>;

/// Returns how often each message was handled or became a dead letter.
pub(crate) async fn settled_counts(
    bus: &Bus,
    handled: &MessageCounts,
) -> BTreeMap<EnvelopeId, u32> {
    let dead_letters = bus.dead_letters(DeadLetterFilter::All, 1000).await.unwrap();
    let mut counts = handled.lock().unwrap().clone();
    for dead_letter in dead_letters {
        *counts.entry(dead_letter.id).or_default() += 1;
    }
    counts
}

/// Waits until each message is settled.
pub(crate) async fn wait_until_all_settled(
    bus: &Bus,
    handled: &MessageCounts,
    published: &[EnvelopeId],
) {
    let all = async || {
        let counts = settled_counts(bus, handled).await;
        published.iter().all(|id| counts.contains_key(id))
    };
    eventually("every message to end", all).await;
}

/// The expected counts: each message once.
pub(crate) fn once_each(published: &[EnvelopeId]) -> BTreeMap<EnvelopeId, u32> {
    published.iter().map(|id| (*id, 1)).collect()
}

/// Runs a property test. The cases are always the same unless the environment
/// sets their number.
pub(crate) fn run_property<S: Strategy>(
    backend: &Backend,
    cases: u32,
    steps: &S,
    run: &impl AsyncFn(&Backend, S::Value) -> Result<(), TestCaseError>,
) {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let base = Config { failure_persistence: None, max_shrink_iters: 200, ..Config::default() };
    // A case on a broker takes as long as dozens in memory.
    let variable = match backend {
        Backend::Memory => "PROPTEST_CASES",
        _ => "OSTLER_CASES",
    };
    let requested = std::env::var(variable).ok().and_then(|number| number.parse().ok());
    let config = match requested {
        Some(cases) => Config { cases, ..base },
        None => Config { cases, rng_seed: RngSeed::Fixed(1_794_750_000), ..base },
    };
    let result = TestRunner::new(config).run(steps, |steps| runtime.block_on(run(backend, steps)));
    let failure = result.err().map(|failure| failure.to_string()).unwrap_or_default();
    assert!(failure.is_empty(), "{failure}");
}
