//! Issues, work and insights between an agency and its client, at the terminal.

use std::collections::BTreeSet;

use crate::demo::DemoInstallation;
use crate::running_server::RunningServer;

fn only_id(listed: &serde_json::Value) -> String {
    let open = listed.as_array().expect("a list");
    assert_eq!(open.len(), 1, "{listed}");
    open[0]["id"].as_str().expect("an id").to_owned()
}

/// Runs a command until what it prints contains a text.
fn wait_for(demo: &DemoInstallation, args: &[&str], text: &str) {
    let mut said = demo.run(args);
    for _ in 0..100 {
        if said.contains(text) {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(100));
        said = demo.run(args);
    }
    assert!(said.contains(text), "no `{text}` in {said}");
}

/// L17, L18, L22: the demo's escalation from layer 4 to 2 is followed in the terminal, and the
/// answer comes back down to the customer.
#[test]
fn l17_l18_l22_an_escalation_is_followed_in_the_terminal_to_the_agency_and_back() {
    let demo = DemoInstallation::new();
    let _server = RunningServer::start(&demo.home());
    let nina = ["send", "--org", "bella", "--contact", "nina", "A discount for 30 guests?"];
    assert!(demo.run(&nina).contains("I have asked my manager"));
    let first = only_id(&demo.json(&["issue", "ls", "--open", "--org", "bella"]));
    let shown = demo.run(&["issue", "show", &first, "--org", "bella"]);
    assert!(shown.contains("Gia of Bella Pizza") && shown.contains("customer: A discount"));
    let early = demo.error(&["issue", "resolve", &first, "yes", "--org", "bella"]);
    assert!(early.contains("acknowledge this issue first"), "{early}");
    let ask = ["send", "--org", "bella", "--contact", "ada", "--owner", "Ask the agency"];
    assert!(demo.run(&ask).contains("I have asked Mara"));
    let second = only_id(&demo.json(&["issue", "ls", "--open", "--org", "harbour"]));
    demo.run(&["issue", "acknowledge", &second, "--org", "harbour"]);
    demo.run(&["issue", "resolve", &second, "10 percent", "--org", "harbour"]);
    wait_for(&demo, &["session", "show", "ada"], "I have an answer for you: 10 percent");
    demo.run(&["issue", "acknowledge", &first, "--org", "bella"]);
    demo.run(&["issue", "resolve", &first, "yes, 10 percent", "--org", "bella"]);
    wait_for(&demo, &["session", "show", "nina"], "I have an answer for you: yes, 10 percent");
    assert!(demo.json(&["issue", "ls", "--open", "--org", "bella"]).as_array().unwrap().is_empty());
    let listed = demo.run(&["issue", "ls", "--org", "harbour"]);
    assert!(listed.contains("Luca of Bella Pizza") && listed.contains("resolved"), "{listed}");
}

/// L26, L31: people delegate work to a client and to an agency, and nowhere else, and answer it.
#[test]
fn l26_l31_people_delegate_work_and_answer_it() {
    let demo = DemoInstallation::new();
    let create = |to, from| {
        ["org-delegation", "create", "New menu", "--to", to, "--org", from, "--priority", "high"]
    };
    let refused = demo.error(&create("platform", "bella"));
    assert!(refused.contains("this organization has no such client"), "{refused}");
    assert!(demo.run(&create("harbour", "platform")).contains("harbour has the work rec_"));
    assert!(demo.run(&create("bella", "harbour")).contains("bella has the work rec_"));
    let id = only_id(&demo.json(&["org-delegation", "ls", "--org", "bella"]));
    demo.run(&["org-delegation", "accept", &id, "--org", "bella"]);
    demo.run(&["org-delegation", "complete", &id, "It is online", "--org", "bella"]);
    let shown = demo.run(&["org-delegation", "show", &id, "--org", "harbour"]);
    assert!(shown.contains("completed") && shown.contains("It is online"), "{shown}");
    assert!(demo.run(&["notice", "ls", "--org", "harbour"]).contains("It is online"));
    assert!(demo.run(&["insight", "ls", "--org", "harbour"]).contains("has no insights"));
    let none = demo.run(&["instruction", "ls", "gia", "--org", "bella"]);
    assert!(none.contains("gia has no instructions"), "{none}");
}

