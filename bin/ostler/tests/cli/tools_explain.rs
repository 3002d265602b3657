use serde_json::Value;

use crate::demo::DemoInstallation;
use crate::{in_sample, stderr};

fn explain(args: &[&str]) -> String {
    in_sample(&[&["tools", "explain"], args].concat())
}

fn explained(agent: &str, session: &str) -> Vec<Value> {
    let json = explain(&["--agent", agent, "--session", session, "--json"]);
    let report: Value = serde_json::from_str(&json).expect("JSON");
    report["tools"].as_array().expect("a list of tools").clone()
}

fn tool<'a>(tools: &'a [Value], name: &str) -> &'a Value {
    tools.iter().find(|tool| tool["name"] == name).expect("the tool is listed")
}

/// B01, Z06: each tool with the stage, the policy layer and the rule.
#[test]
fn b01_z06_each_removal_names_stage_policy_layer_and_rule() {
    let tools = explained("gia", "rosa");
    let table = [
        ("delete_contact", "platform", "platform", "denied"),
        ("send_bulk_email", "org", "org", "denied"),
        ("search_unsplash_images", "integrations", "", "not_connected"),
        ("web_fetch", "agent", "agent", "outside_profile"),
        ("export_contacts", "business_layer", "", "no_right"),
        ("list_events", "session", "session", "failed_too_often"),
    ];
    for (name, stage, policy_layer, rule) in table {
        let tool = tool(&tools, name);
        assert_eq!(tool["state"], "removed", "{name}");
        assert_eq!(tool["stage"], stage, "{name}");
        assert_eq!(tool["policy_layer"].as_str().unwrap_or(""), policy_layer, "{name}");
        assert_eq!(tool["removal"]["rule"], rule, "{name}");
    }
    assert_eq!(tool(&tools, "list_products")["state"], "active");
}

/// L37-L39, L41, L42, L44, L45: what the command line says about an agent of each business layer
/// is what the guardrail matrix says. Other stages may remove more.
#[test]
fn l37_to_l45_the_matrix_is_explained_for_every_layer() {
    let agents = ["quinn", "mara", "luca", "gia"];
    let explained = agents.map(|agent| {
        let report = explain(&["--agent", agent, "--json"]);
        serde_json::from_str::<Value>(&report).expect("JSON")
    });
    for (name, layers) in [
        ("create_client_org", [true, true, false, false]),
        ("deploy_telegram_bot", [true, true, false, false]),
        ("update_org_settings", [true, true, true, false]),
        ("get_client_org_stats", [true, true, false, false]),
        ("propose_soul_update", [true, true, true, false]),
        ("send_bulk_email", [true, true, true, false]),
        ("import_contacts", [true, true, true, false]),
        ("update_agent", [true, true, true, false]),
        ("export_contacts", [true, true, true, false]),
        ("escalate_to_parent", [false, true, true, true]),
        ("delegate_to_child", [false, true, false, false]),
    ] {
        for ((agent, report), allowed) in agents.iter().zip(&explained).zip(layers) {
            let tools = report["tools"].as_array().expect("tools");
            let tool = tool(tools, name);
            let is_removed = tool["state"] == "removed";
            assert!(allowed || is_removed, "{agent} has {name}");
            assert!(
                !allowed || tool["stage"] != "business_layer",
                "{agent} may have {name}: {tool}"
            );
        }
    }
}

/// A26: nothing in the report is called just `layer`.
#[test]
fn a26_no_field_is_called_layer() {
    let json = explain(&["--agent", "gia", "--session", "rosa", "--json"]);
    assert!(!json.contains("\"layer\""), "{json}");
    assert!(json.contains("\"policy_layer\"") && json.contains("\"business_layer\""));
}

/// D02, D04: an active tool says whether it runs or asks first.
#[test]
fn d04_active_tools_say_what_the_gate_does() {
    let shown = explain(&["--agent", "gia", "--session", "rosa"]);
    let line = |name: &str| {
        shown.lines().find(|line| line.starts_with(name)).expect("a line for the tool")
    };
    assert!(line("query_org_data").ends_with("runs: read, semi_autonomous"));
    assert!(line("create_booking").ends_with("asks first: write, semi_autonomous"));
    assert!(line("create_contact").ends_with("asks first: on the agent's approval list"));
    assert!(line("tag_in_agent").ends_with("runs: control tool"));
}

/// B11, E08: the tools that are left in a session on SMS near its credit limit.
#[test]
fn b11_e08_a_session_narrows_the_scope() {
    let tools = explained("gia", "otto");
    assert_eq!(tool(&tools, "search_media")["removal"]["rule"], "not_on_channel");
    assert_eq!(tool(&tools, "create_booking")["removal"]["rule"], "session_read_only");
    assert_eq!(tool(&tools, "list_events")["state"], "active");
}

