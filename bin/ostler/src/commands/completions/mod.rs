//! `ostler completions`: completion scripts of shells, and manual pages.

mod manual;

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::{CommandFactory as _, Subcommand};
use clap_complete::Shell;

use crate::cli::Cli;

#[derive(Debug, Subcommand)]
pub(crate) enum CompletionsCommand {
    /// Print the completion script of bash
    #[command(after_help = "\
Examples:
  ostler completions bash > ~/.local/share/bash-completion/completions/ostler")]
    Bash,
    /// Print the completion script of zsh
    #[command(after_help = "\
Examples:
  ostler completions zsh > ~/.zfunc/_ostler

~/.zfunc has to be in the `fpath` of zsh.")]
    Zsh,
    /// Print the completion script of fish
    #[command(after_help = "\
Examples:
  ostler completions fish > ~/.config/fish/completions/ostler.fish")]
    Fish,
    /// Write a manual page for every command
    #[command(after_help = "\
Examples:
  ostler completions man --dir ~/.local/share/man/man1
  man ostler-session-show")]
    Man {
        /// Folder for the pages; it is created if it is missing
        #[arg(long, value_name = "FOLDER")]
        dir: PathBuf,
    },
}

pub(crate) fn run(command: &CompletionsCommand) -> anyhow::Result<()> {
    match command {
        CompletionsCommand::Bash => print_script(Shell::Bash),
        CompletionsCommand::Zsh => print_script(Shell::Zsh),
        CompletionsCommand::Fish => print_script(Shell::Fish),
        CompletionsCommand::Man { dir } => write_manual(dir),
    }
}

fn print_script(shell: Shell) -> anyhow::Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "ostler", &mut script);
    std::io::stdout().write_all(&script).context("cannot write the script")
}

/// Writes the manual pages and says how many there are.
fn write_manual(folder: &Path) -> anyhow::Result<()> {
    let cannot_write = || format!("cannot write manual pages into {}", folder.display());
    fs::create_dir_all(folder).with_context(cannot_write)?;
    let mut root = Cli::command().disable_help_subcommand(true);
    root.build();
    let mut pages = vec![root];
    let mut count = 0;
    while let Some(page) = pages.pop() {
        pages.extend(page.get_subcommands().filter(|one| !one.is_hide_set()).cloned());
        let name = page.get_display_name().unwrap_or_else(|| page.get_name()).to_owned();
        let text = manual::page(&name, page)?;
        fs::write(folder.join(format!("{name}.1")), text).with_context(cannot_write)?;
        count += 1;
    }
    anstream::println!("{count} manual pages are in {}", folder.display());
    Ok(())
}
