//! One message, from the inbox to the reply.

use ostler_runtime::records::run::RunOutcome;

use crate::support::{ENZO, GIA, ORG, Scenario};

const HELLO: &str = "
rules:
  - when: { user: hello }
    answer: Hello! What can I do for you?
default: I see.
";

/// A10, C12: a second message of a person continues the session; the messages of a turn
/// are stored once, in order.
#[tokio::test]
async fn a10_c12_a_second_message_continues_the_session() {
    let scenario = Scenario::new(HELLO).await;
    assert_eq!(scenario.say("rosa", "hello").await, ["Hello! What can I do for you?"]);
    let first = scenario.session("rosa").await;
    assert_eq!(scenario.say("rosa", "and now").await, ["I see."]);
    assert_eq!(scenario.session("rosa").await.id, first.id);
    let said: Vec<String> =
        scenario.thread("rosa").await.iter().map(|one| one.text().into_owned()).collect();
    assert_eq!(said, ["hello", "Hello! What can I do for you?", "and now", "I see."]);
    assert_eq!(scenario.say("otto", "hello").await.len(), 1);
    assert_ne!(scenario.session("otto").await.id, first.id);
}

/// A03: a run records each step, the session first and all before the model.
#[tokio::test]
async fn a03_a_run_records_every_step_in_order() {
    let scenario = Scenario::new(HELLO).await;
    scenario.say("rosa", "hello").await;
    let runs = scenario.runs("rosa").await;
    let steps: Vec<&str> = runs[0].steps.iter().map(|one| one.step.as_ref()).collect();
    assert_eq!(steps, ["3", "1", "2", "4", "7", "5", "6", "7.5", "8"]);
    assert_eq!(runs[0].outcome, RunOutcome::Answered);
}

const BILLING: &str = "
rules:
  - when: { user: invoice, agent: 'You are Gia' }
    answer:
      text: Let me connect you with our billing specialist.
      call: tag_in_agent
      with: { targetAgentId: enzo, reason: invoice discrepancy,
              contextSummary: 'Rosa paid 50 for order 1234 and expected 40' }
  - when: { agent: 'You are Enzo', user: thank }
    answer: With pleasure.
  - when: { agent: 'You are Enzo' }
    answer: You were charged twice.
default: I see.
";

/// G01, G20, G26: an agent tags a colleague in, who answers the same message in the same
/// run, after the first agent.
#[tokio::test]
async fn handoff_happy_path() {
    let scenario = Scenario::new(BILLING).await;
    let heard = scenario.say("rosa", "My invoice is wrong").await;
    let expected = ["Let me connect you with our billing specialist.", "You were charged twice."];
    assert_eq!(heard, expected);
    let session = scenario.session("rosa").await;
    let team = session.team.as_ref().unwrap();
    assert_eq!((team.participants(), team.active()), (&[GIA, ENZO][..], ENZO));
    let runs = scenario.runs("rosa").await;
    assert_eq!(runs.len(), 1);
    let agents: Vec<_> = runs[0].turns.iter().map(|turn| turn.agent).collect();
    assert_eq!(agents, [GIA, ENZO]);
    assert_eq!(scenario.say("rosa", "thank you").await, ["With pleasure."]);
}

/// A04, A21: the harness names the agent, the org and the contact.
#[tokio::test]
async fn a04_a21_the_harness_names_agent_org_and_contact() {
    let scenario = Scenario::new("default: I see.").await;
    scenario.say("rosa", "hello").await;
    let run = scenario.runs("rosa").await.remove(0);
    let harness = &run.turns[0].harness;
    assert_eq!(harness.identity.agent_id, GIA);
    assert_eq!(harness.identity.organization_id, ORG);
    assert_eq!(harness.session_context.external_contact_identifier, "rosa");
    assert_eq!(harness.session_context.conversation_history, 0);
}

/// O28: an answer carries the time at which it was written, not the time at which the turn
/// began.
#[tokio::test(flavor = "multi_thread")]
async fn o28_an_answer_carries_the_time_of_its_end() {
    let scenario = Scenario::new("delay: 300ms\ndefault: I see.").await;
    scenario.write("rosa", "hello").await;
    let worker = scenario.worker.clone();
    let answering = tokio::spawn(async move { worker.answer_next().await });
    tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    let began = scenario.now();
    scenario.advance(std::time::Duration::from_secs(60));
    answering.await.unwrap().unwrap();
    let thread = scenario.thread("rosa").await;
    let answer = thread.last().unwrap();
    assert_eq!(answer.text(), "I see.");
    assert_eq!(answer.at.since(began), std::time::Duration::from_secs(60));
}
