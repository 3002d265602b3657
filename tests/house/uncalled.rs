//! Rules have callers: a public function of the domain that nothing in production calls is
//! a rule that nobody can rely on.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::metadata::root;

/// Functions whose rule the store applies in SQL; tests compare the two.
const WAITING: [(&str, &str); 7] = [
    ("after_message", "the store counts in SQL; the tests compare"),
    ("count_pending", "the store counts in SQL; the tests compare"),
    ("matches_identifier", "the store finds by key; the tests compare"),
    ("paying_org", "the runtime decides with its view; the tests compare"),
    ("draws_on_parent", "the ledger's tests"),
    ("open_reservations", "the ledger's tests"),
    ("release_expired", "the store sweeps in SQL; the tests compare"),
];

/// Functions that build values for tests.
const FOR_TESTS: [&str; 1] = ["from_pools"];

#[test]
fn every_rule_of_the_domain_has_a_caller() {
    let mut words: BTreeMap<String, usize> = BTreeMap::new();
    let mut defined: BTreeMap<String, usize> = BTreeMap::new();
    let mut public = Vec::new();
    for folder in ["crates", "bin"] {
        visit(&root().join(folder), &mut |path, text| {
            let of_domain = path.contains("crates/domain/src/");
            for line in text.lines() {
                let code = line.split("//").next().unwrap_or_default();
                for word in code.split(|c: char| !c.is_ascii_alphanumeric() && c != '_') {
                    *words.entry(word.to_owned()).or_default() += 1;
                }
                if let Some(name) = function(code) {
                    *defined.entry(name.to_owned()).or_default() += 1;
                    if of_domain && code.trim_start().starts_with("pub ") {
                        public.push(name.to_owned());
                    }
                }
            }
        });
    }
    assert!(public.len() > 300, "only {} functions were found", public.len());
    let mut uncalled: Vec<&str> = public
        .iter()
        .filter(|name| words.get(*name) <= defined.get(*name))
        .map(String::as_str)
        .filter(|name| !FOR_TESTS.contains(name))
        .collect();
    uncalled.sort_unstable();
    let mut waiting = WAITING.map(|(name, _)| name).to_vec();
    waiting.sort_unstable();
    assert_eq!(uncalled, waiting, "give it a caller, delete it, or take it off the list");
}

/// Returns the name of the function that a line defines.
fn function(code: &str) -> Option<&str> {
    let (before, rest) = code.split_once("fn ")?;
    let keywords = before
        .split_whitespace()
        .all(|word| matches!(word, "const" | "async" | "unsafe") || word.starts_with("pub"));
    let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_')?;
    (keywords && end > 0).then(|| &rest[..end])
}

/// Visits the production code of every source file.
fn visit(folder: &Path, found: &mut impl FnMut(&str, &str)) {
    let mut entries: Vec<_> = fs::read_dir(folder)
        .expect("a folder")
        .map(|entry| entry.expect("an entry").path())
        .collect();
    entries.sort();
    for path in entries {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default().to_owned();
        if path.is_dir() && name != "tests" && name != "target" && name != "testkit" {
            visit(&path, found);
        } else if name.ends_with(".rs") && name != "tests.rs" && name != "testing.rs" {
            let text = fs::read_to_string(&path).expect("a source file");
            let production = text.split("#[cfg(test)]").next().unwrap_or_default();
            found(&path.to_string_lossy(), production);
        }
    }
}
