//! `ostler plan ls`.

use clap::Args;
use ostler_api::page::Page;
use ostler_api::queue_agent::WaitingPlan;
use ostler_bus::Envelope;

use crate::commands::args::BusArgs;
use crate::commands::reply::format_reply;
use crate::queue_api::with_queues;
use crate::screen::{Cell, HEADER, NextCommand, print_next, print_rows};

#[derive(Debug, Args)]
pub(crate) struct PlanLsArgs {
    #[command(flatten)]
    bus: BusArgs,
}

pub(super) async fn run(args: &PlanLsArgs) -> anyhow::Result<()> {
    let page: Page<WaitingPlan> =
        with_queues(&args.bus, async |queues| queues.org.get(&["queue-plans"]).await).await?;
    let plans = page.items;
    if args.bus.output.json {
        return crate::commands::print_json(&plans);
    }
    let Some(first) = plans.first() else {
        anstream::println!("no plan waits for approval");
        return Ok(());
    };
    let header = ["plan", "agent", "approver", "reference", "request"];
    let mut rows = vec![header.map(|text| Cell::styled(text, HEADER))];
    for plan in &plans {
        rows.push(row(plan)?);
    }
    print_rows(&rows);
    let (id, org) = (first.key.message, args.bus.org_option());
    print_next([NextCommand::new(format!("ostler plan approve {id}{org}"), "")]);
    Ok(())
}

fn row(plan: &WaitingPlan) -> anyhow::Result<[Cell; 5]> {
    let request: Envelope = serde_json::from_value(plan.request.clone())?;
    let (text, _) = format_reply(&request);
    Ok([
        Cell::id(&plan.key.message),
        plan.key.agent.as_str().into(),
        plan.plan.approver.as_str().into(),
        plan.plan.reference.to_string().into(),
        format!("{}: {text}", request.message.kind).into(),
    ])
}
