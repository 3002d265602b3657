//! The commands that change one resource: org, agent, soul, policy, settings, budget.

use crate::demo::DemoInstallation;

const NORDLICHT: [&str; 10] = [
    "org",
    "create",
    "nordlicht",
    "--name",
    "Nordlicht Bikes",
    "--parent",
    "harbour",
    "--plan",
    "professional",
    "--time-zone=Europe/Berlin",
];

/// O08: an org is created, shown, changed and archived; its clients need a licence.
#[test]
fn o08_an_org_is_created_changed_and_archived() {
    let demo = DemoInstallation::new();
    let said = demo.run(&NORDLICHT);
    assert!(said.contains("+ org nordlicht") && said.contains("applied"), "{said}");
    assert!(demo.error(&NORDLICHT).contains("there is an organization `nordlicht` already"));
    let shown = demo.json(&["org", "show", "nordlicht"]);
    assert_eq!(shown["time_zone"], "Europe/Berlin");
    assert_eq!(demo.json(&["credit", "show", "--org", "nordlicht"])["pools"][1]["available"], 500);
    demo.run(&["org", "set", "nordlicht", "retention_days=30", "credits.monthly=800"]);
    assert_eq!(demo.json(&["org", "show", "nordlicht"])["retention_days"], 30);
    assert_eq!(demo.json(&["credit", "show", "--org", "nordlicht"])["pools"][1]["available"], 800);
    let third = ["org", "create", "third", "--parent", "harbour"];
    assert!(demo.error(&third).contains("the agency plan includes 2 sub-orgs and `harbour` has 2"));
    assert!(demo.error(&["org", "create", "Bad Slug"]).contains("is not a slug"));
    assert!(
        demo.error(&["org", "set", "nordlicht", "plann=pro"]).contains("unknown field `plann`")
    );
    let kept = demo.error(&["org", "set", "nordlicht", "parent=platform"]);
    assert!(kept.contains("keeps the parent it was created with"), "{kept}");
    demo.run(&["org", "archive", "nordlicht", "--yes"]);
    assert!(!demo.run(&["org", "ls"]).contains("nordlicht"));
    assert!(demo.run(&["org", "ls", "--all"]).contains("archived"));
    assert!(demo.run(&["org", "tree"]).contains("Bella Pizza"));
}

/// O08: the customers of an archived org reach nobody any more.
#[test]
fn o08_an_archived_org_has_its_channels_closed() {
    let demo = DemoInstallation::new();
    demo.run(&["org", "archive", "bella", "--yes"]);
    let channels = demo.json(&["channel", "ls", "--org", "bella"]);
    assert_eq!(channels[0]["enabled"], false, "{channels}");
    demo.error(&["send", "--org", "bella", "--contact", "otto", "hello"]);
}

/// O09, D05: an agent is created with a known role, paused and resumed; a level that its
/// business layer does not have is refused.
#[test]
fn o09_d05_an_agent_is_created_paused_and_archived() {
    let demo = DemoInstallation::new();
    let create = ["agent", "create", "nina", "--org", "bella"];
    let refused = demo.error(&[&create[..], &["--subtype", "support"]].concat());
    assert!(refused.contains("no role `support`; there are: pm"), "{refused}");
    let refused = demo.error(&[&create[..], &["--autonomy", "autonomous"]].concat());
    assert!(refused.contains("cannot be autonomous; allowed here: supervised"), "{refused}");
    let said = demo.run(&[&create[..], &["--name", "Nina", "--model", "local/llama"]].concat());
    assert!(said.contains("business layer 4, guarded as 4"), "{said}");
    let custom = ["agent", "create", "kim", "--org", "bella", "--subtype", "couriers", "--custom"];
    assert!(demo.run(&custom).contains("business layer 3, guarded as 3"));
    let said = demo.run(&["agent", "pause", "nina", "--org", "bella"]);
    assert!(said.contains("status \"active\" → \"paused\""), "{said}");
    demo.run(&["agent", "resume", "nina", "--org", "bella"]);
    demo.run(&["agent", "set", "nina", "--org", "bella", "limits.max_messages_per_day=7"]);
    demo.run(&["agent", "archive", "nina", "--org", "bella", "--yes"]);
    let file = demo.run(&["export", "--org", "bella"]);
    assert!(
        file.contains("slug = \"nina\"") && file.contains("max_messages_per_day = 7"),
        "{file}"
    );
    let system = demo.error(&["agent", "pause", "quinn", "--org", "platform"]);
    assert!(system.contains("`quinn` is a system agent and always active"), "{system}");
}

