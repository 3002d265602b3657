//! `ostler refund ls`.

use clap::Args;
use ostler_domain::refund::RefundStatus;
use ostler_domain::time::Timestamp;
use serde_json::Value;

use super::refund_json;
use crate::commands::args::OrgsArgs;
use crate::commands::operator::{open_orgs, orgs_name};
use crate::commands::session::view::{AgentNames, format_time};
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
    let (operator, orgs) = open_orgs(&args.target).await?;
    let mut refunds = Vec::new();
    for org in &orgs {
        let names = AgentNames::load(&operator.store, org.id).await?;
        let mut own = operator.org(org).refunds().await?;
        own.retain(|one| args.all || one.refund.status == RefundStatus::Requested);
        refunds.extend(own.into_iter().map(|one| (org, names.get(one.refund.agent), one)));
    }
    if args.target.output.json {
        let all: Vec<Value> = refunds.iter().map(|(_, _, one)| refund_json(one)).collect();
        return crate::commands::print_json(&all);
    }
    if refunds.is_empty() {
        let what = if args.all { "refund" } else { "refund to pay" };
        anstream::println!("there is no {what} in {}", orgs_name(&orgs));
        return Ok(());
    }
    let header = ["refund", "org", "order", "amount", "status", "by", "reason", "asked"];
    let mut rows = vec![header.map(|text| Cell::styled(text, HEADER))];
    rows.extend(refunds.iter().map(|(org, agent, one)| {
        let refund = &one.refund;
        let reason = match &refund.note {
            Some(note) => format!("{}; {note}", refund.reason),
            None => refund.reason.clone(),
        };
        [
            Cell::id(&refund.id),
            org.slug.as_str().into(),
            one.order_number.as_str().into(),
            Cell::whole(refund.amount.to_string()),
            Cell::whole(refund.status.description()),
            agent.as_str().into(),
            Cell::styled(reason, DIM),
            Cell::whole(format_time(Timestamp::from_millis(refund.at.as_millisecond()))),
        ]
    }));
    print_rows(&rows);
    let open = refunds.iter().find(|(_, _, one)| one.refund.status == RefundStatus::Requested);
    if let Some((org, _, open)) = open {
        let (id, slug) = (open.refund.id, &org.slug);
        let paid = format!("ostler refund paid {id} --org {slug}");
        print_next([NextCommand::new(paid, "once you have paid it")]);
    }
    Ok(())
}
