//! What may be depended on: licences and sources of `deny.toml`, and nothing
//! that is not used.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::metadata::{duplicates, own_packages, packages, root};

/// The licences that `deny.toml` allows.
fn allowed_licences() -> Vec<String> {
    let text = std::fs::read_to_string(root().join("deny.toml")).expect("deny.toml is there");
    let deny: toml::Table = toml::from_str(&text).expect("deny.toml is TOML");
    let allow = deny["licenses"]["allow"].as_array().expect("a list of licences");
    allow.iter().map(|licence| licence.as_str().expect("a text").to_owned()).collect()
}

/// Whether an SPDX expression is satisfied by the allowed licences. It knows
/// `AND`, `OR`, parentheses and the old `/`, which is all that the tree uses.
fn satisfied(expression: &str, allowed: &[String]) -> bool {
    let expression = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let tokens: Vec<&str> = expression.split_whitespace().collect();
    let (result, rest) = either(&tokens, allowed);
    result && rest.is_empty()
}

fn either<'t>(tokens: &'t [&'t str], allowed: &[String]) -> (bool, &'t [&'t str]) {
    let (mut result, mut rest) = both(tokens, allowed);
    while let ["OR", after @ ..] = rest {
        let (other, next) = both(after, allowed);
        (result, rest) = (result | other, next);
    }
    (result, rest)
}

fn both<'t>(tokens: &'t [&'t str], allowed: &[String]) -> (bool, &'t [&'t str]) {
    let (mut result, mut rest) = licence(tokens, allowed);
    while let ["AND", after @ ..] = rest {
        let (other, next) = licence(after, allowed);
        (result, rest) = (result & other, next);
    }
    (result, rest)
}

fn licence<'t>(tokens: &'t [&'t str], allowed: &[String]) -> (bool, &'t [&'t str]) {
    let known = |name: &str| allowed.iter().any(|licence| licence == name);
    match tokens {
        ["(", inner @ ..] => {
            let (result, rest) = either(inner, allowed);
            (result, rest.strip_prefix(&[")"]).unwrap_or(rest))
        }
        [name, "WITH", exception, rest @ ..] => {
            (known(&format!("{name} WITH {exception}")) || known(name), rest)
        }
        [name, rest @ ..] => (known(name), rest),
        [] => (false, tokens),
    }
}

#[test]
fn every_licence_is_allowed() {
    let allowed = allowed_licences();
    let wrong: Vec<String> = packages()
        .into_iter()
        .filter(|package| {
            !package.licence.as_deref().is_some_and(|licence| satisfied(licence, &allowed))
        })
        .map(|package| format!("{} {}: {:?}", package.name, package.version, package.licence))
        .collect();
    assert_eq!(wrong, [""; 0]);
}

#[test]
fn licence_expressions_are_understood() {
    let allowed = ["MIT".to_owned(), "Zlib".to_owned()];
    let table = [
        ("MIT", true),
        ("GPL-3.0", false),
        ("GPL-3.0 OR MIT", true),
        ("GPL-3.0/MIT", true),
        ("MIT AND GPL-3.0", false),
        ("MIT AND (GPL-3.0 OR Zlib)", true),
        ("(MIT OR Apache-2.0) AND Unicode-3.0", false),
        ("", false),
    ];
    for (expression, expected) in table {
        assert_eq!(satisfied(expression, &allowed), expected, "{expression}");
    }
}

#[test]
fn every_source_is_the_registry() {
    let elsewhere: Vec<String> = packages()
        .into_iter()
        .filter_map(|package| Some((package.name, package.source?)))
        .filter(|(_, source)| !source.starts_with("registry+"))
        .map(|(name, source)| format!("{name} from {source}"))
        .collect();
    assert_eq!(elsewhere, [""; 0]);
}

/// Two versions of a library are built and linked twice.
#[test]
fn few_libraries_have_two_versions() {
    let mut versions: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for line in duplicates().lines() {
        if let Some((name, rest)) = line.split_once(" v") {
            let version = rest.split_whitespace().next().unwrap_or(rest);
            versions.entry(name.to_owned()).or_default().insert(version.to_owned());
        }
    }
    versions.retain(|_, versions| versions.len() > 1);
    assert!(versions.len() < 21, "{}: {versions:?}", versions.len());
}

/// A dependency that no source file of its package mentions is not needed.
#[test]
fn every_dependency_is_used() {
    let mut unused = Vec::new();
    for package in own_packages() {
        let folder = package.manifest.parent().expect("a manifest is in a folder").to_owned();
        let text = rust_text(&folder);
        for dependency in &package.dependencies {
            let name = dependency.name.replace('-', "_");
            if !mentions(&text, &name) {
                unused.push(format!("{} does not use {}", package.name, dependency.name));
            }
        }
    }
    assert_eq!(unused, [""; 0]);
}

/// Whether a text names a crate as the start of a path.
fn mentions(text: &str, krate: &str) -> bool {
    text.match_indices(krate).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = &text[at + krate.len()..];
        let starts = before.is_none_or(|c| !c.is_alphanumeric() && c != '_');
        starts && (after.starts_with("::") || after.starts_with(" as ") || after.starts_with(';'))
    })
}

fn rust_text(folder: &Path) -> String {
    let mut text = String::new();
    let entries = std::fs::read_dir(folder).expect("a readable folder");
    for path in entries.map(|entry| entry.expect("a readable entry").path()) {
        if path.is_dir() && path.file_name().is_some_and(|name| name != "target") {
            text.push_str(&rust_text(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            text.push_str(&std::fs::read_to_string(&path).expect("a readable file"));
        }
    }
    text
}

#[test]
fn an_unused_dependency_is_found() {
    let text = "use serde::Serialize; fn f() { anyhow::bail!() } // unserde_json::x clap";
    assert!(mentions(text, "serde") && mentions(text, "anyhow"));
    assert!(!mentions(text, "serde_json") && !mentions(text, "clap"));
}
