//! Conversations as operators read them.

use crate::demo::DemoInstallation;

/// Calls are shown with arguments and results, takeovers with the person, and a session is
/// found by the name that the list shows.
#[test]
fn calls_and_takeovers_are_part_of_a_conversation() {
    let demo = DemoInstallation::new();
    demo.run(&["session", "take-over", "Rosa"]);
    demo.run(&["session", "say", "rosa", "I am on it."]);
    demo.run(&["session", "resume", "ROSA"]);
    let shown = demo.run(&["session", "show", "Rosa"]);
    for part in [
        "⚙ get_order(order: 1234)",
        "allowed: read, semi_autonomous",
        "✓ {\"orders\":",
        "⏸ refund_payment(amount: 10.00, order: 1234, reason: one pizza was charged twice)",
        "asks first: destructive, semi_autonomous → apr_",
        "a person (terminal)  — took the conversation over",
        "a person (terminal)  — handed the conversation back",
    ] {
        assert!(shown.contains(part), "{part} in {shown}");
    }
    let order = ["took the conversation over", "I am on it.", "handed the conversation back"];
    let places = order.map(|part| shown.find(part));
    assert!(places.is_sorted(), "{shown}");
    let unknown = demo.error(&["session", "show", "tom"]);
    assert!(unknown.contains("no session `tom`; the newest are:"), "{unknown}");
}

/// What programs read has the names of the HTTP API, with arguments and results as data.
#[test]
fn o22_a_conversation_is_data_in_json() {
    let demo = DemoInstallation::new();
    demo.run(&["session", "take-over", "rosa"]);
    let shown = demo.json(&["session", "show", "rosa"]);
    let enzo = &shown["runs"][0]["turns"][1]["decisions"];
    assert_eq!((&enzo[0]["tool"], &enzo[0]["decision"]), (&"get_order".into(), &"allow".into()));
    assert_eq!(
        (&enzo[0]["arguments"]["order"], &enzo[0]["outcome"]["status"]),
        (&"1234".into(), &"ok".into())
    );
    assert_eq!(enzo[1]["outcome"]["status"], "pending_approval");
    assert_eq!(shown["changes"][0]["action"], "take_over");
    assert_eq!(shown["session"]["status"], "handed_off");
    assert!(shown["messages"][0]["at"].as_str().is_some_and(|at| at.ends_with('Z')), "{shown}");
    let sent = demo.json(&["send", "What is on the menu?", "--org", "bella", "--contact", "otto"]);
    let call = sent.as_array().expect("lines").iter().find(|line| line["line"] == "call");
    let call = call.expect("a call");
    assert_eq!((&call["tool"], &call["decision"]), (&"list_products".into(), &"allow".into()));
    let listed = demo.json(&["session", "ls", "--org", "bella"]);
    let rosa = listed.as_array().expect("a list").iter().find(|one| one["name"] == "Rosa");
    assert_eq!(rosa.expect("Rosa")["org_slug"], "bella");
}

/// A greeting is a word of its own, not a part of one.
#[test]
fn the_demo_greets_only_those_who_greet() {
    let demo = DemoInstallation::new();
    let send = |text| demo.run(&["send", text, "--org", "bella", "--contact", "otto"]);
    assert!(!send("This is something else.").contains("Ciao"));
    assert!(send("Hi there").contains("Ciao, welcome to Bella Pizza!"));
}
