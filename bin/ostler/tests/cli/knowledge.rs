//! `ostler knowledge`.

use std::fs;
use std::path::Path;

use crate::demo::DemoInstallation;
use crate::pdf;

fn path(folder: &Path, name: &str, bytes: &[u8]) -> String {
    let file = folder.join(name);
    fs::write(&file, bytes).expect("the file is written");
    file.to_string_lossy().into_owned()
}

/// A13: the text of a PDF is a document like any other: it is listed and in the prompt
/// of the agent.
#[test]
fn a13_the_text_of_a_pdf_reaches_the_agent() {
    let demo = DemoInstallation::new();
    let folder = tempfile::tempdir().expect("a folder");
    let lines = ["Bella Pizza (allergens)", "The Margherita has milk and gluten."];
    let file = path(folder.path(), "Allergens.pdf", &pdf::with_lines(&lines));
    let said = demo.run(&["knowledge", "add", &file, "--org", "bella", "--tags", "menu"]);
    assert!(said.contains("Allergens"), "{said}");
    let listed = demo.json(&["knowledge", "ls", "--org", "bella"]);
    let listed = listed.as_array().expect("a list");
    let found = listed.iter().find(|one| one["title"] == "Allergens").expect("it is listed");
    let words = lines.join("\n").len() as u64;
    let bytes = found["size"].as_u64().expect("a length");
    assert!((words..words + 10).contains(&bytes), "{found}");
    demo.run(&["send", "hello", "--org", "bella", "--contact", "otto"]);
    let shown = demo.json(&["session", "show", "otto"]);
    let run = demo.json(&["harness", "show", shown["runs"][0]["id"].as_str().expect("a run")]);
    assert!(run.to_string().contains(found["id"].as_str().expect("an id")), "{run}");
}

#[test]
fn bad_files_are_rejected_with_a_clear_error() {
    let demo = DemoInstallation::new();
    let folder = tempfile::tempdir().expect("a folder");
    let good = pdf::with_lines(&["Menu"]);
    let nested = format!("{}{}", "[".repeat(200_000), "]".repeat(200_000));
    let circle = pdf::of_objects(&[
        "<< /Type /Catalog /Pages 2 0 R >>",
        "<< /Type /Pages /Kids [2 0 R 2 0 R] /Count 2 >>",
    ]);
    let cut = |at: usize| good[..at].to_vec();
    let locked = String::from_utf8_lossy(&good).replace(
        "/Root 1 0 R",
        "/Root 1 0 R /Encrypt << /Filter /Standard /V 1 /R 2 /O <00> /U <00> /P -4 >> /ID [<00> <00>]",
    );
    let table: [(&str, Vec<u8>, &str); 8] = [
        ("scan.pdf", pdf::scan(), "contains no text, only pictures"),
        ("begun.pdf", b"%PDF-1.7\n".to_vec(), "cannot be read: it is damaged"),
        ("cut.pdf", cut(good.len() / 2), "cannot be read: it is damaged"),
        ("nested.pdf", pdf::of_objects(&["<< /Type /Catalog /Pages 2 0 R >>", &nested]), ""),
        ("circle.pdf", circle, ""),
        ("locked.pdf", locked.into_bytes(), "protected by a password"),
        ("menu.docx", b"PK\x03\x04\xff\xfe".to_vec(), "neither text in UTF-8 nor a PDF"),
        ("long.md", vec![b'a'; 2 << 20], "at most 262144 bytes"),
    ];
    for (name, bytes, expected) in table {
        let file = path(folder.path(), name, &bytes);
        let said = demo.error(&["knowledge", "add", &file, "--org", "bella"]);
        let sentence = said.strip_prefix("error: ").unwrap_or_else(|| panic!("{name}: {said}"));
        assert!(sentence.contains(name) && sentence.contains(expected), "{name}: {said}");
        assert!(!said.contains("panicked"), "{name}: {said}");
    }
}

#[test]
fn an_empty_document_and_the_same_document_twice_are_refused() {
    let demo = DemoInstallation::new();
    let folder = tempfile::tempdir().expect("a folder");
    let empty = path(folder.path(), "empty.md", b" \n");
    let said = demo.error(&["knowledge", "add", &empty, "--org", "bella"]);
    assert!(said.contains("the text of a document must not be empty"), "{said}");
    let hours = path(folder.path(), "hours.md", b"We open at six.");
    demo.run(&["knowledge", "add", &hours, "--org", "bella"]);
    let again = path(folder.path(), "again.md", b"We open at six.");
    let said = demo.error(&["knowledge", "add", &again, "--org", "bella"]);
    assert!(said.contains("is in the knowledge base already, as `hours` (doc_"), "{said}");
    let listed = demo.json(&["knowledge", "ls", "--org", "bella"]);
    let titles = listed.as_array().expect("a list").iter().map(|one| &one["title"]);
    assert_eq!(titles.filter(|title| *title == "hours" || *title == "again").count(), 1);
}
