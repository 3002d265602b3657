//! `ostler data show`.

use clap::Args;
use ostler_api::data::DataItem;
use ostler_api::refund::Refund;
use ostler_domain::business_data::DataKind;
use serde_json::Value;

use super::ls::item_json;
use crate::api_client::open_org;
use crate::commands::args::OrgArgs;
use crate::commands::refund::{amount, wire_refund_json};
use crate::screen::{Cell, HEADER, print_fields};

#[derive(Debug, Args)]
pub(crate) struct DataShowArgs {
    /// Kind: contact, product, event, form, order or media
    #[arg(value_name = "KIND")]
    kind: DataKind,
    /// Item, by own key, id or name
    #[arg(value_name = "KEY")]
    key: String,
    #[command(flatten)]
    target: OrgArgs,
}

pub(super) async fn run(args: &DataShowArgs) -> anyhow::Result<()> {
    let org = open_org(&args.target).await?;
    let item: DataItem = org.get(&["data", args.kind.name(), &args.key]).await?;
    let mut refunds: Vec<Refund> = match args.kind {
        DataKind::Orders => org.list(&["refunds"], &[], usize::MAX).await?,
        _ => Vec::new(),
    };
    refunds.retain(|refund| refund.order.to_string() == item.id);
    if args.target.output.json {
        let mut value = item_json(&item);
        if args.kind == DataKind::Orders {
            value["refunds"] = refunds.iter().map(wire_refund_json).collect();
        }
        return crate::commands::print_json(&value);
    }
    anstream::println!("{HEADER}{}{HEADER:#}  {}", item.name, item.id);
    let fields = item.data.as_object().into_iter().flatten();
    let fields = fields.filter(|(_, value)| !value.is_null());
    let mut rows: Vec<[Cell; 2]> = fields
        .map(|(name, value)| {
            let text = match value {
                Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            [format!("  {name}").into(), text.into()]
        })
        .collect();
    rows.extend(refunds.iter().map(|one| {
        let text = format!("{}, {}: {}", amount(one), one.status, one.reason);
        ["  refund".into(), text.into()]
    }));
    print_fields(&rows);
    Ok(())
}