/// L07: the roles with rules are listed. A role that the org names itself is accepted if that is
/// said; its agents have the business layer and the autonomy that follow from the place of the
/// org.
#[test]
fn l07_a_role_of_ones_own_has_the_defaults_of_its_place() {
    let demo = DemoInstallation::new();
    let create = |org: &str, custom: &[&str]| {
        let args = ["agent", "create", "kim", "--org", org, "--subtype", "couriers"];
        let args: Vec<String> = args.iter().chain(custom).map(|arg| (*arg).to_owned()).collect();
        args
    };
    let words = |args: &[String]| args.iter().map(String::as_str).collect::<Vec<_>>().join(" ");
    let refused = create("bella", &[]);
    let refused = demo.error(&refused.iter().map(String::as_str).collect::<Vec<_>>());
    for role in ["pm", "sales_assistant", "booking_agent", "customer_service", "coordinator"] {
        assert!(refused.contains(role), "{role}: {refused}");
    }
    for (org, layer, autonomy) in [("bella", 3, "supervised"), ("harbour", 2, "semi_autonomous")] {
        let args = create(org, &["--custom"]);
        let said = demo.run(&args.iter().map(String::as_str).collect::<Vec<_>>());
        let expected = format!("business layer {layer}, guarded as {layer}");
        assert!(said.contains(&expected), "{}: {said}", words(&args));
        let shown = demo.run(&["agent", "show", "kim", "--org", org]);
        assert!(shown.contains("couriers") && shown.contains(autonomy), "{shown}");
    }
}

/// O10, H07: a soul has versions that can be compared and restored.
#[test]
fn o10_h07_a_soul_is_imported_compared_and_restored() {
    let demo = DemoInstallation::new();
    let file = std::path::Path::new(&demo.home()).join("SOUL.md");
    let path = file.to_str().expect("a path");
    demo.run(&["soul", "export", "gia", "--org", "bella", "--out", path]);
    let text = std::fs::read_to_string(&file).expect("a file");
    std::fs::write(&file, text.replace("Warm and quick", "Calm and quick") + "\n# Gia\n")
        .expect("written");
    let said = demo.run(&["soul", "import", "gia", path, "--org", "bella", "--yes"]);
    assert!(said.contains("soul.personality") && said.contains("applied"), "{said}");
    let diff = demo.run(&["soul", "diff", "gia", "1", "--org", "bella"]);
    assert!(diff.contains("- Warm and quick") && diff.contains("+ Calm and quick"), "{diff}");
    let prompt = demo.run(&["soul", "preview", "gia", "--org", "bella"]);
    assert!(prompt.contains("Calm and quick"), "{prompt}");
    let said = demo.run(&["soul", "rollback", "gia", "1", "--org", "bella"]);
    assert_eq!(said, "version 1 restored as version 3\n");
    assert!(demo.run(&["soul", "log", "gia", "--org", "bella"]).contains("version 1 restored"));
    assert!(demo.run(&["soul", "show", "gia", "--org", "bella"]).contains("Warm and quick"));
    let said = demo.error(&["soul", "rollback", "gia", "9", "--org", "bella"]);
    assert!(said.contains("there is no version 9"), "{said}");
}

