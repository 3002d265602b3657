//! `ostler refund paid` and `ostler refund refuse`.

use anyhow::bail;
use clap::Args;
use ostler_domain::id::RecordId;
use ostler_domain::refund::RefundDecision;
use serde_json::json;

use super::refund_json;
use crate::commands::args::{OrgArgs, match_id, parse_text};
use crate::commands::operator::{open_org, print_result};
use crate::refused_command::NotHere;

#[derive(Debug, Args)]
pub(crate) struct RefundPaidArgs {
    /// Refund, by id or the end of its id
    #[arg(value_name = "REFUND")]
    refund: String,
    /// Note that the agent reads
    #[arg(long, value_name = "TEXT", value_parser = parse_text)]
    note: Option<String>,
    #[command(flatten)]
    target: OrgArgs,
}

#[derive(Debug, Args)]
pub(crate) struct RefundRefuseArgs {
    /// Refund, by id or the end of its id
    #[arg(value_name = "REFUND")]
    refund: String,
    /// Reason, which the agent reads
    #[arg(long, value_name = "TEXT", value_parser = parse_text)]
    reason: String,
    #[command(flatten)]
    target: OrgArgs,
}

pub(super) async fn paid(args: &RefundPaidArgs) -> anyhow::Result<()> {
    settle(&args.target, &args.refund, RefundDecision::Paid, args.note.as_deref()).await
}

pub(super) async fn refuse(args: &RefundRefuseArgs) -> anyhow::Result<()> {
    settle(&args.target, &args.refund, RefundDecision::Refused, Some(&args.reason)).await
}

async fn settle(
    target: &OrgArgs,
    name: &str,
    decision: RefundDecision,
    note: Option<&str>,
) -> anyhow::Result<()> {
    let (operator, org) = open_org(target).await?;
    let operations = operator.org(&org);
    let refunds = operations.refunds().await?;
    let known: Vec<RecordId> = refunds.iter().map(|one| one.refund.id).collect();
    let id = match_id(name, &known)?;
    let Some(found) = refunds.iter().find(|one| Some(one.refund.id) == id) else {
        bail!(NotHere(format!(
            "no refund {name} in {}; see `ostler refund ls --org {}`",
            org.name, org.slug
        )));
    };
    let settled = operations.settle_refund(found.order, found.refund.id, decision, note).await?;
    let refund = &settled.refund.refund;
    let told = match settled.customer_is_told {
        true => "the agent tells the customer",
        false => "no agent has the conversation, so tell the customer yourself",
    };
    let mut json = refund_json(&settled.refund);
    json["customer_is_told"] = json!(settled.customer_is_told);
    let text = format!(
        "the refund of {} for order {} is {}; {told}",
        refund.amount,
        settled.refund.order_number,
        refund.status.description()
    );
    print_result(&target.output, &json, &text)
}
