//! `ostler credit show`.

use ostler_domain::money::pools::PoolKind;
use ostler_server::wire;
use serde_json::json;

use crate::commands::args::OrgArgs;
use crate::commands::operator::open_org;
use crate::screen::{Cell, HEADER, count, print_rows, thousands};

pub(super) async fn run(args: &OrgArgs) -> anyhow::Result<()> {
    let (operator, org) = open_org(args).await?;
    let account = operator.org(&org).credits().await?;
    let pools = [PoolKind::Daily, PoolKind::Monthly, PoolKind::Purchased];
    if args.output.json {
        let mut json = json!(wire::account(&account));
        json["org"] = org.slug.as_str().into();
        return crate::commands::print_json(&json);
    }
    let available = account
        .available()
        .map_or_else(|| "unlimited credits".to_owned(), |left| count(left.get(), "credit"));
    anstream::println!("{HEADER}{}{HEADER:#}  {available}", org.name);
    let rows = pools.map(|kind| {
        let name = format!("  {kind:?}").to_lowercase();
        [Cell::from(name), thousands(account.pool(kind).available.get()).into()]
    });
    print_rows(&rows);
    Ok(())
}
