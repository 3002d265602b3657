//! Issues go one business layer up, and their resolutions come back.

use ostler_domain::agent::{Agent, AgentStatus};
use ostler_domain::hierarchy::issue::{Issue, IssueDecision, IssueStatus};
use ostler_domain::hierarchy::{Decider, Importance};
use ostler_domain::id::OrgId;
use ostler_domain::org::layer::BusinessLayer;
use ostler_runtime::operations::{Actor, Person};
use ostler_store::Store;

use super::tree::{AGENCY, LUCA, MARA, PLATFORM, QUINN, STRANGER, Tree};
use crate::support::{GIA, ORG, item_text, on_every_database};

/// Gia escalates what customers are charged twice for. A PM acknowledges and resolves, or
/// passes it on.
const SCRIPT: &str = "
rules:
  - when: { user: charged, agent: 'You are Gia' }
    answer:
      - call: escalate_to_parent
        with: { summary: double charge, severity: high, context: she paid by card }
      - 'I have passed it on.'
  - when: { user: settled, agent: { regex: 'Your issue \"[^\"]+\" was (?<outcome>[^\\n]+)' } }
    answer: 'News: it was {{ outcome }}'
  - when: { user: pass it on }
    answer:
      - call: escalate_to_parent
        with: { summary: refund of 10 euros, severity: medium }
      - '{{ result }}'
  - when: { user: { regex: 'resolve: (?<text>.+)' }, agent: { regex: 'Issue (?<id>\\S+) \\(' } }
    answer:
      - call: decide_issue
        with: { issue: '{{ id }}', decision: acknowledge }
      - call: decide_issue
        with: { issue: '{{ id }}', decision: resolve, resolution: '{{ text }}' }
      - 'Done: {{ result }}'
  - when: { user: { regex: 'settle (?<id>\\S+)' } }
    answer:
      - call: decide_issue
        with: { issue: '{{ id }}', decision: acknowledge }
      - '{{ result }}'
default: 'About {{ user }}: yes.'
";

async fn issues(tree: &Tree, at: OrgId) -> Vec<Issue> {
    let all = tree.records::<Issue>(at, "escalation").await;
    all.into_iter().map(|(_, issue)| issue).collect()
}

