//! The vocabulary: plain words, one meaning per public type name, constant log
//! messages, documented public items.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::metadata::root;

/// Words and phrases that say nothing a reader would search for.
const BANNED_PHRASES: [&str; 12] = [
    "whoever",
    "whomever",
    "anew",
    "what became of",
    "what came of",
    "nobody knows",
    "of one's own",
    "laid aside",
    "lays aside",
    "comes to naught",
    "in vain",
    "bring a workflow on",
];

/// Names that no type may have: metaphors, participles, prepositions.
const BANNED_TYPES: [&str; 51] = [
    "Above",
    "Also",
    "Around",
    "Arrived",
    "Aside",
    "Asked",
    "Asleep",
    "Came",
    "Cut",
    "Desk",
    "Door",
    "Fired",
    "Further",
    "Furniture",
    "Given",
    "Gone",
    "Heard",
    "How",
    "Kept",
    "Known",
    "LeftOver",
    "Loaded",
    "Missing",
    "NotDone",
    "NotTaken",
    "Office",
    "Parting",
    "Performed",
    "Postings",
    "Purse",
    "Ran",
    "Recorded",
    "Rung",
    "Said",
    "Saved",
    "Seen",
    "Senses",
    "Shown",
    "SoFar",
    "Staff",
    "Street",
    "Swept",
    "TalkPlace",
    "Taken",
    "Todo",
    "Together",
    "Told",
    "Way",
    "Whereabouts",
    "Within",
    "Wrote",
];

/// Public names that several crates may use.
const SHARED_TYPES: [&str; 4] = ["Arguments", "Error", "Options", "Result"];

#[test]
fn sources_and_documents_use_plain_words() {
    let mut found = Vec::new();
    for path in texts() {
        let text = fs::read_to_string(&path).expect("a readable file");
        // Joined, because a phrase may be wrapped.
        let joined = text.lines().map(without_marks).collect::<Vec<_>>().join(" ").to_lowercase();
        let phrases = BANNED_PHRASES.into_iter().filter(|phrase| has_phrase(&joined, phrase));
        found.extend(phrases.map(|phrase| format!("{}: `{phrase}`", relative(&path))));
    }
    assert!(found.is_empty(), "write these plainly:\n{}", found.join("\n"));
}

#[test]
fn no_type_has_a_banned_name() {
    let mut found = Vec::new();
    for path in sources() {
        let text = fs::read_to_string(&path).expect("a readable file");
        for (number, line) in text.lines().enumerate() {
            if let Some(name) = declared_type(line)
                && BANNED_TYPES.contains(&name)
            {
                found.push(format!("{}:{}: {name}", relative(&path), number + 1));
            }
        }
    }
    assert!(found.is_empty(), "name these by what they hold:\n{}", found.join("\n"));
}

#[test]
fn public_type_names_mean_one_thing() {
    let mut places: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for path in sources() {
        let place = relative(&path);
        // The wire types repeat the names of what they carry.
        if place.starts_with("crates/api/") || !place.contains("/src/") {
            continue;
        }
        let text = fs::read_to_string(&path).expect("a readable file");
        for line in text.lines().filter(|line| line.trim_start().starts_with("pub ")) {
            if let Some(name) = declared_type(line)
                && !SHARED_TYPES.contains(&name)
            {
                places.entry(name.to_owned()).or_default().push(place.clone());
            }
        }
    }
    let repeated: Vec<String> = places
        .into_iter()
        .filter(|(_, places)| places.len() > 1)
        .map(|(name, places)| format!("{name}: {}", places.join(", ")))
        .collect();
    assert!(repeated.is_empty(), "one name, several types:\n{}", repeated.join("\n"));
}

#[test]
fn log_messages_are_constant() {
    let mut found = Vec::new();
    for path in sources() {
        let text = fs::read_to_string(&path).expect("a readable file");
        for level in ["error", "warn", "info", "debug", "trace"] {
            let macro_call = format!("tracing::{level}!(");
            for (at, _) in text.match_indices(&macro_call) {
                let arguments = arguments(&text[at + macro_call.len()..]);
                let message = last_argument(arguments).trim();
                if !message.starts_with('"') || message.contains('{') {
                    let number = text[..at].lines().count();
                    found.push(format!("{}:{number}: {message}", relative(&path)));
                }
            }
        }
    }
    assert!(found.is_empty(), "put values into fields:\n{}", found.join("\n"));
}