/// H08: a proposal is made from a file, listed, shown with its changes, and decided once.
#[test]
fn h08_a_soul_is_proposed_shown_and_approved() {
    let demo = DemoInstallation::new();
    let file = std::path::Path::new(&demo.home()).join("SOUL.md");
    let path = file.to_str().expect("a path");
    demo.run(&["soul", "export", "gia", "--org", "bella", "--out", path]);
    let text = std::fs::read_to_string(&file).expect("a file");
    std::fs::write(&file, text.replace("Warm and quick", "Calm and quick")).expect("written");
    let propose = ["soul", "propose", "gia", path, "--org", "bella", "--reason", "too hasty"];
    let made = demo.json(&propose);
    let id = made["id"].as_str().expect("an id");
    let listed = demo.run(&["soul", "proposals", "ls", "--org", "bella"]);
    assert!(listed.contains("too hasty") && listed.contains("Gia"), "{listed}");
    assert!(demo.run(&["notice", "ls", "--org", "bella"]).contains("soul of Gia"));
    let shown = demo.run(&["soul", "proposals", "show", id, "--org", "bella"]);
    assert!(shown.contains("- Warm and quick") && shown.contains("+ Calm and quick"), "{shown}");
    let said = demo.run(&["soul", "proposals", "approve", id, "--org", "bella"]);
    assert!(said.contains("version 2 of the soul"), "{said}");
    assert!(demo.run(&["soul", "log", "gia", "--org", "bella"]).contains("proposal prp_"));
    let said = demo.error(&["soul", "proposals", "reject", id, "--org", "bella", "--reason", "no"]);
    assert!(said.contains("is not waiting for this any more"), "{said}");
    let none = demo.run(&["agent", "promotion", "ls", "--org", "bella"]);
    assert!(none.contains("no autonomy level waits"), "{none}");
    let figures = demo.run(&["agent", "promotion", "review", "--org", "bella"]);
    assert!(figures.contains("Gia: "), "{figures}");
}

/// O11: a policy change says before which agents gain or lose which tools.
#[test]
fn o11_a_policy_change_says_who_gains_and_loses_what() {
    let demo = DemoInstallation::new();
    let deny = ["policy", "set", "--org", "bella", "--deny", "refund_payment"];
    let plan = demo.run(&[&deny[..], &["--dry-run"]].concat());
    assert!(plan.contains("enzo loses refund_payment"), "{plan}");
    assert!(demo.error(&deny).contains("nobody is here to ask"));
    demo.run(&[&deny[..], &["--yes"]].concat());
    let undo = ["policy", "set", "--org", "bella", "--remove", "refund_payment", "--yes"];
    assert!(demo.run(&undo).contains("enzo gains refund_payment"));
    let misspelt = ["policy", "set", "--platform", "--deny", "refund_paymnt", "--yes"];
    assert!(demo.error(&misspelt).contains("did you mean `refund_payment`?"));
}

