//! `ostler member` and `ostler user`.

use serde_json::{Value, json};

use crate::demo::DemoInstallation;

fn roles(demo: &DemoInstallation) -> Vec<(Value, Value)> {
    let listed = demo.json(&["member", "ls", "--org", "bella"]);
    let listed = listed.as_array().expect("a list");
    listed.iter().map(|one| (one["email"].clone(), one["role"].clone())).collect()
}

/// O13: the last owner cannot be removed or lowered, and platform admins exist only on the
/// platform.
#[test]
fn o13_the_last_owner_cannot_be_removed() {
    let demo = DemoInstallation::new();
    let member = |words: &[&str]| demo.run(&[&["member"], words, &["--org", "bella"]].concat());
    let refused = |words: &[&str]| demo.error(&[&["member"], words, &["--org", "bella"]].concat());
    assert!(member(&["ls"]).contains("has no members"));
    let added = member(&["add", "Ada@x.org", "--name", "Ada Rossi", "--role", "owner"]);
    assert!(added.starts_with("Ada@x.org is owner of Bella Pizza\nhttp://"), "{added}");
    for words in [&["remove", "ada@x.org"][..], &["set", "Ada", "--role", "admin"]] {
        let said = refused(words);
        assert!(said.contains("this is the last owner of the organization"), "{said}");
    }
    let twice = refused(&["add", "ada@X.org", "--role", "viewer"]);
    assert!(twice.contains("Ada@x.org is a member already, as owner"), "{twice}");
    let nowhere = refused(&["add", "tom@x.org", "--role", "platform_admin"]);
    assert!(nowhere.contains("exists only in the platform's organization"), "{nowhere}");
    let mail = refused(&["add", "tom", "--role", "viewer"]);
    assert!(mail.contains("`tom` is not an e-mail address"), "{mail}");
    let nobody = refused(&["set", "bob", "--role", "viewer"]);
    assert!(nobody.contains("`bob` is neither a member nor invited here"), "{nobody}");
    assert_eq!(roles(&demo), [(json!("Ada@x.org"), json!("owner"))], "nothing changed");

    member(&["add", "tom@x.org", "--role", "viewer"]);
    member(&["set", "tom@x.org", "--role", "owner"]);
    member(&["remove", "Ada Rossi"]);
    assert_eq!(roles(&demo), [(json!("tom@x.org"), json!("owner"))]);
    let platform = ["member", "add", "ada@x.org", "--role", "platform_admin", "--org", "platform"];
    assert!(demo.run(&platform).contains("Ada@x.org is platform_admin"), "the account stayed");
    let shown = demo.json(&["user", "show", "ada@x.org"]);
    assert_eq!(shown["memberships"][0]["role"], "platform_admin");
    assert_eq!(shown["can_log_in"], false, "the account has no password");
}

/// O13: an invitation is a code that works once.
#[test]
fn o13_an_invitation_works_once() {
    let demo = DemoInstallation::new();
    let invite = ["member", "invite", "tom@x.org", "--role", "operator", "--org", "bella"];
    let first = demo.run(&invite);
    let invited = demo.json(&invite);
    let code = invited["code"].as_str().expect("a code");
    assert!(code.starts_with("osi_") && code.len() > 40, "{code}");
    let listed = demo.json(&["member", "ls", "--org", "bella"]);
    assert_eq!(
        (&listed[0]["state"], &listed[0]["email"]),
        (&json!("invited"), &json!("tom@x.org"))
    );
    assert!(!listed.to_string().contains(code), "the code is shown only once");
    let accept = |code: &str| ["member", "accept", code, "--name", "Tom Weber"].map(str::to_owned);
    let refused = |code: &str| {
        let words = accept(code);
        demo.error(&words.each_ref().map(String::as_str))
    };
    let replaced = refused(first.trim());
    assert!(replaced.contains("this invitation does not exist"), "{replaced}");
    let words = accept(code);
    let said = demo.run(&words.each_ref().map(String::as_str));
    assert_eq!(said, "tom@x.org is operator of Bella Pizza\n");
    let again = refused(code);
    assert!(again.contains("this invitation was used already; ask for a new one"), "{again}");
    let wrong = refused("12345");
    assert!(wrong.contains("one starts with `osi_`"), "{wrong}");
    assert_eq!(roles(&demo), [(json!("tom@x.org"), json!("operator"))]);

    let user = demo.run(&["user", "set", "tom@x.org", "--name", "Tom W.", "--email", "tw@x.org"]);
    assert_eq!(user, "Tom W.  tw@x.org\n");
    let users = demo.json(&["user", "ls"]);
    assert_eq!((&users[0]["email"], &users[0]["can_log_in"]), (&json!("tw@x.org"), &json!(false)));
    let unknown = demo.error(&["user", "set", "bob@x.org", "--name", "Bob"]);
    assert!(unknown.contains("no user has the id or e-mail address `bob@x.org`"), "{unknown}");
    let days = demo.error(&[&invite[..], &["--days", "31"]].concat());
    assert!(days.contains("31 is not in 1..=30"), "{days}");
}
