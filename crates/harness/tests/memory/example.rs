//! The example program runs.

#[allow(dead_code, unreachable_pub, reason = "the main function of the program")]
#[path = "../../examples/memory.rs"]
mod program;

#[tokio::test(flavor = "multi_thread")]
async fn m15_the_example_prints_observations_and_the_tail() {
    let printed = program::run().await.unwrap();
    assert!(printed.contains("- #1 user assertion [1-1]: Is called Ottilie\n"), "{printed}");
    assert!(printed.ends_with("of 40 messages."), "{printed}");
}
