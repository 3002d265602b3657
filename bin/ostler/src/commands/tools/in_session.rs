//! The tools of an agent in a live session: what its next turn would have.

use anyhow::bail;
use ostler_runtime::explain::session_scope;

use super::report::{Explanation, ToolReport};
use crate::cli::Explain;
use crate::commands::operate::Desk;
use crate::commands::session::show::find;
use crate::commands::session::view::person;
use crate::world::unknown;

pub(super) async fn explain(command: &Explain, session: &str) -> anyhow::Result<Explanation> {
    let desk = Desk::open(&command.at).await?;
    let (org, stored) = find(&desk.store, session, command.org.as_deref()).await?;
    let agent = command.agent.as_deref();
    let found = session_scope(&desk.store, &desk.tools, org.id, stored.id, agent).await?;
    let found = match (found, agent) {
        (Some(found), _) => found,
        (None, None) => bail!("no agent answers in this session; name one with --agent"),
        (None, Some(agent)) => {
            let agents = desk.store.org(org.id).agents().await?;
            let known = agents.iter().map(|one| one.slug.as_str());
            bail!(unknown(&format!("{} agent", org.name), agent, known));
        }
    };
    let standing = &found.agent.standing;
    let tools = found.scope.tools().iter();
    let name = found.session.name.clone().unwrap_or_else(|| person(&found.session));
    Ok(Explanation {
        agent: found.agent.agent.display_name.clone(),
        org: found.org.name.clone(),
        session: Some(format!("{} ({name})", found.session.id)),
        business_layer: standing.business_layer,
        guarded_as_business_layer: standing.guarded_as,
        tools: tools
            .map(|tool| ToolReport::of(tool, &found.org, |name| found.verdict(name)))
            .collect(),
    })
}
