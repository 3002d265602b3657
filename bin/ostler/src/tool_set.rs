//! The tools that agents can have.

use std::sync::Arc;

use ostler_engine::tool::ToolSet;
use ostler_runtime::operations::BotHost;
use ostler_runtime::running_turns::RunningTurns;
use ostler_runtime::toolbox::{TestedMcpServer, Toolbox};
use ostler_store::Store;
use ostler_tools::media::{Unsplash, UnsplashOptions};
use ostler_tools::org_tools::{OrgToolOptions, OrgToolRegistry};
use ostler_tools::web::{FetchPolicy, Fetcher};

use crate::commands::apply::Host;
use crate::installation::Installation;
use crate::secrets;

/// Builds the set of all tools. Tools of a service that an org has not connected are
/// later removed from the scope of its agents.
pub(crate) fn build(
    installation: &Installation,
    store: &Store,
    live: &RunningTurns,
) -> anyhow::Result<Toolbox> {
    let unsplash = UnsplashOptions {
        secrets: secrets::service_secrets(installation),
        ..UnsplashOptions::default()
    };
    let mut tools = ostler_tools::catalogue::store_tools(store.clone());
    tools.extend(ostler_tools::catalogue::web_tools(&Fetcher::public()?));
    tools.extend(ostler_tools::catalogue::unsplash_tools(&Unsplash::new(store.clone(), unsplash)?));
    tools.extend(ostler_runtime::team::tools(live));
    tools.extend(ostler_runtime::agent_changes::tools(live));
    tools.extend(ostler_runtime::hierarchy::tools(live));
    tools.extend(ostler_runtime::outreach::tools(live));
    let host: Arc<dyn BotHost> = Arc::new(Host::new(installation)?);
    tools.extend(ostler_runtime::administration::tools(live, &host));
    let tools = ToolSet::new(tools)?;
    let mut org_tools = org_tools(installation)?.with_contacts(store.clone());
    if let Some(refunds) = tools.get("refund_payment") {
        org_tools = org_tools.with_refunds(refunds.clone());
    }
    let org_tools = Arc::new(org_tools);
    let tested = org_tools.clone();
    let toolbox =
        Toolbox::new(Arc::new(tools)).with_org_tools(Arc::new(move |org, definitions| {
            let org_tools = org_tools.clone();
            Box::pin(async move { org_tools.tools(org, &definitions).await })
        }));
    Ok(toolbox.with_mcp_tester(Arc::new(move |org, server| {
        let registry = tested.clone();
        Box::pin(async move {
            let started = registry.start_server(org, &server).await;
            let (tools, problems) = (started.tools(), started.problems());
            started.shutdown().await;
            TestedMcpServer {
                tools: tools.iter().map(|tool| tool.definition().clone()).collect(),
                problems: problems.iter().map(ToString::to_string).collect(),
            }
        })
    })))
}

/// Builds the registry of the tools that orgs define.
fn org_tools(installation: &Installation) -> anyhow::Result<OrgToolRegistry> {
    let network = if installation.config.local_network {
        FetchPolicy::unrestricted()
    } else {
        FetchPolicy::public_any_port()
    };
    Ok(OrgToolRegistry::new(OrgToolOptions {
        secrets: secrets::org_secrets(installation),
        network,
    })?)
}
