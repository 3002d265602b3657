//! O02, O03, O07: plans.

use ostler_world::plan::{Action, AppliedFiles, Keep, Plan};
use ostler_world::{Address, Resources};
use serde_json::json;

use crate::support::{WORLD, resources};

fn plan(files: &str, live: &str, applied: Option<&str>, keep: Option<Keep>) -> Plan {
    let applied = AppliedFiles {
        resources: applied.map_or_else(Resources::new, resources),
        ..AppliedFiles::default()
    };
    Plan::new(&resources(files), &resources(live), &applied, keep).unwrap()
}

fn changed(plan: &Plan) -> Vec<String> {
    let each = plan.changes.iter().flat_map(|change| {
        change
            .fields
            .iter()
            .map(|field| format!("{} {} {} → {}", change.address, field.path, field.old, field.new))
    });
    each.collect()
}

const TWO_HANDOFFS: (&str, &str) = ("max_handoffs = 3", "max_handoffs = 2");

fn with((old, new): (&str, &str)) -> String {
    assert!(WORLD.contains(old));
    WORLD.replacen(old, new, 1)
}

/// O03: what is applied already plans nothing.
#[test]
fn o03_an_unchanged_world_plans_nothing() {
    assert!(plan(WORLD, WORLD, Some(WORLD), None).is_empty());
    assert!(plan(WORLD, WORLD, None, None).is_empty());
}

/// O02: a change is shown with its old and its new value.
#[test]
fn o02_a_plan_has_old_and_new_values_of_changed_fields_only() {
    let plan = plan(&with(TWO_HANDOFFS), WORLD, Some(WORLD), None);
    assert_eq!(changed(&plan), ["org nordlicht settings.team.max_handoffs 3 → 2"]);
    assert_eq!(plan.drift, []);
}

/// O02: everything of an empty installation is created, agencies before their clients.
#[test]
fn o02_new_resources_are_created_in_an_order_that_works() {
    let plan =
        Plan::new(&resources(WORLD), &Resources::new(), &AppliedFiles::default(), None).unwrap();
    assert!(plan.changes.iter().all(|change| change.action == Action::Create));
    let place = |address: &Address| {
        plan.changes.iter().position(|change| change.address == *address).unwrap()
    };
    assert!(place(&Address::of_org("harbour")) < place(&Address::of_org("nordlicht")));
    assert_eq!(plan.orgs().last(), Some(&"nordlicht"));
}

/// O07: a live value that was kept is neither drift nor a change until it or the file changes.
#[test]
fn o07_a_live_value_that_was_kept_is_not_shown_again() {
    let live = with(TWO_HANDOFFS);
    let kept = plan(WORLD, &live, Some(WORLD), Some(Keep::Live)).applied;
    let next = |files: &str, live: &str, keep| {
        Plan::new(&resources(files), &resources(live), &kept, keep).unwrap()
    };
    assert!(next(WORLD, &live, None).is_empty());
    assert_eq!(next(WORLD, &live, None).applied, kept, "the decision stays");
    let four = with(("max_handoffs = 3", "max_handoffs = 4"));
    assert_eq!(next(WORLD, &four, None).drift.len(), 1, "the live value changed again");
    assert_eq!(next(&four, &live, None).drift.len(), 1, "the file changed");
    let file = changed(&next(WORLD, &live, Some(Keep::File)));
    assert_eq!(file, ["org nordlicht settings.team.max_handoffs 2 → 3"]);
}

/// O07: a field that changed live is drift; it stays unless the file is to win.
#[test]
fn o07_live_changes_are_told_apart_and_kept_unless_the_file_wins() {
    let live = with(TWO_HANDOFFS);
    for keep in [None, Some(Keep::Live)] {
        let plan = plan(WORLD, &live, Some(WORLD), keep);
        assert_eq!(plan.changes, []);
        let [drift] = &plan.drift[..] else { panic!("{:?}", plan.drift) };
        assert_eq!(drift.path, "settings.team.max_handoffs");
        assert_eq!((&drift.applied, &drift.live, &drift.file), (&json!(3), &json!(2), &json!(3)));
    }
    let plan = plan(WORLD, &live, Some(WORLD), Some(Keep::File));
    assert_eq!(changed(&plan), ["org nordlicht settings.team.max_handoffs 2 → 3"]);
}

/// O07: a live change of one field and a change of another in the file are both kept.
#[test]
fn o07_changes_of_different_fields_do_not_disturb_each_other() {
    let live = with(TWO_HANDOFFS);
    let file = with(("retention_days = 90", "retention_days = 30"));
    let plan = plan(&file, &live, Some(WORLD), None);
    assert_eq!(changed(&plan), ["org nordlicht retention_days 90 → 30"]);
    let after = plan.after[&Address::of_org("nordlicht")].value();
    assert_eq!(after["settings"]["team"]["max_handoffs"], 2);
    assert_eq!(after["retention_days"], 30);
}

/// O02: what was applied and is not in the file any more is removed; what was made by
/// other means, and other orgs, stay.
#[test]
fn o02_only_what_came_from_files_is_removed() {
    let document =
        "[[document]]\norg = \"nordlicht\"\ntitle = \"Opening hours\"\ntext = \"Nine to five.\"\n";
    let without = with((document, ""));
    let plan_removed = plan(&without, WORLD, Some(WORLD), None);
    let removed: Vec<String> = plan_removed
        .changes
        .iter()
        .map(|change| format!("{:?} {}", change.action, change.address))
        .collect();
    assert_eq!(removed, ["Remove document nordlicht/Opening hours"]);
    assert!(plan(&without, WORLD, Some(&without), None).is_empty(), "made by other means");
    let other_org = "[[org]]\nslug = \"harbour\"\nname = \"Harbour Agency\"\nplan = \"agency\"\nsub_orgs = true\n";
    assert!(plan(other_org, WORLD, Some(WORLD), None).is_empty(), "other orgs stay");
}

/// The name of a person and the secret of a channel belong to the installation.
#[test]
fn names_of_accounts_and_secrets_that_were_made_stay() {
    let file = with(("name = \"Ole\"\n", "")).replace("secret = \"env:OSTLER_SECRET_X\"\n", "");
    assert!(plan(&file, WORLD, Some(WORLD), None).is_empty());
}
