//! `ostler approval show`.

use clap::Args;
use ostler_api::approval::ApprovalDetail;
use ostler_domain::gate::GateDecision;
use ostler_domain::gate::approval::ApprovalStatus;
use ostler_domain::gate::blast_radius::BlastRadius;
use ostler_domain::tool::Reach;

use super::{call, describe_customer, describe_state, find_approval};
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
    let id = find_approval(&org, &args.approval).await?;
    let detail: ApprovalDetail = org.get(&["approvals", &id.to_string()]).await?;
    if args.target.output.json {
        return print_json(&detail);
    }
    let ApprovalDetail { approval, rule, blast_radius } = detail;
    let decision = GateDecision::Ask(approval.why.clone());
    let names = org.names().await?;
    let agent = names.agents.iter().find(|agent| agent.id == approval.agent);
    let agent = agent.map_or_else(|| approval.agent.short(), |agent| agent.name.clone());
    let field = |name: &str| Cell::styled(name, HEADER);
    let mut fields = vec![
        [field("approval"), approval.id.to_string().into()],
        [field("call"), call(&approval).into()],
        [field("state"), describe_state(&approval.status, &names).into()],
        [field("by"), agent.into()],
        [field("customer"), describe_customer(&org, approval.session).await?.into()],
        [field("risk"), approval.risk.as_str().into()],
        [field("touches"), describe_blast_radius(&blast_radius).into()],
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

/// Describes what a call would touch in a few words.
fn describe_blast_radius(radius: &BlastRadius) -> String {
    let place = match radius.reach {
        Reach::Local => "this organization's records",
        Reach::External => "another system",
    };
    let lists = radius.lists.iter().map(|one| format!("{} {}", one.entries, one.name));
    let amounts = radius.amounts.iter().map(|one| format!("{} {}", one.name, one.amount));
    let words = lists.chain(amounts).chain(radius.addresses.iter().cloned());
    let mut parts: Vec<String> = std::iter::once(place.to_owned()).chain(words).collect();
    if radius.is_final {
        parts.push("cannot be undone".to_owned());
    }
    parts.join(", ")
}
