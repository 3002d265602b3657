//! State: a value of a type of yours, checked and kept.

use ostler_harness::{Harness, HarnessAgent, open_storage};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{Printed, model};

#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
struct House {
    rooms: u32,
}

pub(super) async fn run() -> Printed {
    let harness = Harness::<House>::builder("example", open_storage("sqlite::memory:").await?)
        .model(model(
            "rules:\n  - when: { agent: large house }\n    answer: Large.\ndefault: Small.",
        )?)
        .mode_of_state("build", "Build", |house: &House| {
            let size = if house.rooms > 5 { "large" } else { "small" };
            HarnessAgent::new("builder", format!("You build a {size} house.")).into()
        })
        .build()?;
    harness.init().await?;
    let refused = harness.set_state(json!({"rooms": "many"})).await.is_err();
    harness.set_state(json!({"rooms": 8})).await?;
    let outcome = harness.send_message("go").await?;
    Ok(format!("{:?}, refused: {refused}, {:?}", harness.state(), outcome.end))
}
