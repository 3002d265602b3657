//! What a person can do with the demo.

use std::net::SocketAddr;
use std::path::Path;

use ostler_domain::id::{BindingId, OrgId};
use ostler_store::{DecisionState, Store};

use crate::installation::Installation;
use crate::screen::{DIM, HEADER, terminal_width};

/// The running demo.
pub(super) struct Demo<'a> {
    pub(super) installation: &'a Installation,
    pub(super) store: &'a Store,
    pub(super) org: OrgId,
    pub(super) webchat: BindingId,
    pub(super) address: Option<SocketAddr>,
}

/// Prints the next steps.
pub(super) async fn print(demo: &Demo<'_>) -> anyhow::Result<()> {
    if let Some(address) = demo.address {
        anstream::println!(
            "\n  {HEADER}Be a customer{HEADER:#} in a browser on this machine:\n    \
             http://{address}/chat/{}",
            demo.webchat
        );
    }
    let program = Program::current();
    let home = std::path::absolute(&demo.installation.folder)?;
    anstream::println!(
        "\n  {HEADER}Be the operator{HEADER:#} in another terminal. First, so that it finds the demo:"
    );
    if let Some(path) = &program.path {
        anstream::println!("    alias ostler={}", shell_quote(path));
    }
    anstream::println!("    export OSTLER_HOME={}\n", shell_quote(&home.display().to_string()));
    let is_wide = terminal_width().is_none_or(|width| width >= WIDE_TERMINAL);
    for (command, purpose) in commands(demo).await? {
        if is_wide {
            anstream::println!("    {command:COMMAND_WIDTH$}  {DIM}{purpose}{DIM:#}");
        } else {
            anstream::println!("    {command}\n      {DIM}{purpose}{DIM:#}");
        }
    }
    if let Some(address) = demo.address {
        anstream::println!(
            "\n  {HEADER}HTTP API{HEADER:#}  http://{address}/v1, described in docs/API.md"
        );
    }
    Ok(())
}

/// Prints how the demo is stopped and continued.
pub(super) fn print_end(demo: &Demo<'_>) -> anyhow::Result<()> {
    let (program, home) = (Program::current(), std::path::absolute(&demo.installation.folder)?);
    let name = program.path.map_or_else(|| "ostler".to_owned(), |path| shell_quote(&path));
    let home = if demo.installation.is_default() {
        String::new()
    } else {
        format!(" --home {}", shell_quote(&home.display().to_string()))
    };
    let stop = match demo.address {
        Some(_) => format!("{HEADER}Ctrl-C{HEADER:#} stops the demo; nothing is lost. To"),
        None => "To".to_owned(),
    };
    anstream::println!(
        "\n  {stop} continue it with its web chat and HTTP API, or to start over:\n    \
         {name} demo{home}\n    {name} demo --reset{home}"
    );
    Ok(())
}

/// The width of the column of commands.
const COMMAND_WIDTH: usize = 66;
/// The width of a terminal with room for the purpose beside a command.
const WIDE_TERMINAL: usize = 120;

/// Returns the suggested commands with their purpose.
async fn commands(demo: &Demo<'_>) -> anyhow::Result<Vec<(String, &'static str)>> {
    let store = demo.store.org(demo.org);
    let pending = store.approvals(DecisionState::Pending, None, 1).await?;
    let approve = pending.first().map_or_else(
        || ("ostler approval ls --org bella".to_owned(), "the calls that wait for approval"),
        |pending| {
            let command = format!("ostler approval approve {} --org bella", pending.approval.id);
            (command, "approve the refund; the agent tells Rosa")
        },
    );
    let line = |command: &str, purpose| (command.to_owned(), purpose);
    Ok(vec![
        line("ostler session show rosa", "read the conversation and the decision on each call"),
        line("ostler session take-over rosa", "answer Rosa yourself; the agents stop answering"),
        line("ostler session say rosa \"Hello Rosa, this is Ada.\"", "write to her"),
        line("ostler session resume rosa", "hand her back to the agents"),
        approve,
        line(
            "ostler tools explain --session rosa",
            "which tools the agent may use, and why not the others",
        ),
        line("ostler send --org bella --contact otto \"Are you open on Monday?\"", "be Otto"),
        line("ostler issue ls --org bella", "the issues of the story, up to the agency and back"),
        line("ostler notice ls --org bella", "the notices to the owner of Bella Pizza"),
        line("ostler key create demo --org bella", "create a key for the HTTP API"),
        line(
            "ostler team create review --members legal,style --register echo",
            "create a team of agents on queues",
        ),
        line("ostler team ask review \"May we ship this?\" --council", "ask all its members"),
    ])
}

/// How a shell starts this program.
struct Program {
    /// The path, unless the shell finds the program by its name.
    path: Option<String>,
}

impl Program {
    fn current() -> Self {
        let path = std::env::current_exe().ok();
        let found = path.as_deref().is_some_and(is_on_path);
        let path = path.filter(|_| !found);
        Self { path: path.map(|path| path.display().to_string()) }
    }
}

/// Returns whether the shell finds this program as `ostler`.
fn is_on_path(program: &Path) -> bool {
    let paths = std::env::var_os("PATH").unwrap_or_default();
    let mut paths = std::env::split_paths(&paths).map(|path| path.join("ostler"));
    let first = paths.find(|path| path.exists()).and_then(|path| path.canonicalize().ok());
    first.is_some() && first == program.canonicalize().ok()
}

/// Quotes a text for a shell if necessary.
fn shell_quote(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+:@".contains(c);
    if text.chars().all(plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', "'\\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::shell_quote;

    #[test]
    fn paths_with_special_characters_are_quoted() {
        for (path, typed) in [
            ("/home/ada/ostler", "/home/ada/ostler"),
            ("/home/ada/my demo", "'/home/ada/my demo'"),
            ("/tmp/it's", "'/tmp/it'\\''s'"),
        ] {
            assert_eq!(shell_quote(path), typed);
        }
    }
}
