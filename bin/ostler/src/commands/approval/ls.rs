//! `ostler approval ls`.

use ostler_domain::gate::GateDecision;
use ostler_server::wire;
use ostler_store::DecisionState;

use super::{LIST_LIMIT, call};
use crate::commands::args::OrgArgs;
use crate::commands::operator::open_org;
use crate::commands::session::view::{AgentNames, format_time};
use crate::screen::{Cell, HEADER, NextCommand, WARNING, print_next, print_rows};

pub(super) async fn run(args: &OrgArgs) -> anyhow::Result<()> {
    let (operator, org) = open_org(args).await?;
    let pending = operator.org(&org).approvals(DecisionState::Pending, None, LIST_LIMIT).await?;
    if args.output.json {
        let all: Vec<_> = pending.iter().map(wire::approval).collect();
        return crate::commands::print_json(&all);
    }
    if pending.is_empty() {
        anstream::println!("no approval is pending in {}", org.name);
        return Ok(());
    }
    let names = AgentNames::load(&operator.store, org.id).await?;
    let header = ["approval", "call", "by", "why", "asked", "expires"];
    let mut rows = vec![header.map(|text| Cell::styled(text, HEADER))];
    rows.extend(pending.iter().map(|stored| {
        let approval = &stored.approval;
        [
            Cell::id(&approval.id).with_style(WARNING),
            call(stored).into(),
            names.get(approval.agent).into(),
            GateDecision::Ask(approval.ask_reason.clone()).to_string().into(),
            Cell::whole(format_time(approval.requested_at)),
            Cell::whole(format_time(approval.expires_at)),
        ]
    }));
    print_rows(&rows);
    let first = pending[0].approval.id;
    print_next([NextCommand::new(
        format!("ostler approval approve {first} --org {}", org.slug),
        "",
    )]);
    Ok(())
}