on_every_database!(
    /// L16, L17, L18, L20, L21, L22, L33, L48: an issue goes from layer 4 to 3 and on to 2; the owner
    /// of each org is told, the PM reads it in its prompt, and the resolution comes back down to
    /// the customer.
    l17_l18_l21_l22_an_issue_goes_from_layer_4_to_2_and_the_answer_back_down
);
async fn l17_l18_l21_l22_an_issue_goes_from_layer_4_to_2_and_the_answer_back_down(store: Store) {
    let tree = Tree::in_store(store, SCRIPT).await;
    tree.scenario.write("rosa", "I was charged twice").await;
    tree.scenario.work().await;
    let [first] = &issues(&tree, ORG).await[..] else { panic!("one issue") };
    assert_eq!(
        (first.source.agent, first.source.business_layer),
        (GIA, BusinessLayer::EndCustomer)
    );
    assert_eq!((first.target.agent, first.target.business_layer), (LUCA, BusinessLayer::Client));
    assert_eq!((first.source.org, first.target.org), (ORG, ORG));
    assert_eq!((first.severity, &first.status), (Importance::High, &IssueStatus::Pending));
    assert!(first.context.starts_with("she paid by card"), "{}", first.context);
    assert!(first.context.contains("customer: I was charged twice"), "{}", first.context);
    let heard = tree.owner_hears(ORG).await;
    assert_eq!(heard.len(), 1, "{heard:?}");
    assert!(heard[0].contains("Gia of Bella Pizza sent an issue (high severity): double charge"));

    let passed = tree.owner_says(ORG, "pass it on").await;
    assert!(passed[0].contains("is with the PM"), "{passed:?}");
    let luca = tree.prompt_of("Luca");
    for part in ["## Waiting for your decision", "double charge", "customer: I was charged twice"] {
        assert!(luca.contains(part), "{part}: {luca}");
    }
    let [at_agency] = &issues(&tree, AGENCY).await[..] else { panic!("one issue") };
    assert_eq!((at_agency.source.agent, at_agency.target.agent), (LUCA, MARA));
    assert_eq!((at_agency.source.org, at_agency.target.org), (ORG, AGENCY));
    assert_eq!(at_agency.target.business_layer, BusinessLayer::Agency);
    assert_eq!(issues(&tree, ORG).await.len(), 2, "the client has a copy");
    assert_eq!(issues(&tree, ORG).await[1], *at_agency);

    let done = tree.owner_says(AGENCY, "resolve: refund it").await;
    assert_eq!(done, ["Done: Resolved."]);
    assert!(tree.prompt_of("Mara").contains("from Luca of Bella Pizza: refund of 10 euros"));
    let told = tree.prompt_of("Luca");
    let resolution = "Your issue \"refund of 10 euros\" was resolved: refund it";
    assert!(told.contains(resolution), "{told}");
    assert!(!told.contains("- Issue ") || told.contains("double charge"), "{told}");

    tree.owner_says(ORG, "resolve: you get 10 euros back").await;
    let thread = tree.scenario.thread("rosa").await;
    let last = thread.last().unwrap().text();
    assert_eq!(last, "News: it was resolved: you get 10 euros back");
    let gia = tree.prompt_of("Gia");
    assert!(gia.contains("Your issue \"double charge\" was resolved"), "{gia}");
    for internal in ["Harbour", "Mara", "Waiting for your decision"] {
        assert!(!gia.contains(internal), "L48, {internal}: {gia}");
    }
    for issue in issues(&tree, ORG).await {
        assert!(matches!(issue.status, IssueStatus::Resolved { .. }), "{issue:?}");
        assert!(matches!(issue.decided_by, Some(Decider::Agent { .. })), "{issue:?}");
    }
    tree.scenario.say("rosa", "thanks").await;
    assert!(!tree.prompt_of("Gia").contains("Your issue"), "it is told once");
    let audit = tree.audit(AGENCY).await;
    let expected = ["raise_issue", "acknowledge_issue", "resolve_issue"];
    assert_eq!(audit.iter().filter(|one| expected.contains(&&***one)).count(), 3, "{audit:?}");
}

/// L19, L23: an agency's issue goes to the platform, and nobody is above the platform.
#[tokio::test]
async fn l19_an_agencys_issue_goes_to_the_platform() {
    let tree = Tree::new(SCRIPT).await;
    tree.owner_says(AGENCY, "pass it on").await;
    let [issue] = &issues(&tree, PLATFORM).await[..] else { panic!("one issue") };
    assert_eq!((issue.source.agent, issue.target.agent), (MARA, QUINN));
    assert_eq!(issue.target.business_layer, BusinessLayer::Platform);
    assert_eq!(issues(&tree, AGENCY).await, std::slice::from_ref(issue));
    assert_eq!(tree.owner_hears(PLATFORM).await.len(), 0, "it was sent with the answer");
    let notices = tree.scenario.store.org(PLATFORM);
    let owner = ostler_domain::notice::NoticeRecipient::Owner;
    assert_eq!(notices.unread_notices(owner, None, 9).await.unwrap().len(), 1);
    // A person at the platform settles it.
    let operations = tree.scenario.operations();
    let platform = operations.as_actor(Actor::Terminal, PLATFORM);
    let id = platform.issues().await.unwrap()[0].id;
    platform.decide_issue(id, IssueDecision::Acknowledge).await.unwrap();
    platform.decide_issue(id, IssueDecision::Resolve("more credits".into())).await.unwrap();
    tree.scenario.work().await;
    assert!(tree.prompt_of("Mara").contains("was resolved: more credits"));
    tree.owner_says(PLATFORM, "pass it on").await;
    assert!(!tree.offered_to("Quinn").contains(&"escalate_to_parent".to_owned()));
    assert_eq!(issues(&tree, PLATFORM).await.len(), 1);
}

