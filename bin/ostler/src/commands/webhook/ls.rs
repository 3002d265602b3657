//! `ostler webhook ls`.

use ostler_api::webhook::Webhook;

use super::{LIST_LIMIT, events_text, status_cell};
use crate::api_client::open_org;
use crate::commands::args::OrgArgs;
use crate::screen::{Cell, HEADER, NextCommand, print_next, print_rows};

pub(super) async fn run(args: &OrgArgs) -> anyhow::Result<()> {
    let org = open_org(args).await?;
    let webhooks: Vec<Webhook> = org.list(&["webhooks"], &[], LIST_LIMIT).await?;
    if args.output.json {
        return crate::commands::print_json(&webhooks);
    }
    if webhooks.is_empty() {
        anstream::println!("{} has no webhooks", org.org.name);
        let command =
            format!("ostler webhook create https://crm.example/ostler --org {}", org.org.slug);
        print_next([NextCommand::new(command, "")]);
        return Ok(());
    }
    let header = ["webhook", "address", "events", "state"];
    let mut rows = vec![header.map(|text| Cell::styled(text, HEADER))];
    rows.extend(webhooks.iter().map(|webhook| {
        [
            Cell::id(&webhook.id),
            webhook.url.as_str().into(),
            events_text(webhook).into(),
            status_cell(webhook),
        ]
    }));
    print_rows(&rows);
    Ok(())
}
