//! The installation as an operator at the terminal works with it: every action goes
//! through `runtime::operations`, as the actor `terminal`.

use ostler_domain::org::{Org, OrgPlace};
use ostler_runtime::deps::Clock;
use ostler_runtime::operations::{Actor, Operations, OrgOperations};
use ostler_runtime::running_turns::RunningTurns;
use ostler_store::Store;
use serde_json::Value;

use super::args::{InstallationArgs, OutputArgs};
use crate::installation::Installation;
use crate::tool_set;

/// An open installation, operated from the terminal.
pub(crate) struct Operator {
    pub(crate) installation: Installation,
    pub(crate) store: Store,
    pub(crate) operations: Operations,
}

impl Operator {
    pub(crate) async fn open(args: &InstallationArgs) -> anyhow::Result<Self> {
        let installation = Installation::find(args)?;
        let store = installation.open_store().await?;
        Self::new(installation, store)
    }

    /// Operates on an open store.
    pub(crate) fn new(installation: Installation, store: Store) -> anyhow::Result<Self> {
        let tools = tool_set::build(&installation, &store, &RunningTurns::default())?;
        let operations = Operations::new(store.clone(), tools, Clock::system());
        Ok(Self { installation, store, operations })
    }

    /// Returns the operations that belong to no org.
    pub(crate) const fn operations(&self) -> &Operations {
        &self.operations
    }

    /// Returns the org of the platform.
    pub(crate) async fn platform(&self) -> anyhow::Result<Org> {
        let orgs = self.store.orgs().await?;
        let platform = orgs.into_iter().find(|org| org.place == OrgPlace::Platform);
        platform.ok_or_else(|| anyhow::anyhow!("this installation has no platform organization"))
    }

    /// Returns the operations of an org.
    pub(crate) const fn org(&self, org: &Org) -> OrgOperations<'_> {
        self.operations.as_actor(Actor::Terminal, org.id)
    }
}

/// Prints the result of an action: `json` for programs, `text` for people.
pub(super) fn print_result(output: &OutputArgs, json: &Value, text: &str) -> anyhow::Result<()> {
    if output.json {
        return super::print_json(json);
    }
    anstream::println!("{text}");
    Ok(())
}
