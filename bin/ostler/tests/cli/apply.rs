//! `ostler apply`, `export` and `schema`, on the installation of a demo.

use std::path::{Path, PathBuf};

use crate::at_terminal::AskingCommand;
use crate::demo::DemoInstallation;
use crate::{ostler, stdout};

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

/// O02: business data of a file or in rows is planned row by row, stored with its org, and
/// planned no more. Orders name contacts of the same files.
#[test]
fn o02_business_data_is_planned_and_applied_with_its_org() {
    let world = Exported::new();
    let entries = "\n[[data]]\nkind = \"orders\"\nrows = [{ number = \"900\", status = \"paid\", \
        placed_at = 2026-11-02, contact = \"ada@example.com\", total = \"12.50 EUR\" }]\n\
        \n[[data]]\nkind = \"contacts\"\nfile = \"people.csv\"\n";
    let text = read(&world.file("bella.toml")) + entries;
    std::fs::write(world.file("bella.toml"), text).expect("written");
    let people = |rows: &str| {
        std::fs::write(world.file("people.csv"), format!("email,name,phone\n{rows}"))
            .expect("written");
    };
    let missing = world.demo.error(&["apply", world.path(), "--plan"]);
    assert!(missing.contains("bella.toml:") && missing.contains("cannot open"), "{missing}");
    people("ada@example.com,Ada,\neva@example.com,Eva,call me\n");
    let home = world.demo.home();
    let refused = ostler(&["apply", world.path(), "--plan", "--home", &home]);
    assert_eq!(refused.status.code(), Some(1), "a plan with a refused row fails");
    let plan = String::from_utf8_lossy(&refused.stdout);
    assert!(plan.contains("+ data bella/contacts people.csv"), "{plan}");
    assert!(
        plan.contains("row 3    refused  phone: `call me` is not a telephone number"),
        "{plan}"
    );
    let refused = String::from_utf8_lossy(&refused.stderr);
    assert!(refused.contains("1 row is refused; correct the data"), "{refused}");
    let refused = world.demo.error(&["apply", world.path(), "--yes"]);
    assert!(refused.contains("nothing was applied, because 1 row is refused"), "{refused}");
    world.demo.error(&["contact", "show", "ada@example.com", "--org", "bella"]);

    people("ada@example.com,Ada,\neva@example.com,Eva,+49 30 1234\n");
    let plan = world.demo.json(&["apply", world.path(), "--plan"]);
    assert_eq!((&plan["data"][0]["created"], &plan["data"][1]["created"]), (&2.into(), &1.into()));
    let said = world.apply(&["--yes"]);
    assert!(said.contains("3 records to create\n") && said.ends_with("applied\n"), "{said}");
    assert_eq!(world.apply(&["--yes"]), "nothing to change\n");
    let audit = world.demo.run(&["audit", "ls", "--org", "bella", "--action", "import_data"]);
    assert!(audit.contains("file: people.csv") && audit.contains("file: rows"), "{audit}");

    // What changed live stays, unless the file changes the same row or --keep file is given.
    let live = world.file("live.csv");
    std::fs::write(&live, "email,name\nada@example.com,Ada Rossi\n").expect("written");
    let live = live.to_str().expect("a path");
    world.demo.run(&["data", "import", live, "--kind", "contacts", "--org", "bella"]);
    assert_eq!(world.apply(&["--plan"]), "nothing to change\n");
    people("ada@example.com,Ada,\neva@example.com,Eva Weber,+49 30 1234\n");
    let plan = world.apply(&["--plan"]);
    assert!(plan.contains("row 3  eva@example.com  change  name\n"), "{plan}");
    assert!(plan.ends_with("1 record to change\n"), "{plan}");
    let plan = world.apply(&["--plan", "--keep", "file"]);
    assert!(plan.contains("row 2  ada@example.com  change  name\n"), "{plan}");
}

