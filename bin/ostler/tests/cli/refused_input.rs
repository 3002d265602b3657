//! Input that makes no sense is refused with a sentence and changes nothing.

use crate::demo::DemoInstallation;

#[test]
fn input_without_meaning_is_refused() {
    let demo = DemoInstallation::new();
    let file = |name: &str, text: &str| {
        let path = std::path::Path::new(&demo.home()).join(name);
        std::fs::write(&path, text).expect("a file");
        path.to_string_lossy().into_owned()
    };
    let (empty, hours) = (file("empty.md", " \n"), file("hours.md", "We are open on Sundays."));
    demo.run(&["knowledge", "add", &hours, "--org", "bella"]);
    let before = demo.json(&["audit", "ls", "--limit", "1000"]);
    let loopback = r#"{"url": "http://127.0.0.1:9/in"}"#;
    let localhost = r#"{"url": "http://localhost:9/in"}"#;
    let table: [(&[&str], &str); 15] = [
        (&["send", " ", "--org", "bella", "--contact", "otto"], "'[TEXT]': it must not be empty"),
        (
            &["send", "hello", "--org", "bella", "--contact", ""],
            "'--contact <NAME>': it must not be empty",
        ),
        (&["session", "say", "rosa", ""], "'<TEXT>': it must not be empty"),
        (&["agent", "send", "gia", "", "--org", "bella"], "'<TEXT>': it must not be empty"),
        (&["team", "broadcast", "crew", " "], "'<TEXT>': it must not be empty"),
        (
            &["knowledge", "add", &empty, "--org", "bella"],
            "the text of a document must not be empty",
        ),
        (
            &["knowledge", "add", &hours, "--org", "bella"],
            "this text is in the knowledge base already, as `hours`",
        ),
        (&["worker", "--at-once", "0"], "write a number from 1 on"),
        (&["serve", "--at-once", "0"], "write a number from 1 on"),
        (
            &["team", "create", "crew", "--members", "ada", "--register", "banana"],
            "[possible values: echo, human]",
        ),
        (
            &["channel", "add", "webhook", "--org", "bella", "--settings", loopback],
            "only `local_network = true` in ostler.toml allows it",
        ),
        (
            &["channel", "add", "sms", "--org", "bella", "--settings", localhost],
            "not part of the public internet",
        ),
        (&["key", "create", " ", "--org", "bella"], "the name of a key must not be empty"),
        (
            &["credit", "grant", "0", "--org", "bella", "--reference", "r"],
            "write a number from 1 on",
        ),
        (
            &["channel", "add", "pigeon", "--org", "bella"],
            "whatsapp\na webhook of that name needs --settings",
        ),
    ];
    for (args, expected) in table {
        let said = demo.error(args);
        assert!(said.contains(expected), "{args:?}: {said}");
    }
    assert_eq!(demo.json(&["audit", "ls", "--limit", "1000"]), before, "nothing was changed");
    assert_eq!(demo.json(&["session", "ls"]).as_array().map(Vec::len), Some(3));
}

/// What a command prints about the server has the address that the server listens on.
#[test]
fn addresses_are_those_of_the_configuration() {
    let demo = DemoInstallation::new();
    let config = std::path::Path::new(&demo.home()).join("ostler.toml");
    let text = std::fs::read_to_string(&config).expect("a configuration");
    std::fs::write(&config, format!("listen = \"127.0.0.1:7999\"\n{text}")).expect("written");
    let added = demo.run(&["channel", "add", "webchat", "--org", "bella"]);
    assert!(added.contains("http://127.0.0.1:7999/chat/") && !added.contains("7470"), "{added}");
    let key = crate::ostler(&["key", "create", "k", "--org", "bella", "--home", &demo.home()]);
    let said = String::from_utf8_lossy(&key.stderr).into_owned();
    assert!(said.contains("http://127.0.0.1:7999/v1/me"), "{said}");
    let told = crate::stdout(&["demo", "--once", "--home", &demo.home()]);
    assert!(!told.contains("http://") && !told.contains("Ctrl-C"), "nothing is served: {told}");
}
