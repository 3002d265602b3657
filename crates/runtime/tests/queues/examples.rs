//! The examples run on every bus and stay short.

use crate::kit::{Backend, on_every_bus};

/// The maximum length of an example.
const LINES: usize = 60;

macro_rules! examples {
    ($($pattern:ident = $file:literal;)*) => {$(
        #[path = $file]
        mod $pattern;
    )*

        #[test]
        fn examples_are_short() {
            for (name, text) in [$((stringify!($pattern), include_str!($file))),*] {
                let lines = text.lines().count();
                assert!(lines < LINES, "{name} has {lines} lines");
            }
        }
    };
}

examples! {
    direct = "../../examples/direct.rs";
    broadcast = "../../examples/broadcast.rs";
    swarm = "../../examples/swarm.rs";
    pipeline = "../../examples/pipeline.rs";
    council = "../../examples/council.rs";
    plan_approval = "../../examples/plan_approval.rs";
}

on_every_bus!(each_example_runs);
/// X34, X35, X36, X37, X38, X32: each pattern as a user would write it.
async fn each_example_runs(backend: &Backend) {
    direct::run(backend.bus().await).await;
    broadcast::run(backend.bus().await).await;
    swarm::run(backend.bus().await).await;
    pipeline::run(backend.bus().await).await;
    council::run(backend.bus().await).await;
    plan_approval::run(backend.bus().await).await;
}
