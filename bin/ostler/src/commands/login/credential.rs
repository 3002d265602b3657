//! The key or password of somebody who logs in, from the terminal or standard input.

use std::io::{BufRead as _, IsTerminal as _, Write as _};

use anyhow::{bail, ensure};
use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};

use crate::api_client::contexts::checked_key;
use crate::config::keys;

/// What proves who somebody is.
pub(super) enum Proof {
    Key(String),
    Password { email: String, password: String },
}

/// The longest line that is read.
const MAX_LINE: usize = 4096;

/// Asks for what proves who somebody is. Without a terminal it is read from standard input.
pub(super) fn ask_proof(email: Option<&str>) -> anyhow::Result<Proof> {
    if let Some(email) = email {
        let password = ask_secret(&format!("Password of {email}: "))?;
        return Ok(Proof::Password { email: email.to_owned(), password });
    }
    if let Some(key) = std::env::var(keys::API_KEY).ok().filter(|key| !key.is_empty()) {
        return Ok(Proof::Key(checked_key(&key)?));
    }
    let key = ask_secret("API key (empty to log in with a password): ")?;
    if !key.is_empty() {
        return Ok(Proof::Key(checked_key(&key)?));
    }
    ensure!(
        std::io::stdin().is_terminal(),
        "there is no key on standard input; write one there, or set {}",
        keys::API_KEY
    );
    anstream::eprint!("E-mail address: ");
    anstream::stderr().flush()?;
    let email = read_line()?;
    let password = ask_secret("Password: ")?;
    Ok(Proof::Password { email, password })
}

/// Asks for a secret, which the terminal does not show.
fn ask_secret(question: &str) -> anyhow::Result<String> {
    let stdin = std::io::stdin();
    if !stdin.is_terminal() {
        return read_line();
    }
    anstream::eprint!("{question}");
    anstream::stderr().flush()?;
    let before = tcgetattr(&stdin)?;
    let mut hidden = before.clone();
    hidden.local_modes.remove(LocalModes::ECHO);
    tcsetattr(&stdin, OptionalActions::Flush, &hidden)?;
    let line = read_line();
    tcsetattr(&stdin, OptionalActions::Flush, &before)?;
    anstream::eprintln!();
    line
}

fn read_line() -> anyhow::Result<String> {
    let mut line = String::new();
    let mut input = std::io::Read::take(std::io::stdin().lock(), MAX_LINE as u64);
    if input.read_line(&mut line)? == 0 && std::io::stdin().is_terminal() {
        bail!("no answer; nothing was changed");
    }
    ensure!(line.len() < MAX_LINE, "this is too long for a key or password");
    Ok(line.trim_end_matches(['\r', '\n']).to_owned())
}
