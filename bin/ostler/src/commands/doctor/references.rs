//! What the channels and the addresses for notices of an org refer to, and is retired.

use std::sync::Arc;

use ostler_domain::agent::AgentStatus;
use ostler_domain::org::Org;
use ostler_engine::tool::ToolSet;
use ostler_runtime::org_view::OrgView;
use ostler_runtime::toolbox::Toolbox;
use ostler_store::{OrgBinding, Store};

use super::channels::MAX_BINDINGS;

/// Returns which channels have an archived agent, and which addresses for notices a channel
/// that is off.
pub(super) async fn problems(store: &Store, org: &Org) -> anyhow::Result<Vec<String>> {
    let own = store.org(org.id);
    let bindings = own.bindings(None, MAX_BINDINGS).await?;
    let agents = own.agents().await?;
    let slug = &org.slug;
    let archived = bindings.iter().filter(|one| one.binding.enabled).filter_map(|bound| {
        let agent = agents.iter().find(|agent| agent.id == bound.agent)?;
        (agent.status == AgentStatus::Archived).then(|| {
            format!(
                "{} of {slug}: its agent {} is archived; choose another with \
                 `ostler channel change {} --agent AGENT --org {slug}`",
                bound.binding.name(),
                agent.slug,
                bound.binding.id
            )
        })
    });
    let mut problems: Vec<String> = archived.collect();
    let no_tools = Toolbox::new(Arc::new(ToolSet::new(Vec::new())?));
    let view = OrgView::load(store, &no_tools, org.id).await?;
    let people = &view.settings.people;
    for (field, address) in [
        ("owner", &people.owner),
        ("team_group", &people.team_group),
        ("owner_email", &people.owner_email),
    ] {
        let Some(address) = address else { continue };
        let bound: Option<&OrgBinding> =
            bindings.iter().find(|one| one.binding.id == address.binding);
        if let Some(bound) = bound.filter(|one| !one.binding.enabled) {
            problems.push(format!(
                "notices of {slug} to `people.{field}` go through the channel {}, which is off; \
                 `ostler channel change {} --on --org {slug}`, or set another address",
                bound.binding.name(),
                bound.binding.id
            ));
        }
    }
    Ok(problems)
}
