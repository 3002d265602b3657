//! `ostler integration ls`.

use ostler_api::integration::ToolService;
use serde_json::json;

use crate::api_client::open_org;
use crate::commands::args::OrgArgs;
use crate::screen::{Cell, DIM, GOOD, HEADER, NextCommand, WARNING, print_next, print_rows};

pub(super) async fn run(args: &OrgArgs) -> anyhow::Result<()> {
    let org = open_org(args).await?;
    let services: Vec<ToolService> = org.list(&["services"], &[], usize::MAX).await?;
    if args.output.json {
        let all = services.iter().map(|one| {
            json!({"service": one.service, "connected": one.connected, "tools": one.tools,
                "secret": one.secret})
        });
        return crate::commands::print_json(&all.collect::<Vec<_>>());
    }
    let header = ["service", "state", "key", "tools"];
    let mut rows = vec![header.map(|text| Cell::styled(text, HEADER))];
    rows.extend(services.iter().map(|one| {
        let state = if one.connected {
            Cell::styled("connected", GOOD)
        } else {
            Cell::styled("not connected", DIM)
        };
        let key = match (&one.secret, &one.key_problem) {
            (None, _) => Cell::default(),
            (Some(at), None) => at.to_string().into(),
            (Some(at), Some(problem)) => Cell::styled(format!("{at}: {problem}"), WARNING),
        };
        [one.service.as_str().into(), state, key, one.tools.join(", ").into()]
    }));
    print_rows(&rows);
    if let Some(ToolService { service, .. }) = services.iter().find(|one| !one.connected) {
        let slug = &org.org.slug;
        let connect = format!("ostler integration connect {service} --org {slug}");
        print_next([NextCommand::new(connect, "")]);
    }
    Ok(())
}
