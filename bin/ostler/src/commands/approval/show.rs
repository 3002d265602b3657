//! `ostler approval show`.

use clap::Args;
use ostler_domain::gate::GateDecision;
use ostler_runtime::operations::DecidedCall;
use ostler_server::wire;

use super::{call, find_pending};
use crate::commands::args::OrgArgs;
use crate::commands::operator::open_org;
use crate::commands::print_json;
use crate::commands::rule_view::{describe_rule, past_calls};
use crate::commands::session::view::format_time;
use crate::screen::{Cell, HEADER, NextCommand, print_fields, print_next};

#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    /// Approval, by id or the end of its id
    #[arg(value_name = "APPROVAL")]
    approval: String,
    #[command(flatten)]
    target: OrgArgs,
}

pub(super) async fn run(args: &ShowArgs) -> anyhow::Result<()> {
    let (operator, org) = open_org(&args.target).await?;
    let id = find_pending(&operator, &org, &args.approval).await?;
    let operations = operator.org(&org);
    let stored = operations.approval(id).await?;
    let agent = operator.store.org(org.id).agent(stored.approval.agent).await?;
    let decision = GateDecision::Ask(stored.approval.ask_reason.clone());
    let arguments = serde_json::from_str(&stored.payload).unwrap_or_default();
    let decided = DecidedCall {
        agent: &agent,
        tool: stored.approval.tool.as_str(),
        decision: &decision,
        arguments: &arguments,
        approval: Some(id),
        at: None,
    };
    let rule = operations.rule_sources().await?.find(&decided).await?;
    if args.target.output.json {
        let mut shown = serde_json::to_value(wire::approval(&stored))?;
        shown["rule"] = serde_json::to_value(&rule)?;
        return print_json(&shown);
    }
    let approval = &stored.approval;
    let field = |name: &str| Cell::styled(name, HEADER);
    let mut fields = vec![
        [field("approval"), approval.id.to_string().into()],
        [field("call"), call(&stored).into()],
        [field("by"), agent.display_name.as_str().into()],
        [field("risk"), approval.risk.name().into()],
        [field("why"), decision.to_string().into()],
    ];
    fields.push([field("rule"), describe_rule(rule.as_ref()).into()]);
    fields.extend(rule.as_ref().map(|rule| [field("past calls"), past_calls(rule).into()]));
    fields.push([field("asked"), format_time(approval.requested_at).into()]);
    fields.push([field("expires"), format_time(approval.expires_at).into()]);
    print_fields(&fields);
    let approve = format!("ostler approval approve {id} --org {}", org.slug);
    let allow = rule.and_then(|rule| rule.allow_with);
    let allow = allow.map(|command| NextCommand::new(command, "such calls no longer ask"));
    print_next(
        approval.is_pending().then(|| NextCommand::new(approve, "")).into_iter().chain(allow),
    );
    Ok(())
}
