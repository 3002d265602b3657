//! What can be done in the demonstration once the story is told.

use std::net::SocketAddr;
use std::path::Path;

use ostler_domain::id::{BindingId, OrgId};
use ostler_store::{DecisionState, Store};
use terminal_size::terminal_size;

use crate::home::Home;
use crate::screen::{HEADER, QUIET};

/// Where things are in the demonstration.
pub(super) struct Around<'a> {
    pub(super) home: &'a Home,
    pub(super) store: &'a Store,
    pub(super) org: OrgId,
    pub(super) chat: BindingId,
    pub(super) address: Option<SocketAddr>,
}

/// Says what can be done next.
pub(super) async fn print(around: &Around<'_>) -> anyhow::Result<()> {
    if let Some(address) = around.address {
        anstream::println!(
            "\n  {HEADER}Be a customer{HEADER:#} in a browser on this machine:\n    \
             http://{address}/chat/{}",
            around.chat
        );
    }
    let program = Program::here();
    let home = std::path::absolute(&around.home.folder)?;
    anstream::println!(
        "\n  {HEADER}Or work{HEADER:#} in another terminal. First, so that it finds this world:"
    );
    if let Some(path) = &program.path {
        anstream::println!("    alias ostler={}", quoted(path));
    }
    anstream::println!("    export OSTLER_HOME={}\n", quoted(&home.display().to_string()));
    let wide = terminal_size().is_none_or(|(width, _)| usize::from(width.0) >= WIDE);
    for (command, what) in commands(around).await? {
        if wide {
            anstream::println!("    {command:WIDTH$}  {QUIET}{what}{QUIET:#}");
        } else {
            anstream::println!("    {command}\n      {QUIET}{what}{QUIET:#}");
        }
    }
    if let Some(address) = around.address {
        anstream::println!(
            "\n  {HEADER}HTTP API{HEADER:#}  http://{address}/v1, described in docs/API.md"
        );
    }
    let name = program.path.map_or_else(|| "ostler".to_owned(), |path| quoted(&path));
    let home = if around.home.is_usual() {
        String::new()
    } else {
        format!(" --home {}", quoted(&home.display().to_string()))
    };
    anstream::println!(
        "\n  {HEADER}Ctrl-C{HEADER:#} stops it, and everything is kept. To go on with it, or to begin \
         anew:\n    {name} demo{home}\n    {name} demo --reset{home}"
    );
    Ok(())
}

/// How wide commands are.
const WIDTH: usize = 66;
/// How wide a terminal is that has room for a word beside each.
const WIDE: usize = 120;

async fn commands(around: &Around<'_>) -> anyhow::Result<Vec<(String, &'static str)>> {
    let store = around.store.org(around.org);
    let pending = store.approvals(DecisionState::Pending, None, 1).await?;
    let approve = pending.first().map_or_else(
        || ("ostler approval ls --org bella".to_owned(), "what waits for a yes or no"),
        |one| {
            let command = format!("ostler approval approve {} --org bella", one.approval.id);
            (command, "say yes to the refund; Rosa is told")
        },
    );
    let line = |command: &str, what| (command.to_owned(), what);
    Ok(vec![
        line("ostler session show rosa", "what was said, and why each call was allowed"),
        line("ostler session take-over rosa", "answer Rosa yourself; the agents fall silent"),
        line("ostler session say \"Hello Rosa, this is Ada.\" rosa", "write to her"),
        line("ostler session resume rosa", "hand her back to the agents"),
        approve,
        line("ostler tools explain --session rosa", "what the agent may do, and why not the rest"),
        line("ostler send --org bella --contact otto \"Are you open on Monday?\"", "be Otto"),
        line("ostler notice ls --org bella", "what the owner of Bella Pizza was told"),
        line("ostler key create demo --org bella", "a key for the HTTP API"),
        line("ostler team create review --members legal,style --register echo", "agents on queues"),
        line("ostler team ask review \"May we ship this?\" --council", "ask all of them"),
    ])
}

/// This program, as it is typed.
struct Program {
    /// Its path, unless the shell finds it by its name.
    path: Option<String>,
}

impl Program {
    fn here() -> Self {
        let path = std::env::current_exe().ok();
        let found = path.as_deref().is_some_and(is_found);
        let path = path.filter(|_| !found);
        Self { path: path.map(|path| path.display().to_string()) }
    }
}

/// Whether the shell finds this program as `ostler`.
fn is_found(program: &Path) -> bool {
    let paths = std::env::var_os("PATH").unwrap_or_default();
    let mut paths = std::env::split_paths(&paths).map(|path| path.join("ostler"));
    let first = paths.find(|one| one.exists()).and_then(|one| one.canonicalize().ok());
    first.is_some() && first == program.canonicalize().ok()
}

/// A path as a shell reads it.
fn quoted(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+:@".contains(c);
    if text.chars().all(plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', "'\\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn paths_are_one_word_for_a_shell() {
        for (path, typed) in [
            ("/home/ada/ostler", "/home/ada/ostler"),
            ("/home/ada/my demo", "'/home/ada/my demo'"),
            ("/tmp/it's", "'/tmp/it'\\''s'"),
        ] {
            assert_eq!(quoted(path), typed);
        }
    }
}
