//! `ostler bench`: how fast it is, beside the bare parts.

use std::time::Duration;

use ostler_bench::{Measurement, Options};

use crate::cli::{Bench, Suite};
use crate::screen::{Cell, HEADER, QUIET, print_rows, thousands};

pub(crate) async fn run(command: &Bench) -> anyhow::Result<()> {
    let options =
        Options { time: Duration::from_secs(command.seconds), postgres: command.postgres.clone() };
    let suite = match command.suite {
        Suite::Store => ostler_bench::Suite::Store,
        Suite::Turn => ostler_bench::Suite::Turn,
        Suite::Pipeline => ostler_bench::Suite::Pipeline,
    };
    let progress = |name: &str| anstream::eprintln!("{QUIET}measuring {name} …{QUIET:#}");
    let report = ostler_bench::run(suite, &options, progress).await?;
    if command.output.json {
        return super::print_json(&report);
    }
    let header = ["what", "per second", "per CPU second", "bare", "ratio", "p50", "p99", "value"];
    let mut rows = vec![header.map(|text| Cell::styled(text, HEADER))];
    rows.extend(report.results.iter().map(row));
    print_rows(&rows);
    Ok(())
}

fn row(result: &Measurement) -> [Cell; 8] {
    let whole = |number: f64| thousands(number.round() as u64);
    [
        result.name.as_str().into(),
        whole(result.per_sec).into(),
        result.per_cpu_sec.map_or(String::new(), whole).into(),
        result.limit_per_sec.map_or(String::new(), whole).into(),
        result.ratio.map_or(String::new(), |ratio| format!("{:.0} %", ratio * 100.0)).into(),
        format!("{} µs", thousands(result.p50_us)).into(),
        format!("{} µs", thousands(result.p99_us)).into(),
        result.value.map_or(String::new(), whole).into(),
    ]
}
