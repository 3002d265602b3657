//! `ostler approval ls`.

use ostler_api::approval::Approval;
use ostler_domain::gate::GateDecision;

use super::{LIST_LIMIT, call};
use crate::api_client::{open_listed_orgs, orgs_name};
use crate::commands::args::OrgsArgs;
use crate::commands::session::view::format_time;
use crate::screen::{Cell, HEADER, NextCommand, WARNING, print_next, print_rows};

pub(super) async fn run(args: &OrgsArgs) -> anyhow::Result<()> {
    let orgs = open_listed_orgs(args).await?;
    let mut pending = Vec::new();
    for org in &orgs {
        let own: Vec<Approval> = org.list(&["approvals"], &[], LIST_LIMIT).await?;
        if own.is_empty() {
            continue;
        }
        let names = org.agent_names().await?;
        pending.extend(own.into_iter().map(|approval| {
            let agent = names.get(approval.agent);
            (&org.org, agent, approval)
        }));
    }
    if args.output.json {
        let all: Vec<&Approval> = pending.iter().map(|(_, _, approval)| approval).collect();
        return crate::commands::print_json(&all);
    }
    let Some((org, _, first)) = pending.first() else {
        anstream::println!("no approval is pending in {}", orgs_name(&orgs));
        return Ok(());
    };
    let header = ["approval", "org", "call", "by", "why", "asked", "expires"];
    let mut rows = vec![header.map(|text| Cell::styled(text, HEADER))];
    rows.extend(pending.iter().map(|(org, agent, approval)| {
        [
            Cell::id(&approval.id).with_style(WARNING),
            org.slug.as_str().into(),
            call(approval).into(),
            agent.as_str().into(),
            GateDecision::Ask(approval.why.clone()).to_string().into(),
            Cell::whole(format_time(approval.requested_at)),
            Cell::whole(format_time(approval.expires_at)),
        ]
    }));
    print_rows(&rows);
    print_next([NextCommand::new(
        format!("ostler approval approve {} --org {}", first.id, org.slug),
        "",
    )]);
    Ok(())
}
