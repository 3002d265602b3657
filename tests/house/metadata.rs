//! The workspace as `cargo metadata` sees it.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// A crate of ours, or one that is depended on.
#[derive(Debug, Clone)]
pub(crate) struct Package {
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) licence: Option<String>,
    /// Where it comes from; nothing for our own.
    pub(crate) source: Option<String>,
    pub(crate) manifest: PathBuf,
    pub(crate) dependencies: Vec<Dependency>,
}

/// A line of a manifest.
#[derive(Debug, Clone)]
pub(crate) struct Dependency {
    pub(crate) name: String,
    /// Whether only tests use it.
    pub(crate) for_tests: bool,
}

/// The root of the repository.
pub(crate) fn root() -> PathBuf {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR"));
    tests.parent().expect("the tests folder has a parent").to_owned()
}

/// Every package in the dependency tree, our own first.
pub(crate) fn packages() -> Vec<Package> {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".into());
    // For this platform only: the rest has not been downloaded by a build.
    let version = output(Command::new("rustc").arg("-vV"));
    let host = version.lines().find_map(|line| line.strip_prefix("host: ")).expect("a host");
    let metadata = output(
        Command::new(cargo)
            .args(["metadata", "--format-version", "1", "--locked", "--filter-platform", host])
            .current_dir(root()),
    );
    let json: Value = serde_json::from_str(&metadata).expect("cargo metadata is JSON");
    let mut packages: Vec<Package> =
        json["packages"].as_array().expect("a list of packages").iter().map(package).collect();
    packages.sort_by_key(|package| (package.source.is_some(), package.name.clone()));
    packages
}

/// The libraries that are built in several forms, with their versions, a line each.
pub(crate) fn duplicates() -> String {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".into());
    let arguments = ["tree", "--locked", "--workspace", "--duplicates", "--depth", "0"];
    output(Command::new(cargo).args(arguments).args(["--prefix", "none"]).current_dir(root()))
}

fn output(command: &mut Command) -> String {
    let output = command.output().expect("the command runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("the output is text")
}

/// The packages of this workspace.
pub(crate) fn own_packages() -> Vec<Package> {
    packages().into_iter().filter(|package| package.source.is_none()).collect()
}

fn package(json: &Value) -> Package {
    let text = |key: &str| json[key].as_str().map(str::to_owned);
    let dependency = |json: &Value| Dependency {
        name: json["name"].as_str().expect("a dependency has a name").to_owned(),
        for_tests: json["kind"] == "dev",
    };
    Package {
        name: text("name").expect("a package has a name"),
        version: text("version").expect("a package has a version"),
        licence: text("license"),
        source: text("source"),
        manifest: text("manifest_path").expect("a package has a manifest").into(),
        dependencies: json["dependencies"]
            .as_array()
            .expect("a list of dependencies")
            .iter()
            .map(dependency)
            .collect(),
    }
}
