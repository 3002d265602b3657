//! `ostler workflow schedule ls`.

use ostler_api::workflow_schedule::ScheduleTimes;

use super::show::describe_start;
use crate::api_client::open_org;
use crate::commands::args::OrgArgs;
use crate::commands::session::view::format_time;
use crate::screen::{Cell, HEADER, NextCommand, print_next, print_rows};

pub(super) async fn run(args: &OrgArgs) -> anyhow::Result<()> {
    let org = open_org(args).await?;
    let all: Vec<ScheduleTimes> = org.get(&["schedule-times"]).await?;
    if args.output.json {
        return crate::commands::print_json(&all);
    }
    if all.is_empty() {
        anstream::println!("no schedules in {}", org.org.name);
        let create = "ostler workflow schedule create NAME --workflow NAME --cron CRON";
        print_next([NextCommand::new(format!("{create} --org {}", org.org.slug), "")]);
        return Ok(());
    }
    let header = ["schedule", "workflow", "cron", "time zone", "next", "last"];
    let mut rows = vec![header.map(|text| Cell::styled(text, HEADER))];
    rows.extend(all.iter().map(|one| {
        let paused = || if one.schedule.paused { "paused" } else { "never" }.to_owned();
        let next = one.next.first().map_or_else(paused, |at| format_time(*at));
        [
            one.schedule.name.as_str().into(),
            one.schedule.workflow.as_str().into(),
            one.schedule.cron.as_str().into(),
            one.time_zone.as_str().into(),
            Cell::whole(next),
            one.starts.first().map_or_else(String::new, describe_start).into(),
        ]
    }));
    print_rows(&rows);
    Ok(())
}
