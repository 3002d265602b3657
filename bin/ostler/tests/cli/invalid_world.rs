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
    let table = [
        ("empty", String::new(), "FILE: no org is the platform; exactly one must be"),
        ("syntax", format!("{PLATFORM}slug ="), "FILE:6: "),
        ("unknown_key", org("nmae = \"x\"\n"), "FILE:10: unknown field `nmae`, expected one of "),
        ("missing_key", "[[org]]\nslug = \"p\"\n".to_owned(), "FILE:1: missing field `name`"),
        (
            "bad_plan",
            "[[org]]\nslug = \"p\"\nname = \"P\"\nplan = \"gold\"\n".to_owned(),
            "FILE:4: unknown variant `gold`, expected one of `free`, `starter`",
        ),
        (
            "bad_type",
            org("team = \"yes\"\n"),
            "FILE:10: invalid type: string \"yes\", expected a boolean",
        ),
        ("second_platform", org("platform = true\n"), "FILE:7: `o` is a second platform"),
        ("unknown_parent", org("parent = \"q\"\n"), "FILE:10: no org `q`; there are: p, o"),
        (
            "too_deep",
            org("parent = \"p\"\n"),
            "FILE:7: `o` cannot be below `p`: only a top-level org has sub-orgs",
        ),
        ("twice", format!("{PLATFORM}{PLATFORM}"), "FILE:7: `p` is a second platform"),
        (
            "same_slug",
            org("") + &org("")[PLATFORM.len()..],
            "FILE:11: there are two orgs `o`; a slug belongs to one org",
        ),
        ("two_agents", agent(AGENT), "FILE:13: there are two agents `a`; names are unique"),
        (
            "bad_tool",
            agent("tools = { deny = [\"web_ftch\"] }\n"),
            "FILE:12: no tool `web_ftch`; did you mean `web_fetch`?",
        ),
        (
            "bad_profile",
            agent("profile = \"all\"\n"),
            "FILE:12: no tool profile `all`; there are: *, general, support",
        ),
        (
            "bad_autonomy",
            agent("").replace("\"autonomous\"", "\"supervised\""),
            "FILE:11: business layer 2 (Agency) cannot be supervised; allowed here: autonomous, semi_autonomous, draft_only",
        ),
        (
            "many_failures",
            agent(
                "[[session]]\nname = \"s\"\norg = \"p\"\nchannel = \"sms\"\nfailures = { web_fetch = 4000000000 }\n",
            ),
            "FILE:16: a tool fails at most 100 times in a session here",
        ),
        (
            "session_elsewhere",
            agent("[[session]]\nname = \"s\"\norg = \"q\"\nchannel = \"sms\"\n"),
            "FILE:14: no org `q`; there are: p",
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
    assert!(said.starts_with("error: cannot read nowhere.toml: No such file"), "{said}");
    assert!(said.contains("examples/harbour.toml is an example"), "{said}");
}
