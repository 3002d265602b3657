//! Commands of operators: each asks `runtime::operations`, and prints.

pub(crate) mod approval;
pub(crate) mod credit;
pub(crate) mod deadletter;
pub(crate) mod escalation;
pub(crate) mod knowledge;
pub(crate) mod on_session;

use std::sync::Arc;

use ostler_domain::org::Org;
use ostler_engine::tool::ToolSet;
use ostler_runtime::inbound::live::Live;
use ostler_runtime::operations::{Actor, Office, Operations};
use ostler_runtime::parts::Clock;
use ostler_store::Store;

use crate::cli::operate::In;
use crate::cli::talk::At;
use crate::home::Home;

/// An installation, opened by whoever sits at the machine.
pub(crate) struct Desk {
    pub(crate) store: Store,
    operations: Operations,
}

impl Desk {
    pub(crate) async fn open(at: &At) -> anyhow::Result<Self> {
        let store = Store::open(&Home::find(at)?.database()).await?;
        let mut tools = ostler_tools::catalogue::business(store.clone());
        tools.extend(ostler_runtime::team::tools(&Live::default()));
        let tools = Arc::new(ToolSet::new(tools)?);
        let operations = Operations::new(store.clone(), tools, Clock::system());
        Ok(Self { store, operations })
    }

    /// What can be done in an org.
    pub(crate) const fn office(&self, org: &Org) -> Office<'_> {
        self.operations.as_actor(Actor::Terminal, org.id)
    }
}

/// An installation, and the org that was named in it.
async fn open(place: &In) -> anyhow::Result<(Desk, Org)> {
    let desk = Desk::open(&place.at).await?;
    let org = super::find_org(&desk.store, &place.org).await?;
    Ok((desk, org))
}
