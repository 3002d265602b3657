//! `ostler data`.

use std::path::Path;

use serde_json::{Value, json};

use crate::demo::DemoInstallation;
use crate::ostler;

fn file(folder: &Path, name: &str, text: &str) -> String {
    let path = folder.join(name);
    std::fs::write(&path, text).expect("the file is written");
    path.to_string_lossy().into_owned()
}

fn counts(report: &Value) -> [u64; 4] {
    ["created", "changed", "unchanged", "refused"]
        .map(|name| report[name].as_u64().expect("a count"))
}

/// O16: a dry run says what would happen to each row; a file with a refused row changes
/// nothing; importing twice changes nothing; a changed row updates.
#[test]
fn o16_a_file_is_imported_once() {
    let demo = DemoInstallation::new();
    let folder = tempfile::tempdir().expect("a folder");
    let import = |file: &str, kind: &str, more: &[&str]| -> Value {
        demo.json(&[&["data", "import", file, "--kind", kind, "--org", "bella"], more].concat())
    };
    let people = "name,E-Mail,phone\nOtto,otto@x.de,+49 30 1234\nMara,,+49 40 99\n";
    let people = file(folder.path(), "people.csv", people);
    assert_eq!(counts(&import(&people, "contacts", &["--dry-run"])), [2, 0, 0, 0]);
    assert_eq!(counts(&import(&people, "contacts", &[])), [2, 0, 0, 0]);
    let again = import(&people, "contacts", &[]);
    assert_eq!(counts(&again), [0, 0, 2, 0]);
    let card = "BEGIN:VCARD\nVERSION:3.0\nFN:Otto Klein\nEMAIL:otto@x.de\nEND:VCARD\n";
    let card = file(folder.path(), "otto.vcf", card);
    let changed = import(&card, "contacts", &[]);
    assert_eq!(
        changed["rows"][0],
        json!({"row": 1, "key": "otto@x.de", "outcome": "change",
        "fields": ["name"]})
    );

    // An order that the demo has, one of a known contact, and one of nobody.
    let orders = "number;customer;status;placed_at;total\n\
        #1234;;returned;2026-11-01;20.00 EUR\n\
        77;+49 30 1234;paid;2026-11-02T14:30;8.50 EUR\n\
        78;nobody@x.de;paid;soon;8.50 EUR\n\
        79;nobody@x.de;paid;2026-11-02;8.50 EUR\n";
    let orders = file(folder.path(), "orders.csv", orders);
    let refused = ostler(&[
        "data",
        "import",
        &orders,
        "--kind",
        "orders",
        "--org",
        "bella",
        "--home",
        &demo.home(),
    ]);
    assert!(!refused.status.success());
    let said = String::from_utf8(refused.stderr).expect("text");
    assert!(said.contains("nothing was imported, because 2 rows are refused"), "{said}");
    assert_eq!(
        demo.json(&["data", "ls", "orders", "--org", "bella"]).as_array().map(Vec::len),
        Some(1)
    );
    let planned = import(&orders, "orders", &["--dry-run"]);
    assert_eq!(planned["applied"], false);
    let outcomes: Vec<_> = planned["rows"]
        .as_array()
        .expect("rows")
        .iter()
        .map(|row| (row["row"].as_u64(), row["outcome"].as_str(), row["column"].as_str()))
        .collect();
    assert_eq!(
        outcomes,
        [
            (Some(2), Some("change"), None),
            (Some(3), Some("create"), None),
            (Some(4), Some("refused"), Some("placed_at")),
            (Some(5), Some("refused"), Some("contact")),
        ]
    );
    assert_eq!(counts(&import(&orders, "orders", &["--skip-refused"])), [1, 1, 0, 2]);
    assert_eq!(counts(&import(&orders, "orders", &["--skip-refused"])), [0, 0, 2, 2]);
    let otto = demo.json(&["contact", "show", "otto@x.de", "--org", "bella"]);
    let order = demo.json(&["data", "show", "order", "77", "--org", "bella"]);
    assert_eq!(order["data"]["contact"], otto["id"]);
    assert_eq!(
        demo.json(&["data", "show", "order", "1234", "--org", "bella"])["data"]["status"],
        "returned"
    );
    demo.run(&["data", "rm", "order", "77", "--org", "bella"]);
    let gone = demo.error(&["data", "show", "order", "77", "--org", "bella"]);
    assert!(gone.contains("no order has the key or id `77`"), "{gone}");
}

/// O16: all kinds are imported in all formats, and an agent's tools read them.
#[test]
fn o16_agents_read_what_was_imported() {
    let demo = DemoInstallation::new();
    let folder = tempfile::tempdir().expect("a folder");
    file(folder.path(), "logo.png", "not really a picture");
    let table = [
        (
            "products",
            "p.json",
            r#"[{"sku": "C-1", "name": "Calzone", "price": "9.00 EUR"}]"#,
            "C-1",
        ),
        (
            "events",
            "e.csv",
            "key,name,starts_at,ends_at\nw,Wine,2027-01-08T19:00,2027-01-08T22:00\n",
            "w",
        ),
        ("forms", "f.jsonl", "{\"key\": \"f\", \"name\": \"Feedback\", \"fields\": []}\n", "f"),
        ("media", "m.csv", "key,title,file\nlogo,Logo,logo.png\n", "logo"),
    ];
    for (kind, name, text, key) in table {
        let path = file(folder.path(), name, text);
        let import = ["data", "import", &path, "--kind", kind, "--org", "bella"];
        assert_eq!(counts(&demo.json(&import)), [1, 0, 0, 0], "{kind}");
        assert_eq!(counts(&demo.json(&import)), [0, 0, 1, 0], "{kind}");
        let shown = demo.json(&["data", "show", kind, key, "--org", "bella"]);
        assert_eq!(shown["key"], key, "{kind}");
        let listed = demo.run(&["data", "ls", kind, "--org", "bella"]);
        assert!(listed.lines().all(|line| line.chars().count() <= 80), "{listed}");
    }
    let media = demo.json(&["data", "show", "media", "logo", "--org", "bella"]);
    assert_eq!(media["data"]["media_type"], "image/png");
    let missing = file(folder.path(), "x.csv", "key,title,file\nx,X,none.png\n");
    let missing = demo.error(&["data", "import", &missing, "--kind", "media", "--org", "bella"]);
    assert!(missing.contains("nothing was imported"), "{missing}");
    let nameless = file(folder.path(), "n.csv", "name\nCalzone\n");
    let nameless = ["data", "import", &nameless, "--kind", "products", "--org", "bella"];
    let said = demo.error(&nameless);
    assert!(said.contains("name the column with --key"), "{said}");
    // Records that were not imported are recognized by the column that is the key.
    let known = file(folder.path(), "k.csv", "name,active\nMargherita,no\n");
    let known = ["data", "import", &known, "--kind", "products", "--key", "name", "--org", "bella"];
    assert_eq!(counts(&demo.json(&known)), [0, 1, 0, 0]);
    let said = demo.error(&["data", "rm", "contacts", "rosa", "--org", "bella"]);
    assert!(said.contains("ostler contact delete"), "{said}");
}
