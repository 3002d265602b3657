//! `ostler credit lines`.

use serde_json::json;

use crate::commands::args::OrgArgs;
use crate::commands::operator::open_org;
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
                json!({"id": line.id, "at": line.at, "amount": line.amount,
                    "kind": format!("{:?}", line.kind), "reference": line.reference})
            })
            .collect();
        return crate::commands::print_json(&all);
    }
    let header = ["time", "credits", "reference"];
    let mut rows = vec![header.map(|text| Cell::styled(text, HEADER))];
    rows.extend(lines.iter().map(|line| {
        let reference = line.reference.clone().unwrap_or_else(|| format!("{:?}", line.kind));
        [format_time(line.at).into(), thousands(line.amount.get()).into(), reference.into()]
    }));
    print_rows(&rows);
    Ok(())
}
