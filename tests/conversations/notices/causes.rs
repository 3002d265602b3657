//! What causes notices: each arrives in the owner's chat, once.

use std::sync::Arc;
use std::time::Duration;

use ostler_domain::agent::autonomy::AutonomyLevel;
use ostler_domain::money::Credits;
use ostler_domain::money::sharing::SharingPolicy;
use ostler_domain::notice::preferences::NoticePreferences;
use ostler_domain::org::settings::{ChannelAddress, NotifyAddresses, OrgSettings};
use ostler_runtime::deps::Settings;
use ostler_runtime::org_view::{SETTINGS, settings_record};
use serde_json::json;
use tokio::sync::Notify;

use super::{ask, chat, notify_owner};
use crate::budgets::{AGENCY, scenario_on_free_plan, script_costing, with_parent};
use crate::enforcement::spend_all_credits;
use crate::support::{
    GIA, Scenario, TELEGRAM, failing_tool, retry_at_once, scenario, scenario_with,
};
use crate::workflows::WorkflowScenario;
use crate::{approvals, recovery};

const FORMS: &str = "
rules:
  - when: { user: forms }
    answer: [{ call: list_forms, with: { page: 1 } }, 'It says: {{ result }}']
default: I see.
";

async fn with_chat(scenario: &Scenario) {
    notify_owner(scenario, NoticePreferences::default()).await;
}

/// O31, C09: the third failure of a tool is reported once, whatever repeats.
#[tokio::test]
async fn o31_a_disabled_tool_is_reported_in_the_owners_chat() {
    let (scenario, _) =
        scenario_with(FORMS, vec![failing_tool("list_forms")], Settings::default()).await;
    with_chat(&scenario).await;
    for _ in 0..2 {
        ask(&scenario, "forms").await;
        assert!(chat(&scenario).await.is_empty());
    }
    ask(&scenario, "forms").await;
    let told = chat(&scenario).await;
    let session = scenario.session("rosa").await.id;
    let text = "Bella Pizza: list_forms failed too often and is disabled in a session";
    assert_eq!(told, [format!("{text}\nSession {session}")]);
    assert_eq!(scenario.dispatch_notices().await, 0, "it is sent once");
    assert!(chat(&scenario).await.is_empty());
}

/// O31, E07: used-up credits are reported.
#[tokio::test]
async fn o31_exhausted_credits_are_reported_in_the_owners_chat() {
    let (scenario, _) = scenario(FORMS).await;
    with_chat(&scenario).await;
    spend_all_credits(&scenario).await;
    ask(&scenario, "hello").await;
    let told = chat(&scenario).await;
    assert!(told.iter().any(|text| text.contains("the credits are used up")), "{told:?}");
    assert!(told.iter().any(|text| text.starts_with("Somebody is needed")), "{told:?}");
}

/// O31, E05: a parent is notified once a day when a client has used 80 % of its cap.
#[tokio::test]
async fn o31_80_percent_of_a_cap_are_reported_once() {
    let (scenario, _) = scenario_on_free_plan(&script_costing(4), 0).await;
    let sharing = SharingPolicy { max_per_child: Credits::new(10), ..SharingPolicy::default() };
    with_parent(&scenario, 1000, sharing).await;
    let agency = scenario.store.org(AGENCY);
    let owner = Some(ChannelAddress { binding: TELEGRAM, identifier: "1001".into() });
    let people = NotifyAddresses { owner, ..NotifyAddresses::default() };
    let settings = OrgSettings { people, ..OrgSettings::default() };
    let settings = serde_json::to_string(&settings).unwrap();
    agency.create_record(SETTINGS, settings_record(AGENCY), settings).await.unwrap();
    let near = async || {
        scenario.spent(crate::support::ORG).await;
        let owner = ostler_domain::notice::NoticeRecipient::Owner;
        agency.unread_notices(owner, None, 10).await.unwrap()
    };
    scenario.say("rosa", "hello").await;
    assert_eq!(near().await, []);
    scenario.say("rosa", "again").await;
    let found = near().await;
    assert_eq!(found.len(), 1, "{found:?}");
    let told = chat(&scenario).await;
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].ends_with("a client used 8 of 10 credits of today"), "{told:?}");
    scenario.say("otto", "hello").await;
    assert_eq!(near().await.len(), 1);
}

