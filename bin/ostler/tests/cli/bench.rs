use std::path::Path;

use serde_json::Value;

use crate::mock_model::Server;
use crate::{stderr, stdout};

fn report(suite: &str) -> Value {
    let json = stdout(&["bench", suite, "--seconds", "2", "--json"]);
    serde_json::from_str(&json).expect("JSON")
}

fn names(report: &Value) -> Vec<&str> {
    let results = report["results"].as_array().expect("a list of results");
    results.iter().filter_map(|result| result["name"].as_str()).collect()
}

#[test]
fn the_turn_suite_reports_its_names_and_processor_time() {
    let report = report("turn");
    let expected = [
        "turn.plain",
        "turn.tool",
        "turn.subagent",
        "turn.history.10",
        "turn.history.100",
        "turn.history.1000",
        "turn.sse",
    ];
    assert_eq!(names(&report), expected);
    for result in report["results"].as_array().expect("a list of results") {
        assert!(result["per_cpu_sec"].as_f64().expect("processor time") > 0.0, "{result}");
    }
    let sse = &report["results"][6];
    assert!(sse["ratio"].as_f64().expect("a ratio to scanning and copying") > 0.0, "{sse}");
}

#[test]
fn the_path_suite_measures_each_case() {
    let report = report("path");
    let expected = [
        "path.sqlite.1",
        "path.sqlite.64",
        "path.sqlite.bytes_per_turn",
        "path.sqlite.256",
        "path.beside.quiet",
        "path.beside.hanging",
        "path.beside.flooding",
    ];
    assert_eq!(names(&report), expected);
    let results = report["results"].as_array().expect("a list of results");
    assert!(results[0]["per_sec"].as_f64().expect("a rate") > 0.0, "{}", results[0]);
    assert!(results[2]["value"].as_f64().expect("bytes") > 0.0, "{}", results[2]);
}

#[test]
fn the_http_suite_measures_beside_bare_routes() {
    let report = report("http");
    assert_eq!(names(&report), ["http.accept", "http.list_sessions", "http.streams.1000"]);
    let results = report["results"].as_array().expect("a list of results");
    for result in &results[..2] {
        assert!(result["ratio"].as_f64().expect("a ratio to the bare route") > 0.0, "{result}");
    }
    assert!(results[2]["value"].as_f64().expect("streams") > 0.0, "{}", results[2]);
}

#[test]
fn the_store_suite_reports_its_names_and_limits() {
    let report = report("store");
    assert_eq!(
        names(&report),
        [
            "store.commit_turn.sqlite.1",
            "store.commit_turn.sqlite.16",
            "store.commit_turn.sqlite.256",
            "store.history.10",
            "store.history.100000",
        ]
    );
    for result in &report["results"].as_array().expect("a list of results")[..3] {
        let ratio = result["ratio"].as_f64().expect("a ratio");
        let limit = result["limit_per_sec"].as_f64().expect("a limit");
        let per_sec = result["per_sec"].as_f64().expect("a rate");
        assert!((ratio - per_sec / limit).abs() < 1e-9, "{result}");
    }
}

#[test]
fn the_bus_suite_reports_its_names_and_limits() {
    let report = report("bus");
    let expected = [
        "bus.idle_agent_bytes.100000",
        "bus.memory.ask.1",
        "bus.memory.ask.64",
        "bus.memory.ask_1000_agents",
        "bus.memory.broadcast_1000",
    ];
    assert_eq!(names(&report), expected);
    let results = report["results"].as_array().expect("a list of results");
    assert!(results[0]["value"].as_f64().expect("bytes") > 0.0, "{}", results[0]);
    for result in &results[1..] {
        assert!(result["ratio"].as_f64().expect("a ratio to bare channels") > 0.0, "{result}");
    }
}

/// The broker is left as it was found, so this can be run on any.
#[test]
fn the_bus_suite_measures_a_broker_too() {
    let Ok(url) = std::env::var("OSTLER_TEST_AMQP_URL") else { return };
    let json = stdout(&["bench", "bus", "--seconds", "2", "--amqp", &url, "--json"]);
    let report: Value = serde_json::from_str(&json).expect("JSON");
    let expected = ["bus.rabbitmq.ask.1", "bus.rabbitmq.ask.64", "bus.rabbitmq.ask_1000_agents"];
    assert_eq!(names(&report)[5..], expected);
}

