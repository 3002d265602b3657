//! What `ostler init` asks on a terminal. Every question has a flag.

use std::io::{BufRead as _, IsTerminal as _, Write as _};
use std::path::Path;

use anyhow::{anyhow, bail};
use ostler_domain::contact::check_email;

/// The first administrator.
pub(super) struct Administrator {
    pub(super) email: String,
    pub(super) name: String,
}

/// Returns the administrator whom the flags name, and asks for what they leave out.
pub(super) fn administrator(
    email: Option<&str>,
    name: Option<&str>,
) -> anyhow::Result<Administrator> {
    let email = answer(email, "E-mail address of the first administrator: ", "--email ADDRESS")?;
    check_email(&email).map_err(|error| anyhow!("{error}. Nothing was changed"))?;
    let local = email.split('@').next().unwrap_or_default();
    let name = match name {
        Some(name) => name.to_owned(),
        None if is_terminal() => match ask(&format!("Their name [{local}]: "))? {
            text if text.is_empty() => local.to_owned(),
            text => text,
        },
        None => local.to_owned(),
    };
    Ok(Administrator { name, email })
}

/// Asks before an installation is made among other files.
pub(super) fn confirm_folder(folder: &Path, yes: bool) -> anyhow::Result<()> {
    let other = std::fs::read_dir(folder).ok().and_then(|mut entries| entries.next()?.ok());
    let Some(other) = other.filter(|_| !yes) else { return Ok(()) };
    let found =
        format!("{} is not empty (it has {})", folder.display(), other.file_name().display());
    if !is_terminal() {
        bail!("{found}; repeat with --yes to make an installation there");
    }
    match ask(&format!("{found}. Make an installation there? [y/N]: "))?.as_str() {
        "y" | "Y" | "yes" => Ok(()),
        _ => bail!("nothing was changed"),
    }
}

fn answer(flag: Option<&str>, question: &str, name: &str) -> anyhow::Result<String> {
    match flag {
        Some(text) => Ok(text.to_owned()),
        None if is_terminal() => ask(question),
        None => bail!("there is no terminal to ask on; give {name}. Nothing was changed"),
    }
}

fn is_terminal() -> bool {
    std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

/// Asks a question; returns the answer without white space around it.
fn ask(question: &str) -> anyhow::Result<String> {
    anstream::eprint!("{question}");
    anstream::stderr().flush()?;
    let mut line = String::new();
    if std::io::stdin().lock().read_line(&mut line)? == 0 {
        bail!("no answer; nothing was changed");
    }
    Ok(line.trim().to_owned())
}
