//! A coordinator routes between layers, writes to nobody outside, and decides nothing.

use std::time::Duration;

use ostler_domain::hierarchy::issue::{Issue, IssueDecision};
use ostler_domain::id::OrgId;
use ostler_domain::notice::NoticeRecipient;
use ostler_runtime::deps::Settings;
use ostler_runtime::operations::Actor;
use ostler_testkit::eventually;
use tokio::sync::watch;

use super::tree::{AGENCY, CORA, Tree};
use crate::support::{BusPair, ORG, Scenario, on_every_bus, recording_catalogue};

const SCRIPT: &str = "
rules:
  - when: { user: settled }
    answer: 'News.'
  - when: { user: pass it on }
    answer:
      - call: escalate_to_parent
        with: { summary: refund of 10 euros, severity: medium }
      - 'Passed on.'
default: 'About {{ user }}: yes.'
";

/// Returns the issue, the agency's notices and the last prompt of the client's PM, after an
/// issue went up and was resolved.
async fn escalate(coordinator: Option<OrgId>) -> (Issue, Vec<String>, String, Vec<String>) {
    let tree = Tree::new(SCRIPT).await;
    if let Some(at) = coordinator {
        tree.add_coordinator(at).await;
    }
    tree.owner_says(ORG, "pass it on").await;
    let operations = tree.scenario.operations();
    let agency = operations.as_actor(Actor::Terminal, AGENCY);
    let id = agency.issues().await.unwrap()[0].id;
    let unread =
        tree.scenario.store.org(AGENCY).unread_notices(NoticeRecipient::Owner, None, 9).await;
    let notices =
        unread.unwrap().into_iter().map(|one| one.notice.data.replace(&id.to_string(), "ISSUE"));
    let notices = notices.collect();
    agency.decide_issue(id, IssueDecision::Acknowledge).await.unwrap();
    agency.decide_issue(id, IssueDecision::Resolve("refund it".into())).await.unwrap();
    tree.scenario.work().await;
    let (_, issue) = tree.records::<Issue>(AGENCY, "escalation").await.remove(0);
    let routed = match coordinator {
        Some(at) => tree.audit(at).await,
        None => Vec::new(),
    };
    (issue, notices, tree.prompt_of("Luca"), routed)
}

/// L10, L12, L55: with the coordinator at layer 2, at layer 3 or absent, record, notice and
/// resolution are the same; the record and the audit log name the coordinator that routed it.
#[tokio::test]
async fn l55_a_coordinator_at_layer_2_3_or_none_leads_to_the_same_record_and_notice() {
    let (without, notices, prompt, _) = escalate(None).await;
    assert_eq!(without.routed_by, None);
    assert!(prompt.contains("was resolved: refund it"), "{prompt}");
    for at in [ORG, AGENCY] {
        let (issue, told, resolved, audit) = escalate(Some(at)).await;
        let routed_by = issue.routed_by.expect("it was routed");
        assert_eq!((routed_by.org, routed_by.agent), (at, CORA));
        let same = Issue {
            routed_by: None,
            session: without.session,
            conversation: without.conversation,
            ..issue
        };
        assert_eq!((same, told, resolved), (without.clone(), notices.clone(), prompt.clone()));
        assert!(audit.contains(&"route_issue".to_owned()), "{audit:?}");
    }
}

on_every_bus!(l10_l55_what_a_coordinator_routes_reaches_agents_of_another_process);
/// L10, L55: an issue and its resolution cross the boundary of the org and of the process. The
/// records travel in the database; the bus wakes the process that answers, which looks for work
/// only once an hour without it.
async fn l10_l55_what_a_coordinator_routes_reaches_agents_of_another_process(
    BusPair(here, there): BusPair,
) {
    let tree = Tree::new(SCRIPT).await;
    tree.add_coordinator(AGENCY).await;
    tree.scenario.worker.bell().connect(here);
    let (models, seen) = recording_catalogue(SCRIPT);
    let settings = Settings { poll_interval: Duration::from_secs(3600), ..Settings::default() };
    let answering = Scenario::with_models(tree.scenario.store.clone(), models, settings);
    let consumers = answering.worker.bell().listen(&there).await.unwrap();
    let (stop, stopped) = watch::channel(false);
    let worker = answering.worker.clone();
    let working = tokio::spawn(async move { worker.run(2, stopped).await });

    tree.owner_sends(ORG, "pass it on").await;
    let operations = tree.scenario.operations();
    let agency = operations.as_actor(Actor::Terminal, AGENCY);
    eventually("the issue", async || !agency.issues().await.unwrap().is_empty()).await;
    let issue = agency.issues().await.unwrap().remove(0);
    assert_eq!(issue.record.routed_by.map(|one| (one.org, one.agent)), Some((AGENCY, CORA)));
    agency.decide_issue(issue.id, IssueDecision::Acknowledge).await.unwrap();
    agency.decide_issue(issue.id, IssueDecision::Resolve("refund it".into())).await.unwrap();
    let is_told = |prompt: &str| prompt.contains("was resolved: refund it");
    eventually("the resolution", async || seen.all().iter().any(|call| is_told(&call.system)))
        .await;

    stop.send_replace(true);
    working.await.unwrap();
    for consumer in &consumers {
        consumer.close().await;
    }
}

/// L10, L11: a coordinator answers no customer, even if it is the only agent.
#[tokio::test]
async fn l11_a_coordinator_never_answers_a_customer() {
    let tree = Tree::new(SCRIPT).await;
    tree.add_coordinator(ORG).await;
    for agent in tree.scenario.org().agents().await.unwrap() {
        if agent.id != CORA {
            let paused = ostler_domain::agent::AgentStatus::Paused;
            tree.scenario.change_agent(agent.id, |one| one.status = paused).await;
        }
    }
    tree.scenario.say("rosa", "hello").await;
    assert!(!tree.seen.all().iter().any(|call| call.system.starts_with("You are Cora")));
}