/// O02, O04: exported business data plans nothing, here and in an empty installation, where
/// it becomes the same data.
#[test]
fn o02_o04_exported_business_data_is_the_same_data() {
    let demo = DemoInstallation::new();
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("world");
    let path = path.to_str().expect("a path");
    let picture = folder.path().join("oven.png");
    std::fs::write(&picture, b"\x89PNG picture").expect("written");
    let media = folder.path().join("media.json");
    let rows = r#"[{"key": "oven", "title": "The oven", "file": "oven.png", "tags": ["kitchen"]}]"#;
    std::fs::write(&media, rows).expect("written");
    let people = folder.path().join("people.json");
    let rows =
        r#"[{"email": "ada@example.com", "name": "Ada", "notes": ["Likes olives.", "Vegan."]}]"#;
    std::fs::write(&people, rows).expect("written");
    for (file, kind) in [
        ("examples/data/contacts.csv", "contacts"),
        ("examples/data/products.csv", "products"),
        ("examples/data/orders.csv", "orders"),
        (people.to_str().expect("a path"), "contacts"),
        (media.to_str().expect("a path"), "media"),
    ] {
        demo.run(&["data", "import", file, "--kind", kind, "--org", "bella"]);
    }
    let said = demo.run(&["export", path, "--data"]);
    assert!(said.contains("data/bella-orders.json"), "{said}");
    assert_eq!(demo.run(&["apply", path, "--plan"]), "nothing to change\n");
    demo.run(&["export", path, "--data"]);
    assert_eq!(demo.run(&["apply", path, "--plan"]), "nothing to change\n", "an update of files");

    let home = folder.path().join("other");
    let other = home.to_str().expect("a path");
    stdout(&["init", "--home", other, "--email", "ada@example.org", "--name", "Ada"]);
    stdout(&["apply", path, "--yes", "--keep", "file", "--home", other]);
    assert_eq!(stdout(&["apply", path, "--plan", "--home", other]), "nothing to change\n");
    for kind in ["contacts", "products", "orders", "media"] {
        let rows = |home: &str| {
            let text = stdout(&["data", "ls", kind, "--org", "bella", "--json", "--home", home]);
            let rows: serde_json::Value = serde_json::from_str(&text).expect("JSON");
            let rows = rows.as_array().expect("a list").clone().into_iter();
            let mut names: Vec<String> = rows
                .filter(|row| !row["key"].is_null())
                .map(|row| row["name"].to_string())
                .collect();
            names.sort();
            names
        };
        assert!(!rows(other).is_empty(), "{kind}");
        assert_eq!(rows(&demo.home()), rows(other), "{kind}");
    }
}

