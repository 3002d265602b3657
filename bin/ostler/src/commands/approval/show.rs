//! `ostler approval show`.

use clap::Args;
use ostler_domain::gate::GateDecision;
use ostler_server::wire;

use super::rule_setting::RuleSetting;
use super::{call, find_pending};
use crate::commands::args::OrgArgs;
use crate::commands::operator::open_org;
use crate::commands::print_json;
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
    let setting = RuleSetting::find(&operations, &org, &agent, &stored).await?;
    if args.target.output.json {
        let mut shown = serde_json::to_value(wire::approval(&stored))?;
        shown["rule"] = serde_json::to_value(&setting)?;
        return print_json(&shown);
    }
    let approval = &stored.approval;
    let why = GateDecision::Ask(approval.ask_reason.clone()).to_string();
    let field = |name: &str| Cell::styled(name, HEADER);
    let mut fields = vec![
        [field("approval"), approval.id.to_string().into()],
        [field("call"), call(&stored).into()],
        [field("by"), agent.display_name.as_str().into()],
        [field("risk"), approval.risk.name().into()],
        [field("why"), why.into()],
    ];
    if let Some(setting) = &setting {
        let source = match (&setting.set_by, setting.set_at) {
            (Some(by), Some(at)) => format!("set by {by}, {}", format_time(at)),
            _ => "as it was set up".to_owned(),
        };
        let rule = format!("{} of {}, {source}", setting.field, setting.resource);
        fields.push([field("rule"), rule.into()]);
        fields.push([field("past calls"), setting.past_calls.to_string().into()]);
    } else {
        fields.push([field("rule"), "built in; no setting changes it".into()]);
    }
    fields.push([field("asked"), format_time(approval.requested_at).into()]);
    fields.push([field("expires"), format_time(approval.expires_at).into()]);
    print_fields(&fields);
    let approve = format!("ostler approval approve {id} --org {}", org.slug);
    let allow =
        setting.map(|setting| NextCommand::new(setting.allow_with, "such calls no longer ask"));
    print_next(
        approval.is_pending().then(|| NextCommand::new(approve, "")).into_iter().chain(allow),
    );
    Ok(())
}
