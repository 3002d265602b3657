//! Dependencies between our crates flow one way: the table of the house.

use std::collections::BTreeSet;

use crate::metadata::{Package, own_packages};

/// Each crate and what of ours it may use. A crate that is not listed may not
/// exist; one that is listed may come later.
const MAY_USE: [(&str, &[&str]); 20] = [
    ("ostler-domain", &[]),
    ("ostler-http", &[]),
    ("ostler-engine", &["ostler-domain"]),
    ("ostler-store", &["ostler-domain"]),
    ("ostler-bus", &["ostler-domain"]),
    ("ostler-channels", &["ostler-domain", "ostler-http"]),
    ("ostler-api", &["ostler-domain"]),
    ("ostler-world", &["ostler-domain"]),
    ("ostler-testkit", &["ostler-domain", "ostler-store"]),
    ("ostler-models", &["ostler-domain", "ostler-http", "ostler-engine"]),
    ("ostler-scripted", &["ostler-domain", "ostler-engine"]),
    ("ostler-tools", &["ostler-domain", "ostler-http", "ostler-engine", "ostler-store"]),
    ("ostler-workspace", &["ostler-domain", "ostler-engine"]),
    (
        "ostler-harness",
        &["ostler-domain", "ostler-engine", "ostler-store", "ostler-workspace", "ostler-world"],
    ),
    (
        "ostler-runtime",
        &[
            "ostler-domain",
            "ostler-engine",
            "ostler-store",
            "ostler-bus",
            "ostler-channels",
            "ostler-world",
        ],
    ),
    ("ostler-tui", &["ostler-domain", "ostler-api"]),
    (
        "ostler-server",
        &[
            "ostler-domain",
            "ostler-http",
            "ostler-api",
            "ostler-harness",
            "ostler-runtime",
            "ostler-channels",
            "ostler-store",
        ],
    ),
    ("ostler-bench", EVERYTHING),
    ("ostler", EVERYTHING),
    ("ostler-tests", EVERYTHING),
];

const EVERYTHING: &[&str] = &[
    "ostler-domain",
    "ostler-http",
    "ostler-engine",
    "ostler-store",
    "ostler-bus",
    "ostler-channels",
    "ostler-api",
    "ostler-models",
    "ostler-scripted",
    "ostler-tools",
    "ostler-harness",
    "ostler-workspace",
    "ostler-runtime",
    "ostler-tui",
    "ostler-server",
    "ostler-bench",
    "ostler-world",
];

/// Tests of every crate above the domain may use it; only the benchmarks use it outside
/// tests.
const TESTKIT: &str = "ostler-testkit";

/// Tests of every crate that has the engine may use it.
const SCRIPTED: &str = "ostler-scripted";

/// Heavy libraries and the one room each lives in. The benchmarks measure the
/// bare drivers and the bare client of the broker beside ours, and scenarios look
/// at databases from beside the store.
const ROOMS: [(&str, &[&str]); 22] = [
    ("toml_edit", &["ostler-world"]),
    ("rusqlite", &["ostler-store", "ostler-bench", "ostler-testkit"]),
    ("tokio-postgres", &["ostler-store", "ostler-bench", "ostler-testkit"]),
    ("sqlx", &["ostler-store"]),
    ("lapin", &["ostler-bus", "ostler-bench"]),
    ("axum", &["ostler-server", "ostler-bench"]),
    ("ratatui", &["ostler-tui"]),
    ("crossterm", &["ostler-tui"]),
    ("lettre", &["ostler-channels"]),
    ("frankenstein", &["ostler-channels"]),
    ("mail-builder", &["ostler-channels"]),
    ("mail-parser", &["ostler-channels"]),
    (
        "reqwest",
        &[
            "ostler-http",
            "ostler-models",
            "ostler-tools",
            "ostler-channels",
            // Log-in with identity providers.
            "ostler-server",
            // The command line on a server.
            "ostler",
            "ostler-tests",
        ],
    ),
    // The store connects to PostgreSQL by TLS, without the HTTP client.
    ("rustls-platform-verifier", &["ostler-http", "ostler-store"]),
    ("hyper", &["ostler-scripted", "ostler-server"]),
    ("serde-saphyr", &["ostler-scripted", "ostler-workspace"]),
    ("cap-std", &["ostler-workspace"]),
    ("landlock", &["ostler-workspace"]),
    ("seccompiler", &["ostler-workspace"]),
    ("rmcp", &["ostler-tools", "ostler-server"]),
    ("html5ever", &["ostler-tools"]),
    ("pdf-extract", &["ostler"]),
];

