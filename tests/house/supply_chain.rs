//! The scripts that look at what the program is made of.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn run(script: &str, args: &[&Path]) -> Output {
    Command::new(root().join("scripts").join(script)).args(args).output().expect("it runs")
}

/// S15: the bill of materials lists what is linked, and nothing that only tests use.
#[test]
fn s15_the_bill_of_materials_lists_what_is_linked() {
    let output = run("sbom", &[]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let bill: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!((&bill["bomFormat"], &bill["specVersion"]), (&"CycloneDX".into(), &"1.5".into()));
    let components = bill["components"].as_array().expect("a list");
    let find = |name: &str| components.iter().find(|one| one["name"] == name);
    let rustls = find("rustls").expect("rustls is linked");
    let address = rustls["purl"].as_str().expect("an address");
    assert!(address.starts_with("pkg:cargo/rustls@0."), "{address}");
    assert_eq!(rustls["hashes"][0]["content"].as_str().map(str::len), Some(64), "{rustls}");
    assert!(find("ostler-store").is_some() && components.len() > 200, "{}", components.len());
    assert!(find("ostler-tests").is_none() && find("proptest").is_none(), "only tests use these");
}

/// S15: an advisory applies to versions that are neither fixed nor unaffected.
#[test]
fn s15_advisories_are_compared_with_the_lock_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let check = |versions: &str, more: &str| {
        let path = folder.path().join("crates/rustls");
        std::fs::create_dir_all(&path).expect("a folder");
        let text = format!(
            "```toml\n[advisory]\nid = \"RUSTSEC-2099-0001\"\npackage = \"rustls\"\n{more}\n\
             [versions]\n{versions}\n```\n\n# It is broken\n"
        );
        std::fs::write(path.join("RUSTSEC-2099-0001.md"), text).expect("written");
        let output = run("advisories", &[folder.path()]);
        (output.status.code(), String::from_utf8(output.stdout).expect("text"))
    };
    let empty = run("advisories", &[folder.path()]);
    assert_eq!(empty.status.code(), Some(2), "a folder without advisories is a mistake");
    for (versions, more, code) in [
        ("patched = []", "", 1),
        ("patched = [\">= 99.0.0\"]", "", 1),
        ("patched = [\">= 0.1.0\"]", "", 0),
        ("patched = [\"^0.23.0\"]", "", 0),
        ("patched = [\"^0.22.9\", \">= 0.24\"]", "", 1),
        ("patched = [\">= 99.0.0\"]\nunaffected = [\"< 99\"]", "", 0),
        ("patched = [\"> 0.20, < 0.22\"]", "", 1),
        ("patched = []", "withdrawn = \"2099-01-02\"", 0),
        ("patched = []", "informational = \"unmaintained\"", 0),
    ] {
        let (found, said) = check(versions, more);
        assert_eq!(found, Some(code), "{versions} {more}: {said}");
        assert_eq!(said.contains("RUSTSEC-2099-0001 rustls"), code == 1, "{said}");
    }
}
