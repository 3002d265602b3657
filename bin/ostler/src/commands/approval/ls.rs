//! `ostler approval ls`.

use ostler_domain::gate::GateDecision;
use ostler_server::wire;
use ostler_store::DecisionState;

use super::{LIST_LIMIT, call};
use crate::commands::args::OrgsArgs;
use crate::commands::operator::{open_orgs, orgs_name};
use crate::commands::session::view::{AgentNames, format_time};
use crate::screen::{Cell, HEADER, NextCommand, WARNING, print_next, print_rows};

pub(super) async fn run(args: &OrgsArgs) -> anyhow::Result<()> {
    let (operator, orgs) = open_orgs(args).await?;
    let mut pending = Vec::new();
    for org in &orgs {
        let names = AgentNames::load(&operator.store, org.id).await?;
        let own = operator.org(org).approvals(DecisionState::Pending, None, LIST_LIMIT).await?;
        pending.extend(own.into_iter().map(|stored| {
            let agent = names.get(stored.approval.agent);
            (org, agent, stored)
        }));
    }
    if args.output.json {
        let all: Vec<_> = pending.iter().map(|(_, _, stored)| wire::approval(stored)).collect();
        return crate::commands::print_json(&all);
    }
    let Some((org, _, first)) = pending.first() else {
        anstream::println!("no approval is pending in {}", orgs_name(&orgs));
        return Ok(());
    };
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
    print_rows(&rows);
    print_next([NextCommand::new(
        format!("ostler approval approve {} --org {}", first.approval.id, org.slug),
        "",
    )]);
    Ok(())
}