/// L22: what is settled for one customer is not told in the conversation of another.
#[tokio::test]
async fn l22_a_resolution_is_told_in_its_own_conversation_only() {
    let tree = Tree::new(SCRIPT).await;
    tree.scenario.say("rosa", "I was charged twice").await;
    let operations = tree.scenario.operations();
    let bella = operations.as_actor(Actor::Terminal, ORG);
    let id = bella.issues().await.unwrap()[0].id;
    bella.decide_issue(id, IssueDecision::Acknowledge).await.unwrap();
    bella.decide_issue(id, IssueDecision::Resolve("rosa gets it back".into())).await.unwrap();
    tree.scenario.write("otto", "hello").await;
    tree.scenario.work().await;
    let calls = tree.seen.all();
    let of = |person: &str| {
        let texts = calls
            .iter()
            .filter(|call| call.history.iter().any(|item| item_text(item).contains(person)));
        texts.map(|call| call.system.clone()).collect::<Vec<_>>()
    };
    assert!(of("hello").iter().all(|prompt| !prompt.contains("rosa gets it back")));
    assert!(of("charged").iter().any(|prompt| prompt.contains("rosa gets it back")));
}

/// L20, L41: an org sees and decides only issues that it sent or received.
#[tokio::test]
async fn l20_an_issue_of_others_is_neither_seen_nor_decided() {
    let tree = Tree::new(SCRIPT).await;
    tree.scenario.say("rosa", "I was charged twice").await;
    let (id, before) = tree.records::<Issue>(ORG, "escalation").await.remove(0);
    for (at, who) in [(AGENCY, "Mara"), (STRANGER, "Otto")] {
        let answer = tree.owner_says(at, &format!("settle {id}")).await;
        assert_eq!(answer, ["Not done: no such record here."], "{at}");
        assert!(!tree.prompt_of(who).contains("double charge"));
        let operations = tree.scenario.operations();
        let there = operations.as_actor(Actor::Terminal, at);
        assert!(there.issues().await.unwrap().is_empty());
        assert!(there.decide_issue(id, IssueDecision::Acknowledge).await.is_err());
    }
    assert_eq!(issues(&tree, ORG).await, [before]);
}

on_every_database!(l33_an_erased_person_leaves_no_words_in_issues);
/// L33: the digest of a conversation that went to the agency with an issue is erased with the
/// person, in both orgs, with the notices about it; the decisions on others stay.
async fn l33_an_erased_person_leaves_no_words_in_issues(store: Store) {
    let tree = Tree::in_store(store, SCRIPT).await;
    // Without a PM the issue goes to the agency.
    let luca = tree.scenario.org().agent(LUCA).await.unwrap();
    tree.save_agent(ORG, Agent { status: AgentStatus::Paused, ..luca }).await;
    for person in ["rosa", "otto"] {
        tree.scenario.say(person, &format!("I was charged twice, says {person}")).await;
    }
    let words = async |person: &str| {
        let at_agency = tree.records::<serde_json::Value>(AGENCY, "escalation").await;
        let notices = tree.scenario.store.org(AGENCY);
        let owner = ostler_domain::notice::NoticeRecipient::Owner;
        let notices = notices.notices(owner, 9).await.unwrap();
        (format!("{at_agency:?}").matches(person).count(), notices.len())
    };
    assert_eq!(words("rosa").await, (1, 2));
    let operations = tree.scenario.operations();
    let bella = operations.as_actor(Actor::Terminal, ORG);
    let Person::Visitor(rosa) = bella.find_person("webchat:rosa").await.unwrap() else {
        panic!("a visitor")
    };
    bella.delete_visitor(&rosa).await.unwrap();
    assert_eq!(words("rosa").await, (0, 1), "erased with its notice");
    assert_eq!(words("otto").await, (1, 1), "others stay");
    let erased = issues(&tree, AGENCY).await.remove(0);
    assert_eq!((erased.summary.as_str(), erased.context.as_str()), ("(deleted)", ""));
    assert_eq!(issues(&tree, ORG).await, issues(&tree, AGENCY).await, "both copies");
}
