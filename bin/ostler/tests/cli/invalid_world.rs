//! Errors in a world file name the file, the line and what was expected.

use std::path::Path;

use crate::stderr;

const PLATFORM: &str = "[[org]]\nslug = \"p\"\nname = \"P\"\nplatform = true\nplan = \"free\"\n";
const AGENT: &str = "[[agent]]\nslug = \"a\"\nname = \"A\"\norg = \"p\"\nsubtype = \"pm\"\nautonomy = \"autonomous\"\n";

/// Writes a world file and returns the error about it.
fn error(name: &str, world: &str) -> String {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, world).expect("the world is written");
    let path = path.to_str().expect("a plain path");
    stderr(&["org", "tree", "--world", path]).replace(path, "FILE").trim_end().to_owned()
}

#[test]
fn an_invalid_world_file_names_the_line_and_what_was_expected() {
    let org = |rest: &str| {
        format!("{PLATFORM}[[org]]\nslug = \"o\"\nname = \"O\"\nplan = \"free\"\n{rest}")
    };
    let agent = |rest: &str| format!("{PLATFORM}{AGENT}{rest}");
    let session = |rest: &str| {
        agent(&format!("[[session]]\nname = \"s\"\norg = \"p\"\nchannel = \"sms\"\n{rest}"))
    };
    let table = [
        ("empty", String::new(), "no org is the platform; exactly one must be"),
        ("syntax", format!("{PLATFORM}slug ="), "FILE:6:7: "),
        ("unknown_key", org("nmae = \"x\"\n"), "FILE:10:1: no key `nmae`; did you mean `name`?"),
        ("second_platform", org("platform = true\n"), "FILE:2:8: `p` is a second platform"),
        (
            "bad_tool",
            agent("tools = { deny = [\"web_ftch\"] }\n"),
            "FILE:12:19: no tool `web_ftch`; did you mean `web_fetch`?",
        ),
        (
            "many_failures",
            session("failures = { web_fetch = 4000000000 }\n"),
            "session s: a tool fails at most 100 times",
        ),
        (
            "session_elsewhere",
            session("").replace("org = \"p\"\nchannel", "org = \"q\"\nchannel"),
            "no org `q`; there are: p",
        ),
    ];
    for (name, world, expected) in table {
        let said = error(name, &world);
        assert!(said.starts_with(&format!("error: {expected}")), "{name}\n{said}\n{expected}");
    }
}

#[test]
fn a_missing_world_file_suggests_the_example() {
    let said = stderr(&["org", "tree", "--world", "nowhere.toml"]);
    assert!(said.starts_with("error: cannot read nowhere.toml"), "{said}");
    assert!(said.contains("examples/harbour.toml is an example"), "{said}");
}
