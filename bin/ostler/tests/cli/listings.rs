//! Every listing, as people and as programs read it.

use serde_json::Value;
use unicode_width::UnicodeWidthStr as _;

use crate::demo::DemoInstallation;
use crate::manual::CommandPage;
use crate::pseudo_terminal;

/// Commands that list something under another name than `ls`.
const LISTINGS: [&str; 4] = ["dead-letters", "lines", "status", "tree"];
/// Values of arguments that listings require.
const KINDS: [&str; 6] = ["contacts", "products", "events", "forms", "orders", "media"];

/// The arguments of every listing, from the manual.
fn listings() -> Vec<Vec<String>> {
    let folder = tempfile::tempdir().expect("a folder");
    let mut listings = Vec::new();
    for page in CommandPage::all(folder.path()) {
        let last = page.words.last().expect("a name").as_str();
        if last != "ls" && !LISTINGS.contains(&last) && !page.description.starts_with("List") {
            continue;
        }
        // The log-ins of this machine belong to no installation.
        if page.words[0] == "context" {
            continue;
        }
        let mut args = page.words.clone();
        if page.synopsis.contains("[--org]") {
            args.extend(["--org".to_owned(), "bella".to_owned()]);
        }
        let values: &[&str] = match page.synopsis.split_once('<') {
            None => &[],
            Some((_, "KIND> ")) => &KINDS,
            Some((_, "USER> ")) => &[EMAIL],
            // It lists the deliveries of one webhook; the tests of webhooks look at it.
            Some((_, "WEBHOOK> [DELIVERY] ")) => continue,
            Some((_, required)) => {
                assert_eq!(required, "AGENT> ", "{} needs a value here", page.synopsis);
                &["gia"]
            }
        };
        if values.is_empty() {
            listings.push(args);
        } else {
            listings
                .extend(values.iter().map(|value| [&args[..], &[(*value).to_owned()]].concat()));
        }
    }
    assert!(listings.len() > 30, "only {} listings were found", listings.len());
    listings
}

const EMAIL: &str = "somebody-with-a-long-name@a-long-domain-name.example.org";
const LONG: &str =
    "日本語の長い名前 and a long text with many words, so that no column has room for it";

/// An installation in which most listings have something to list, with long names.
fn crowded() -> DemoInstallation {
    let demo = DemoInstallation::new();
    let file = |name: &str, text: &str| {
        let path = std::path::Path::new(&demo.home()).join(name);
        std::fs::write(&path, text).expect("a file");
        path.to_string_lossy().into_owned()
    };
    let in_bella = |args: &[&str]| demo.run(&[args, &["--org", "bella"]].concat());
    in_bella(&["key", "create", LONG]);
    in_bella(&["member", "add", EMAIL, "--name", LONG, "--role", "viewer"]);
    in_bella(&["member", "invite", &format!("x{EMAIL}"), "--role", "operator"]);
    in_bella(&[
        "knowledge",
        "add",
        &file("text.md", LONG),
        "--title",
        LONG,
        "--tags",
        "menu,prices",
    ]);
    in_bella(&[
        "data",
        "import",
        &file("people.csv", &format!("key,name,email\n1,\"{LONG}\",{EMAIL}\n")),
        "--kind",
        "contacts",
    ]);
    let workflow = "examples/workflows/refund.toml";
    in_bella(&["workflow", "run", workflow, "--input", r#"{"order": "1234"}"#]);
    in_bella(&["send", LONG, "--contact", &LONG[..30]]);
    in_bella(&[
        "agent",
        "start",
        "ada",
        "--type",
        "human",
        "--can",
        "review,sign,translate,proofread",
    ]);
    in_bella(&["agent", "start", "legal", "--type", "echo"]);
    in_bella(&["team", "create", "review", "--members", "ada,legal,gia,enzo"]);
    in_bella(&["delegation", "create", LONG, "--to", "ada", "--by", "legal", "--within", "2h"]);
    in_bella(&["agent", "send", "ada", LONG, "--no-reply"]);
    in_bella(&["agent", "send", "legal", LONG, "--approver", "ada", "--no-reply"]);
    demo
}

/// O22: no line of a listing is wider than the terminal, and what goes to a pipe is complete.
#[test]
fn o22_listings_fit_the_terminal() {
    let demo = crowded();
    let mut wide = Vec::new();
    for listing in listings() {
        let args: Vec<&str> = listing.iter().map(String::as_str).collect();
        for columns in [80, 120] {
            let lines = pseudo_terminal::lines(&args, &demo.home(), columns);
            assert!(!lines.is_empty(), "{args:?} prints nothing");
            let too_wide = lines.into_iter().filter(|line| line.width() > columns.into());
            wide.extend(too_wide.map(|line| format!("{args:?} at {columns}: {line}")));
        }
    }
    assert_eq!(wide, Vec::<String>::new());
    let piped = demo.run(&["knowledge", "ls", "--org", "bella"]);
    assert!(piped.contains(LONG) && !piped.contains('…'), "{piped}");
}

/// O22, A26: the JSON of a listing is data, and says which kind of layer it means.
#[test]
fn o22_json_is_data() {
    let demo = crowded();
    let mut wrong = Vec::new();
    for listing in listings() {
        let args: Vec<&str> = listing.iter().map(String::as_str).collect();
        find_screen_text(&args.join(" "), "", &demo.json(&args), &mut wrong);
    }
    assert_eq!(wrong, Vec::<String>::new());
}

/// Finds times that are not in the form of RFC 3339, shortened ids, symbols, JSON in strings
/// and debugging output.
fn find_screen_text(place: &str, name: &str, value: &Value, wrong: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                if name == "layer" {
                    wrong.push(format!("{place}: a layer of which kind?"));
                }
                find_screen_text(&format!("{place}.{name}"), name, value, wrong);
            }
        }
        Value::Array(items) => {
            items.iter().for_each(|item| find_screen_text(place, name, item, wrong));
        }
        Value::Number(number) => {
            let millis = number.as_i64().unwrap_or_default();
            if (1_000_000_000_000..4_000_000_000_000).contains(&millis) {
                wrong.push(format!("{place}: the time {number}"));
            }
        }
        Value::String(text) => {
            let is_time = name == "at" || name.ends_with("_at");
            let bad_time = is_time && text.parse::<jiff::Timestamp>().is_err();
            let symbol = text.contains(|c| "⚙⏸✗✓⚑→↶▸·…".contains(c));
            let debugging = ["Some(", "None,", " { "].iter().any(|sign| text.contains(sign));
            let nested =
                text.starts_with(['{', '[']) && serde_json::from_str::<Value>(text).is_ok();
            if bad_time || symbol || debugging || nested {
                wrong.push(format!("{place}: {text}"));
            }
        }
        Value::Null | Value::Bool(_) => {}
    }
}
