//! The tools of agents, and where orgs keep the secrets of what is connected.

use std::sync::Arc;

use ostler_domain::secret::SecretRef;
use ostler_engine::secret::OrgSecrets;
use ostler_engine::tool::ToolSet;
use ostler_runtime::inbound::live::Live;
use ostler_store::Store;
use ostler_tools::media::{Unsplash, UnsplashOptions};
use ostler_tools::web::Fetcher;

use crate::home::Home;

/// The operator's own key for Unsplash, which every org may use.
const UNSPLASH_KEY: &str = "UNSPLASH_ACCESS_KEY";
/// How the names of orgs' own variables begin.
const VARIABLES: &str = "OSTLER_SECRET_";

/// Every tool there is. Those on a service that an org has not connected are not
/// in the scope of its agents.
pub(crate) fn tools(home: &Home, store: &Store, live: &Live) -> anyhow::Result<Arc<ToolSet>> {
    let unsplash = UnsplashOptions { secrets: of_services(home), ..UnsplashOptions::default() };
    let mut tools = ostler_tools::catalogue::business(store.clone());
    tools.extend(ostler_tools::catalogue::web(&Fetcher::public()?));
    tools.extend(ostler_tools::catalogue::unsplash(&Unsplash::new(store.clone(), unsplash)?));
    tools.extend(ostler_runtime::team::tools(live));
    Ok(Arc::new(ToolSet::new(tools)?))
}

/// The secrets of each org: its own variables, and the files in its own folder
/// below `secrets`.
pub(crate) fn secrets(home: &Home) -> OrgSecrets {
    OrgSecrets::default().with_variables(VARIABLES).with_folder(home.secrets())
}

/// The same for services that tools use, where the operator's own key counts too.
/// Channels do not get it: an org chooses where a channel sends its secret.
pub(crate) fn of_services(home: &Home) -> OrgSecrets {
    secrets(home).with_shared(shared_unsplash())
}

/// Where the operator's own key for Unsplash is.
pub(crate) fn shared_unsplash() -> SecretRef {
    SecretRef::Env(UNSPLASH_KEY.to_owned())
}

/// Where an org's own key for a service is looked for if nobody says where.
pub(crate) fn own_variable(org: ostler_domain::id::OrgId, service: &str) -> SecretRef {
    let name = format!("{VARIABLES}{org}_{service}").to_uppercase();
    SecretRef::Env(name)
}
