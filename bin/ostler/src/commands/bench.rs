//! `ostler bench`: measures speed next to the bare parts.

use std::time::Duration;

use clap::Args;
use ostler_bench::{BenchModel, Measurement, Options};
use ostler_domain::secret::SecretRef;
use ostler_engine::turn::Models as _;
use ostler_models::catalogue::{Catalogue, Provider, WireFormat};
use ostler_models::openai::LimitField;

use super::args::OutputArgs;
use crate::config::keys;
use crate::installation::Installation;
use crate::model_catalogue;
use crate::screen::{Cell, DIM, HEADER, print_rows, thousands};

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ostler bench store
  ostler bench store --seconds 10 --json
  ostler bench bus --amqp amqp://localhost
  ostler bench turn
  ostler bench pipeline --seconds 20
  ostler bench path
  ostler bench http
  ostler bench harness
  ostler bench memory
  ostler bench memory --model http://localhost:11434/v1 --model-name llama3
  ostler bench apply
  ostler bench tui
  ostler bench workflow
  ostler bench store --postgres postgres://ostler@localhost/postgres")]
pub(crate) struct BenchArgs {
    /// What to measure
    #[arg(value_name = "SUITE")]
    suite: SuiteArg,
    /// Time limit in seconds
    #[arg(long, value_name = "N", default_value_t = 40, value_parser = clap::value_parser!(u64).range(2..))]
    seconds: u64,
    /// PostgreSQL server to measure as well; a database is created there and dropped
    #[arg(long, value_name = "URL", env = keys::BENCH_POSTGRES, hide_env_values = true)]
    postgres: Option<String>,
    /// RabbitMQ broker to measure as well; queues are created there and deleted
    #[arg(long, value_name = "URL", env = keys::BENCH_AMQP, hide_env_values = true)]
    amqp: Option<String>,
    /// OpenAI-compatible server with a model, whose observations `memory` looks at
    #[arg(long, value_name = "URL")]
    model: Option<String>,
    /// Name of the model at --model
    #[arg(long, value_name = "NAME", default_value = "default", requires = "model")]
    model_name: String,
    /// Where the key for --model is: env:NAME or file:PATH
    #[arg(long, value_name = "WHERE", requires = "model")]
    model_key: Option<SecretRef>,
    #[command(flatten)]
    output: OutputArgs,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum SuiteArg {
    /// Commits of turns and reads of history
    Store,
    /// Agents on queues: questions, broadcasts, memory of idle agents
    Bus,
    /// Whole turns with a model that answers at once; nothing is stored
    Turn,
    /// Conversations of customers, from the message to the commit
    Pipeline,
    /// Messages from the webhook to the reply at the gateway over HTTP, also beside an org whose
    /// gateway hangs or whose customers flood
    Path,
    /// Requests to the server: accepted messages, lists of conversations, 1,000 event streams
    Http,
    /// Turns of interactive harnesses, their start and their memory
    Harness,
    /// Memory of long threads: what is found, length of the prompt; with --model, what it observes
    Memory,
    /// World files of 1,000 organizations with 5,000 agents, and their plan without changes
    Apply,
    /// Frames of the terminal UI: the first one, a long transcript in another size, its memory, and
    /// an answer that streams in
    Tui,
    /// Checkpointed steps of workflows
    Workflow,
}

pub(crate) async fn run(args: &BenchArgs) -> anyhow::Result<()> {
    let options = Options {
        time: Duration::from_secs(args.seconds),
        postgres: args.postgres.clone(),
        amqp: args.amqp.clone(),
        model: model(args)?,
    };
    let suite = match args.suite {
        SuiteArg::Store => ostler_bench::Suite::Store,
        SuiteArg::Bus => ostler_bench::Suite::Bus,
        SuiteArg::Turn => ostler_bench::Suite::Turn,
        SuiteArg::Pipeline => ostler_bench::Suite::Pipeline,
        SuiteArg::Path => ostler_bench::Suite::Path,
        SuiteArg::Http => ostler_bench::Suite::Http,
        SuiteArg::Harness => ostler_bench::Suite::Harness,
        SuiteArg::Memory => ostler_bench::Suite::Memory,
        SuiteArg::Apply => ostler_bench::Suite::Apply,
        SuiteArg::Tui => ostler_bench::Suite::Tui,
        SuiteArg::Workflow => ostler_bench::Suite::Workflow,
    };
    let progress = |name: &str| anstream::eprintln!("{DIM}measuring {name} …{DIM:#}");
    let report = ostler_bench::run(suite, &options, progress).await?;
    if args.output.json {
        return super::print_json(&report);
    }
    let header =
        ["benchmark", "per second", "per CPU second", "bare", "ratio", "p50", "p99", "value"];
    let mut rows = vec![header.map(|text| Cell::styled(text, HEADER))];
    rows.extend(report.results.iter().map(row));
    print_rows(&rows);
    Ok(())
}

/// The provider name of the server at `--model`.
const PROVIDER: &str = "bench";

/// Returns the model to look at.
fn model(args: &BenchArgs) -> anyhow::Result<Option<BenchModel>> {
    let Some(url) = &args.model else { return Ok(None) };
    anyhow::ensure!(
        matches!(args.suite, SuiteArg::Memory),
        "only `ostler bench memory` asks a model; leave out --model"
    );
    let mut options = model_catalogue::options(&Installation::find_optional(None)?)?;
    let mut provider = Provider::new(PROVIDER, WireFormat::OpenAi(LimitField::MaxTokens), url);
    if let Some(key) = &args.model_key {
        provider = provider.with_key(key.clone());
    }
    options.providers.push(provider);
    options.fallbacks.clear();
    let (catalogue, name) = (Catalogue::new(options), format!("{PROVIDER}/{}", args.model_name));
    catalogue.check(&name)?;
    Ok(catalogue.model(Some(&name)).map(BenchModel))
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