#[test]
fn one_tool_is_shown_stage_by_stage() {
    insta::assert_snapshot!(
        explain(&["--agent", "enzo", "--tool", "send_bulk_email"]),
        @r"
    Enzo of Bella Pizza · business layer 3 (Client) · a fresh session
    send_bulk_email · write · local · 2 credits per recipient

    platform  passes
    org       removed: on the deny list
    rule      tools.deny of org bella, examples/harbour.toml:34
    "
    );
    insta::assert_snapshot!(
        explain(&["--agent", "enzo", "--tool", "refund_payment"]),
        @r"
    Enzo of Bella Pizza · business layer 3 (Client) · a fresh session
    refund_payment · destructive · local · 1 credit

    platform        passes
    org             passes
    integrations    passes
    agent           passes
    autonomy        passes
    business layer  passes
    session         passes
    gate            asks first: destructive, semi_autonomous
    rule            autonomy of agent bella/enzo, examples/harbour.toml:86
    "
    );
}

/// Z06: a tool that does not exist is never called active, and the tools of the file are
/// explained like the others.
#[test]
fn z06_a_world_explains_the_tools_that_exist() {
    let demo = DemoInstallation::new();
    let offered: std::collections::BTreeSet<String> = demo
        .json(&["tools", "ls", "--org", "bella"])
        .as_array()
        .expect("a list")
        .iter()
        .map(|tool| tool["name"].as_str().expect("a name").to_owned())
        .collect();
    for agent in ["gia", "enzo", "luca", "mara", "quinn"] {
        let json = explain(&["--agent", agent, "--json"]);
        let report: Value = serde_json::from_str(&json).expect("JSON");
        for tool in report["tools"].as_array().expect("a list") {
            let name = tool["name"].as_str().expect("a name");
            let exists = offered.contains(name);
            assert!(exists || tool["state"] == "removed", "{agent}: {name} does not exist");
        }
    }
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("world.toml");
    let text = std::fs::read_to_string("../../examples/nordlicht.toml").expect("an example")
        + "\n[[org]]\nslug = \"platform\"\nname = \"P\"\nplatform = true\nplan = \"enterprise\"\n";
    std::fs::write(
        &file,
        text + "\n[[mcp_server]]\norg = \"nordlicht\"\nname = \"stock\"\ncommand = \"x\"\n",
    )
    .expect("written");
    let file = file.to_str().expect("a path");
    let shown = crate::stdout(&["tools", "explain", "--world", file, "--agent", "ida"]);
    assert!(shown.contains("shop_order") && shown.contains("mcp__stock__…"), "{shown}");
}

/// Z06: in a live session the tools of the answering agent are explained by the stored
/// policies; a connected service brings its tools.
#[test]
fn z06_the_scope_of_a_live_session_is_explained() {
    let demo = DemoInstallation::new();
    let explain = |args: &[&str]| {
        let report = demo.json(&[&["tools", "explain", "--session", "rosa"], args].concat());
        let tools = report["tools"].as_array().expect("a list of tools").clone();
        (report, tools)
    };
    let (report, tools) = explain(&[]);
    assert_eq!(report["agent"], "Enzo", "Gia handed over to him");
    assert_eq!(tool(&tools, "refund_payment")["verdict"]["decision"], "ask");
    assert_eq!(tool(&tools, "get_order")["verdict"]["decision"], "allow");
    let table = [
        ("delete_contact", "platform", "platform", "denied"),
        ("search_unsplash_images", "integrations", "", "not_connected"),
        ("web_fetch", "agent", "agent", "outside_profile"),
    ];
    for (name, stage, policy_layer, rule) in table {
        let tool = tool(&tools, name);
        assert_eq!(tool["stage"], stage, "{name}");
        assert_eq!(tool["policy_layer"].as_str().unwrap_or(""), policy_layer, "{name}");
        assert_eq!(tool["removal"]["rule"], rule, "{name}");
    }
    let (report, tools) = explain(&["--agent", "gia"]);
    assert_eq!(report["agent"], "Gia");
    assert_eq!(tool(&tools, "refund_payment")["removal"]["rule"], "not_on_layer_list");
    let table = demo.run(&["tools", "explain", "--session", "rosa", "--org", "bella"]);
    assert!(table.contains("ostler integration connect unsplash --org bella"), "{table}");
    let said = demo.error(&["tools", "explain", "--session", "rosa", "--agent", "enso"]);
    assert_eq!(said, "error: no Bella Pizza agent `enso`; did you mean `enzo`?\n");
    let fresh = demo.run(&["tools", "explain", "--agent", "gia"]);
    assert!(fresh.starts_with("Gia of Bella Pizza"), "{fresh}");
    let said = demo.error(&["tools", "explain"]);
    assert!(said.contains("name a session with --session"), "{said}");
}

#[test]
fn unknown_names_suggest_the_most_similar_one() {
    let world = ["--world", "examples/harbour.toml"];
    let check = |args: &[&str], expected: &str| {
        let said = stderr(&[&["tools", "explain"], args, &world].concat());
        assert_eq!(said, format!("error: {expected}\n"));
    };
    check(&["--agent", "giaa"], "no agent `giaa`; did you mean `gia`?");
    check(
        &["--agent", "zoe"],
        "no agent `zoe`; there are: quinn, quinn-soul, mara, luca, gia, enzo",
    );
    check(
        &["--agent", "gia", "--session", "x"],
        "no Bella Pizza session `x`; there are: rosa, otto",
    );
    check(
        &["--agent", "mara", "--session", "rosa"],
        "no Harbour Agency session `rosa`; there is none",
    );
    check(
        &["--agent", "gia", "--tool", "refund_paymnt"],
        "no tool `refund_paymnt`; did you mean `refund_payment`?",
    );
}
