//! `ostler data ls`.

use clap::Args;
use ostler_api::data::DataItem;
use ostler_domain::business_data::DataKind;
use serde_json::{Value, json};

use crate::api_client::open_org;
use crate::commands::args::OrgArgs;
use crate::commands::rfc3339;
use crate::commands::session::view::format_time;
use crate::screen::{Cell, DIM, HEADER, print_rows};

#[derive(Debug, Args)]
pub(crate) struct DataLsArgs {
    /// Kind: contacts, products, events, forms, orders or media
    #[arg(value_name = "KIND")]
    kind: DataKind,
    /// Most items to list
    #[arg(long, value_name = "N", default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    limit: u32,
    #[command(flatten)]
    target: OrgArgs,
}

pub(super) async fn run(args: &DataLsArgs) -> anyhow::Result<()> {
    let org = open_org(&args.target).await?;
    let items: Vec<DataItem> =
        org.list(&["data", args.kind.name()], &[], args.limit as usize).await?;
    if args.target.output.json {
        let all: Vec<Value> = items.iter().map(item_json).collect();
        return crate::commands::print_json(&all);
    }
    if items.is_empty() {
        let kind = args.kind;
        anstream::println!("{} has no {kind}; import some with `ostler data import`", org.org.name);
        return Ok(());
    }
    let header = ["key", "name", "details", "changed"].map(|text| Cell::styled(text, HEADER));
    let mut rows = vec![header];
    rows.extend(items.iter().map(|item| {
        let key = item.key.clone().map_or_else(|| Cell::styled(item.id.as_str(), DIM), Cell::from);
        [
            key,
            item.name.as_str().into(),
            details(args.kind, &item.data).into(),
            Cell::whole(format_time(item.updated_at)),
        ]
    }));
    print_rows(&rows);
    if items.len() == args.limit as usize {
        anstream::println!("{DIM}only the first {} are listed; see --limit{DIM:#}", args.limit);
    }
    Ok(())
}

/// Returns the most telling field of a kind.
fn details(kind: DataKind, data: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let price = |value: &Value| format!("{} {}", text(&value["amount"]), text(&value["currency"]));
    match kind {
        DataKind::Contacts => text(&data["details"]["phone"]),
        DataKind::Products => price(&data["price"]).trim().to_owned(),
        DataKind::Events => text(&data["starts_at"]).chars().take(10).collect(),
        DataKind::Forms => format!("{} fields", data["fields"].as_array().map_or(0, Vec::len)),
        DataKind::Orders => text(&data["status"]),
        DataKind::Media => text(&data["media_type"]),
    }
}

pub(super) fn item_json(item: &DataItem) -> Value {
    json!({"id": item.id, "key": item.key, "name": item.name, "version": item.version,
        "updated_at": rfc3339(item.updated_at), "data": item.data})
}
