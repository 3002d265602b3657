//! What there is, compared with what policy knows.

use std::collections::BTreeSet;
use std::sync::Arc;

use ostler_domain::tool::ToolGroup::{Bookings, Crm, Knowledge, Media, Offers, Orders, Web};
use ostler_domain::tool::ToolSpec;
use ostler_domain::tool::catalogue::built_in;
use ostler_engine::tool::{Tool, ToolSet};
use ostler_store::Store;
use ostler_tools::catalogue::{business, unsplash, web};
use ostler_tools::media::{Unsplash, UnsplashOptions};
use ostler_tools::web::Fetcher;
use serde_json::Value;

/// All tools, in the order of their names.
fn all() -> Vec<Arc<dyn Tool>> {
    let store = Store::connect("sqlite::memory:").unwrap();
    let pictures = Unsplash::new(store.clone(), UnsplashOptions::default()).unwrap();
    let web = web(&Fetcher::public().unwrap());
    let mut tools = [business(store), web, unsplash(&pictures)].concat();
    tools.sort_by_key(|tool| tool.definition().spec.name.clone());
    tools
}

#[test]
fn every_tool_of_these_groups_is_here_as_policy_knows_it() {
    let tools = all();
    let groups = [Crm, Offers, Bookings, Orders, Media, Knowledge, Web];
    let mut expected: Vec<ToolSpec> =
        built_in().into_iter().filter(|spec| groups.contains(&spec.group)).collect();
    expected.sort_by_key(|spec| spec.name.clone());
    let here: Vec<ToolSpec> = tools.iter().map(|tool| tool.definition().spec.clone()).collect();
    assert_eq!(here, expected);
    assert!(ToolSet::new(tools).is_ok());
}

#[test]
fn every_schema_tells_a_model_all_it_needs() {
    let tools = all();
    for tool in tools {
        let definition = tool.definition();
        let name = definition.spec.name.as_str();
        assert!(definition.description.len() > 60, "{name} says what it does");
        assert_eq!(definition.schema.get("$schema"), None, "{name}");
        assert_eq!(definition.schema["type"], "object", "{name}");
        check(name, &definition.schema);
    }
}

/// Objects are closed, fields described, texts, lists and numbers bounded.
fn check(place: &str, schema: &Value) {
    let is = |kind: &str| match &schema["type"] {
        Value::String(one) => one == kind,
        Value::Array(several) => several.iter().any(|one| one == kind),
        _ => false,
    };
    let named = schema.get("enum").is_some() || schema.get("const").is_some();
    if is("string") && !named {
        assert!(schema.get("maxLength").is_some(), "{place} has no longest text: {schema}");
    }
    if is("array") {
        assert!(schema.get("maxItems").is_some(), "{place} has no longest list");
        check(&format!("{place}[]"), &schema["items"]);
    }
    if is("integer") {
        assert!(schema.get("maximum").is_some(), "{place} has no largest number");
    }
    if is("object") {
        assert_eq!(schema["additionalProperties"], false, "{place} is open");
        for (name, field) in schema["properties"].as_object().into_iter().flatten() {
            let place = format!("{place}.{name}");
            assert!(field["description"].is_string(), "{place} has no description");
            check(&place, field);
        }
    }
    for several in ["anyOf", "oneOf"] {
        for one in schema[several].as_array().into_iter().flatten() {
            check(place, one);
        }
    }
}

#[test]
fn no_schema_refers_elsewhere() {
    let store = Store::connect("sqlite::memory:").unwrap();
    let referring: BTreeSet<String> = business(store)
        .iter()
        .filter(|tool| tool.definition().schema.to_string().contains("$ref"))
        .map(|tool| tool.definition().spec.name.to_string())
        .collect();
    assert_eq!(referring, BTreeSet::new());
}
