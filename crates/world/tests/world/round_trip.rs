//! O04: an export is the same world again.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ostler_domain::id::{AgentId, BindingId, OrgId};
use ostler_domain::time::Timestamp;
use ostler_world::export::{fields, file_of, text, update};
use ostler_world::file::parse_fields;
use ostler_world::plan::{AppliedFiles, Plan};
use ostler_world::spec::{AgentDefinition, NameMap, Names, OrgDefinition, SettingsDefinition};
use ostler_world::{Address, Kind, Resource, Resources};

use crate::generator;
use crate::support::{WORLD, resources};

/// Returns the files of a world by name, one for each org.
fn files(world: &Resources) -> BTreeMap<String, String> {
    let mut by_file: BTreeMap<String, Resources> = BTreeMap::new();
    for (address, resource) in world {
        let file = by_file.entry(file_of(world, address)).or_default();
        file.insert(address.clone(), resource.clone());
    }
    by_file.into_iter().map(|(name, own)| (name, text(&own))).collect()
}

fn parse_all(files: &BTreeMap<String, String>) -> Resources {
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

/// O04: files that name people in another order describe the same, so that a plan after an
/// export stays empty.
#[test]
fn o04_the_order_of_peoples_notices_does_not_matter() {
    let world = |people: [&str; 2]| {
        let notices = people.map(|person| format!("{{ person = \"{person}\" }}")).join(", ");
        let org = format!(
            "[[org]]\nslug = \"bella\"\nname = \"Bella\"\nsettings.notices = [{notices}]\n"
        );
        resources(&org)
    };
    let stored = world(["ada@example.org", "owner"]);
    assert_same(&world(["owner", "ada@example.org"]), &stored, "another order");
    assert_same(&stored_and_read(&stored), &stored, "what is stored");
}

/// How many worlds are generated; `OSTLER_WORLDS` overrides it.
fn cases() -> u64 {
    std::env::var("OSTLER_WORLDS").ok().and_then(|n| n.parse().ok()).unwrap_or(50)
}

/// O04: for generated worlds an export plans nothing, also after an update of an old file,
/// and what is stored of them is the same again. Every field of every kind is varied.
#[test]
fn o04_the_export_of_a_generated_world_plans_nothing() {
    let before = AppliedFiles { resources: resources(WORLD), ..AppliedFiles::default() };
    let mut varied: BTreeMap<Kind, BTreeSet<String>> = BTreeMap::new();
    for seed in 0..cases() {
        let world = generator::world(seed);
        for (address, resource) in &world {
            let set = generator::set_fields(address.kind, resource);
            varied.entry(address.kind).or_default().extend(set);
            let edited = parse_fields(address, "edited.toml", &fields(address, resource)).unwrap();
            assert_eq!(edited, Some((address.clone(), resource.clone())), "opened and closed");
        }
        let exported = parse_all(&files(&world));
        assert_same(&exported, &world, &format!("exported world {seed}"));
        let plan = Plan::new(&exported, &world, &before, None).unwrap();
        assert!(plan.changes.is_empty(), "world {seed}: {:?}", plan.changes);
        // An update reads and writes everything again; a few of them are enough.
        if seed % 4 == 0 {
            let updated = update("world.toml", WORLD, &world).unwrap();
            assert_same(&resources(&updated), &world, &format!("updated world {seed}"));
        }
        assert_same(&stored_and_read(&world), &world, &format!("stored world {seed}"));
    }
    for kind in Kind::ALL {
        let missing: Vec<String> = generator::fields(kind)
            .into_iter()
            .filter(|field| {
                let inside = format!("{field}.");
                !varied[&kind].iter().any(|set| set == field || set.starts_with(&inside))
            })
            .collect();
        assert_eq!(missing, [""; 0], "fields of {} that never vary", kind.table());
    }
}

/// Compares two worlds and names the fields that differ.
fn assert_same(found: &Resources, expected: &Resources, what: &str) {
    if found == expected {
        return;
    }
    let plan = Plan::new(found, expected, &AppliedFiles::default(), None).unwrap();
    let lost: Vec<_> = expected.keys().filter(|address| !found.contains_key(address)).collect();
    panic!("{what}: lost {lost:?}, changed {:#?}", plan.changes);
}

/// Returns a world in which orgs and agents were converted to the values that are stored
/// and back.
fn stored_and_read(world: &Resources) -> Resources {
    let mut orgs = NameMap::default();
    for (number, address) in (1..).zip(world.keys().filter(|one| one.kind == Kind::Org)) {
        orgs.insert(&address.name, OrgId::from_u128(number));
    }
    let mut names = Names { orgs: Arc::new(orgs), ..Names::default() };
    for (number, address) in (1..).zip(world.keys()) {
        match address.kind {
            Kind::Agent => names.agents.insert(&address.name, AgentId::from_u128(number)),
            Kind::Channel => names.channels.insert(&address.name, BindingId::from_u128(number)),
            _ => {}
        }
    }
    let convert = |(address, resource): (&Address, &Resource)| {
        let read = match address.kind {
            Kind::Org => {
                let spec: OrgDefinition = resource.spec().unwrap();
                let org = spec.to_org(OrgId::from_u128(9), &names).unwrap();
                let sharing = spec.sharing.to_policy(&names).unwrap();
                let settings = spec.settings.to_settings(&names).unwrap();
                let json = serde_json::to_string(&settings).unwrap();
                let settings = serde_json::from_str(&json).unwrap();
                let settings = SettingsDefinition::from_settings(&settings, &names);
                let money = (spec.starting_credits, &sharing);
                Resource::new(&OrgDefinition::from_org(&org, money, spec.tools, settings, &names))
            }
            Kind::Agent => {
                let spec: AgentDefinition = resource.spec().unwrap();
                let (id, at) = (AgentId::from_u128(9), Timestamp::from_millis(0));
                let agent = spec.to_agent(id, OrgId::from_u128(9), at, &names).unwrap();
                let json = serde_json::to_string(&agent).unwrap();
                let agent = serde_json::from_str(&json).unwrap();
                let read =
                    AgentDefinition::from_agent(&agent, spec.soul.clone(), &spec.org, &names);
                // The soul of an agent with a template is the template's.
                Resource::new(&AgentDefinition { soul: spec.soul, ..read })
            }
            _ => resource.clone(),
        };
        (address.clone(), read)
    };
    world.iter().map(convert).collect()
}
