//! `ostler credit lines`.

use ostler_api::credit::{ExpenseBearer, LedgerExpense, LedgerLine};

use crate::api_client::open_org;
use crate::commands::args::OrgArgs;
use crate::commands::session::view::format_time;
use crate::screen::{Cell, HEADER, print_rows, thousands};

/// The most lines that are shown.
const LIST_LIMIT: usize = 100;

pub(super) async fn run(args: &OrgArgs) -> anyhow::Result<()> {
    let org = open_org(args).await?;
    let lines: Vec<LedgerLine> = org.list(&["credits", "ledger"], &[], LIST_LIMIT).await?;
    if args.output.json {
        return crate::commands::print_json(&lines);
    }
    let header = ["time", "", "credits", "for"];
    let mut rows = vec![header.map(|text| Cell::styled(text, HEADER))];
    rows.extend(lines.iter().map(|line| {
        let (what, reference) = match &line.expense {
            None => {
                let pool = line.pool.map(|pool| format!("{pool:?} pool").to_lowercase());
                ("granted", line.reference.clone().or(pool).unwrap_or_default())
            }
            Some(expense) => (cost(expense.bearer), purpose(expense)),
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

const fn cost(bearer: ExpenseBearer) -> &'static str {
    match bearer {
        ExpenseBearer::Own => "spent",
        ExpenseBearer::ForChild => "spent for a child",
        ExpenseBearer::PaidByParent => "paid by the parent",
        ExpenseBearer::Platform => "paid by the platform",
    }
}

fn purpose(expense: &LedgerExpense) -> String {
    let model = || match &expense.model {
        Some(model) => format!("calls of {model}"),
        None => "model calls".to_owned(),
    };
    let what = expense.tool.clone().unwrap_or_else(model);
    if expense.is_test { format!("{what} (test)") } else { what }
}
