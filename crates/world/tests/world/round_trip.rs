//! O04: an export is the same world again.

use ostler_world::export::{files, text, update};
use ostler_world::plan::Plan;
use ostler_world::{Address, Resources};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::support::{WORLD, resources};

fn parse_all(files: &std::collections::BTreeMap<String, String>) -> Resources {
    let files = files.iter().map(|(name, text)| (name.as_str(), text.as_str()));
    ostler_world::file::parse(files).unwrap_or_else(|error| panic!("{error}")).resources
}

/// O04: nothing is lost in one file or in several.
#[test]
fn o04_an_export_is_the_same_world() {
    let world = resources(WORLD);
    assert_eq!(resources(&text(&world)), world);
    let written = files(&world);
    assert_eq!(
        written.keys().collect::<Vec<_>>(),
        ["harbour.toml", "nordlicht.toml", "platform.toml"]
    );
    assert_eq!(parse_all(&written), world);
}

/// O04: comments of a file that is updated survive, and the rest follows what lives.
#[test]
fn o04_comments_survive_an_update() {
    let commented = WORLD
        .replace("retention_days = 90", "# The law wants this.\nretention_days = 90 # days")
        .replace(
            "[[agent]]\norg = \"nordlicht\"\nslug = \"billing\"",
            "# Jon looks twice.\n[[agent]]\norg = \"nordlicht\"\nslug = \"billing\"",
        );
    let mut live = resources(&WORLD.replace("max_handoffs = 3", "max_handoffs = 4"));
    live.remove(&Address {
        org: "nordlicht".into(),
        kind: ostler_world::Kind::Document,
        name: "Opening hours".into(),
    });
    let updated = update("world.toml", &commented, &live).unwrap();
    assert!(updated.contains("# The law wants this.\nretention_days = 90 # days"), "{updated}");
    assert!(updated.contains("# Jon looks twice."), "{updated}");
    assert_eq!(resources(&updated), live);
    assert_eq!(update("world.toml", &updated, &live).unwrap(), updated);
}

/// A field and a value for it.
fn field() -> impl Strategy<Value = (&'static str, Value)> {
    let text = "[a-zA-Z0-9 \"'\\\\\n#=äß…]{1,40}";
    prop_oneof![
        text.prop_map(|text| ("name", json!(text))),
        (1u32..4000).prop_map(|days| ("retention_days", json!(days))),
        any::<bool>().prop_map(|archived| ("archived", json!(archived))),
        (0u64..1_000_000).prop_map(|credits| ("starting_credits", json!(credits))),
        proptest::option::of(0u64..10_000).prop_map(|n| ("credits", json!({"monthly": n, "daily": 3}))),
        (0u32..20, any::<bool>(), text).prop_map(|(n, flag, identifier)| ("settings", json!({
            "team": {"max_handoffs": n, "team_group_enabled": flag, "auto_resume_after_human": {"after_secs": 60}},
            "lifetimes": {"sms": {"idle_secs": 60, "longest_secs": 120}, "my.gateway": {"idle_secs": 1, "longest_secs": 2}},
            "people": {"owner": {"channel": "bot", "identifier": identifier}},
            "triggers": {"negative": "useless\nawful"},
            "notices": [{"person": "ole@nordlicht.example", "chat": {"channel": "bot", "identifier": "9"},
                "topics": {"credits": ["email", "digest"], "handoffs": []},
                "quiet_hours": {"from": "22:00", "to": "07:00", "urgent": "wait"},
                "digest": {"at": "18:30", "to": "email"}, "unanswered": {"after_secs": 600}}],
        }))),
        proptest::collection::btree_set("[a-z_]{1,12}", 0..4).prop_map(|deny| ("tools", json!({"deny": deny}))),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    /// O04: for generated worlds an export plans nothing, also after an update of an old
    /// file.
    #[test]
    fn o04_the_export_of_a_generated_world_plans_nothing(fields in proptest::collection::vec(field(), 0..6)) {
        let before = resources(WORLD);
        let mut world = before.clone();
        let address = Address::of_org("nordlicht");
        for (name, value) in fields {
            let changed = world[&address].with(name, value);
            let filled = ostler_world::Resource::parse(address.kind, changed.value()).unwrap();
            world.insert(address.clone(), filled);
        }
        let exported = parse_all(&files(&world));
        prop_assert_eq!(&exported, &world);
        prop_assert!(Plan::new(&exported, &world, &before, None).unwrap().changes.is_empty());
        let updated = update("world.toml", WORLD, &world).unwrap();
        prop_assert_eq!(resources(&updated), world);
    }
}
