//! `ostler approval ls`.

use ostler_api::approval::Approval;
use ostler_api::workflow::WaitingWorkflowCall;
use ostler_domain::gate::GateDecision;
use ostler_runtime::delivery::notices::text::format_call;
use serde_json::to_value;

use super::{LIST_LIMIT, call, describe_customer};
use crate::api_client::{open_listed_orgs, orgs_name};
use crate::commands::args::OrgsArgs;
use crate::commands::session::view::format_time;
use crate::screen::{Cell, HEADER, NextCommand, WARNING, print_next, print_rows};

pub(super) async fn run(args: &OrgsArgs) -> anyhow::Result<()> {
    let orgs = open_listed_orgs(args).await?;
    let (mut pending, mut of_workflows) = (Vec::new(), Vec::new());
    for org in &orgs {
        let own: Vec<Approval> = org.list(&["approvals"], &[], LIST_LIMIT).await?;
        let calls: Vec<WaitingWorkflowCall> = org.get(&["workflow-calls"]).await?;
        of_workflows.extend(calls.into_iter().map(|call| (&org.org, call)));
        if own.is_empty() {
            continue;
        }
        let names = org.agent_names().await?;
        for approval in own {
            let agent = names.get(approval.agent);
            let customer = match args.output.json {
                true => String::new(),
                false => describe_customer(org, approval.session).await?,
            };
            pending.push((&org.org, agent, customer, approval));
        }
    }
    if args.output.json {
        let conversations = pending.iter().map(|(_, _, _, approval)| to_value(approval));
        let workflows = of_workflows.iter().map(|(_, call)| to_value(call));
        let all = conversations.chain(workflows).collect::<Result<Vec<_>, _>>()?;
        return crate::commands::print_json(&all);
    }
    if pending.is_empty() && of_workflows.is_empty() {
        anstream::println!("no approval is pending in {}", orgs_name(&orgs));
        return Ok(());
    }
    let header = ["approval", "org", "call", "by", "for", "why", "asked", "expires"];
    let mut rows = vec![header.map(|text| Cell::styled(text, HEADER))];
    rows.extend(pending.iter().map(|(org, agent, customer, approval)| {
        [
            Cell::id(&approval.id).with_style(WARNING),
            org.slug.as_str().into(),
            call(approval).into(),
            agent.as_str().into(),
            customer.as_str().into(),
            GateDecision::Ask(approval.why.clone()).to_string().into(),
            Cell::whole(format_time(approval.requested_at)),
            Cell::whole(format_time(approval.expires_at)),
        ]
    }));
    rows.extend(of_workflows.iter().map(|(org, waiting)| {
        [
            Cell::id(&waiting.workflow).with_style(WARNING),
            org.slug.as_str().into(),
            format_call(&waiting.tool, &waiting.arguments.to_string()).into(),
            format!("workflow {}, step {}", waiting.name, waiting.task).into(),
            "".into(),
            waiting.why.as_str().into(),
            "".into(),
            "never".into(),
        ]
    }));
    print_rows(&rows);
    let first = pending.first().map(|(org, _, _, approval)| {
        format!("ostler approval approve {} --org {}", approval.id, org.slug)
    });
    let of_workflow = of_workflows.first().map(|(org, waiting)| {
        let WaitingWorkflowCall { workflow, task, .. } = waiting;
        format!("ostler workflow approve {workflow} {task} --org {}", org.slug)
    });
    print_next(first.into_iter().chain(of_workflow).map(|command| NextCommand::new(command, "")));
    Ok(())
}
