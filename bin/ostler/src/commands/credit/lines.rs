//! `ostler credit lines`.

use ostler_domain::money::ledger::{CostBearer, Expense};
use ostler_store::LedgerLineKind;
use serde_json::json;

use crate::commands::args::OrgArgs;
use crate::commands::operator::open_org;
use crate::commands::rfc3339;
use crate::commands::session::view::format_time;
use crate::screen::{Cell, HEADER, print_rows, thousands};
/// The most lines that are shown.
const LIST_LIMIT: u32 = 100;

pub(super) async fn run(args: &OrgArgs) -> anyhow::Result<()> {
    let (operator, org) = open_org(args).await?;
    let lines = operator.org(&org).ledger(None, LIST_LIMIT).await?;
    if args.output.json {
        let all: Vec<_> = lines
            .iter()
            .map(|line| {
                let (kind, pool, expense) = match &line.kind {
                    LedgerLineKind::Grant(pool) => ("grant", Some(pool), None),
                    LedgerLineKind::Expense(entry) => ("expense", None, Some(entry)),
                };
                json!({"id": line.id, "at": rfc3339(line.at), "amount": line.amount, "kind": kind,
                    "pool": pool, "expense": expense, "reference": line.reference})
            })
            .collect();
        return crate::commands::print_json(&all);
    }
    let header = ["time", "", "credits", "for"];
    let mut rows = vec![header.map(|text| Cell::styled(text, HEADER))];
    rows.extend(lines.iter().map(|line| {
        let (what, reference) = match &line.kind {
            LedgerLineKind::Grant(pool) => {
                let pool = || format!("{pool:?} pool").to_lowercase();
                ("granted", line.reference.clone().unwrap_or_else(pool))
            }
            LedgerLineKind::Expense(entry) => (cost(entry.bearer), expense(&entry.expense)),
        };
        [
            Cell::whole(format_time(line.at)),
            what.into(),
            thousands(line.amount.get()).into(),
            reference.into(),
        ]
    }));
    print_rows(&rows);
    Ok(())
}

const fn cost(bearer: CostBearer) -> &'static str {
    match bearer {
        CostBearer::Own => "spent",
        CostBearer::ForChild(_) => "spent for a child",
        CostBearer::PaidByParent(_) => "paid by the parent",
        CostBearer::Overrun => "paid by the platform",
    }
}

fn expense(expense: &Expense) -> String {
    match expense {
        Expense::Model => "model calls".to_owned(),
        Expense::ModelCalls(model) => format!("calls of {model}"),
        Expense::Tool(tool) => tool.to_string(),
        Expense::Test(tested) => format!("{} (test)", self::expense(tested)),
    }
}
