//! Modes: two agents in one harness, each with its own model.

use ostler_harness::{Harness, HarnessAgent, HarnessMode, ModelScope, NoState, open_storage};

use super::{Printed, model};

const SCRIPT: &str =
    "rules:\n  - when: { agent: You plan }\n    answer: A plan.\ndefault: A house.";

pub(super) async fn run() -> Printed {
    let plan = HarnessAgent::new("planner", "You plan.");
    let build = HarnessAgent::new("builder", "You build.");
    let harness = Harness::<NoState>::builder("example", open_storage("sqlite::memory:").await?)
        .model(model(SCRIPT)?)
        .mode(HarnessMode::new("plan", "Plan", plan).default_mode().default_model("large"))
        .mode(HarnessMode::new("build", "Build", build).default_model("small"))
        .build()?;
    harness.init().await?;
    let mut printed = String::new();
    for mode in ["plan", "build", "plan"] {
        harness.switch_mode(mode).await?;
        let model = harness.current_model_id().unwrap_or_default();
        printed += &format!("{mode} with {model}: {:?}\n", harness.send_message("go").await?.end);
        // Each mode remembers the model that was chosen for it.
        harness.switch_model(&format!("{model}-2"), ModelScope::Mode).await?;
    }
    Ok(printed)
}
