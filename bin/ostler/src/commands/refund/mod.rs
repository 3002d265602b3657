//! `ostler refund`: refunds that agents asked for and people pay.

mod ls;
mod settle;

use clap::Subcommand;
use ostler_api::refund::Refund;
use serde_json::{Value, json};

/// The most refunds that are listed.
const LIST_LIMIT: usize = 10_000;

#[derive(Debug, Subcommand)]
pub(crate) enum RefundCommand {
    /// List the refunds that a person has to pay
    #[command(after_help = "\
Examples:
  ostler refund ls
  ostler refund ls --org bella --all --json

With a payment provider refunds are paid there, and nothing waits here; see docs/TOOLS.md.")]
    Ls(ls::RefundLsArgs),
    /// Record that a refund was paid; the agent tells the customer
    #[command(after_help = "\
Examples:
  ostler refund paid …7ybc --org bella
  ostler refund paid …7ybc --org bella --note \"back on your card by Friday\"")]
    Paid(settle::RefundPaidArgs),
    /// Refuse a refund; the agent tells the customer
    #[command(after_help = "\
Examples:
  ostler refund refuse …7ybc --org bella \\
      --reason \"the order was delivered whole\"")]
    Refuse(settle::RefundRefuseArgs),
}

pub(crate) async fn run(command: &RefundCommand) -> anyhow::Result<()> {
    match command {
        RefundCommand::Ls(args) => ls::run(args).await,
        RefundCommand::Paid(args) => settle::paid(args).await,
        RefundCommand::Refuse(args) => settle::refuse(args).await,
    }
}

/// Formats the amount with its currency.
pub(crate) fn amount(refund: &Refund) -> String {
    format!("{} {}", refund.amount, refund.currency)
}

/// Returns a refund of the HTTP API as JSON, with the stable word of its status.
pub(crate) fn wire_refund_json(refund: &Refund) -> Value {
    let mut value = json!(refund);
    value["status"] = value["state"].take();
    if let Some(fields) = value.as_object_mut() {
        fields.remove("state");
    }
    value
}
