//! `ostler workflow ls`.

use ostler_api::workflow::Workflow;

use super::LIST_LIMIT;
use super::show::style;
use crate::api_client::open_org;
use crate::commands::args::OrgArgs;
use crate::commands::session::view::format_time;
use crate::screen::{Cell, DIM, HEADER, print_rows};

pub(super) async fn run(args: &OrgArgs) -> anyhow::Result<()> {
    let org = open_org(args).await?;
    let workflows: Vec<Workflow> = org.list(&["workflows"], &[], LIST_LIMIT).await?;
    if args.output.json {
        return crate::commands::print_json(&workflows);
    }
    if workflows.is_empty() {
        anstream::println!("no workflows in {}", org.org.name);
        return Ok(());
    }
    let header = ["workflow", "name", "state", "steps", "waits for", "credits", "started"];
    let mut rows = vec![header.map(|text| Cell::styled(text, HEADER))];
    rows.extend(workflows.iter().map(|workflow| {
        [
            Cell::id(&workflow.id),
            workflow.name.as_str().into(),
            Cell::styled(workflow.status.as_str(), style(&workflow.status)),
            format!("{}/{}", workflow.finished_steps, workflow.steps).into(),
            workflow.waiting_tasks.join(", ").into(),
            workflow.spent.to_string().into(),
            Cell::whole(format_time(workflow.created_at)),
        ]
    }));
    print_rows(&rows);
    if workflows.len() == LIST_LIMIT {
        anstream::println!("{DIM}only the newest {LIST_LIMIT} are listed{DIM:#}");
    }
    Ok(())
}
