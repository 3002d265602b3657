use super::{
    MessageFacts, ReplyFacts, Trigger, TriggerSettings, are_similar, check_message, check_reply,
};
use super::{TriggerKind, TriggerRoute};
use crate::human::escalation::Urgency;
use crate::id::AgentId;

fn facts<'a>(message: &'a str, earlier_messages: &'a [&'a str]) -> MessageFacts<'a> {
    MessageFacts {
        message,
        earlier_messages,
        blocked_topics: &[],
        soul_triggers: &[],
        failed_tools: 0,
        handled_triggers: &[],
    }
}

/// Returns the most urgent trigger.
fn first_trigger(facts: &MessageFacts<'_>) -> Option<(Trigger, Urgency)> {
    check_message(facts, &TriggerSettings::default())
        .map(|fired| (fired.triggers()[0].clone(), fired.urgency()))
}

/// G48, G49: asking for a person is urgency normal; small talk is nothing.
#[test]
fn g48_g49_asking_for_a_person_escalates() {
    let asked = first_trigger(&facts("This is ridiculous. I want a real person!", &["I paid 50"]));
    assert_eq!(asked, Some((Trigger::AskedForPerson, Urgency::Normal)));
    assert_eq!(first_trigger(&facts("connect me to the wifi", &[])), None);
}

/// G51: two negative messages among the last three, the new one included.
#[test]
fn g51_an_angry_customer_escalates_with_high_urgency() {
    let angry = Some((Trigger::Angry, Urgency::High));
    type Case<'a> = (&'a [&'a str], &'a str, Option<(Trigger, Urgency)>);
    let table: [Case<'_>; 6] = [
        (&[], "this is useless", None),
        (&["terrible service"], "this is useless", angry.clone()),
        (&["terrible service", "where is it"], "this is useless", angry.clone()),
        (&["terrible service", "ok", "where is it"], "this is useless", None),
        (&["terrible", "useless"], "hello?", angry.clone()),
        (&["terrible", "useless"], "I want a real person", angry),
    ];
    for (earlier, message, expected) in table {
        assert_eq!(first_trigger(&facts(message, earlier)), expected, "{earlier:?} {message}");
    }
}

/// D10: a blocked topic escalates and the reason names it.
#[test]
fn d10_a_blocked_topic_is_named() {
    let topics = ["medical advice".to_owned()];
    let facts = MessageFacts {
        blocked_topics: &topics,
        ..facts("I need Medical Advice on allergies", &[])
    };
    let (trigger, urgency) = first_trigger(&facts).unwrap();
    assert_eq!(trigger.to_string(), "blocked topic: medical advice");
    assert_eq!(urgency, Urgency::Normal);
}

/// G63: an agent's own trigger fires for it and not for another.
#[test]
fn g63_a_soul_trigger_fires_only_for_its_agent() {
    let triggers = ["cancel my contract".to_owned()];
    let with =
        MessageFacts { soul_triggers: &triggers, ..facts("Please cancel my contract today", &[]) };
    let (trigger, _) = first_trigger(&with).unwrap();
    assert_eq!(trigger.to_string(), "the agent's trigger: cancel my contract");
    assert_eq!(first_trigger(&facts("Please cancel my contract today", &[])), None);
}

/// G54: three tools off is urgent.
#[test]
fn g54_failing_tools_escalate_with_high_urgency() {
    let with = |failed_tools| first_trigger(&MessageFacts { failed_tools, ..facts("hi", &[]) });
    assert_eq!(with(2), None);
    assert_eq!(with(3), Some((Trigger::ToolsFailing, Urgency::High)));
}

fn after(reply: &str, previous: Option<&str>, uncertain_before: u32) -> Option<Trigger> {
    let facts = ReplyFacts { reply, previous, uncertain_before };
    check_reply(&facts, &TriggerSettings::default())
}

