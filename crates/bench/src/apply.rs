//! The apply suite: a world of many orgs applied to an empty SQLite installation, and the
//! plan of the same files when there is nothing to change.

mod bare;

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ostler_domain::channel::Channel;
use ostler_domain::id::{BindingId, OrgId};
use ostler_domain::secret::SecretRef;
use ostler_engine::tool::ToolSet;
use ostler_runtime::deps::Clock;
use ostler_runtime::operations::world::{ApplyHost, CheckedPlan};
use ostler_runtime::operations::{Actor, Operations};
use ostler_runtime::toolbox::Toolbox;
use ostler_store::{OrgBinding, Store};
use ostler_world::file::parse;

use crate::report::{Measurement, cpu_time};
use crate::{BenchError, Options};

/// Orgs of the world, if there is time enough.
const ORGS: usize = 1000;
const AGENTS_PER_ORG: usize = 5;
/// The time that the whole world needs.
const FULL_TIME: Duration = Duration::from_secs(40);

/// A machine that needs no secrets; the world has no channels.
pub(crate) struct NoChannels;

impl ApplyHost for NoChannels {
    fn new_secret(&self, _: OrgId, _: BindingId, _: &Channel) -> Result<Option<SecretRef>, String> {
        Ok(None)
    }

    fn check_channel(&self, _: OrgId, _: &OrgBinding) -> Result<(), String> {
        Ok(())
    }
}

pub(crate) async fn run(
    options: &Options,
    mut progress: impl FnMut(&str),
) -> Result<Vec<Measurement>, BenchError> {
    let share = options.time.as_secs_f64() / FULL_TIME.as_secs_f64();
    let orgs = ((ORGS as f64 * share.min(1.0)) as usize).max(20);
    let files = world(orgs);
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("store.db");
    let store = Store::connect(&format!("sqlite:{}", path.display()))?;
    store.migrate().await?;
    let tools = Toolbox::new(Arc::new(ToolSet::new([])?));
    let operations = Operations::new(store, tools, Clock::system());

    progress("apply.create.sqlite");
    let (start, cpu, mut each) = (Instant::now(), cpu_time(), Vec::new());
    let planned = plan(&operations, &files).await?;
    let mut last = Instant::now();
    let report = |_: &str| {
        each.push(last.elapsed());
        last = Instant::now();
    };
    operations.apply(Actor::Terminal, &planned, &NoChannels, report).await?;
    let (all, cpu) = (start.elapsed(), cpu_time().saturating_sub(cpu));
    let limit = bare::orgs_per_second(&path, &folder.path().join("bare.db")).await?;
    let create = Measurement::new("apply.create.sqlite".to_owned(), each, all, Some(limit));

    progress("apply.empty_plan_ms");
    let start = Instant::now();
    let empty = plan(&operations, &files).await?;
    let time = start.elapsed();
    if !empty.is_empty() {
        return Err(BenchError::World("a second apply would change something".to_owned()));
    }
    let name = "apply.empty_plan_ms".to_owned();
    let plan = Measurement::sampled(name, orgs, vec![time], time, None);
    Ok(vec![create.with_cpu(all, cpu), plan.with_value(time.as_secs_f64() * 1000.0)])
}

/// Parses the files and plans what they would change.
async fn plan(
    operations: &Operations,
    files: &[(String, String)],
) -> Result<CheckedPlan, BenchError> {
    let files = files.iter().map(|(name, text)| (name.as_str(), text.as_str()));
    let parsed = parse(files).map_err(|problems| BenchError::World(problems.to_string()))?;
    let live = operations.live_world(Actor::Terminal).await?;
    let plan = operations.plan(live, &parsed.resources, None);
    plan.map_err(|refused| BenchError::World(format!("{:?}", refused.0)))
}

/// Returns the files of a world: the platform, and orgs with their agents.
fn world(orgs: usize) -> Vec<(String, String)> {
    let platform =
        "[[org]]\nslug = \"platform\"\nname = \"P\"\nplatform = true\nplan = \"enterprise\"\n";
    let mut files = vec![("platform.toml".to_owned(), platform.to_owned())];
    for org in 1..orgs {
        let mut text = format!(
            "[[org]]\nslug = \"org-{org}\"\nname = \"Org {org}\"\nplan = \"professional\"\n\
             retention_days = 90\n\n[org.settings.team]\nmax_handoffs = 3\n"
        );
        for agent in 0..AGENTS_PER_ORG {
            // Writing to a text does not fail.
            let _ = write!(
                text,
                "\n[[agent]]\nslug = \"agent-{agent}\"\nname = \"Agent {agent}\"\nsubtype = \"pm\"\n\
                 autonomy = \"semi_autonomous\"\n\n[agent.soul]\npersonality = \"Warm and quick.\"\n\
                 never_do = [\"Guess an amount\"]\n"
            );
        }
        files.push((format!("org-{org}.toml"), text));
    }
    files
}
