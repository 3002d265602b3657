//! `ostler credit show`.

use ostler_domain::money::pools::PoolKind;
use serde_json::json;

use crate::commands::args::OrgArgs;
use crate::commands::operator::open_org;
use crate::screen::{Cell, HEADER, print_rows, thousands};

pub(super) async fn run(args: &OrgArgs) -> anyhow::Result<()> {
    let (operator, org) = open_org(args).await?;
    let account = operator.org(&org).credits().await?;
    let pools = [PoolKind::Daily, PoolKind::Monthly, PoolKind::Purchased];
    if args.output.json {
        let pools: Vec<_> = pools
            .iter()
            .map(|kind| json!({"pool": kind, "available": account.pool(*kind).available}))
            .collect();
        let all = json!({"org": org.slug, "available": account.available(), "pools": pools});
        return crate::commands::print_json(&all);
    }
    let available = account.available().map_or("unlimited".into(), |left| thousands(left.get()));
    anstream::println!("{HEADER}{}{HEADER:#}  {available} credits", org.name);
    let rows = pools.map(|kind| {
        let name = format!("  {kind:?}").to_lowercase();
        [Cell::from(name), thousands(account.pool(kind).available.get()).into()]
    });
    print_rows(&rows);
    Ok(())
}
