//! Commands of operators: each asks `runtime::operations`, and prints.

pub(crate) mod approval;
pub(crate) mod channel;
pub(crate) mod credit;
pub(crate) mod deadletter;
pub(crate) mod escalation;
pub(crate) mod integration;
pub(crate) mod key;
pub(crate) mod knowledge;
pub(crate) mod notice;
pub(crate) mod on_session;
pub(crate) mod outcome;

use std::sync::Arc;

use ostler_domain::org::Org;
use ostler_engine::tool::ToolSet;
use ostler_runtime::inbound::live::Live;
use ostler_runtime::operations::{Actor, Office, Operations};
use ostler_runtime::parts::Clock;
use ostler_store::Store;
use serde_json::Value;

use crate::cli::Output;
use crate::cli::operate::In;
use crate::cli::talk::At;
use crate::home::Home;
use crate::toolbox;

/// An installation, opened by whoever sits at the machine.
pub(crate) struct Desk {
    pub(crate) home: Home,
    pub(crate) store: Store,
    pub(crate) tools: Arc<ToolSet>,
    operations: Operations,
}

impl Desk {
    pub(crate) async fn open(at: &At) -> anyhow::Result<Self> {
        let home = Home::find(at)?;
        let store = Store::open(&home.database()).await?;
        let tools = toolbox::tools(&home, &store, &Live::default())?;
        let operations = Operations::new(store.clone(), tools.clone(), Clock::system());
        Ok(Self { home, store, tools, operations })
    }

    /// What can be done in an org.
    pub(crate) const fn office(&self, org: &Org) -> Office<'_> {
        self.operations.as_actor(Actor::Terminal, org.id)
    }
}

/// An installation, and the org that was named in it.
pub(super) async fn open(place: &In) -> anyhow::Result<(Desk, Org)> {
    let desk = Desk::open(&place.at).await?;
    let org = super::find_org(&desk.store, &place.org).await?;
    Ok((desk, org))
}

/// Says that something is done, to people or to a program.
fn say(output: &Output, done: &Value, words: &str) -> anyhow::Result<()> {
    if output.json {
        return super::print_json(done);
    }
    anstream::println!("{words}");
    Ok(())
}

/// A call as people read it.
pub(super) fn in_words(tool: &str, arguments: &str) -> String {
    let read: Result<serde_json::Map<String, Value>, _> = serde_json::from_str(arguments);
    let Ok(read) = read else { return format!("{tool}({arguments})") };
    let each = read.iter().map(|(name, value)| match value {
        Value::String(text) => format!("{name}: {text}"),
        other => format!("{name}: {other}"),
    });
    format!("{tool}({})", each.collect::<Vec<_>>().join(", "))
}
