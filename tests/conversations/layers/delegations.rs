//! Work and instructions go down, insights go up.

use ostler_domain::hierarchy::Importance;
use ostler_domain::hierarchy::delegation::{
    OrgDelegation, OrgDelegationAnswer, OrgDelegationStatus,
};
use ostler_domain::hierarchy::insight::{Insight, InsightCategory};
use ostler_runtime::operations::{Actor, OperationError};
use ostler_store::Store;

use super::tree::{AGENCY, PLATFORM, STRANGER, Tree};
use crate::support::{ORG, on_every_database};

const SCRIPT: &str = "
rules:
  - when: { user: { regex: 'delegate to (?<slug>\\w+)' } }
    answer:
      - call: delegate_to_child
        with: { clientSlug: '{{ slug }}', instruction: put the new menu online, priority: high }
      - '{{ result }}'
  - when: { user: accept, agent: { regex: 'Delegation (?<id>\\S+) \\(' } }
    answer:
      - call: answer_delegation
        with: { delegation: '{{ id }}', answer: accept }
      - call: answer_delegation
        with: { delegation: '{{ id }}', answer: complete, result: the menu is online }
      - '{{ result }}'
  - when: { user: instruct }
    answer:
      - call: instruct_agent
        with: { agent: customer_service, instruction: Offer the new menu. }
      - '{{ result }}'
  - when: { user: vegan }
    answer:
      - call: share_insight_upward
        with: { insight: many ask for vegan pizza, category: customer_trend, evidence: 12 today }
      - 'Noted.'
  - when: { user: note it, agent: { regex: 'Insight (?<id>\\S+) from' } }
    answer:
      - call: acknowledge_insight
        with: { insight: '{{ id }}' }
      - '{{ result }}'
  - when: { user: settled }
    answer: 'News.'
default: 'About {{ user }}: yes.'
";

on_every_database!(
    /// L24, L25, L26, L27: the child's PM reads the work in its next prompt, accepts and completes
    /// it; its owner is told of the work and the agency of the result.
    l24_l26_l27_work_reaches_the_clients_pm_and_the_result_the_agency
);
async fn l24_l26_l27_work_reaches_the_clients_pm_and_the_result_the_agency(store: Store) {
    let tree = Tree::in_store(store, SCRIPT).await;
    tree.scenario.store.org(ORG);
    let answer = tree.owner_says(AGENCY, "delegate to bella").await;
    assert!(answer[0].starts_with("Bella Pizza has the work"), "{answer:?}");
    let (_, work) = tree.records::<OrgDelegation>(ORG, "delegation").await.remove(0);
    assert_eq!((work.source, work.target), (AGENCY, ORG));
    assert_eq!((work.priority, &work.status), (Importance::High, &OrgDelegationStatus::Pending));
    let owner = ostler_domain::notice::NoticeRecipient::Owner;
    let told = tree.scenario.store.org(ORG).unread_notices(owner, None, 9).await.unwrap();
    assert_eq!(told.len(), 1, "{told:?}");

    let answer = tree.owner_says(ORG, "accept the work").await;
    assert_eq!(answer, ["Completed."]);
    let luca = tree.prompt_of("Luca");
    assert!(luca.contains("from Mara of Harbour: put the new menu online"), "{luca}");
    let (_, done) = tree.records::<OrgDelegation>(AGENCY, "delegation").await.remove(0);
    let OrgDelegationStatus::Completed { result, .. } = &done.status else { panic!("{done:?}") };
    assert_eq!(result, "the menu is online");
    let mara = tree.prompt_of("Mara");
    assert!(mara.contains("was completed: the menu is online"), "{mara}");
    tree.owner_says(ORG, "anything else?").await;
    assert!(!tree.prompt_of("Luca").contains("put the new menu online"), "it is done");
}

/// L25: neither a stranger's client nor a parent nor an unknown org receives work.
#[tokio::test]
async fn l25_work_goes_to_an_own_client_only() {
    let tree = Tree::new(SCRIPT).await;
    for slug in ["stranger", "platform", "harbour", "nowhere"] {
        let answer = tree.owner_says(AGENCY, &format!("delegate to {slug}")).await;
        assert_eq!(answer, ["Not done: this organization has no such client."], "{slug}");
    }
    let answer = tree.owner_says(STRANGER, "delegate to bella").await;
    assert_eq!(answer, ["Not done: this organization has no such client."]);
    for at in [ORG, AGENCY, STRANGER, PLATFORM] {
        assert!(tree.records::<OrgDelegation>(at, "delegation").await.is_empty(), "{at}");
    }
    tree.owner_says(ORG, "delegate to bella").await;
    assert!(!tree.offered_to("Luca").contains(&"delegate_to_child".to_owned()), "layer 3");
}