/// A26: fields say whether they mean a business layer or a policy layer, in stored and sent
/// data and in the log.
#[test]
fn a26_no_field_in_the_sources_is_called_layer() {
    let mut found = Vec::new();
    for path in sources().into_iter().filter(|path| relative(path).contains("/src/")) {
        let text = fs::read_to_string(&path).expect("a readable file");
        let mut in_type = false;
        for (number, line) in text.lines().enumerate() {
            let code = line.trim();
            in_type = match declared_type(line) {
                Some(_) => line.ends_with('{'),
                None => in_type && line != "}",
            };
            let field = code.trim_start_matches("pub ").trim_start_matches("pub(crate) ");
            if (in_type && field.starts_with("layer:")) || code.contains("\"layer\"") {
                found.push(format!("{}:{}: {code}", relative(&path), number + 1));
            }
        }
        for level in ["error", "warn", "info", "debug", "trace"] {
            for (at, _) in text.match_indices(&format!("tracing::{level}!(")) {
                let fields = arguments(&text[at + "tracing::".len() + level.len() + 2..]);
                let mut fields = fields.split(',').map(str::trim);
                if fields.any(|field| field.trim_start_matches(['%', '?']).starts_with("layer")) {
                    let number = text[..at].lines().count();
                    found.push(format!("{}:{number}: a field of the log", relative(&path)));
                }
            }
        }
    }
    assert!(found.is_empty(), "say which kind of layer:\n{}", found.join("\n"));
}

#[test]
fn public_items_are_documented() {
    let mut found = Vec::new();
    for path in sources().into_iter().filter(|path| relative(path).contains("/src/")) {
        let text = fs::read_to_string(&path).expect("a readable file");
        let (mut documented, mut attribute) = (false, false);
        for (number, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.starts_with("///") {
                documented = true;
            } else if attribute || line.starts_with("#[") {
                attribute = !line.ends_with(']');
            } else {
                if is_public_item(line) && !documented {
                    found.push(format!("{}:{}: {line}", relative(&path), number + 1));
                }
                documented = false;
            }
        }
    }
    assert!(found.is_empty(), "say what these do:\n{}", found.join("\n"));
}

fn is_public_item(line: &str) -> bool {
    // A macro documents what it declares by an attribute.
    let Some(rest) = line.strip_prefix("pub ").filter(|_| !line.contains('$')) else {
        return false;
    };
    let rest = rest.trim_start_matches("async ").trim_start_matches("unsafe ");
    let kinds = ["fn ", "const ", "static ", "struct ", "enum ", "trait ", "type "];
    kinds.iter().any(|kind| rest.starts_with(kind))
}

/// The name of the type that a line declares.
fn declared_type(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let line = match line.strip_prefix("pub") {
        Some(rest) if rest.starts_with('(') => rest.split_once(") ")?.1,
        Some(rest) => rest.trim_start(),
        None => line,
    };
    let rest =
        ["struct ", "enum ", "trait ", "type "].iter().find_map(|kind| line.strip_prefix(kind))?;
    let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
    Some(&rest[..end]).filter(|name| !name.is_empty())
}

/// Returns a line without the marks around its words where a sentence is wrapped.
fn without_marks(line: &str) -> &str {
    line.trim().trim_start_matches(['/', '!', '#', '*']).trim_end_matches('\\').trim()
}

fn has_phrase(line: &str, phrase: &str) -> bool {
    line.match_indices(phrase).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let after = line[at + phrase.len()..].chars().next();
        !before.is_some_and(char::is_alphanumeric) && !after.is_some_and(char::is_alphanumeric)
    })
}

/// The arguments of a macro call, up to its closing parenthesis.
fn arguments(text: &str) -> &str {
    let (mut depth, mut quoted, mut escaped) = (1, false, false);
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            '(' if !quoted => depth += 1,
            ')' if !quoted => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return &text[..at];
        }
    }
    text
}

fn last_argument(arguments: &str) -> &str {
    let arguments = arguments.trim().trim_end_matches(',');
    let (mut depth, mut quoted, mut escaped, mut start) = (0, false, false, 0);
    for (at, c) in arguments.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            '(' | '[' | '{' if !quoted => depth += 1,
            ')' | ']' | '}' if !quoted => depth -= 1,
            ',' if !quoted && depth == 0 => start = at + 1,
            _ => {}
        }
    }
    &arguments[start..]
}

fn relative(path: &Path) -> String {
    path.strip_prefix(root()).unwrap_or(path).display().to_string()
}

/// Every Rust file of the workspace.
pub(crate) fn sources() -> Vec<PathBuf> {
    files(&["crates", "bin", "tests"], "rs")
}

/// Every file that people read, except this list and the changelog.
fn texts() -> Vec<PathBuf> {
    let mut all = sources();
    all.extend(files(&["docs"], "md"));
    all.push(root().join("README.md"));
    all.retain(|path| !path.ends_with("tests/house/words.rs"));
    all
}

fn files(folders: &[&str], extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open: Vec<PathBuf> = folders.iter().map(|folder| root().join(folder)).collect();
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder).expect("a readable folder") {
            let path = entry.expect("a readable entry").path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|found| found == extension) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}
