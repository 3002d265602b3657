//! `ostler refund paid` and `ostler refund refuse`.

use clap::Args;
use ostler_api::refund::{Refund, RefundVerdict, SettleRefundRequest, SettledRefund};
use ostler_domain::id::RecordId;
use serde_json::json;

use super::{LIST_LIMIT, amount, wire_refund_json};
use crate::api_client::{not_here, open_org};
use crate::commands::args::{OrgArgs, match_id, parse_text};
use crate::commands::operator::print_result;

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
    settle(&args.target, &args.refund, RefundVerdict::Paid, args.note.as_deref()).await
}

pub(super) async fn refuse(args: &RefundRefuseArgs) -> anyhow::Result<()> {
    settle(&args.target, &args.refund, RefundVerdict::Refused, Some(&args.reason)).await
}

async fn settle(
    target: &OrgArgs,
    name: &str,
    decision: RefundVerdict,
    note: Option<&str>,
) -> anyhow::Result<()> {
    let org = open_org(target).await?;
    let refunds: Vec<Refund> = org.list(&["refunds"], &[], LIST_LIMIT).await?;
    let known: Vec<RecordId> = refunds.iter().map(|one| one.id).collect();
    let Some(id) = match_id(name, &known)?.filter(|id| known.contains(id)) else {
        let (org, slug) = (&org.org.name, &org.org.slug);
        return Err(not_here(format!(
            "no refund {name} in {org}; see `ostler refund ls --org {slug}`"
        )));
    };
    let request = SettleRefundRequest { decision, note: note.map(str::to_owned) };
    let settled: SettledRefund =
        org.post(&["refunds", &id.to_string(), "settle"], &request).await?;
    let refund = &settled.refund;
    let told = match settled.customer_is_told {
        true => "the agent tells the customer",
        false => "no agent has the conversation, so tell the customer yourself",
    };
    let mut json = wire_refund_json(refund);
    json["customer_is_told"] = json!(settled.customer_is_told);
    let text = format!(
        "the refund of {} for order {} is {}; {told}",
        amount(refund),
        refund.order_number,
        refund.status
    );
    print_result(&target.output, &json, &text)
}
