//! `ostler refund ls`.

use clap::Args;
use ostler_api::refund::{Refund, RefundState};
use serde_json::Value;

use super::{LIST_LIMIT, amount, wire_refund_json};
use crate::api_client::{open_listed_orgs, orgs_name};
use crate::commands::args::OrgsArgs;
use crate::commands::session::view::format_time;
use crate::screen::{Cell, DIM, HEADER, NextCommand, print_next, print_rows};

#[derive(Debug, Args)]
pub(crate) struct RefundLsArgs {
    /// Also list refunds that were paid or refused
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    target: OrgsArgs,
}

pub(super) async fn run(args: &RefundLsArgs) -> anyhow::Result<()> {
    let orgs = open_listed_orgs(&args.target).await?;
    let mut refunds = Vec::new();
    for org in &orgs {
        let mut own: Vec<Refund> = org.list(&["refunds"], &[], LIST_LIMIT).await?;
        own.retain(|one| args.all || one.state == RefundState::Requested);
        let names = org.agent_names().await?;
        refunds.extend(own.into_iter().map(|one| (&org.org, names.get(one.agent), one)));
    }
    if args.target.output.json {
        let all: Vec<Value> = refunds.iter().map(|(_, _, one)| wire_refund_json(one)).collect();
        return crate::commands::print_json(&all);
    }
    if refunds.is_empty() {
        let what = if args.all { "refund" } else { "refund to pay" };
        anstream::println!("there is no {what} in {}", orgs_name(&orgs));
        return Ok(());
    }
    let header = ["refund", "org", "order", "amount", "status", "by", "reason", "asked"];
    let mut rows = vec![header.map(|text| Cell::styled(text, HEADER))];
    rows.extend(refunds.iter().map(|(org, agent, refund)| {
        let reason = match &refund.note {
            Some(note) => format!("{}; {note}", refund.reason),
            None => refund.reason.clone(),
        };
        [
            Cell::id(&refund.id),
            org.slug.as_str().into(),
            refund.order_number.as_str().into(),
            Cell::whole(amount(refund)),
            Cell::whole(refund.status.clone()),
            agent.as_str().into(),
            Cell::styled(reason, DIM),
            Cell::whole(format_time(refund.at)),
        ]
    }));
    print_rows(&rows);
    let open = refunds.iter().find(|(_, _, one)| one.state == RefundState::Requested);
    if let Some((org, _, open)) = open {
        let (id, slug) = (open.id, &org.slug);
        let paid = format!("ostler refund paid {id} --org {slug}");
        print_next([NextCommand::new(paid, "once you have paid it")]);
    }
    Ok(())
}
