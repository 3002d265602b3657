//! The manual pages: every command with its synopsis, and their form.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::{ostler, stdout};

/// A command as its manual page describes it.
pub(crate) struct CommandPage {
    /// The words of the command, without `ostler`.
    pub(crate) words: Vec<String>,
    pub(crate) synopsis: String,
    pub(crate) description: String,
    text: String,
}

impl CommandPage {
    /// Reads the pages of all commands that have no subcommands.
    pub(crate) fn all(folder: &Path) -> Vec<Self> {
        stdout(&["completions", "man", "--dir", &folder.to_string_lossy()]);
        let pages = fs::read_dir(folder).expect("a folder").map(|entry| {
            let path = entry.expect("a file").path();
            Self::parse(&fs::read_to_string(path).expect("a page"))
        });
        let mut pages: Vec<Self> = pages.collect();
        pages.retain(|page| !page.text.contains(".SH SUBCOMMANDS"));
        pages.sort_by(|a, b| a.words.cmp(&b.words));
        pages
    }

    fn parse(text: &str) -> Self {
        let section = |name: &str| {
            let (_, rest) = text.split_once(&format!(".SH {name}\n")).expect(name);
            let body = rest.split(".SH ").next().unwrap_or_default();
            body.replace('\n', " ").replace("\\-", "-")
        };
        let synopsis = section("SYNOPSIS");
        let name = synopsis.split("\\fB").nth(1).and_then(|rest| rest.split("\\fR").next());
        let words = name.expect("a name").split(' ').skip(1).map(str::to_owned).collect();
        let plain = |text: &str| {
            ["\\fB", "\\fI", "\\fR"]
                .iter()
                .fold(text.to_owned(), |text, code| text.replace(code, ""))
        };
        let (synopsis, description) = (plain(&synopsis), plain(&section("DESCRIPTION")));
        Self { words, synopsis, description, text: text.to_owned() }
    }
}

#[test]
fn every_command_has_examples() {
    let folder = tempfile::tempdir().expect("a folder");
    let pages = CommandPage::all(folder.path());
    assert!(pages.len() > 100, "only {} commands were found", pages.len());
    for page in pages {
        assert!(page.text.contains(".SH EXAMPLES"), "{:?} has no examples", page.words);
    }
}

/// O24: `mandoc -Tlint` has nothing to say, where it is installed.
#[test]
fn o24_manual_pages_are_well_formed() {
    let folder = tempfile::tempdir().expect("a folder");
    CommandPage::all(folder.path());
    let pages = fs::read_dir(folder.path()).expect("a folder");
    let paths: Vec<_> = pages.map(|page| page.expect("a page").path()).collect();
    match Command::new("mandoc").arg("-Tlint").args(&paths).output() {
        Ok(lint) => assert_eq!(String::from_utf8_lossy(&lint.stdout), "", "mandoc -Tlint"),
        Err(error) => eprintln!("mandoc is not installed: {error}"),
    }
}

/// O24: the scripts are valid where their shell is installed, and know the commands.
#[test]
fn o24_completion_scripts_are_valid() {
    let folder = tempfile::tempdir().expect("a folder");
    for shell in ["bash", "zsh", "fish"] {
        let script = stdout(&["completions", shell]);
        assert!(script.contains("dead-letter") && script.contains("take-over"), "{shell}");
        let file = folder.path().join(shell);
        fs::write(&file, script).expect("a file");
        match Command::new(shell).arg("-n").arg(&file).output() {
            Ok(checked) => assert!(checked.status.success(), "{shell}: {checked:?}"),
            Err(error) => eprintln!("{shell} is not installed: {error}"),
        }
    }
    assert!(!ostler(&["completions", "tcsh"]).status.success());
}
