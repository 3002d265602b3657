//! The tools of an agent in a live session, as its next turn would have them, or in a new one.

use anyhow::bail;
use ostler_domain::org::Org;
use ostler_runtime::operations::DecidedCall;
use ostler_runtime::operations::explain::{SessionScope, fresh_scope, session_scope};
use ostler_server::transcript::decision_rule;
use ostler_world::unknown_name;
use serde_json::Value;

use super::ExplainArgs;
use super::report::{Explanation, RuleReport, ToolReport};
use crate::commands::find_org;
use crate::commands::operator::Operator;
use crate::commands::session::find::find_session;

pub(super) async fn explain(args: &ExplainArgs, session: &str) -> anyhow::Result<Explanation> {
    let operator = Operator::open(&args.installation).await?;
    let (found, stored) = find_session(&args.installation, session, args.org.as_deref()).await?;
    let org = found.org;
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
    let session = format!("{} ({})", explained.session.id, stored.contact_name());
    explanation(&operator, &explained, Some(session)).await
}

/// Explains the tools of an agent in a new session.
pub(super) async fn explain_fresh(args: &ExplainArgs, agent: &str) -> anyhow::Result<Explanation> {
    let operator = Operator::open(&args.installation).await?;
    let org = find_org_of(&operator, args.org.as_deref(), agent).await?;
    match fresh_scope(&operator.store, &operator.tools, org.id, agent).await? {
        Some(explained) => explanation(&operator, &explained, None).await,
        None => {
            let agents = operator.store.org(org.id).agents().await?;
            let known = agents.iter().map(|agent| agent.slug.as_str());
            bail!(unknown_name(&format!("{} agent", org.name), agent, known));
        }
    }
}

/// Returns the named org, or the only one that has an agent with this slug.
async fn find_org_of(operator: &Operator, org: Option<&str>, agent: &str) -> anyhow::Result<Org> {
    if let Some(org) = org {
        return find_org(&operator.store, org).await;
    }
    let mut found = Vec::new();
    for org in operator.store.orgs().await? {
        let agents = operator.store.org(org.id).agents().await?;
        if agents.iter().any(|one| one.slug == agent) {
            found.push(org);
        }
    }
    match found.as_slice() {
        [_] => Ok(found.remove(0)),
        [] => bail!("no organization has an agent `{agent}`; `ostler agent ls` lists them"),
        several => {
            let slugs: Vec<&str> = several.iter().map(|org| org.slug.as_str()).collect();
            bail!("several organizations have an agent `{agent}`; add --org: {}", slugs.join(", "))
        }
    }
}

async fn explanation(
    operator: &Operator,
    explained: &SessionScope,
    session: Option<String>,
) -> anyhow::Result<Explanation> {
    let position = explained.agent.position.facing(explained.session.audience());
    let mut sources = operator.org(&explained.org).rule_sources().await?;
    let mut tools = Vec::new();
    for tool in explained.scope.tools() {
        let mut report = ToolReport::new(tool, &explained.org, |name| explained.verdict(name));
        let (agent, decision) = (&explained.agent.agent, report.decision());
        let decided = DecidedCall {
            agent,
            tool: report.name(),
            decision: &decision,
            arguments: &Value::Null,
            approval: None,
            at: None,
        };
        let rule = sources.find(&decided).await?;
        report.set_rule(decision_rule(rule).setting.map(RuleReport::Live));
        tools.push(report);
    }
    Ok(Explanation {
        agent: explained.agent.agent.display_name.clone(),
        org: explained.org.name.clone(),
        session,
        business_layer: position.business_layer,
        guarded_as_business_layer: position.guardrail_layer,
        tools,
        unavailable: explained.unavailable.clone(),
    })
}
