//! `ostler notice`: listed, shown and acknowledged, and where each person gets them.

use crate::demo::DemoInstallation;

/// O31: notices are listed until somebody acknowledges them; `--all` also lists those.
#[test]
fn o31_notices_are_listed_until_they_are_acknowledged() {
    let demo = DemoInstallation::new();
    let shown = demo.run(&["notice", "ls", "--org", "bella"]);
    for part in [
        "Gia handed over to Enzo: a charge that is not",
        "Enzo wants to call refund_payment(amount: 10",
        "a customer needs a person: asked for a person",
        "Gia of Bella Pizza sent an issue",
    ] {
        assert!(shown.contains(part), "{part} in {shown}");
    }
    let listed = demo.json(&["notice", "ls", "--org", "bella"]);
    let first = listed[0]["id"].as_str().expect("an id").to_owned();
    assert!(listed[0]["created_at"].as_str().is_some_and(|at| at.ends_with('Z')), "{listed}");
    let missing = demo.error(&["notice", "ack", "zzzz", "--org", "bella"]);
    assert!(missing.contains("no notice `zzzz`; `ostler notice ls --all` lists them"), "{missing}");
    demo.run(&["notice", "ack", &first[first.len() - 4..], "--org", "bella"]);
    let left = demo.json(&["notice", "ls", "--org", "bella"]);
    assert_eq!(left.as_array().expect("a list").len(), 3);
    let shown = demo.json(&["notice", "show", &first, "--org", "bella"]);
    assert_eq!(
        (&shown["topic"], &shown["acknowledged_by"]),
        (&"handoffs".into(), &"terminal".into())
    );
    let shown = demo.run(&["notice", "show", &first, "--org", "bella"]);
    assert!(shown.contains("session  ") && shown.contains("ostler session show ses_"), "{shown}");
    assert_eq!(demo.run(&["notice", "ack", "--all", "--org", "bella"]), "3 notices acknowledged\n");
    let none = demo.run(&["notice", "ls", "--org", "bella"]);
    assert!(none.contains("there is no notice that waits for somebody in Bella"), "{none}");
    let all = demo.json(&["notice", "ls", "--all", "--org", "bella"]);
    assert_eq!(all.as_array().expect("a list").len(), 4);
}

fn set<'a>(args: &[&'a str]) -> Vec<&'a str> {
    [&["notice", "set", "--org", "bella"], args].concat()
}

/// O31: a person chooses destinations, quiet hours, the digest and the next stage; mistakes
/// change nothing, and the choice is part of the world file.
#[test]
fn o31_a_person_chooses_where_notices_go() {
    let demo = DemoInstallation::new();
    let shown = demo.run(&set(&[]));
    for part in ["approvals", "chat, team_group", "quiet hours  none", "after 5 minutes to email"] {
        assert!(shown.contains(part), "{part} in {shown}");
    }
    demo.run(&set(&["tools=none", "handoffs=digest", "approvals=chat,email"]));
    demo.run(&set(&["--quiet", "22:00-07:00", "--urgent", "wait", "--digest-at", "18:00"]));
    let json = demo.json(&set(&[]));
    assert_eq!(json["topics"]["handoffs"], serde_json::json!(["digest"]), "{json}");
    assert_eq!(json["topics"]["tools"], serde_json::json!([]), "{json}");
    assert_eq!(json["quiet_hours"]["urgent"], "wait", "{json}");
    assert_eq!(json["digest"]["at"], "18:00", "{json}");

    demo.run(&["member", "add", "anna@bella.example", "--role", "operator", "--org", "bella"]);
    demo.run(&set(&["--for", "anna@bella.example", "credits=email", "--time-zone", "Europe/Rome"]));
    let anna = demo.json(&set(&["--for", "anna@bella.example"]));
    assert_eq!(
        (&anna["person"], &anna["time_zone"]),
        (&"anna@bella.example".into(), &"Europe/Rome".into())
    );

    for (args, said) in [
        (&["mail=chat"][..], "no topic `mail`"),
        (&["tools=pigeon"], "is not a destination; use chat, email, team_group or digest, or none"),
        (&["--quiet", "22-7"], "is not a time of day"),
        (&["--quiet", "22:00-22:00"], "quiet hours begin and end at different times"),
        (&["--for", "anna@bella.exampel", "tools=chat"], "no member `anna@bella.exampel`"),
        (&["--for", "anna@bella.example", "tools=team_group"], "only the notices of `owner`"),
        (&["--chat", "nowhere:1"], "no channel `nowhere`"),
        (&["--time-zone", "Mars"], "no time zone `Mars`"),
    ] {
        let error = demo.error(&set(args));
        assert!(error.contains(said), "{said} in {error}");
    }
    assert_eq!(demo.json(&set(&[])), json, "mistakes change nothing");

    let world = demo.run(&["export"]);
    assert!(world.contains("anna@bella.example") && world.contains("22:00"), "{world}");
    demo.run(&set(&["--reset"]));
    let reset = demo.run(&set(&[]));
    assert!(reset.contains("quiet hours  none"), "{reset}");
}
