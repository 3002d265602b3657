//! `docs/ARCHITECTURE.md` stays true: its map names every crate, and every file
//! and function of its walkthroughs exists.

use std::fs;
use std::path::Path;

use crate::metadata::{own_packages, root};

fn page() -> String {
    fs::read_to_string(root().join("docs/ARCHITECTURE.md")).expect("docs/ARCHITECTURE.md exists")
}

#[test]
fn the_map_names_every_crate() {
    let page = page();
    for package in own_packages() {
        let folder = package.manifest.parent().expect("a manifest has a folder");
        let path = folder.strip_prefix(root()).expect("a crate of the workspace");
        let cell = format!("| `{}` |", path.display());
        assert!(page.contains(&cell), "the map lacks {}", path.display());
    }
}

#[test]
fn the_page_is_short() {
    let words = page().split_whitespace().count();
    assert!(words <= 2000, "{words} words are more than one page");
}

/// A walkthrough names a function in backticks and then its file in parentheses, or
/// the file and then the function.
#[test]
fn files_and_functions_of_the_walkthroughs_exist() {
    let page = page();
    let walks = page.split("\n## Walk").skip(1).collect::<Vec<_>>();
    assert_eq!(walks.len(), 2);
    let mut checked = 0;
    for step in walks.iter().flat_map(|walk| walk.lines()).filter(|line| starts_a_step(line)) {
        let names: Vec<&str> = step.split('`').skip(1).step_by(2).collect();
        let files: Vec<&str> = names
            .iter()
            .copied()
            .filter(|name| name.ends_with(".rs") && name.contains('/'))
            .collect();
        let sources: String = files.iter().map(|file| source(file)).collect();
        for name in names.iter().filter(|name| is_function(name)) {
            let function = name.rsplit("::").next().unwrap_or(name);
            let declared = format!("fn {function}");
            // A function without a file was named with its file in an earlier step.
            let found = if followed_by_file(step, name) {
                sources.contains(&declared)
            } else {
                sources.contains(&declared) || everywhere(&declared)
            };
            assert!(found, "no `{declared}` in the files of the step: {step}");
            assert!(is_called(function), "only tests call `{function}`: {step}");
            checked += 1;
        }
    }
    assert!(checked >= 20, "only {checked} functions were found on the page");
}

fn starts_a_step(line: &str) -> bool {
    line.split_once(". ").is_some_and(|(number, _)| number.parse::<u32>().is_ok())
}

/// `answer`, `Worker::run` and `steps::turn::run`, but not types, paths or commands.
fn is_function(name: &str) -> bool {
    let last = name.rsplit("::").next().unwrap_or(name);
    name.chars().all(|c| c.is_alphanumeric() || c == '_' || c == ':')
        && last.chars().next().is_some_and(char::is_lowercase)
        && last != "refund_payment"
}

fn source(file: &str) -> String {
    let path = root().join("crates").join(file);
    fs::read_to_string(&path).expect("the file that the page names exists")
}

/// Whether a step has the form "`name` (`file.rs`".
fn followed_by_file(step: &str, name: &str) -> bool {
    step.split(&format!("`{name}` (`")).skip(1).any(|rest| rest.contains(".rs`"))
}

fn everywhere(declared: &str) -> bool {
    sources_matching(|_, text| text.contains(declared))
}

/// Whether production code mentions a function beyond its declaration.
fn is_called(function: &str) -> bool {
    sources_matching(|path, text| {
        let is_test = path.components().any(|part| part.as_os_str() == "tests");
        let code = text.split("#[cfg(test)]").next().unwrap_or(text);
        !is_test
            && code.lines().any(|line| {
                names_function(line, function)
                    && !line.contains(&format!("fn {function}"))
                    && !line.trim_start().starts_with("//")
            })
    })
}

/// Whether a line contains the whole name.
fn names_function(line: &str, function: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(function).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let after = line[at + function.len()..].chars().next();
        !before.is_some_and(is_part) && !after.is_some_and(is_part)
    })
}

fn sources_matching(matches: impl Fn(&Path, &str) -> bool) -> bool {
    crate::words::sources()
        .iter()
        .any(|path| fs::read_to_string(path).is_ok_and(|text| matches(path, &text)))
}
