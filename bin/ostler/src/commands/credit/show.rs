//! `ostler credit show`.

use ostler_api::credit::CreditAccount;
use ostler_domain::money::pools::PoolKind;
use serde_json::json;

use crate::api_client::{OrgApi, open_org};
use crate::commands::args::{OrgArgs, OutputArgs};
use crate::screen::{Cell, HEADER, count, print_rows, thousands};

pub(super) async fn run(args: &OrgArgs) -> anyhow::Result<()> {
    print(&open_org(args).await?, &args.output).await
}

/// Prints the account of an org.
pub(super) async fn print(org: &OrgApi, output: &OutputArgs) -> anyhow::Result<()> {
    let account: CreditAccount = org.get(&["credits"]).await?;
    let pools = [PoolKind::Daily, PoolKind::Monthly, PoolKind::Purchased];
    if output.json {
        let mut json = json!(account);
        json["org"] = org.org.slug.as_str().into();
        return crate::commands::print_json(&json);
    }
    let available = account
        .available
        .map_or_else(|| "unlimited credits".to_owned(), |left| count(left.get(), "credit"));
    anstream::println!("{HEADER}{}{HEADER:#}  {available}", org.org.name);
    let rows = pools.map(|kind| {
        let name = format!("  {kind:?}").to_lowercase();
        let pool = account.pools.iter().find(|pool| pool.pool == kind);
        let available = pool.map_or(0, |pool| pool.available.get());
        [Cell::from(name), thousands(available).into()]
    });
    print_rows(&rows);
    Ok(())
}
