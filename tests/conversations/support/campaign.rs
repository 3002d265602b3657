//! How much of a long campaign a test runs: all of it in `make soak`, a twentieth otherwise.

/// Returns whether every case of a campaign runs.
pub(crate) fn is_whole_campaign() -> bool {
    std::env::var("OSTLER_ATTACKS").is_ok()
}
