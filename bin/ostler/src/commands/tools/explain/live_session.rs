//! The tools of an agent in a live session, as its next turn would have them.

use anyhow::bail;
use ostler_runtime::operations::explain::session_scope;
use ostler_world::unknown_name;

use super::ExplainArgs;
use super::report::{Explanation, ToolReport};
use crate::commands::operator::Operator;
use crate::commands::session::find::find_session;
use crate::commands::session::view::contact_name;

pub(super) async fn explain(args: &ExplainArgs, session: &str) -> anyhow::Result<Explanation> {
    let operator = Operator::open(&args.installation).await?;
    let (org, stored) = find_session(&operator.store, session, args.org.as_deref()).await?;
    let agent = args.agent.as_deref();
    let explained =
        session_scope(&operator.store, &operator.tools, org.id, stored.id, agent).await?;
    let explained = match (explained, agent) {
        (Some(explained), _) => explained,
        (None, None) => bail!("no agent answers in this session; name one with --agent"),
        (None, Some(agent)) => {
            let agents = operator.store.org(org.id).agents().await?;
            let known = agents.iter().map(|agent| agent.slug.as_str());
            bail!(unknown_name(&format!("{} agent", org.name), agent, known));
        }
    };
    let position = &explained.agent.position;
    let tools = explained.scope.tools().iter();
    let name = contact_name(&explained.session);
    Ok(Explanation {
        agent: explained.agent.agent.display_name.clone(),
        org: explained.org.name.clone(),
        session: Some(format!("{} ({name})", explained.session.id)),
        business_layer: position.business_layer,
        guarded_as_business_layer: position.guardrail_layer,
        tools: tools
            .map(|tool| ToolReport::new(tool, &explained.org, |name| explained.verdict(name)))
            .collect(),
        unavailable: explained.unavailable.clone(),
    })
}
