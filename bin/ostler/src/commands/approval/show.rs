//! `ostler approval show`.

use clap::Args;
use ostler_api::approval::ApprovalDetail;
use ostler_domain::gate::GateDecision;
use ostler_domain::gate::approval::ApprovalStatus;

use super::{call, find_pending};
use crate::api_client::open_org;
use crate::commands::args::OrgArgs;
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
    let org = open_org(&args.target).await?;
    let id = find_pending(&org, &args.approval).await?;
    let detail: ApprovalDetail = org.get(&["approvals", &id.to_string()]).await?;
    if args.target.output.json {
        return print_json(&detail);
    }
    let ApprovalDetail { approval, rule } = detail;
    let decision = GateDecision::Ask(approval.why.clone());
    let names = org.agent_names().await?;
    let field = |name: &str| Cell::styled(name, HEADER);
    let mut fields = vec![
        [field("approval"), approval.id.to_string().into()],
        [field("call"), call(&approval).into()],
        [field("by"), names.get(approval.agent).into()],
        [field("risk"), approval.risk.as_str().into()],
        [field("why"), decision.to_string().into()],
    ];
    fields.push([field("rule"), describe_rule(&rule).into()]);
    let setting = rule.setting;
    fields.extend(setting.as_ref().map(|rule| [field("past calls"), past_calls(rule).into()]));
    fields.push([field("asked"), format_time(approval.requested_at).into()]);
    fields.push([field("expires"), format_time(approval.expires_at).into()]);
    print_fields(&fields);
    let approve = format!("ostler approval approve {id} --org {}", org.org.slug);
    let allow = setting.and_then(|rule| rule.allow_with);
    let allow = allow.map(|command| NextCommand::new(command, "such calls no longer ask"));
    let is_pending = approval.status == ApprovalStatus::Pending;
    print_next(is_pending.then(|| NextCommand::new(approve, "")).into_iter().chain(allow));
    Ok(())
}
