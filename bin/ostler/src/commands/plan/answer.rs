//! `ostler plan approve` and `ostler plan reject`.

use clap::Args;
use ostler_api::page::Page;
use ostler_api::queue_agent::{RejectPlanRequest, WaitingPlan};
use ostler_domain::id::EnvelopeId;

use crate::api_client::not_here;
use crate::commands::args::{BusArgs, match_id};
use crate::queue_api::{QueueApi, with_queues};
use crate::screen::HEADER;

#[derive(Debug, Args)]
pub(crate) struct PlanApproveArgs {
    /// Plan, by id or the end of its id
    #[arg(value_name = "PLAN")]
    plan: String,
    #[command(flatten)]
    bus: BusArgs,
}

#[derive(Debug, Args)]
pub(crate) struct PlanRejectArgs {
    #[command(flatten)]
    plan: PlanApproveArgs,
    /// Reason
    #[arg(long, value_name = "TEXT")]
    reason: String,
}

pub(super) async fn approve(args: &PlanApproveArgs) -> anyhow::Result<()> {
    answer(args, None).await
}

pub(super) async fn reject(args: &PlanRejectArgs) -> anyhow::Result<()> {
    let request = RejectPlanRequest { reason: args.reason.clone() };
    answer(&args.plan, Some(request)).await
}

/// Approves a plan, or rejects it for a reason.
async fn answer(
    args: &PlanApproveArgs,
    rejection: Option<RejectPlanRequest>,
) -> anyhow::Result<()> {
    let what = if rejection.is_some() { "rejected" } else { "approved" };
    let plan =
        with_queues(&args.bus, async |queues| decide(queues, &args.plan, rejection.as_ref()).await)
            .await?;
    if args.bus.output.json {
        return crate::commands::print_json(&plan);
    }
    anstream::println!("{HEADER}{}{HEADER:#}  {what} for {}", plan.plan.reference, plan.key.agent);
    Ok(())
}

async fn decide(
    queues: &QueueApi,
    text: &str,
    rejection: Option<&RejectPlanRequest>,
) -> anyhow::Result<WaitingPlan> {
    let waiting: Page<WaitingPlan> = queues.org.get(&["queue-plans"]).await?;
    let known: Vec<EnvelopeId> = waiting.items.iter().map(|plan| plan.key.message).collect();
    let id = match_id(text, &known)?.ok_or_else(|| {
        not_here(format!("no plan {text} waits for approval; see `ostler plan ls`"))
    })?;
    let found = waiting.items.iter().find(|plan| plan.key.message == id);
    queues.start(found.map(|plan| &plan.key.agent)).await?;
    let id = id.to_string();
    let plan: WaitingPlan = match rejection {
        None => queues.org.post(&["queue-plans", &id, "approve"], &()).await?,
        Some(request) => queues.org.post(&["queue-plans", &id, "reject"], request).await?,
    };
    queues.wait_until_handled([&plan.key.agent]).await?;
    Ok(plan)
}
