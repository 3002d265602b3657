//! `ostler org ls`.

use clap::Args;
use ostler_api::org::OrgSummary;
use serde_json::{Value, json};

use crate::api_client::ApiClient;
use crate::commands::args::{InstallationArgs, OutputArgs};
use crate::screen::{Cell, DIM, HEADER, print_rows};

#[derive(Debug, Args)]
pub(crate) struct OrgLsArgs {
    /// List archived organizations too
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    installation: InstallationArgs,
    #[command(flatten)]
    output: OutputArgs,
}

pub(super) async fn run(args: &OrgLsArgs) -> anyhow::Result<()> {
    let all = ApiClient::open(&args.installation).await?.orgs().await?;
    let parent = |org: &OrgSummary| {
        let parent = org.parent?;
        all.iter().find(|one| one.id == parent).map(|one| one.slug.clone())
    };
    let listed: Vec<&OrgSummary> = all.iter().filter(|org| args.all || !org.archived).collect();
    if args.output.json {
        let orgs: Vec<Value> = listed
            .iter()
            .map(|org| {
                json!({"id": org.id, "slug": org.slug, "name": org.name, "place": place_name(org),
                    "parent": parent(org), "plan": org.plan, "time_zone": org.time_zone,
                    "retention_days": org.retention_days, "archived": org.archived})
            })
            .collect();
        return crate::commands::print_json(&orgs);
    }
    if listed.is_empty() {
        anstream::println!(
            "no organizations; create one with `ostler org create` or `ostler apply`"
        );
        return Ok(());
    }
    let header = ["org", "name", "place", "parent", "plan"];
    let mut rows = vec![header.map(|text| Cell::styled(text, HEADER))];
    rows.extend(listed.iter().map(|org| {
        let place = if org.archived { "archived" } else { place_name(org) };
        [
            org.slug.as_str().into(),
            org.name.as_str().into(),
            place.into(),
            Cell::styled(parent(org).unwrap_or_default(), DIM),
            org.plan.name().into(),
        ]
    }));
    print_rows(&rows);
    Ok(())
}

const fn place_name(org: &OrgSummary) -> &'static str {
    match (org.platform, org.parent) {
        (true, _) => "platform",
        (false, None) => "agency",
        (false, Some(_)) => "client",
    }
}