/// O31, D05, D07: a call that waits for a decision is reported, and reported again when it
/// expires.
#[tokio::test]
async fn o31_an_approval_is_reported_when_it_waits_and_when_it_expires() {
    let scenario = approvals::scenario(AutonomyLevel::SemiAutonomous).await;
    approvals::set_approval_expiry(&scenario, Duration::ZERO).await;
    with_chat(&scenario).await;
    ask(&scenario, "remember Rosa").await;
    let told = chat(&scenario).await;
    let id = approvals::only(&scenario).await;
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].contains("Gia wants to call create_contact(name: Rosa)"), "{told:?}");
    assert!(told[0].ends_with(&format!("ostler approval approve {id} --org bella")), "{told:?}");
    scenario.sweep().await;
    let told = chat(&scenario).await;
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].contains("an approval expired before anyone decided"), "{told:?}");
}

/// O31: a decision while the notice waits for its time makes it pointless.
#[tokio::test]
async fn o31_a_decided_approval_is_not_reported_any_more() {
    let scenario = approvals::scenario(AutonomyLevel::SemiAutonomous).await;
    with_chat(&scenario).await;
    ask(&scenario, "remember Rosa").await;
    let operations = scenario.operations();
    approvals::operator(&operations).approve(approvals::only(&scenario).await).await.unwrap();
    assert!(chat(&scenario).await.is_empty());
}

/// O31, O29: an agent without a usable model is reported.
#[tokio::test]
async fn o31_an_agent_without_a_model_is_reported_in_the_owners_chat() {
    let (scenario, _) = scenario(FORMS).await;
    with_chat(&scenario).await;
    scenario.change_agent(GIA, |gia| gia.models = vec!["nobody/nothing".into()]).await;
    ask(&scenario, "hello").await;
    let told = chat(&scenario).await;
    let text = "no model answered: there is no model nobody/nothing here";
    assert!(told.iter().any(|one| one.contains(text)), "{told:?}");
}

/// O31, Z01: a call whose outcome is unknown is reported once.
#[tokio::test(flavor = "multi_thread")]
async fn o31_an_unknown_outcome_is_reported_in_the_owners_chat() {
    let begun = Arc::new(Notify::new());
    let (scenario, _) = recovery::interrupted_scenario(&begun).await;
    with_chat(&scenario).await;
    scenario.write("rosa", "my invoice").await;
    recovery::die_during_the_call(&scenario, &begun).await;
    recovery::continue_after_the_lease(&scenario).await;
    let told = chat(&scenario).await;
    let unknown = told.iter().filter(|one| one.contains("may or may not have taken effect"));
    assert_eq!(unknown.count(), 1, "{told:?}");
    assert!(told.iter().any(|one| one.contains("ostler unknown-outcome ls --org bella")));
}

/// O31, X52: a workflow that waits for a person is reported once, also after a restart.
#[tokio::test(flavor = "multi_thread")]
async fn o31_a_waiting_workflow_is_reported_in_the_owners_chat() {
    let workflows = WorkflowScenario::new(crate::support::ECHO).await;
    with_chat(&workflows.scenario).await;
    let steps = json!([{"id": "ask", "ask": "Shall we?", "options": ["yes", "no"]}]);
    let id = workflows.start(steps, json!({})).await;
    workflows.work().await;
    workflows.second_process().work().await;
    let told = chat(&workflows.scenario).await;
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].contains("waits for a person: Shall we?"), "{told:?}");
    assert!(told[0].ends_with(&format!("ostler workflow show {id} --org bella")), "{told:?}");
}

/// O31, C18: a customer's message that no attempt could answer is reported.
#[tokio::test]
async fn o31_an_unanswered_message_is_reported_in_the_owners_chat() {
    let mut settings = retry_at_once();
    settings.claims.max_attempts = 1;
    settings.claims.lease = Duration::from_millis(1);
    let claims = settings.claims;
    let (scenario, _) = scenario_with(FORMS, Vec::new(), settings).await;
    with_chat(&scenario).await;
    scenario.write("rosa", "forms").await;
    // A worker that dies.
    scenario.store.claim_conversation(claims).await.unwrap().expect("a message");
    tokio::time::sleep(Duration::from_millis(20)).await;
    scenario.work().await;
    let told = chat(&scenario).await;
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].contains("a message could not be answered: too many attempts"), "{told:?}");
}