/// L08, L09, L10, L37, L46, L47: a new client has a PM, customer service with a web chat and, if
/// wanted, a coordinator, all in one change; the licence limits how many there are.
#[test]
fn l08_l10_a_new_client_starts_with_its_agents_and_a_web_chat() {
    let demo = DemoInstallation::new();
    let create =
        ["org", "create", "pasta", "--name", "Pasta Bar", "--parent", "harbour", "--coordinator"];
    let said = demo.run(&create);
    for part in ["+ org pasta", "pm", "customer-service", "coordinator", "webchat"] {
        assert!(said.contains(part), "{part}: {said}");
    }
    let agents = demo.json(&["agent", "ls", "--org", "pasta"]);
    let slugs: Vec<&str> =
        agents.as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap_or("")).collect();
    assert_eq!(slugs.len(), 3, "{agents}");
    let soul = demo.run(&["soul", "show", "customer-service", "--org", "pasta"]);
    assert!(soul.contains("the friendly voice of Pasta Bar"), "{soul}");
    let hello = demo.run(&["send", "--org", "pasta", "--contact", "otto", "hello"]);
    assert!(hello.contains("Pasta Bar Customer Se"), "{hello}");
    let third = demo.error(&["org", "create", "third", "--parent", "harbour"]);
    assert!(third.contains("the agency plan includes 2 sub-orgs"), "{third}");
    assert!(demo.error(&["agent", "ls", "--org", "third"]).contains("third"), "nothing is left");
    let deep = demo.error(&["org", "create", "deep", "--parent", "pasta"]);
    assert!(deep.contains("deep"), "{deep}");
    assert!(demo.error(&["agent", "ls", "--org", "deep"]).contains("deep"), "nothing is left");
}

/// L08, L51: every tool of the catalogue has an implementation, and no other tool is built in.
#[test]
fn l51_every_tool_of_the_catalogue_is_implemented() {
    let demo = DemoInstallation::new();
    let listed = demo.json(&["tools", "ls"]);
    let listed: BTreeSet<String> =
        listed.as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap().into()).collect();
    let catalogue = ostler_domain::tool::catalogue::built_in();
    let catalogue: BTreeSet<String> = catalogue.iter().map(|one| one.name.to_string()).collect();
    assert_eq!(listed, catalogue);
}

/// L07: the known roles are listed, and another one is accepted with the defaults of its layer.
#[test]
fn l07_the_roles_are_listed_and_custom_ones_accepted() {
    let demo = DemoInstallation::new();
    let help = demo.run(&["agent", "create", "--help"]);
    for role in ["pm", "customer_service", "sales_assistant", "booking_agent", "coordinator"] {
        assert!(help.contains(role), "{role}: {help}");
    }
    let create = ["agent", "create", "nico", "--subtype", "barista", "--org", "bella"];
    let unknown = demo.error(&create);
    assert!(unknown.contains("barista") && unknown.contains("custom"), "{unknown}");
    let made = demo.run(&[&create[..], &["--custom"]].concat());
    assert!(made.contains("business layer 3, guarded as 3"), "{made}");
    let shown = demo.json(&["agent", "show", "nico", "--org", "bella"]);
    assert_eq!((&shown["subtype"], &shown["autonomy"]), (&"barista".into(), &"supervised".into()));
}

/// H08: a reflection is started at the terminal; what it proposes waits for a person, and it
/// looks at a conversation once.
#[test]
fn h08_a_reflection_is_started_at_the_terminal() {
    let demo = DemoInstallation::new();
    let reflect = ["soul", "reflect", "gia", "--org", "bella"];
    let made = demo.run(&reflect);
    assert!(made.contains("waits for a decision: Rosa was angry"), "{made}");
    let waiting = demo.run(&["soul", "proposals", "ls", "--org", "bella"]);
    assert!(waiting.contains("Luca, looking back"), "{waiting}");
    let again = demo.run(&reflect);
    assert!(again.contains("nothing to learn from"), "{again}");
    let quinn = demo.error(&["soul", "reflect", "quinn", "--org", "platform"]);
    assert!(quinn.contains("soul of its template"), "{quinn}");
}