/// G52: the third uncertain reply, with urgency low.
#[test]
fn g52_the_third_uncertain_reply_asks_for_a_human() {
    assert_eq!(after("I'm not sure.", None, 1), None);
    assert_eq!(after("I'm not sure.", None, 2), Some(Trigger::Uncertain));
    assert_eq!(after("It is at 5 pm.", None, 7), None);
    assert_eq!(Trigger::Uncertain.urgency(), Urgency::Low);
}

/// G53: two replies in a row that share 0.8 of their words.
#[test]
fn g53_a_repeated_reply_escalates() {
    let table = [
        ("one two three four", "One, two, three, four!", true),
        ("a b c d", "a b c d e", true),
        ("a b c", "a b c d", false),
        ("a a a b", "b a", true),
        ("", "", false),
    ];
    for (one, other, expected) in table {
        assert_eq!(are_similar(one, other, 80), expected, "{one} / {other}");
    }
    let again = after("Please send the order number.", Some("please send the order number"), 0);
    assert_eq!(again, Some(Trigger::RepeatsItself));
    assert_eq!(Trigger::RepeatsItself.urgency(), Urgency::Normal);
    assert_eq!(after("hello", None, 0), None);
}

/// D10: the reason names every trigger, the topic too, whatever else fires.
#[test]
fn d10_the_reason_names_every_trigger() {
    let topics = ["legal advice".to_owned(), "taxes".to_owned()];
    let message = "I want a real person for legal advice on taxes";
    let facts = MessageFacts { blocked_topics: &topics, ..facts(message, &[]) };
    let fired = check_message(&facts, &TriggerSettings::default()).unwrap();
    assert_eq!(
        fired.to_string(),
        "asked for a person; blocked topic: legal advice; blocked topic: taxes"
    );
    assert_eq!(fired.urgency(), Urgency::Normal);
}

/// G47, G57: a handled trigger does not fire again for the same message; any other
/// still does.
#[test]
fn g47_g57_a_handled_trigger_does_not_fire_again() {
    let settings = TriggerSettings::default();
    let topics = ["legal advice".to_owned(), "taxes".to_owned()];
    let message = "I want a real person for legal advice on taxes";
    let first = MessageFacts { blocked_topics: &topics, ..facts(message, &[]) };
    let all = check_message(&first, &settings).unwrap();
    let again = MessageFacts { handled_triggers: &all.triggers()[..2], ..first };
    let topic = "taxes".to_owned();
    let left = check_message(&again, &settings).unwrap();
    assert_eq!(left.triggers(), [Trigger::BlockedTopic { topic }]);
    let last = MessageFacts { handled_triggers: all.triggers(), ..first };
    assert_eq!(check_message(&last, &settings), None);
}

/// G03: a trigger goes to the org's specialist; from the specialist, or if it
/// cannot take over, to a human.
#[test]
fn g03_a_trigger_may_go_to_a_specialist() {
    let [gia, enzo] = [1, 2].map(AgentId::from_u128);
    let specialists = [(TriggerKind::Angry, enzo)].into();
    let route = |trigger: Trigger, active, able: bool| {
        trigger.route(active, &specialists, |agent| agent == enzo && able)
    };
    assert_eq!(route(Trigger::Angry, gia, true), TriggerRoute::Specialist(enzo));
    assert_eq!(route(Trigger::Angry, gia, false), TriggerRoute::Human);
    assert_eq!(route(Trigger::Angry, enzo, true), TriggerRoute::Human);
    assert_eq!(route(Trigger::AskedForPerson, gia, true), TriggerRoute::Human);
}

/// G49, G51: an org's settings are stored and read back, and may be sparse.
#[test]
fn settings_read_back_as_they_were_stored() {
    let settings = TriggerSettings::default();
    let stored = serde_json::to_string(&settings).unwrap();
    assert_eq!(serde_json::from_str::<TriggerSettings>(&stored).unwrap(), settings);
    let own: TriggerSettings = serde_json::from_str(r#"{"asks_for_human":"chef please"}"#).unwrap();
    assert!(own.asks_for_human.matches("Chef, please!"));
    assert_eq!(own.negative, settings.negative);
}
