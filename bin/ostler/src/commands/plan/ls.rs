//! `ostler plan ls`.

use clap::Args;
use ostler_runtime::agents::WaitingPlan;

use crate::agent_client::with_client;
use crate::commands::args::BusArgs;
use crate::commands::reply::format_reply;
use crate::screen::{Cell, HEADER, NextCommand, print_next, print_rows};

#[derive(Debug, Args)]
pub(crate) struct PlanLsArgs {
    #[command(flatten)]
    bus: BusArgs,
}

pub(super) async fn run(args: &PlanLsArgs) -> anyhow::Result<()> {
    let plans = with_client(&args.bus, async |client| {
        Ok(client.operations().waiting_plans(&client.runtime).await?)
    })
    .await?;
    if args.bus.output.json {
        return crate::commands::print_json(&plans);
    }
    let Some(first) = plans.first() else {
        anstream::println!("no plan waits for approval");
        return Ok(());
    };
    let header = ["plan", "agent", "approver", "reference", "request"];
    let mut rows = vec![header.map(|text| Cell::styled(text, HEADER))];
    rows.extend(plans.iter().map(row));
    print_rows(&rows);
    let (id, org) = (first.key.message, args.bus.org_option());
    print_next([NextCommand::new(format!("ostler plan approve {id}{org}"), "")]);
    Ok(())
}

fn row(plan: &WaitingPlan) -> [Cell; 5] {
    let (text, _) = format_reply(&plan.request);
    [
        Cell::id(&plan.key.message),
        plan.key.agent.as_str().into(),
        plan.plan.approver.as_str().into(),
        plan.plan.reference.to_string().into(),
        format!("{}: {text}", plan.request.message.kind).into(),
    ]
}
