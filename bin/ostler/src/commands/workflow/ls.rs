//! `ostler workflow ls`.

use super::LIST_LIMIT;
use super::show::style;
use crate::commands::args::OrgArgs;
use crate::commands::operator::open_org;
use crate::commands::session::view::format_time;
use crate::screen::{Cell, DIM, HEADER, print_rows};

pub(super) async fn run(args: &OrgArgs) -> anyhow::Result<()> {
    let (operator, org) = open_org(args).await?;
    let workflows = operator.org(&org).workflows(None, LIST_LIMIT).await?;
    if args.output.json {
        return crate::commands::print_json(&workflows);
    }
    if workflows.is_empty() {
        anstream::println!("no workflows in {}", org.name);
        return Ok(());
    }
    let header = ["workflow", "name", "state", "steps", "waits for", "credits", "started"];
    let mut rows = vec![header.map(|text| Cell::styled(text, HEADER))];
    rows.extend(workflows.iter().map(|workflow| {
        let waits: Vec<String> = workflow.waits.iter().map(ToString::to_string).collect();
        [
            Cell::id(&workflow.id),
            workflow.name.as_str().into(),
            Cell::styled(workflow.status.as_str(), style(&workflow.status)),
            format!("{}/{}", workflow.over, workflow.steps).into(),
            waits.join(", ").into(),
            workflow.spent.to_string().into(),
            Cell::whole(format_time(workflow.created_at)),
        ]
    }));
    print_rows(&rows);
    if workflows.len() == LIST_LIMIT as usize {
        anstream::println!("{DIM}only the newest {LIST_LIMIT} are listed{DIM:#}");
    }
    Ok(())
}
