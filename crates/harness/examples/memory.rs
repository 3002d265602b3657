//! Observational memory of a thread: a conversation that is longer than its window.
//!
//! ```text
//! cargo run -p ostler-harness --example memory
//! ```

use std::error::Error;
use std::sync::Arc;

use ostler_domain::id::{OrgId, ThreadId};
use ostler_domain::memory::{MemorySettings, MessageOrigin};
use ostler_domain::money::Credits;
use ostler_domain::money::caps::TurnBudget;
use ostler_domain::time::Timestamp;
use ostler_domain::tool::Trust;
use ostler_engine::history::Item;
use ostler_engine::model::Model;
use ostler_engine::turn::Models;
use ostler_harness::memory::{MemoryEvent, MemoryOptions, ThreadMemory, memory_message};
use ostler_scripted::{Script, ScriptedModel};
use ostler_store::Store;
use ostler_testkit as testkit;

/// The observer; a real one is a small language model.
const OBSERVER: &str = r#"
rules:
  - when: { user: { regex: '"seq":(?<seq>\d+),"speaker":"user","text":"My name is (?<name>\w+)' } }
    answer: '{"observations":[{"speaker":"user","kind":"assertion","text":"Is called {{ name }}","first":{{ seq }},"last":{{ seq }}}]}'
default: '{"observations":[]}'
"#;

struct Observer(Arc<ScriptedModel>);

impl Models for Observer {
    fn model(&self, _: Option<&str>) -> Option<Arc<dyn Model>> {
        Some(self.0.clone())
    }
}

/// Runs the example and returns what it prints.
pub async fn run() -> Result<String, Box<dyn Error>> {
    let (org, thread) = (OrgId::from_u128(1), ThreadId::from_u128(1));
    let store = Store::connect("sqlite::memory:")?;
    store.migrate().await?;
    store.create_org(testkit::org(org, "acme")).await?;
    let credits = Credits::new(100);
    let events = |event: MemoryEvent| {
        if let MemoryEvent::Activation { ext } = event {
            println!("{} tokens of messages became observations", ext.tokens_activated);
        }
    };
    let memory = ThreadMemory::load(MemoryOptions {
        store: store.clone(),
        org,
        thread,
        models: Arc::new(Observer(Arc::new(ScriptedModel::new(Script::parse(
            "o.yaml", OBSERVER,
        )?)))),
        settings: MemorySettings { observation_threshold: 1000, ..MemorySettings::default() },
        budget: TurnBudget {
            reserved: credits,
            top_up: Credits::ZERO,
            session: credits,
            subagent: None,
            read_reserve: Credits::ZERO,
            team: None,
        },
        events: Arc::new(events),
        now: Arc::new(|| Timestamp::from_millis(1_794_960_000_000)),
    })
    .await?;

    let mut history = vec![Item::user("My name is Ottilie.")];
    history.extend((1..40).map(|n| Item::user(format!("Message {n}. {}", "Bla bla. ".repeat(20)))));
    for (seq, item) in (1..).zip(&history) {
        // Before each turn: finished observations take the place of old messages.
        memory.activate_if_ready();
        let message = memory_message(seq, item, MessageOrigin::Conversation, Trust::Trusted);
        store.org(org).append_memory_messages(thread, vec![message.clone()]).await?;
        memory.on_message(&message);
        // A harness does not wait for the background; this keeps the output the same.
        memory.idle().await;
    }
    let prompt = memory.prompt();
    let items = prompt.items((1..).zip(&history));
    let head = prompt.head.unwrap_or_default();
    Ok(format!("{head}... and {} of {} messages.", items.len() - 1, history.len()))
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    println!("{}", run().await?);
    Ok(())
}
