//! A short program for each concept of the harness, with a scripted model.
//!
//! ```text
//! cargo run -p ostler-harness --example harness -- modes
//! ```

mod events;
mod heartbeats;
mod modes;
mod permissions;
mod questions;
mod state;
mod subagents;
mod tasks;
mod threads;
mod workspace;

use std::error::Error;
use std::sync::Arc;

use ostler_harness::{Harness, HarnessAgent, HarnessBuilder, HarnessMode, NoState, open_storage};
use ostler_scripted::{Script, ScriptedModel};

type Printed = Result<String, Box<dyn Error>>;

/// Begins a harness with one mode, a database in memory and a script instead of a model.
async fn harness(script: &str) -> Result<HarnessBuilder<NoState>, Box<dyn Error>> {
    let agent = HarnessAgent::new("builder", "You build.");
    let builder = Harness::builder("example", open_storage("sqlite::memory:").await?);
    Ok(builder.model(model(script)?).mode(HarnessMode::new("build", "Build", agent)))
}

fn model(script: &str) -> Result<Arc<ScriptedModel>, Box<dyn Error>> {
    Ok(Arc::new(ScriptedModel::new(Script::parse("example", script)?)))
}

/// Runs an example and returns what it prints.
pub async fn run(name: &str) -> Printed {
    match name {
        "events" => events::run().await,
        "heartbeats" => heartbeats::run().await,
        "modes" => modes::run().await,
        "permissions" => permissions::run().await,
        "questions" => questions::run().await,
        "state" => state::run().await,
        "subagents" => subagents::run().await,
        "tasks" => tasks::run().await,
        "threads" => threads::run().await,
        "workspace" => workspace::run().await,
        _ => Err("name an example: events, heartbeats, modes, permissions, questions, state, \
                  subagents, tasks, threads, workspace"
            .into()),
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    println!("{}", run(&std::env::args().nth(1).unwrap_or_default()).await?);
    Ok(())
}
