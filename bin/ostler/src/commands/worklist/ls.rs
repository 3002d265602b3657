//! `ostler worklist ls`.

use clap::Args;
use ostler_api::page::Page;
use ostler_api::queue_agent::WorkItem;
use ostler_bus::Envelope;
use ostler_domain::queue_agent::name::AgentName;
use ostler_runtime::agents::coordination::{
    ActionReport, CoordinationMessage, PlanApprovalRequest, TaskAssigned,
};

use crate::commands::args::BusArgs;
use crate::commands::reply::format_reply;
use crate::queue_api::with_queues;
use crate::screen::{Cell, HEADER, NextCommand, print_next, print_rows};

#[derive(Debug, Args)]
pub(crate) struct WorklistLsArgs {
    /// List only the messages to this agent
    #[arg(long, value_name = "AGENT")]
    agent: Option<AgentName>,
    #[command(flatten)]
    bus: BusArgs,
}

pub(super) async fn run(args: &WorklistLsArgs) -> anyhow::Result<()> {
    let agent = args.agent.as_ref().map(|agent| ("agent", agent.as_str()));
    let page: Page<WorkItem> = with_queues(&args.bus, async |queues| {
        queues.org.query(&["work-items"], agent.as_slice()).await
    })
    .await?;
    if args.bus.output.json {
        return crate::commands::print_json(&page.items);
    }
    let items: Vec<(AgentName, Envelope)> =
        page.items.into_iter().map(read).collect::<Result<_, _>>()?;
    let Some((_, first)) = items.first() else {
        anstream::println!("no message waits for a person");
        return Ok(());
    };
    let header = ["message", "for", "from", "reference", "text"];
    let mut rows = vec![header.map(|text| Cell::styled(text, HEADER))];
    rows.extend(items.iter().map(row));
    print_rows(&rows);
    let id = first.message.id;
    let answer = format!("ostler worklist answer {id} \"…\"{}", args.bus.org_option());
    print_next([NextCommand::new(answer, "")]);
    Ok(())
}

/// Describes a message in words.
fn describe(envelope: &Envelope) -> String {
    if PlanApprovalRequest::of(envelope).is_some() {
        return "asks for approval, see `ostler plan ls`".to_owned();
    }
    if let Some(TaskAssigned { work }) = TaskAssigned::of(envelope) {
        return format!("work: {}", work.description);
    }
    match ActionReport::of(envelope) {
        Some(ActionReport { agent, kind, .. }) => format!("{agent} has done: {kind}"),
        None => format_reply(envelope).0,
    }
}

/// Reads the message of an item.
fn read(item: WorkItem) -> serde_json::Result<(AgentName, Envelope)> {
    Ok((item.agent, serde_json::from_value(item.message)?))
}

fn row((agent, envelope): &(AgentName, Envelope)) -> [Cell; 5] {
    let from = envelope.context.from_agent.as_ref().map_or("", AgentName::as_str);
    [
        Cell::id(&envelope.message.id),
        agent.as_str().into(),
        from.into(),
        envelope.reference.to_string().into(),
        describe(envelope).into(),
    ]
}
