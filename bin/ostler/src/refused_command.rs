//! Commands that were refused are in the audit log of the org that they named.

use clap::ArgMatches;
use ostler_api::problem::{Problem, ProblemCode};
use ostler_domain::audit::named_record;
use ostler_runtime::deps::Clock;
use ostler_runtime::operations::{Actor, OperationError, Operations};
use ostler_runtime::running_turns::RunningTurns;
use ostler_store::{Store, StoreError};
use serde_json::{Map, Value, json};

use crate::api_client::Target;
use crate::commands::args::InstallationArgs;
use crate::commands::{block_on, find_org};
use crate::installation::Installation;
use crate::tool_set;

/// What a command names is not in the org that it works on.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct NotHere(pub(crate) String);

/// Options that say where a command works, and not on what.
const PLACES: [&str; 5] = ["org", "home", "database", "server", "context"];

/// What a command line says about where it works and on what.
pub(crate) struct CommandLine {
    /// The command with its subcommands: `session show`.
    command: String,
    /// The org, by slug or id.
    org: String,
    installation: InstallationArgs,
    /// The record that the arguments name, if any.
    record: Option<String>,
}

impl CommandLine {
    /// Reads the command line that `clap` parsed.
    pub(crate) fn read(matches: &ArgMatches) -> Self {
        let (mut words, mut innermost) = (Vec::new(), matches);
        while let Some((name, inner)) = innermost.subcommand() {
            words.push(name);
            innermost = inner;
        }
        let text = |name| innermost.try_get_one::<String>(name).ok().flatten().cloned();
        let home = innermost.try_get_one("home").ok().flatten().cloned();
        let arguments = Value::Object(texts(innermost));
        Self {
            command: words.join(" "),
            org: text("org").unwrap_or_default(),
            installation: InstallationArgs {
                home,
                database: text("database"),
                server: text("server"),
                context: text("context"),
            },
            record: named_record(&arguments).map(str::to_owned),
        }
    }
}

/// Returns the arguments of a command that are texts, without those that say where it works.
fn texts(matches: &ArgMatches) -> Map<String, Value> {
    let names = matches.ids().map(clap::Id::as_str).filter(|name| !PLACES.contains(name));
    let text = |name: &str| {
        let value = matches.try_get_one::<String>(name).ok().flatten()?;
        Some((name.to_owned(), Value::from(value.as_str())))
    };
    names.filter_map(text).collect()
}

/// Records a command that failed because it was refused. If that is not possible, the log says
/// so; the command has failed anyway.
pub(crate) fn record(line: &CommandLine, error: &anyhow::Error) {
    if !is_refusal(error) {
        return;
    }
    if let Err(error) = block_on(store(line)) {
        tracing::warn!(%error, "refused command not recorded");
    }
}

fn is_refusal(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        let operation = cause.downcast_ref::<OperationError>();
        operation.is_some_and(OperationError::is_refusal)
            || cause.is::<NotHere>()
            || cause.downcast_ref::<Problem>().is_some_and(is_refused)
            || matches!(cause.downcast_ref::<StoreError>(), Some(StoreError::NotFound(_)))
    })
}

fn is_refused(problem: &Problem) -> bool {
    matches!(problem.code, ProblemCode::Forbidden | ProblemCode::NotFound)
}

async fn store(line: &CommandLine) -> anyhow::Result<()> {
    // A server records what it refuses.
    if Target::find(&line.installation)? != Target::Local {
        return Ok(());
    }
    let installation = Installation::find(&line.installation)?;
    let store = Store::open(&installation.database()).await?;
    // Without an org there is no log that it belongs to.
    let Ok(org) = find_org(&store, &line.org).await else { return Ok(()) };
    let tools = tool_set::build(&installation, &store, &RunningTurns::default())?;
    let operations = Operations::new(store, tools, Clock::system());
    let subject = line.record.as_deref().unwrap_or(&line.command);
    let request = json!({"command": line.command});
    operations.as_actor(Actor::Terminal, org.id).audit_refusal(subject, &request).await?;
    Ok(())
}
