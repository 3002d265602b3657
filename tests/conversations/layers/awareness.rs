//! Every agent knows where it stands, seen at the model.

use ostler_domain::tool::catalogue::built_in;
use ostler_store::StoreError;
use ostler_testkit::TestDatabase;

use super::tree::{AGENCY, PLATFORM, STRANGER, Tree};
use crate::support::{ECHO, GIA, ORG};

/// L01, L02, L03, L04, L05, L06, L07, L48: the prompt that the model receives states the layer
/// that follows from org and role; only layer 3 reads of its parent; a prompt names no tool that
/// the model is not offered.
#[tokio::test]
async fn l01_l02_l03_l48_each_agent_reads_its_layer_and_only_its_tools() {
    let tree = Tree::new(ECHO).await;
    tree.scenario.say("rosa", "hello").await;
    for org in [ORG, AGENCY, PLATFORM] {
        tree.owner_says(org, "hello").await;
    }
    let table = [
        ("Quinn", "Layer 1 of 4 (Platform)", "You run the platform"),
        ("Mara", "Layer 2 of 4 (Agency)", "You manage the client organizations of \"Harbour\""),
        ("Luca", "Layer 3 of 4 (Client)", "under the Harbour agency"),
        ("Gia", "Layer 4 of 4 (End-Customer)", "You handle customer conversations"),
    ];
    for (name, layer, role) in table {
        let prompt = tree.prompt_of(name);
        assert!(prompt.contains(&format!("**Business layer:** {layer}")), "{name}: {prompt}");
        assert!(prompt.contains(role), "{name}: {prompt}");
        let names_parent =
            prompt.contains("Parent agency:") || prompt.contains("under the Harbour");
        assert_eq!(names_parent, name == "Luca", "{prompt}");
        let offered = tree.offered_to(name);
        for tool in built_in() {
            let tool = tool.name.as_str();
            let named = prompt.contains(tool);
            assert!(!named || offered.iter().any(|one| one == tool), "{name} has no {tool}");
        }
    }
    let gia = tree.prompt_of("Gia");
    for internal in ["Harbour", "harbour", "Plan:", "tier", "Mara", "credits"] {
        assert!(!gia.contains(internal), "L48, {internal}: {gia}");
    }
    assert!(tree.prompt_of("Luca").contains("**Parent agency:** Harbour (agency tier)"));
}

/// L06: only an org below another reads its parent. With an agency that cannot be read, the
/// platform and other agencies answer as ever, and its client has no configuration.
#[tokio::test]
async fn l06_only_a_sub_org_reads_its_parent() {
    let database = TestDatabase::sqlite_file();
    let tree = Tree::in_store(database.migrated().await, ECHO).await;
    let agency = database.id_literal(AGENCY.as_u128());
    database.execute(&format!("UPDATE orgs SET data = '?' WHERE id = {agency}")).await;
    for top in [PLATFORM, STRANGER] {
        assert_eq!(tree.owner_says(top, "hello").await, ["About hello: yes."]);
        assert!(tree.scenario.worker.org_views().current(top).await.unwrap().parent.is_none());
    }
    let view = tree.scenario.worker.org_views().current(ORG).await;
    assert!(matches!(view, Err(StoreError::CorruptValue { .. })), "{view:?}");
}

/// L05: an agent whose policy takes `escalate_to_parent` away is not told to use it.
#[tokio::test]
async fn l05_without_the_tool_there_is_no_hint_to_escalate() {
    let tree = Tree::new(ECHO).await;
    let escalate = || "escalate_to_parent".parse().unwrap();
    tree.scenario
        .change_agent(GIA, |gia| {
            gia.tools.policy.deny.insert(escalate());
        })
        .await;
    tree.scenario.say("rosa", "hello").await;
    assert!(!tree.prompt_of("Gia").contains("escalate"), "{}", tree.prompt_of("Gia"));
}
