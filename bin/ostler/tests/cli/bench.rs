use serde_json::Value;

use crate::stdout;

#[test]
fn the_store_suite_reports_its_names_and_limits() {
    let json = stdout(&["bench", "store", "--seconds", "2", "--json"]);
    let report: Value = serde_json::from_str(&json).expect("JSON");
    let names: Vec<&str> = report["results"]
        .as_array()
        .expect("a list of results")
        .iter()
        .filter_map(|result| result["name"].as_str())
        .collect();
    assert_eq!(
        names,
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
