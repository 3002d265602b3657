//! `ostler plan approve` and `ostler plan reject`.

use anyhow::anyhow;
use clap::Args;
use ostler_domain::id::EnvelopeId;
use ostler_domain::queue_agent::plan::PlanAnswer;
use ostler_runtime::agents::WaitingPlan;

use crate::agent_client::{AgentClient, with_client};
use crate::commands::args::{BusArgs, match_id};
use crate::refused_command::NotHere;
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
    answer(args, PlanAnswer::Approve, "approved").await
}

pub(super) async fn reject(args: &PlanRejectArgs) -> anyhow::Result<()> {
    answer(&args.plan, PlanAnswer::Reject { reason: args.reason.clone() }, "rejected").await
}

async fn answer(args: &PlanApproveArgs, answer: PlanAnswer, what: &str) -> anyhow::Result<()> {
    let plan = with_client(&args.bus, async |client| decide(client, &args.plan, answer).await);
    let plan = plan.await?;
    if args.bus.output.json {
        return crate::commands::print_json(&plan);
    }
    anstream::println!("{HEADER}{}{HEADER:#}  {what} for {}", plan.plan.reference, plan.key.agent);
    Ok(())
}

async fn decide(
    client: &AgentClient,
    text: &str,
    answer: PlanAnswer,
) -> anyhow::Result<WaitingPlan> {
    let operations = client.operations();
    let waiting = operations.waiting_plans(&client.runtime).await?;
    let known: Vec<EnvelopeId> = waiting.iter().map(|plan| plan.key.message).collect();
    let id = match_id(text, &known)?.ok_or_else(|| {
        anyhow!(NotHere(format!("no plan {text} waits for approval; see `ostler plan ls`")))
    })?;
    let agent = waiting.iter().find(|plan| plan.key.message == id).map(|plan| &plan.key.agent);
    if let Some(unavailable) = client.start(agent).await?.pop() {
        return Err(unavailable.error.into());
    }
    let plan = operations.answer_plan(&client.runtime, id, answer).await?;
    client.wait_until_handled([&plan.key.agent]).await?;
    Ok(plan)
}