/// All that a pure crate may be built from.
const DOMAIN_MAY_USE: [&str; 4] = ["schemars", "serde", "serde_json", "thiserror"];

/// Every arrow that points the wrong way, in words.
fn wrong_arrows(packages: &[Package]) -> Vec<String> {
    let ours: BTreeSet<&str> = packages.iter().map(|package| package.name.as_str()).collect();
    let mut wrong = Vec::new();
    for package in packages {
        let Some((_, may_use)) = MAY_USE.iter().find(|(name, _)| *name == package.name) else {
            wrong.push(format!("{} has no place in the house", package.name));
            continue;
        };
        for dependency in &package.dependencies {
            let name = dependency.name.as_str();
            let ok = if name == TESTKIT && package.name != "ostler-domain" {
                dependency.for_tests || package.name == "ostler-bench"
            } else if name == SCRIPTED && dependency.for_tests {
                may_use.contains(&"ostler-engine")
            } else if ours.contains(name) || name.starts_with("ostler") {
                may_use.contains(&name)
            } else if package.name == "ostler-domain" && !dependency.for_tests {
                DOMAIN_MAY_USE.contains(&name)
            } else {
                let room = ROOMS.iter().find(|(library, _)| *library == name);
                room.is_none_or(|(_, rooms)| rooms.contains(&package.name.as_str()))
            };
            if !ok {
                wrong.push(format!("{} must not depend on {name}", package.name));
            }
        }
    }
    wrong
}

#[test]
fn every_arrow_points_down() {
    assert_eq!(wrong_arrows(&own_packages()), [""; 0]);
}

/// The rooms are real: a forbidden dependency, of ours or not, is found.
#[test]
fn a_forbidden_dependency_is_found() {
    let with = |package: &str, dependency: &str, for_tests: bool| {
        let mut packages = own_packages();
        let mut changed = packages[0].clone();
        changed.name = package.into();
        changed.dependencies =
            vec![crate::metadata::Dependency { name: dependency.into(), for_tests }];
        packages.retain(|known| known.name != package);
        packages.push(changed);
        wrong_arrows(&packages)
    };
    let table = [
        ("ostler-domain", "ostler-store", false, true),
        ("ostler-domain", "ostler-store", true, true),
        ("ostler-domain", "tokio", false, true),
        ("ostler-domain", "proptest", true, false),
        ("ostler-engine", "ostler-bus", false, true),
        ("ostler-engine", "ostler-domain", false, false),
        ("ostler-tui", "ostler-runtime", false, true),
        ("ostler-runtime", "axum", false, true),
        ("ostler-runtime", "reqwest", false, true),
        ("ostler-models", "reqwest", false, false),
        ("ostler-server", "axum", false, false),
        ("ostler-server", "ostler-engine", true, true),
        ("ostler-api", "ostler-store", false, true),
        ("ostler", "ostler-domain", false, false),
        ("ostler-store", "ostler-testkit", true, false),
        ("ostler-store", "ostler-testkit", false, true),
        ("ostler-domain", "ostler-testkit", true, true),
        ("ostler-bench", "ostler-testkit", false, false),
        ("ostler-common", "serde", false, true),
    ];
    for (package, dependency, for_tests, forbidden) in table {
        let wrong = with(package, dependency, for_tests);
        assert_eq!(!wrong.is_empty(), forbidden, "{package} → {dependency}: {wrong:?}");
    }
}