/// Z13: recorded calls are decided again under a proposed policy, of flags or of a file,
/// and the plan of a change says the same. Nothing is changed by asking.
#[test]
fn z13_a_policy_is_tried_on_the_calls_of_the_last_days() {
    let demo = DemoInstallation::new();
    let deny = ["policy", "what-if", "--org", "bella", "--deny", "refund_payment"];
    let said = demo.run(&deny);
    assert!(said.contains("enzo loses refund_payment"), "{said}");
    assert!(said.contains("1 would be decided differently"), "{said}");
    assert!(said.contains("bella/enzo  refund_payment  asks  refused  ses_…"), "{said}");
    assert!(said.lines().all(|line| line.chars().count() <= 80), "{said}");
    let tried = demo.json(&deny);
    let change = &tried["changes"][0];
    assert_eq!((&change["calls"], &change["from"]["decision"]), (&1.into(), &"ask".into()));
    assert_eq!(change["to"]["decision"], "deny");
    let session = change["example"]["session"].as_str().expect("a session");
    assert!(demo.run(&["session", "show", session]).contains("refund_payment"));
    // Another org's calls are not affected, and neither is a tool that nobody called.
    let others = ["policy", "what-if", "--org", "harbour", "--deny", "refund_payment"];
    assert_eq!(demo.json(&others)["changes"], serde_json::json!([]));
    let platform = ["policy", "what-if", "--platform", "--deny", "refund_payment"];
    assert_eq!(demo.json(&platform)["changes"][0]["org"], "bella");
    let bounded = demo.json(&[&platform[..], &["--limit", "1", "--days", "1"]].concat());
    assert_eq!((&bounded["calls"], &bounded["truncated"]), (&1.into(), &true.into()));
    assert!(demo.error(&["policy", "what-if", "--org", "bella"]).contains("say what to try"));

    let file = std::path::Path::new(&demo.home()).join("bella.toml");
    let path = file.to_str().expect("a path");
    let text = demo.run(&["export", "--org", "bella"]);
    std::fs::write(&file, text.replace("semi_autonomous", "autonomous")).expect("written");
    let refused = demo.error(&["policy", "what-if", path]);
    assert!(refused.contains("cannot be autonomous"), "the rules hold: {refused}");
    std::fs::write(&file, text.replace("semi_autonomous", "draft_only")).expect("written");
    for args in [&["policy", "what-if", path][..], &["apply", path, "--plan"]] {
        let said = demo.run(args);
        assert!(said.contains("refund_payment  asks  refused"), "{said}");
    }
    let plan = demo.json(&["apply", path, "--plan"]);
    assert_eq!(plan["what_if"]["changes"][0]["tool"], "refund_payment", "{plan}");
    let policies = demo.json(&["policy", "show", "--org", "bella"]);
    assert!(!policies.to_string().contains("refund_payment"), "nothing was changed: {policies}");
}

/// O12, O14, E03: settings and budgets are readable and settable.
#[test]
fn o12_o14_e03_settings_and_budgets_are_set() {
    let demo = DemoInstallation::new();
    demo.run(&[
        "settings",
        "set",
        "--org",
        "bella",
        "team.max_handoffs=2",
        "reopen=resume",
        "lifetimes.sms={idle_secs = 60, longest_secs = 120}",
        "people.owner={channel = \"webchat\", identifier = \"luigi\"}",
    ]);
    let shown = demo.run(&["settings", "show", "--org", "bella"]);
    for part in [
        "team.max_handoffs = 2",
        "reopen = \"resume\"",
        "lifetimes.sms.idle_secs = 60",
        "people.owner.channel = \"webchat\"",
        "approvals.expire_after_secs",
    ] {
        assert!(shown.contains(part), "{part} in {shown}");
    }
    let wrong = demo.error(&[
        "settings",
        "set",
        "--org",
        "bella",
        "people.owner={channel = \"x\", identifier = \"y\"}",
    ]);
    assert!(wrong.contains("no channel `x`"), "{wrong}");
    demo.run(&["budget", "set", "--org", "bella", "monthly=500", "session=80", "team=90"]);
    demo.run(&["budget", "set", "--org", "harbour", "per-child=20", "child.bella=10"]);
    let shown = demo.run(&["budget", "show", "--org", "bella"]);
    for part in ["monthly  ", "500 credits", "left", "session", "80 credits", "agent gia"] {
        assert!(shown.contains(part), "{part} in {shown}");
    }
    let left = demo.json(&["budget", "show", "--org", "bella"])["left_today"].as_u64();
    assert!(left.is_some_and(|left| left >= 500), "{left:?}");
    let agency = demo.json(&["budget", "show", "--org", "harbour"]);
    assert_eq!(agency["sharing"]["overrides"]["bella"], 10);
    let wrong = demo.error(&["budget", "set", "--org", "bella", "weekly=5"]);
    assert!(wrong.contains("no budget `weekly`"), "{wrong}");
}

/// O23: the only org is meant if none is named.
#[test]
fn o23_a_missing_org_lists_those_that_there_are() {
    let demo = DemoInstallation::new();
    let said = demo.error(&["settings", "show"]);
    assert!(said.contains("name an org with --org or OSTLER_ORG; there are: "), "{said}");
    demo.run(&["org", "archive", "harbour", "--yes"]);
    assert!(demo.run(&["settings", "show"]).contains("reopen"), "bella is the only one left");
}
