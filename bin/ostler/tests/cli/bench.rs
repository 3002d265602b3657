use serde_json::Value;

use crate::stdout;

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
    assert_eq!(names(&report), ["tui.first_frame_ms", "tui.resize_100000_ms"]);
    for result in report["results"].as_array().expect("a list of results") {
        assert!(result["value"].as_f64().expect("milliseconds") > 0.0, "{result}");
    }
}
