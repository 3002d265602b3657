//! `ostler data rm`.

use anyhow::bail;
use clap::Args;
use ostler_api::data::DataItem;
use ostler_domain::business_data::DataKind;

use super::ls::item_json;
use crate::api_client::open_org;
use crate::commands::args::OrgArgs;
use crate::commands::operator::print_result;

#[derive(Debug, Args)]
pub(crate) struct DataRmArgs {
    /// Kind: product, event, form, order or media
    #[arg(value_name = "KIND")]
    kind: DataKind,
    /// Item, by own key, id or name
    #[arg(value_name = "KEY")]
    key: String,
    #[command(flatten)]
    target: OrgArgs,
}

pub(super) async fn run(args: &DataRmArgs) -> anyhow::Result<()> {
    if args.kind == DataKind::Contacts {
        bail!("contacts are deleted with everything about them: use `ostler contact delete`");
    }
    let org = open_org(&args.target).await?;
    let item: DataItem = org.delete(&["data", args.kind.name(), &args.key]).await?;
    let text = format!("the {} {} is removed", args.kind.singular(), item.name);
    print_result(&args.target.output, &item_json(&item), &text)
}
