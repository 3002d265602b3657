//! Random steps, after which each message that was published has ended once:
//! as handled or as a dead letter.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use ostler_bus::Selection;
use ostler_domain::id::EnvelopeId;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngSeed, TestRunner};

use super::{Backend, Bus, eventually};

/// How often something happened to each message.
pub(crate) type Counted = Arc<Mutex<BTreeMap<EnvelopeId, u32>>>;

/// How often each message ended, handled or dead.
pub(crate) async fn ends(bus: &Bus, handled: &Counted) -> BTreeMap<EnvelopeId, u32> {
    let letters = bus.dead_letters(Selection::All, 1000).await.unwrap();
    let mut ends = handled.lock().unwrap().clone();
    for letter in letters {
        *ends.entry(letter.id).or_default() += 1;
    }
    ends
}

/// Waits until each message has ended.
pub(crate) async fn until_all_ended(bus: &Bus, handled: &Counted, published: &[EnvelopeId]) {
    let all = async || {
        let ends = ends(bus, handled).await;
        published.iter().all(|id| ends.contains_key(id))
    };
    eventually("every message to end", all).await;
}

/// Each of these once.
pub(crate) fn once(published: &[EnvelopeId]) -> BTreeMap<EnvelopeId, u32> {
    published.iter().map(|id| (*id, 1)).collect()
}

/// Draws steps and has them run: always the same, unless the environment says
/// how many cases there should be.
pub(crate) fn campaign<S: Strategy>(
    backend: &Backend,
    cases: u32,
    steps: &S,
    run: &impl AsyncFn(&Backend, S::Value) -> Result<(), TestCaseError>,
) {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let drawn = Config { failure_persistence: None, max_shrink_iters: 200, ..Config::default() };
    // A case on a broker takes as long as dozens in memory.
    let variable = match backend {
        Backend::Memory => "PROPTEST_CASES",
        _ => "OSTLER_CASES",
    };
    let wished = std::env::var(variable).ok().and_then(|number| number.parse().ok());
    let config = match wished {
        Some(cases) => Config { cases, ..drawn },
        None => Config { cases, rng_seed: RngSeed::Fixed(1_794_750_000), ..drawn },
    };
    let result = TestRunner::new(config).run(steps, |steps| runtime.block_on(run(backend, steps)));
    let failure = result.err().map(|failure| failure.to_string()).unwrap_or_default();
    assert!(failure.is_empty(), "{failure}");
}
