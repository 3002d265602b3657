//! `ostler apply`, `export` and `schema`, on the installation of a demo.

use std::path::{Path, PathBuf};

use crate::demo::DemoInstallation;
use crate::stdout;

/// A demo with its world as files.
struct Exported {
    demo: DemoInstallation,
    folder: tempfile::TempDir,
}

impl Exported {
    fn new() -> Self {
        let (demo, folder) = (DemoInstallation::new(), tempfile::tempdir().expect("a folder"));
        let exported = Self { demo, folder };
        exported.demo.run(&["export", exported.path()]);
        exported
    }

    fn path(&self) -> &str {
        self.folder.path().to_str().expect("a plain path")
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn edit(&self, name: &str, old: &str, new: &str) {
        let text = read(&self.file(name));
        assert!(text.contains(old), "{old} in {text}");
        std::fs::write(self.file(name), text.replacen(old, new, 1)).expect("written");
    }

    fn apply(&self, more: &[&str]) -> String {
        self.demo.run(&[&["apply", self.path()], more].concat())
    }
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).expect("a file")
}

/// O02, O03, O04: an export plans nothing; a change is shown with old and new value, made,
/// and planned no more.
#[test]
fn o02_o03_o04_what_a_file_says_is_planned_applied_and_then_done() {
    let world = Exported::new();
    assert_eq!(world.apply(&["--plan"]), "nothing to change\n");
    world.edit("bella.toml", "max_handoffs = 5", "max_handoffs = 2");
    world.edit("bella.toml", "[[integration]]", "[[agent]]\nslug = \"nina\"\nname = \"Nina\"\nsubtype = \"sales_assistant\"\nautonomy = \"supervised\"\n\n[[integration]]");
    let plan = world.apply(&["--plan"]);
    for part in [
        "~ org bella",
        "settings.team.max_handoffs 5 → 2",
        "+ agent bella/nina",
        "1 to create, 1 to change",
    ] {
        assert!(plan.contains(part), "{part} in {plan}");
    }
    assert_eq!(world.apply(&["--plan"]), plan, "a plan changes nothing");
    assert!(world.apply(&["--yes"]).ends_with("applied\n"));
    assert_eq!(world.apply(&["--yes"]), "nothing to change\n");
    assert!(world.demo.run(&["export", "--org", "bella"]).contains("slug = \"nina\""));
}

/// O02: what a file does not have any more is archived, and said before.
#[test]
fn o02_an_agent_that_left_the_file_is_archived() {
    let world = Exported::new();
    world.apply(&["--yes"]);
    let luca = "[[agent]]\nslug = \"luca\"\nname = \"Luca\"\nautonomy = \"supervised\"\nsubtype = \"pm\"\n";
    world.edit("bella.toml", luca, "");
    assert!(world.apply(&["--plan"]).contains("- agent bella/luca\n\n1 to archive or remove"));
    world.apply(&["--yes"]);
    assert_eq!(world.apply(&["--plan"]), "nothing to change\n");
    assert!(world.demo.run(&["export", "--org", "bella"]).contains("status = \"archived\""));
}

/// O03: without a terminal nothing is applied unless --yes says so.
#[test]
fn o03_without_a_terminal_apply_needs_yes() {
    let world = Exported::new();
    world.edit("bella.toml", "name = \"Bella Pizza\"", "name = \"Bella\"");
    let said = world.demo.error(&["apply", world.path()]);
    assert!(said.contains("nobody is here to ask"), "{said}");
    assert!(world.apply(&["--plan"]).contains("\"Bella Pizza\" → \"Bella\""));
}

/// O07: what was changed live since the last apply is shown apart, and nothing is
/// overwritten without a decision.
#[test]
fn o07_drift_is_shown_apart_and_decided() {
    let world = Exported::new();
    world.apply(&["--yes"]);
    let live = world
        .demo
        .run(&["export", "--org", "bella"])
        .replace("max_handoffs = 5", "max_handoffs = 9");
    let other = world.file("other.txt");
    std::fs::write(&other, live).expect("written");
    world.demo.run(&["apply", other.to_str().expect("a path"), "--yes"]);
    // The files of the folder are older now than what was applied last.
    let plan = world.apply(&["--plan"]);
    assert!(plan.contains("settings.team.max_handoffs 9 → 5"), "{plan}");
    world.apply(&["--yes"]);
    world.demo.run(&["integration", "disconnect", "payments", "--org", "bella"]);
    let plan = world.apply(&["--plan"]);
    assert!(plan.contains("changed live since the last apply\n  integration bella/payments connected\n    applied true  live false  file true"), "{plan}");
    let said = world.demo.error(&["apply", world.path(), "--yes"]);
    assert!(said.contains("decide with --keep live or --keep file"), "{said}");
    world.apply(&["--yes", "--keep", "live"]);
    assert!(world.demo.run(&["export", "--org", "bella"]).contains("connected = false"));
    world.apply(&["--yes", "--keep", "file"]);
    assert_eq!(world.apply(&["--plan"]), "nothing to change\n");
}

/// O04: an export into files that exist keeps their comments.
#[test]
fn o04_an_export_keeps_the_comments_of_files() {
    let world = Exported::new();
    world.edit("bella.toml", "[[integration]]", "# Cards only.\n[[integration]]");
    world.demo.run(&["integration", "disconnect", "payments", "--org", "bella"]);
    world.demo.run(&["export", world.path()]);
    let text = read(&world.file("bella.toml"));
    assert!(
        text.contains("# Cards only.\n[[integration]]\nservice = \"payments\"\nconnected = false"),
        "{text}"
    );
    assert!(text.starts_with("#:schema ./ostler.schema.json\n"), "{text}");
    assert_eq!(world.apply(&["--plan"]), "nothing to change\n");
}

/// O05: errors name the file, the line and the column, and nothing is changed.
#[test]
fn o05_a_mistake_names_its_place_and_changes_nothing() {
    let world = Exported::new();
    world.edit(
        "bella.toml",
        "require_approval_for = [\"create_contact\"]",
        "require_approval_for = [\"create_contct\"]",
    );
    world.edit("harbour.toml", "autonomy = \"semi_autonomous\"", "autonomy = \"supervised\"");
    let said = world.demo.error(&["apply", world.path(), "--yes"]);
    for part in [
        "bella.toml:",
        "no tool `create_contct`; did you mean `create_contact`?",
        "^^^^^",
        "harbour.toml:",
        "cannot be supervised; allowed here: autonomous",
    ] {
        assert!(said.contains(part), "{part} in {said}");
    }
}

/// O09, H03: a protected agent cannot be paused, not even by the operator.
#[test]
fn o09_h03_a_system_agent_stays_active() {
    let world = Exported::new();
    world.edit("platform.toml", "slug = \"quinn\"\n", "slug = \"quinn\"\nstatus = \"paused\"\n");
    let said = world.demo.error(&["apply", world.path(), "--yes"]);
    assert!(said.contains("`quinn` is a system agent and always active"), "{said}");
}

/// O05: the schema describes every kind of resource.
#[test]
fn o05_the_schema_describes_every_table() {
    let schema: serde_json::Value = serde_json::from_str(&stdout(&["schema"])).expect("JSON");
    for table in ["platform", "org", "agent", "channel", "integration", "document", "member"] {
        assert!(schema["properties"][table].is_object(), "{table}");
    }
    assert_eq!(schema["$defs"]["AgentDefinition"]["additionalProperties"], false);
    assert!(schema["$defs"]["AgentDefinition"]["properties"]["autonomy"].is_object());
}
