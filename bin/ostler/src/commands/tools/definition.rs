//! Definitions of HTTP tools and MCP servers: read from a file, saved and printed.

use std::io::Read as _;
use std::path::Path;

use anyhow::Context as _;
use ostler_api::tool::{DefinedTool, DefinedToolKind, DefinitionChange, SavedDefinition};
use ostler_domain::tool::org_tools::{OrgTool, OrgToolKind};
use ostler_runtime::operations::OperationError;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;

use crate::api_client::OrgApi;
use crate::commands::args::OutputArgs;
use crate::commands::operator::print_result;
use crate::screen::print_notes;

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

/// Saves a definition and prints what that changed. `next` is the command that tries it.
pub(in crate::commands) async fn save(
    org: &OrgApi,
    tool: &OrgTool,
    output: &OutputArgs,
    next: &str,
) -> anyhow::Result<()> {
    let saved: SavedDefinition = match tool {
        OrgTool::Http(definition) => org.put(&["tools", tool.name()], definition).await?,
        OrgTool::Mcp(definition) => org.put(&["mcp-servers", tool.name()], definition).await?,
    };
    print_notes(&saved.notes);
    let sentence = match saved.change {
        DefinitionChange::Added => "added",
        DefinitionChange::Replaced => "replaced",
        DefinitionChange::Unchanged => "unchanged: it was there already, just like this",
    };
    let json = json!({"org": org.org.id, "name": saved.name, "change": saved.change});
    let (kind, name) = (tool.kind().description(), saved.name);
    print_result(output, &json, &format!("{kind} {name} {sentence}\n\n{next}"))
}

/// Returns the HTTP tools and MCP servers that an org has defined.
pub(in crate::commands) async fn all(org: &OrgApi) -> anyhow::Result<Vec<DefinedTool>> {
    org.list(&["tool-definitions"], &[], usize::MAX).await
}

/// Returns one of the definitions of an org. Fails if there is none of this name.
pub(in crate::commands) async fn find(
    org: &OrgApi,
    kind: OrgToolKind,
    name: &str,
) -> anyhow::Result<OrgTool> {
    let wanted = match kind {
        OrgToolKind::Http => DefinedToolKind::HttpTool,
        OrgToolKind::Mcp => DefinedToolKind::McpServer,
    };
    let known: Vec<DefinedTool> =
        all(org).await?.into_iter().filter(|one| one.kind == wanted).collect();
    let names = || known.iter().map(|one| one.name.as_str()).collect::<Vec<_>>().join(", ");
    let Some(found) = known.iter().find(|one| one.name == name) else {
        let (kind, name, known) = (kind.description(), name.to_owned(), names());
        return Err(OperationError::NoOwnTool { kind, name, known }.into());
    };
    let definition = found.definition.clone();
    Ok(match kind {
        OrgToolKind::Http => OrgTool::Http(serde_json::from_value(definition)?),
        OrgToolKind::Mcp => OrgTool::Mcp(serde_json::from_value(definition)?),
    })
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
