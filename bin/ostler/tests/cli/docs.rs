//! The commands and snippets of README.md and `docs/` work.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::demo::DemoInstallation;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// README.md and every page of `docs/`, by name.
fn pages() -> Vec<(String, String)> {
    let docs = fs::read_dir(root().join("docs")).expect("a folder of documents");
    let mut paths: Vec<PathBuf> = docs.map(|entry| entry.expect("an entry").path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "md"));
    paths.push(root().join("README.md"));
    paths.sort();
    let page = |path: &PathBuf| {
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        (name, fs::read_to_string(path).expect("a readable page"))
    };
    paths.iter().map(page).collect()
}

/// The code blocks of a page, each with its language.
fn blocks(page: &str) -> Vec<(&str, String)> {
    let mut blocks = Vec::new();
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        if let Some(language) = line.strip_prefix("```") {
            let body: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
            blocks.push((language, body.join("\n")));
        }
    }
    blocks
}

/// The `ostler` commands of a page, in order, as the words a shell would pass.
fn commands(page: &str) -> Vec<Vec<String>> {
    blocks(page)
        .iter()
        .flat_map(|(_, body)| {
            body.replace("\\\n", " ").lines().map(str::to_owned).collect::<Vec<_>>()
        })
        .filter_map(|line| line.strip_prefix("$ ostler ").map(words))
        .collect()
}

/// Splits a command line: quotes group words, `#` begins a comment.
fn words(line: &str) -> Vec<String> {
    let (mut words, mut word, mut quote, mut started) = (Vec::new(), String::new(), None, false);
    for c in line.chars() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (Some(_), c) => word.push(c),
            (None, '"' | '\'') => (quote, started) = (Some(c), true),
            (None, '#') if !started => break,
            (None, ' ') => {
                if started {
                    words.push(std::mem::take(&mut word));
                }
                started = false;
            }
            (None, c) => {
                word.push(c);
                started = true;
            }
        }
    }
    if started {
        words.push(word);
    }
    words
}

/// Commands that need a server, a model or a broker of the reader's, and those with
/// ids that stand for the reader's own.
fn needs_the_reader(command: &[String]) -> bool {
    let reader_only = ["--url", "--mcp", "telegram"];
    command.iter().any(|word| word.contains('…') || reader_only.contains(&word.as_str()))
}

fn run(command: &[String], folder: &Path, home: &str) -> (Option<i32>, String) {
    let mut args: Vec<&str> = command.iter().map(String::as_str).collect();
    if matches!(args[0], "serve" | "worker" | "mock-model") {
        args.push("--help");
    }
    let output = Command::new(env!("CARGO_BIN_EXE_ostler"))
        .args(args)
        .current_dir(folder)
        .env("OSTLER_HOME", home)
        .stdin(std::process::Stdio::null())
        .output()
        .expect("ostler runs");
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

/// Every command of the documentation is understood, and those that need nothing of
/// the reader's succeed on the demo installation, in the order of their page.
#[test]
fn documented_commands_run() {
    let mut count = 0;
    for (page, text) in pages() {
        let commands = commands(&text);
        if commands.is_empty() {
            continue;
        }
        let demo = DemoInstallation::new();
        let folder = tempfile::tempdir().expect("a folder");
        std::os::unix::fs::symlink(
            root().join("examples").canonicalize().expect("the examples"),
            folder.path().join("examples"),
        )
        .expect("a link");
        fs::write(folder.path().join("menu.pdf"), crate::pdf::with_lines(&["Margherita 9.00"]))
            .expect("a PDF");
        for command in commands {
            let (code, error) = run(&command, folder.path(), &demo.home());
            if needs_the_reader(&command) {
                // 2 means that the command line was not understood; only a placeholder may be
                // an invalid value.
                let placeholder = error.starts_with("error: invalid value") && error.contains('…');
                let understood = code != Some(2) || placeholder;
                assert!(understood, "{page}: {command:?}: {error}");
            } else {
                assert_eq!(code, Some(0), "{page}: {command:?}: {error}");
            }
            count += 1;
        }
    }
    assert!(count > 15, "only {count} commands were found");
}

#[test]
fn documented_json_and_toml_is_valid() {
    let mut count = 0;
    for (page, text) in pages() {
        for (language, body) in blocks(&text) {
            let error = match language {
                "json" => serde_json::from_str::<serde_json::Value>(&body)
                    .err()
                    .map(|error| error.to_string()),
                "toml" => toml::from_str::<toml::Value>(&body).err().map(|error| error.to_string()),
                _ => continue,
            };
            assert_eq!(error, None, "{page}:\n{body}");
            count += 1;
        }
    }
    assert!(count > 8, "only {count} snippets were found");
}
