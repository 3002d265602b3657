//! `ostler approval ls`.

use ostler_domain::gate::GateDecision;
use ostler_runtime::delivery::notices::text::format_call;
use ostler_runtime::operations::WorkflowCall;
use ostler_server::wire;
use ostler_store::DecisionState;
use serde_json::to_value;

use super::{LIST_LIMIT, call};
use crate::commands::args::OrgsArgs;
use crate::commands::operator::{open_orgs, orgs_name};
use crate::commands::session::view::{AgentNames, format_time};
use crate::screen::{Cell, HEADER, NextCommand, WARNING, print_next, print_rows};

pub(super) async fn run(args: &OrgsArgs) -> anyhow::Result<()> {
    let (operator, orgs) = open_orgs(args).await?;
    let (mut pending, mut of_workflows) = (Vec::new(), Vec::new());
    for org in &orgs {
        let names = AgentNames::load(&operator.store, org.id).await?;
        let own = operator.org(org).approvals(DecisionState::Pending, None, LIST_LIMIT).await?;
        pending.extend(own.into_iter().map(|stored| {
            let agent = names.get(stored.approval.agent);
            (org, agent, stored)
        }));
        let calls = operator.org(org).workflow_calls(LIST_LIMIT).await?;
        of_workflows.extend(calls.into_iter().map(|call| (org, call)));
    }
    if args.output.json {
        let conversations = pending.iter().map(|(_, _, stored)| to_value(wire::approval(stored)));
        let workflows = of_workflows.iter().map(|(_, call)| to_value(call));
        let all = conversations.chain(workflows).collect::<Result<Vec<_>, _>>()?;
        return crate::commands::print_json(&all);
    }
    if pending.is_empty() && of_workflows.is_empty() {
        anstream::println!("no approval is pending in {}", orgs_name(&orgs));
        return Ok(());
    }
    let header = ["approval", "org", "call", "by", "why", "asked", "expires"];
    let mut rows = vec![header.map(|text| Cell::styled(text, HEADER))];
    rows.extend(pending.iter().map(|(org, agent, stored)| {
        let approval = &stored.approval;
        [
            Cell::id(&approval.id).with_style(WARNING),
            org.slug.as_str().into(),
            call(stored).into(),
            agent.as_str().into(),
            GateDecision::Ask(approval.ask_reason.clone()).to_string().into(),
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
            waiting.why.as_str().into(),
            "".into(),
            "never".into(),
        ]
    }));
    print_rows(&rows);
    let first = pending.first().map(|(org, _, stored)| {
        format!("ostler approval approve {} --org {}", stored.approval.id, org.slug)
    });
    let of_workflow = of_workflows.first().map(|(org, waiting)| {
        let WorkflowCall { workflow, task, .. } = waiting;
        format!("ostler workflow approve {workflow} {task} --org {}", org.slug)
    });
    print_next(first.into_iter().chain(of_workflow).map(|command| NextCommand::new(command, "")));
    Ok(())
}
