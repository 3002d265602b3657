//! Which agents have no model that can answer.

use std::sync::Arc;

use ostler_domain::agent::{AgentKind, AgentStatus};
use ostler_engine::tool::ToolSet;
use ostler_models::catalogue::{Catalogue, CatalogueError};
use ostler_runtime::org_view::{AgentView, OrgView};
use ostler_runtime::toolbox::Toolbox;
use ostler_store::Store;

use crate::screen::WARNING;

/// An agent without a usable model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AgentWithoutModel {
    pub(crate) org: String,
    pub(crate) agent: String,
    pub(crate) reason: CatalogueError,
}

/// Returns the active agents of all orgs that have no usable model, and how many there are
/// with one.
pub(crate) async fn find(
    store: &Store,
    catalogue: &Catalogue,
) -> anyhow::Result<(Vec<AgentWithoutModel>, usize)> {
    let (mut found, mut usable) = (Vec::new(), 0);
    let no_tools = Toolbox::new(Arc::new(ToolSet::new(Vec::new())?));
    for org in store.orgs().await? {
        let view = OrgView::load(store, &no_tools, org.id).await?;
        for AgentView { agent, .. } in &view.agents {
            if agent.status != AgentStatus::Active || agent.kind == AgentKind::Template {
                continue;
            }
            match catalogue.check_chain(view.settings.models_of(agent)) {
                Ok(()) => usable += 1,
                Err(reason) => {
                    let (org, agent) = (org.slug.clone(), agent.slug.clone());
                    found.push(AgentWithoutModel { org, agent, reason });
                }
            }
        }
    }
    Ok((found, usable))
}

/// Returns the agents without a usable model as sentences, one for each reason.
pub(crate) fn describe(found: &[AgentWithoutModel]) -> Vec<String> {
    const MAX_NAMES: usize = 5;
    let mut reasons: Vec<&CatalogueError> = Vec::new();
    for one in found {
        if !reasons.contains(&&one.reason) {
            reasons.push(&one.reason);
        }
    }
    let sentence = |reason: &&CatalogueError| {
        let affected: Vec<String> = found
            .iter()
            .filter(|one| one.reason == **reason)
            .map(|one| format!("{} of {}", one.agent, one.org))
            .collect();
        let mut names = affected.iter().take(MAX_NAMES).cloned().collect::<Vec<_>>().join(", ");
        if affected.len() > MAX_NAMES {
            names.push_str(&format!(" and {} others", affected.len() - MAX_NAMES));
        }
        let verb = if affected.len() == 1 { "has" } else { "have" };
        format!("{names} {verb} no usable model: {reason}")
    };
    reasons.iter().map(sentence).collect()
}

/// Prints which agents cannot answer, when a process starts.
pub(crate) async fn warn(store: &Store, catalogue: &Catalogue) -> anyhow::Result<()> {
    let (found, _) = find(store, catalogue).await?;
    for sentence in describe(&found) {
        anstream::eprintln!("{WARNING}warning{WARNING:#}: {sentence}");
    }
    Ok(())
}