/// M15: the memory suite measures the search, the prompt and the check of reflections; what a
/// model observes is measured only with a model.
#[test]
fn m15_the_memory_suite_measures_observations_only_with_a_model() {
    let without = report("memory");
    let names_without = [
        "memory.recall_percent.1",
        "memory.recall_percent.5",
        "memory.recall_percent.10",
        "memory.prompt_tokens.2000",
        "memory.guard.lossy_rejected_percent",
        "memory.guard.faithful_accepted_percent",
    ];
    assert_eq!(names(&without), names_without);
    let value = |report: &Value, name: &str| {
        let results = report["results"].as_array().expect("a list of results");
        let found = results.iter().find(|result| result["name"] == name).expect("a result");
        found["value"].as_f64().expect("a value")
    };
    assert!(value(&without, "memory.recall_percent.5") >= 95.0, "{without}");
    // 120 % of both thresholds.
    assert!(value(&without, "memory.prompt_tokens.2000") <= 84_100.0, "{without}");
    assert!((value(&without, "memory.guard.lossy_rejected_percent") - 100.0).abs() < 0.1);
    assert!((value(&without, "memory.guard.faithful_accepted_percent") - 100.0).abs() < 0.1);

    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("observer.yaml");
    std::fs::write(&path, "default: '{\"observations\": []}'\n").expect("written");
    let (_server, address) = Server::start(path.to_str().expect("a plain path"));
    let url = format!("http://{address}/v1");
    let json = stdout(&["bench", "memory", "--seconds", "2", "--model", &url, "--json"]);
    let with: Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(names(&with)[6..], ["memory.observed_percent", "memory.observer_failures"]);
    assert!(value(&with, "memory.observed_percent").abs() < 0.1, "it has observed nothing");
    assert!(value(&with, "memory.observer_failures").abs() < 0.1, "{with}");
    let refused = stderr(&["bench", "turn", "--model", &url]);
    assert!(refused.contains("only `ostler bench memory` asks a model"), "{refused}");
}

#[test]
fn the_harness_suite_reports_its_names() {
    let report = report("harness");
    let turns = ["memory", "sqlite"].into_iter().flat_map(|place| {
        ["plain.1", "plain.50", "tool.1", "tool.50"].map(|kind| format!("harness.{place}.{kind}"))
    });
    let rest = [
        "harness.history.10",
        "harness.history.100",
        "harness.history.1000",
        "harness.memory_added_us",
        "harness.memory_calls",
        "harness.command_start",
        "harness.cold_start_ms",
        "harness.session_bytes",
    ];
    let expected: Vec<String> = turns.chain(rest.map(str::to_owned)).collect();
    assert_eq!(names(&report), expected);
    let results = report["results"].as_array().expect("a list of results");
    assert_eq!(results[12]["value"], 0.0, "below the threshold no model is asked");
    assert!(results[13]["ratio"].as_f64().expect("a ratio to bare starts") > 0.0);
}

#[test]
fn the_apply_suite_reports_its_names_and_its_limit() {
    let report = report("apply");
    assert_eq!(names(&report), ["apply.create.sqlite", "apply.empty_plan_ms"]);
    let [create, plan] = [0, 1].map(|at| &report["results"][at]);
    assert!(create["ratio"].as_f64().expect("a ratio to bare inserts") > 0.0, "{create}");
    assert!(plan["value"].as_f64().expect("milliseconds") > 0.0, "{plan}");
}

#[test]
fn the_tui_suite_reports_its_names_and_milliseconds() {
    let report = report("tui");
    assert_eq!(
        names(&report),
        [
            "tui.first_frame_ms",
            "tui.events_1000_cpu_percent",
            "tui.resize_100000_ms",
            "tui.resident_100000_mib"
        ]
    );
    for result in report["results"].as_array().expect("a list of results") {
        assert!(result["value"].as_f64().expect("milliseconds") > 0.0, "{result}");
    }
}

/// O30: steps of workflows beside bare commits of the same rows.
#[test]
fn o30_the_workflow_suite_reports_its_names_and_its_limit() {
    let report = report("workflow");
    let expected = [
        "workflow.chain.10",
        "workflow.chain.100",
        "workflow.fan_out.100",
        "workflow.runs.4",
        "workflow.resume.100",
    ];
    assert_eq!(names(&report), expected);
    let results = report["results"].as_array().expect("a list of results");
    for result in &results[..4] {
        assert!(result["ratio"].as_f64().expect("a ratio to bare commits") > 0.0, "{result}");
        assert!(result["per_cpu_sec"].as_f64().expect("a rate") > 0.0, "{result}");
    }
    assert!(results[4]["value"].as_f64().expect("milliseconds") > 0.0, "{}", results[4]);
}
