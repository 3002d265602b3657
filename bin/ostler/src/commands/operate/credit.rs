//! `ostler credit`: what an org has and what it was spent on.

use ostler_domain::money::Credits;
use ostler_domain::money::pools::PoolKind;
use ostler_store::NewGrant;
use serde_json::json;

use super::open;
use crate::cli::operate::{Credit, In};
use crate::commands::session::view::clock;
use crate::screen::{Cell, HEADER, print_rows, thousands};

/// How many lines are shown.
const LISTED: u32 = 100;

pub(crate) async fn run(command: &Credit) -> anyhow::Result<()> {
    match command {
        Credit::Show(place) => show(place).await,
        Credit::Lines(place) => lines(place).await,
        Credit::Grant(grant) => {
            let (desk, org) = open(&grant.place).await?;
            let new = NewGrant {
                reference: grant.reference.clone(),
                pool: PoolKind::Purchased,
                amount: Credits::new(grant.amount),
            };
            desk.office(&org).grant_credits(new).await?;
            show(&grant.place).await
        }
    }
}

async fn show(place: &In) -> anyhow::Result<()> {
    let (desk, org) = open(place).await?;
    let account = desk.office(&org).credits().await?;
    let pools = [PoolKind::Daily, PoolKind::Monthly, PoolKind::Purchased];
    if place.output.json {
        let pools: Vec<_> = pools
            .iter()
            .map(|kind| json!({"pool": kind, "available": account.pool(*kind).available}))
            .collect();
        let all = json!({"org": org.slug, "available": account.available(), "pools": pools});
        return crate::commands::print_json(&all);
    }
    let all = account.available().map_or("without a limit".into(), |left| thousands(left.get()));
    anstream::println!("{HEADER}{}{HEADER:#}  {all} credits", org.name);
    let rows = pools.map(|kind| {
        let name = format!("  {kind:?}").to_lowercase();
        [Cell::from(name), thousands(account.pool(kind).available.get()).into()]
    });
    print_rows(&rows);
    Ok(())
}

async fn lines(place: &In) -> anyhow::Result<()> {
    let (desk, org) = open(place).await?;
    let lines = desk.office(&org).ledger(None, LISTED).await?;
    if place.output.json {
        let all: Vec<_> = lines
            .iter()
            .map(|one| {
                json!({"id": one.id, "at": one.at, "amount": one.amount,
                    "kind": format!("{:?}", one.kind), "reference": one.reference})
            })
            .collect();
        return crate::commands::print_json(&all);
    }
    let header = ["at", "credits", "what"];
    let mut rows = vec![header.map(|text| Cell::styled(text, HEADER))];
    rows.extend(lines.iter().map(|one| {
        let what = one.reference.clone().unwrap_or_else(|| format!("{:?}", one.kind));
        [clock(one.at).into(), thousands(one.amount.get()).into(), what.into()]
    }));
    print_rows(&rows);
    Ok(())
}
