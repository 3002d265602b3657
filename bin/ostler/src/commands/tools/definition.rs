//! Definitions of HTTP tools and MCP servers: read from a file, saved and printed.

use std::io::Read as _;
use std::path::Path;

use anyhow::Context as _;
use ostler_domain::org::Org;
use ostler_domain::tool::org_tools::OrgTool;
use ostler_engine::secret::SecretError;
use ostler_runtime::operations::ToolChange;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;

use crate::commands::args::OutputArgs;
use crate::commands::operator::{Operator, print_result};
use crate::screen::WARNING;
use crate::{secrets, tool_check};

/// The longest file that is read.
const MAX_BYTES: u64 = 256 * 1024;

/// Reads a definition as TOML from a file, or from standard input if the name is `-`.
pub(in crate::commands) fn read<T: DeserializeOwned>(file: &Path) -> anyhow::Result<T> {
    let is_stdin = file == Path::new("-");
    let name = if is_stdin { "standard input".to_owned() } else { file.display().to_string() };
    let mut text = String::new();
    let cannot_read = || format!("cannot read {name}");
    if is_stdin {
        std::io::stdin().take(MAX_BYTES).read_to_string(&mut text).with_context(cannot_read)?;
    } else {
        let file = std::fs::File::open(file).with_context(cannot_read)?;
        file.take(MAX_BYTES).read_to_string(&mut text).with_context(cannot_read)?;
    }
    toml::from_str(&text).with_context(|| format!("{name} is not valid"))
}

/// Saves a definition and prints what that changed.
pub(in crate::commands) async fn save(
    operator: &Operator,
    org: &Org,
    tool: OrgTool,
    output: &OutputArgs,
    next: &str,
) -> anyhow::Result<()> {
    let (kind, name) = (tool.kind().description(), tool.name().to_owned());
    let mut problems = Vec::new();
    if tool.check().is_empty() {
        check_secret_places(operator, org, &tool)?;
        problems = tool_check::problems(&operator.installation, org.id, &tool);
    }
    let change = operator.org(org).save_tool(tool).await?;
    print_problems(&problems);
    let (state, sentence) = match change {
        ToolChange::Added => ("added", "added"),
        ToolChange::Replaced => ("replaced", "replaced"),
        ToolChange::Unchanged => ("unchanged", "unchanged: it was there already, just like this"),
    };
    let json = json!({"org": org.id, "name": name, "change": state});
    print_result(output, &json, &format!("{kind} {name} {sentence}\n\n{next}"))
}

/// Fails if a tool names a secret of another org.
fn check_secret_places(operator: &Operator, org: &Org, tool: &OrgTool) -> anyhow::Result<()> {
    let readable = secrets::org_secrets(&operator.installation);
    let foreign = tool_check::secrets_of(tool).into_iter().find_map(|secret| {
        let error = readable.read(org.id, secret).err()?;
        (!matches!(error, SecretError::NotSet(_) | SecretError::FileUnreadable { .. }))
            .then_some(error)
    });
    foreign.map_or(Ok(()), |error| Err(error.into()))
}

/// Prints what keeps tools from working on this machine.
pub(in crate::commands) fn print_problems(problems: &[String]) {
    for problem in problems {
        anstream::eprintln!("{WARNING}note{WARNING:#}: {problem}");
    }
}

/// Prints a definition as TOML, or as JSON.
pub(in crate::commands) fn print(tool: &OrgTool, output: &OutputArgs) -> anyhow::Result<()> {
    match tool {
        OrgTool::Http(tool) => print_value(tool, output),
        OrgTool::Mcp(server) => print_value(server, output),
    }
}

fn print_value(value: &impl Serialize, output: &OutputArgs) -> anyhow::Result<()> {
    if output.json {
        return crate::commands::print_json(value);
    }
    anstream::print!("{}", toml::to_string_pretty(value)?);
    Ok(())
}
