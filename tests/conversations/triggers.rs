//! Triggers that escalate a conversation.

use ostler_domain::human::escalation::Urgency;
use ostler_domain::session::status::SessionStatus;
use ostler_domain::soul::{Soul, SoulOrigin, SoulVersion};
use ostler_domain::time::Timestamp;
use ostler_runtime::records::run::RunOutcome;

use crate::support::{ECHO, GIA, Scenario};

const HOLD: &str = "Let me connect you with my team. They'll be right with you.";

/// Returns the trigger and the urgency of the last escalation, and whether a model was
/// asked.
async fn last_escalation(scenario: &Scenario, who: &str) -> Option<(String, Urgency, bool)> {
    let session = scenario.session(who).await;
    let escalation = session.open_escalation()?;
    assert_eq!(session.status, SessionStatus::HandedOff);
    let run = scenario.runs(who).await.pop().unwrap();
    let request = &escalation.state.request;
    assert_eq!(run.outcome, RunOutcome::Escalated { reason: request.reason.clone() });
    Some((request.reason.clone(), request.urgency, !run.turns.is_empty()))
}

/// G48, G49: "talk to a human" escalates before any model is asked.
#[tokio::test]
async fn auto_escalation() {
    let scenario = Scenario::new(ECHO).await;
    scenario.say("rosa", "Can I talk to a human please?").await;
    let expected = Some(("asked for a person".into(), Urgency::Normal, false));
    assert_eq!(last_escalation(&scenario, "rosa").await, expected);
    scenario.say("otto", "Please connect me to the wifi").await;
    assert_eq!(last_escalation(&scenario, "otto").await, None);
}

/// D10: a blocked topic escalates by name, in any case.
#[tokio::test]
async fn d10_a_blocked_topic_escalates_in_any_case() {
    let scenario = Scenario::new(ECHO).await;
    scenario.say("rosa", "I need MEDICAL ADVICE about gluten").await;
    let expected = Some(("blocked topic: medical advice".into(), Urgency::Normal, false));
    assert_eq!(last_escalation(&scenario, "rosa").await, expected);
}

/// G51: two angry messages among the last three escalate with high urgency; one does not.
#[tokio::test]
async fn g51_two_angry_messages_of_three_escalate() {
    let scenario = Scenario::new(ECHO).await;
    scenario.say("rosa", "this is ridiculous").await;
    assert_eq!(last_escalation(&scenario, "rosa").await, None);
    scenario.say("rosa", "where is the menu").await;
    scenario.say("rosa", "what a useless service").await;
    let expected = Some(("the customer is angry".into(), Urgency::High, false));
    assert_eq!(last_escalation(&scenario, "rosa").await, expected);
}

/// G52: the third uncertain reply is delivered and escalates.
#[tokio::test]
async fn g52_the_third_uncertain_reply_escalates() {
    let scenario = Scenario::new(
        "
rules:
  - when: { user: one }
    answer: I don't know where the blue bicycle stands today.
  - when: { user: two }
    answer: I am not sure about opening hours on public holidays.
  - when: { user: three }
    answer: I cannot find your parcel among yesterday's deliveries.
default: Fine.
",
    )
    .await;
    for question in ["one", "two"] {
        scenario.say("rosa", question).await;
        assert_eq!(last_escalation(&scenario, "rosa").await, None);
    }
    let heard = scenario.say("rosa", "three").await;
    let reply = "I cannot find your parcel among yesterday's deliveries.";
    assert_eq!(heard, [reply, HOLD], "the customer is asked to wait once");
    let expected = Some(("the agent keeps being uncertain".into(), Urgency::Low, true));
    assert_eq!(last_escalation(&scenario, "rosa").await, expected);
}

/// G53: two similar replies in a row escalate.
#[tokio::test]
async fn g53_two_similar_replies_escalate() {
    let scenario =
        Scenario::new("default: Please restart the oven and wait for ten minutes.").await;
    scenario.say("rosa", "it is cold").await;
    assert_eq!(last_escalation(&scenario, "rosa").await, None);
    scenario.say("rosa", "still cold").await;
    let expected = Some(("the agent repeats itself".into(), Urgency::Normal, true));
    assert_eq!(last_escalation(&scenario, "rosa").await, expected);
}

/// G54: three disabled tools escalate with high urgency.
#[tokio::test]
async fn g54_three_disabled_tools_escalate() {
    let calls = |n: u32| {
        let tools = ["list_products", "list_events", "list_forms"];
        let each: Vec<String> = tools
            .iter()
            .map(|tool| format!("{{ tool: {tool}, with: {{ bad{n}: {n} }} }}"))
            .collect();
        format!("{{ calls: [{}] }}", each.join(", "))
    };
    let script = format!(
        "
rules:
  - when: {{ user: everything }}
    answer: [{}, {}, {}, Nothing works today.]
default: 'About {{{{ user }}}}: yes.'
",
        calls(1),
        calls(2),
        calls(3)
    );
    let scenario = Scenario::new(&script).await;
    scenario.say("rosa", "tell me everything").await;
    assert_eq!(scenario.session("rosa").await.errors.disabled().len(), 3);
    assert_eq!(last_escalation(&scenario, "rosa").await, None);
    scenario.say("rosa", "and now").await;
    let expected = Some(("several tools are failing".into(), Urgency::High, false));
    assert_eq!(last_escalation(&scenario, "rosa").await, expected);
}

/// G63: a trigger of the soul of an agent escalates by name; an agent without it answers.
#[tokio::test]
async fn g63_a_trigger_of_the_soul_escalates_by_name() {
    let scenario = Scenario::new(ECHO).await;
    let soul = Soul { escalation_triggers: vec!["food poisoning".into()], ..Soul::default() };
    let at = Timestamp::from_millis(1);
    let version = SoulVersion { version: 2, soul, origin: SoulOrigin::Created, at };
    scenario.org().push_soul(GIA, version).await.unwrap();
    scenario.say("rosa", "I fear food poisoning").await;
    let (reason, _, asked) = last_escalation(&scenario, "rosa").await.unwrap();
    assert_eq!((reason.as_str(), asked), ("the agent's trigger: food poisoning", false));
    scenario.pause_gia().await;
    assert_eq!(scenario.say("otto", "I fear food poisoning").await.len(), 1);
    assert_eq!(last_escalation(&scenario, "otto").await, None);
}
