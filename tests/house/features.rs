//! `docs/FEATURES.md` tells the truth: every row that claims a proof names
//! tests that exist and that name the row.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::metadata::root;

/// A row of the list.
struct Row {
    id: String,
    state: String,
    /// The tests it names.
    proofs: Vec<String>,
}

fn rows() -> Vec<Row> {
    let text = std::fs::read_to_string(root().join("docs/FEATURES.md"))
        .expect("docs/FEATURES.md is there");
    let cells = |line: &str| -> Vec<String> {
        line.trim().trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect()
    };
    text.lines()
        .filter(|line| line.starts_with('|'))
        .map(cells)
        .filter(|cells| id(&cells[0]).is_some())
        .map(|cells| {
            assert_eq!(cells.len(), 4, "row {} has id, feature, state and proof", cells[0]);
            let proofs = cells[3].split('`').skip(1).step_by(2).map(str::to_owned).collect();
            Row { id: cells[0].clone(), state: cells[2].clone(), proofs }
        })
        .collect()
}

/// Every test function of the repository, with the ids that it or its doc
/// comment names.
fn tests() -> BTreeMap<String, BTreeSet<String>> {
    let mut tests = BTreeMap::new();
    for folder in ["crates", "bin", "tests"] {
        collect_tests(&root().join(folder), &mut tests);
    }
    tests
}

fn collect_tests(path: &Path, tests: &mut BTreeMap<String, BTreeSet<String>>) {
    if path.is_dir() {
        for entry in std::fs::read_dir(path).expect("a readable folder") {
            collect_tests(&entry.expect("a readable entry").path(), tests);
        }
    } else if path.extension().is_some_and(|extension| extension == "rs") {
        let text = std::fs::read_to_string(path).expect("a readable file");
        let (mut comment, mut is_test, mut declaring) = (String::new(), false, false);
        for line in text.lines().map(str::trim) {
            if line.starts_with("///") {
                comment.push_str(line);
            } else if line.starts_with("#[") {
                is_test |= line.starts_with("#[test]") || line.starts_with("#[tokio::test");
            } else if line.starts_with("on_every_") && line.contains("!(") {
                // The macro names the function below it and makes tests of it.
                (declaring, is_test) = (!line.ends_with(");"), true);
            } else if declaring {
                declaring = line != ");";
            } else if !line.is_empty() {
                if let Some(name) = function_name(line).filter(|_| is_test) {
                    let words = format!("{comment} {}", name.to_uppercase());
                    tests.entry(name).or_default().extend(ids(&words));
                }
                (comment, is_test) = (String::new(), false);
            }
        }
    }
}

fn function_name(line: &str) -> Option<String> {
    let rest = ["fn ", "async fn ", "pub fn "].iter().find_map(|start| line.strip_prefix(start))?;
    Some(rest.split(|c: char| !c.is_alphanumeric() && c != '_').next()?.to_owned())
}

/// The row ids in a text; `L37-L45` and `L37_TO_L45` mean the whole range.
fn ids(text: &str) -> BTreeSet<String> {
    let text = text.replace("_TO_", "-").replace('_', " ");
    let mut found = BTreeSet::new();
    for word in text.split(|c: char| !c.is_ascii_alphanumeric() && c != '-') {
        let (first, last) = word.split_once('-').unwrap_or((word, word));
        if let (Some((letter, first)), Some((_, last))) = (id(first), id(last)) {
            found.extend((first..=last).map(|number| format!("{letter}{number:02}")));
        }
    }
    found
}

/// A letter and two digits.
fn id(text: &str) -> Option<(char, u32)> {
    let letter = text.chars().next().filter(char::is_ascii_uppercase)?;
    let digits = text.get(1..).filter(|digits| digits.len() == 2)?;
    Some((letter, digits.parse().ok()?))
}

#[test]
fn every_row_has_a_state() {
    let rows = rows();
    assert!(rows.len() > 300, "only {} rows", rows.len());
    let mut seen = BTreeSet::new();
    for row in rows {
        assert!(seen.insert(row.id.clone()), "{} is listed twice", row.id);
        let known = ["done", "partial", "open"].contains(&row.state.as_str());
        assert!(known, "{}: {}", row.id, row.state);
        assert_eq!(row.proofs.is_empty(), row.state == "open", "{}: state and proof", row.id);
    }
}

#[test]
fn every_proof_is_a_test_that_names_its_row() {
    let tests = tests();
    let mut wrong = Vec::new();
    for row in rows() {
        for proof in &row.proofs {
            match tests.get(proof) {
                None => wrong.push(format!("{}: there is no test {proof}", row.id)),
                Some(ids) if !ids.contains(&row.id) => {
                    wrong.push(format!("{}: {proof} does not name it", row.id));
                }
                Some(_) => {}
            }
        }
    }
    assert_eq!(wrong, [""; 0]);
}

#[test]
fn a_row_that_a_test_names_is_not_open() {
    let named: BTreeSet<String> = tests().into_values().flatten().collect();
    let rows = rows();
    let known: BTreeSet<&String> = rows.iter().map(|row| &row.id).collect();
    let unknown: Vec<&String> = named.iter().filter(|id| !known.contains(id)).collect();
    assert_eq!(unknown, [""; 0], "tests name rows that do not exist");
    let open: Vec<&String> = rows
        .iter()
        .filter(|row| row.state == "open" && named.contains(&row.id))
        .map(|row| &row.id)
        .collect();
    assert_eq!(open, [""; 0], "open rows that tests name");
}

#[test]
fn ids_are_read_from_names_and_comments() {
    let check = |text: &str, expected: &[&str]| {
        let expected: BTreeSet<String> = expected.iter().map(ToString::to_string).collect();
        assert_eq!(ids(text), expected, "{text}");
    };
    check("/// A05, L37-L39: a rule", &["A05", "L37", "L38", "L39"]);
    check("D01_TO_D03_AUTONOMY_DECIDES", &["D01", "D02", "D03"]);
    check("B03_B04_LISTS", &["B03", "B04"]);
    check("UTF8 A1 AB12 X123 nothing", &[]);
}
