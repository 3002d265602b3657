//! The tools that agents can have.

use std::sync::Arc;

use ostler_engine::tool::ToolSet;
use ostler_runtime::running_turns::RunningTurns;
use ostler_store::Store;
use ostler_tools::media::{Unsplash, UnsplashOptions};
use ostler_tools::web::Fetcher;

use crate::installation::Installation;
use crate::secrets;

/// Builds the set of all tools. Tools of a service that an org has not connected are
/// later removed from the scope of its agents.
pub(crate) fn build(
    installation: &Installation,
    store: &Store,
    live: &RunningTurns,
) -> anyhow::Result<Arc<ToolSet>> {
    let unsplash = UnsplashOptions {
        secrets: secrets::service_secrets(installation),
        ..UnsplashOptions::default()
    };
    let mut tools = ostler_tools::catalogue::store_tools(store.clone());
    tools.extend(ostler_tools::catalogue::web_tools(&Fetcher::public()?));
    tools.extend(ostler_tools::catalogue::unsplash_tools(&Unsplash::new(store.clone(), unsplash)?));
    tools.extend(ostler_runtime::team::tools(live));
    Ok(Arc::new(ToolSet::new(tools)?))
}
