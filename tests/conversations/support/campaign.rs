//! How much of a long campaign a test runs: all of it in `make soak`, a twentieth otherwise.

/// The share of the cases that run in `make test`.
const SAMPLE: usize = 20;

/// Returns whether every case of a campaign runs.
pub(crate) fn is_whole_campaign() -> bool {
    std::env::var("OSTLER_ATTACKS").is_ok()
}

/// Returns all cases, or a twentieth of them from all over the list.
pub(crate) fn sampled<T>(cases: Vec<T>, whole: bool) -> Vec<T> {
    let in_sample =
        |index: usize| (index.wrapping_mul(2_654_435_761) / 1024).is_multiple_of(SAMPLE);
    let cases = cases.into_iter().enumerate();
    cases.filter(|(index, _)| whole || in_sample(*index)).map(|(_, case)| case).collect()
}