/// L31: a person of the platform delegates to an agency, whose PM reads it; not to a client.
#[tokio::test]
async fn l31_the_platform_delegates_to_an_agency_by_operation() {
    let tree = Tree::new(SCRIPT).await;
    let operations = tree.scenario.operations();
    let platform = operations.as_actor(Actor::Terminal, PLATFORM);
    let refused = platform.delegate_to_org("bella", "new prices", None).await;
    assert!(matches!(refused, Err(OperationError::NoRoute(_))), "{refused:?}");
    let id = platform.delegate_to_org("harbour", "new prices", None).await.unwrap();
    tree.owner_says(AGENCY, "hello").await;
    assert!(tree.prompt_of("Mara").contains("from Platform: new prices"));
    let agency = operations.as_actor(Actor::Terminal, AGENCY);
    let early = agency.answer_delegation(id, OrgDelegationAnswer::Complete("ok".into())).await;
    assert!(matches!(early, Err(OperationError::Exchange(_))), "{early:?}");
    agency.answer_delegation(id, OrgDelegationAnswer::Accept).await.unwrap();
    agency.answer_delegation(id, OrgDelegationAnswer::Complete("ok".into())).await.unwrap();
    let seen = platform.org_delegations().await.unwrap();
    assert!(matches!(seen[0].record.status, OrgDelegationStatus::Completed { .. }), "{seen:?}");
}

/// L28, L29: an insight from layer 4 waits in the prompt of the agency's PM until it is
/// acknowledged; nobody is notified.
#[tokio::test]
async fn l28_l29_an_insight_is_read_and_acknowledged_by_the_agencys_pm() {
    let tree = Tree::new(SCRIPT).await;
    tree.scenario.say("rosa", "do you have vegan pizza?").await;
    let (_, insight) = tree.records::<Insight>(AGENCY, "insight").await.remove(0);
    assert_eq!((insight.source, insight.target), (ORG, AGENCY));
    assert_eq!(insight.category, InsightCategory::CustomerTrend);
    assert!(tree.owner_hears(AGENCY).await.is_empty(), "it is not urgent");
    assert_eq!(tree.owner_says(AGENCY, "note it").await, ["Acknowledged."]);
    let mara = tree.prompt_of("Mara");
    assert!(
        mara.contains("from Gia of Bella Pizza: many ask for vegan pizza (12 today)"),
        "{mara}"
    );
    tree.owner_says(AGENCY, "what else?").await;
    assert!(!tree.prompt_of("Mara").contains("vegan"));
    for at in [ORG, AGENCY] {
        let (_, insight) = tree.records::<Insight>(at, "insight").await.remove(0);
        assert!(insight.acknowledged_at.is_some(), "{at}");
    }
}

/// L30: a PM's instruction is in every prompt of its agent until a person withdraws it.
#[tokio::test]
async fn l30_an_instruction_is_in_the_prompts_of_the_agent_until_withdrawn() {
    let tree = Tree::new(SCRIPT).await;
    assert_eq!(tree.owner_says(ORG, "instruct Gia").await, ["Gia reads it from now on."]);
    for person in ["rosa", "otto", "rosa"] {
        tree.scenario.say(person, "hello").await;
        let gia = tree.prompt_of("Gia");
        assert!(gia.contains("## Your instructions\n\n- Offer the new menu."), "{gia}");
    }
    tree.owner_says(AGENCY, "instruct Gia").await;
    let operations = tree.scenario.operations();
    let bella = operations.as_actor(Actor::Terminal, ORG);
    let standing = bella.instructions("gia").await.unwrap();
    assert_eq!(standing.len(), 1, "the agency's PM has no such agent");
    bella.withdraw_instruction(standing[0].notice.id).await.unwrap();
    tree.scenario.say("rosa", "hello").await;
    assert!(!tree.prompt_of("Gia").contains("new menu"));
}