/// O07: a command changes what lives and not what the files said: the next apply shows it as
/// drift, and what left the files is still archived.
#[test]
fn o07_a_change_by_a_command_is_drift() {
    let world = Exported::new();
    world.apply(&["--yes"]);
    world.demo.run(&["agent", "set", "luca", "--org", "bella", "limits.max_messages_per_day=7"]);
    let plan = world.apply(&["--plan"]);
    assert!(
        plan.contains(
            "agent bella/luca limits.max_messages_per_day\n    applied 100  live 7  file 100"
        ),
        "{plan}"
    );
    let luca = "[[agent]]\nslug = \"luca\"\nname = \"Luca\"\nautonomy = \"supervised\"\nsubtype = \"pm\"\n";
    world.edit("bella.toml", luca, "");
    assert!(world.apply(&["--plan"]).contains("- agent bella/luca"));
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

/// O03: a plan holds for the state that it was made for. While apply waits for the answer,
/// another command changes the org, or a record of it: nothing is applied, and the new plan
/// is shown.
#[test]
fn o03_apply_refuses_a_plan_that_is_out_of_date() {
    let world = Exported::new();
    let home = world.demo.home();
    let apply = ["apply", world.path(), "--keep", "live", "--home", &home];
    world.edit("bella.toml", "name = \"Bella Pizza\"", "name = \"Bella\"");
    let asking = AskingCommand::start(&apply);
    assert!(asking.printed.contains("name \"Bella Pizza\" → \"Bella\""), "{}", asking.printed);
    world.demo.run(&["org", "set", "bella", "retention_days=30"]);
    let ended = asking.answer("y");
    let (said, error) =
        (String::from_utf8_lossy(&ended.stdout), String::from_utf8_lossy(&ended.stderr));
    assert!(!ended.status.success(), "{said}");
    assert!(said.contains("The live state has moved on; this is the plan now:"), "{said}");
    assert!(
        said.contains("retention_days\n    applied (not set)  live 30"),
        "what changed is shown: {said}"
    );
    assert!(error.contains("somebody else changed the configuration"), "{error}");
    assert_eq!(world.demo.json(&["org", "show", "bella"])["name"], "Bella Pizza");

    let ended = AskingCommand::start(&apply).answer("n");
    assert!(String::from_utf8_lossy(&ended.stderr).contains("nothing was changed"));
    let ended = AskingCommand::start(&apply).answer("y");
    assert!(String::from_utf8_lossy(&ended.stdout).ends_with("applied\n"));
    assert_eq!(world.demo.json(&["org", "show", "bella"])["name"], "Bella");

    // A record that changes between plan and apply is the same.
    let row = |name: &str| {
        format!("\n[[data]]\nkind = \"products\"\nrows = [{{ key = \"p1\", name = \"{name}\" }}]\n")
    };
    let text = read(&world.file("bella.toml"));
    std::fs::write(world.file("bella.toml"), text.clone() + &row("Calzone")).expect("written");
    world.apply(&["--yes", "--keep", "live"]);
    std::fs::write(world.file("bella.toml"), text + &row("Calzone XL")).expect("written");
    let asking = AskingCommand::start(&apply);
    world.demo.run(&["data", "rm", "product", "p1", "--org", "bella"]);
    let ended = asking.answer("y");
    let said = String::from_utf8_lossy(&ended.stdout);
    assert!(!ended.status.success() && said.contains("1 record to create"), "{said}");
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
    let said = world.apply(&["--yes", "--keep", "live"]);
    assert!(said.ends_with("kept 1 live value\n"), "{said}");
    assert!(world.demo.run(&["export", "--org", "bella"]).contains("connected = false"));
    assert_eq!(world.apply(&["--plan"]), "nothing to change\n", "the decision is remembered");
    world.apply(&["--yes", "--keep", "file"]);
    assert!(!world.demo.run(&["export", "--org", "bella"]).contains("connected = false"));
    assert_eq!(world.apply(&["--plan"]), "nothing to change\n");
}

/// O04: an org stays in the file that defines it, with the comments at its beginning, also if
/// that file has another name and other orgs; a secret that was made here is not written.
#[test]
fn o04_an_export_updates_the_file_that_defines_the_org() {
    let (demo, folder) = (DemoInstallation::new(), tempfile::tempdir().expect("a folder"));
    let file = folder.path().join("all.toml");
    let text = format!("# Our whole world.\n{}", demo.run(&["export"]));
    std::fs::write(&file, &text).expect("written");
    demo.run(&["integration", "disconnect", "payments", "--org", "bella"]);
    let path = folder.path().to_str().expect("a path");
    for more in [&[][..], &["--org", "bella"]] {
        demo.run(&[&["export", path], more].concat());
        let updated = read(&file);
        assert!(updated.starts_with("# Our whole world.\n"), "{updated}");
        assert!(updated.contains("connected = false"), "{updated}");
        assert!(updated.contains("slug = \"harbour\""), "other orgs stay: {updated}");
        assert!(!updated.contains("file:bnd_"), "{updated}");
        assert!(!folder.path().join("bella.toml").exists());
    }
    assert_eq!(demo.run(&["apply", path, "--plan"]), "nothing to change\n");
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

/// O05: mistakes in the form of a file, secrets in it and broken rules are reported together;
/// what follows from a mistake is not.
#[test]
fn o05_mistakes_of_every_kind_are_reported_together() {
    let world = Exported::new();
    world.edit("bella.toml", "parent = ", "parrent = ");
    world.edit("bella.toml", "create_contact", "create_contct");
    world.edit("bella.toml", "[[integration]]", "[[agent]]\nslug = \"nina\"\nname = \"Nina\"\nsubtype = \"sales_asistant\"\nautonomy = \"supervised\"\n\n[[agent]]\nslug = \"otto\"\nname = \"Otto\"\nsubtype = \"sales_assistant\"\n\n[[channel]]\nname = \"bot\"\nkind = \"telegram\"\nagent = \"otto\"\nsecret = \"123456:ABCDEFGHIJKLMNOPQRSTUVWXYZ\"\n\n[[channel]]\nname = \"chat\"\nkind = \"webchat\"\nagent = \"ninna\"\n\n[[integration]]");
    let said = world.demo.error(&["apply", world.path(), "--yes"]);
    for part in [
        "no key `parrent`; did you mean `parent`?",
        "no tool `create_contct`; did you mean `create_contact`?",
        "no role `sales_asistant`; did you mean `sales_assistant`?",
        "`autonomy` is missing",
        "never written down",
        "no agent `ninna`; did you mean `nina`?",
    ] {
        assert!(said.contains(part), "{part} in {said}");
    }
    assert_eq!(said.matches(".toml:").count(), 6, "each once, and nothing else: {said}");
    assert!(!said.contains("ABCDEFGH"), "{said}");
}

/// O05: what only a channel knows about its settings is checked by the plan, with the place.
#[test]
fn o05_a_plan_checks_the_settings_and_the_kind_of_channels() {
    let world = Exported::new();
    let channel = |name: &str, kind: &str, settings: &str| {
        format!("\n[[channel]]\nname = \"{name}\"\nkind = \"{kind}\"\nagent = \"luca\"\n{settings}")
    };
    let mail =
        "settings = { from = \"a@b.example\", smtp = { host = \"b.example\", port = \"x\" } }\n";
    let channels = channel("mail", "email", mail)
        + &channel("bot", "telegram", "settings = { base_ur = \"https://x.example\" }\n")
        + &channel("text", "sms", "")
        + &channel("page", "web-chat", "");
    let text = read(&world.file("bella.toml")) + &channels;
    std::fs::write(world.file("bella.toml"), text).expect("written");
    let said = world.demo.error(&["apply", world.path(), "--plan"]);
    for part in [
        "expected a whole number from 0 to 65535, not a text",
        "there is no setting `base_ur`; there are `base_url`",
        "the settings of this sms channel: `url` is missing",
        "no channel `web-chat`; did you mean `webchat`?",
    ] {
        assert!(said.contains(part), "{part} in {said}");
    }
    assert_eq!(said.matches("bella.toml:").count(), 4, "{said}");
    assert!(!said.contains("column"), "{said}");
}

/// O05: what others refer to is not retired; the mistake is shown where they name it.
#[test]
fn o05_an_agent_or_a_channel_that_is_referred_to_is_not_retired() {
    let world = Exported::new();
    let text = read(&world.file("bella.toml"))
        + "\n[[agent]]\nslug = \"ida\"\nname = \"Ida\"\nsubtype = \"sales_assistant\"\nautonomy = \"supervised\"\n\
           \n[[channel]]\nname = \"desk\"\nkind = \"webchat\"\nagent = \"ida\"\n";
    std::fs::write(world.file("bella.toml"), text).expect("written");
    world.apply(&["--yes"]);
    world.edit(
        "bella.toml",
        "[[agent]]\nslug = \"ida\"\nname = \"Ida\"\nsubtype = \"sales_assistant\"\nautonomy = \"supervised\"\n",
        "",
    );
    let said = world.demo.error(&["apply", world.path(), "--plan"]);
    assert!(said.contains("bella.toml:") && said.contains("no agent `ida`"), "{said}");
    world.edit("bella.toml", "agent = \"ida\"", "agent = \"luca\"");
    assert!(world.apply(&["--plan"]).contains("- agent bella/ida"));
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
