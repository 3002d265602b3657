//! The list of tools, compared with the catalogue of `domain`.

use std::collections::BTreeSet;
use std::sync::Arc;

use ostler_domain::tool::ToolGroup::{Bookings, Crm, Knowledge, Media, Offers, Orders, Web};
use ostler_domain::tool::ToolSpec;
use ostler_domain::tool::catalogue::built_in;
use ostler_engine::tool::{Tool, ToolSet};
use ostler_store::Store;
use ostler_tools::catalogue::{store_tools, unsplash_tools, web_tools};
use ostler_tools::media::{Unsplash, UnsplashOptions};
use ostler_tools::web::Fetcher;
use serde_json::Value;

/// All tools, sorted by name.
fn all() -> Vec<Arc<dyn Tool>> {
    let store = Store::connect("sqlite::memory:").unwrap();
    let pictures = Unsplash::new(store.clone(), UnsplashOptions::default()).unwrap();
    let web = web_tools(&Fetcher::public().unwrap());
    let mut tools = [store_tools(store), web, unsplash_tools(&pictures)].concat();
    tools.sort_by_key(|tool| tool.definition().spec.name.clone());
    tools
}

#[test]
fn every_tool_of_the_catalogue_is_implemented_with_its_spec() {
    let tools = all();
    let groups = [Crm, Offers, Bookings, Orders, Media, Knowledge, Web];
    let mut expected: Vec<ToolSpec> =
        built_in().into_iter().filter(|spec| groups.contains(&spec.group)).collect();
    expected.sort_by_key(|spec| spec.name.clone());
    let implemented: Vec<ToolSpec> =
        tools.iter().map(|tool| tool.definition().spec.clone()).collect();
    assert_eq!(implemented, expected);
    assert!(ToolSet::new(tools).is_ok());
}

#[test]
fn every_tool_has_a_description_and_a_strict_schema() {
    let tools = all();
    for tool in tools {
        let definition = tool.definition();
        let name = definition.spec.name.as_str();
        assert!(definition.description.len() > 60, "{name} has a short description");
        assert_eq!(definition.schema.get("$schema"), None, "{name}");
        assert_eq!(definition.schema["type"], "object", "{name}");
        check(name, &definition.schema);
    }
}

/// Objects are closed, fields described, texts, lists and numbers bounded.
fn check(path: &str, schema: &Value) {
    let is = |kind: &str| match &schema["type"] {
        Value::String(name) => name == kind,
        Value::Array(names) => names.iter().any(|name| name == kind),
        _ => false,
    };
    let is_enum = schema.get("enum").is_some() || schema.get("const").is_some();
    if is("string") && !is_enum {
        assert!(schema.get("maxLength").is_some(), "{path} has no maximum length: {schema}");
    }
    if is("array") {
        assert!(schema.get("maxItems").is_some(), "{path} has no maximum length");
        check(&format!("{path}[]"), &schema["items"]);
    }
    if is("integer") {
        assert!(schema.get("maximum").is_some(), "{path} has no maximum");
    }
    if is("object") {
        assert_eq!(schema["additionalProperties"], false, "{path} allows other fields");
        for (name, field) in schema["properties"].as_object().into_iter().flatten() {
            let path = format!("{path}.{name}");
            assert!(field["description"].is_string(), "{path} has no description");
            check(&path, field);
        }
    }
    for keyword in ["anyOf", "oneOf"] {
        for variant in schema[keyword].as_array().into_iter().flatten() {
            check(path, variant);
        }
    }
}

#[test]
fn no_schema_contains_references() {
    let store = Store::connect("sqlite::memory:").unwrap();
    let referring: BTreeSet<String> = store_tools(store)
        .iter()
        .filter(|tool| tool.definition().schema.to_string().contains("$ref"))
        .map(|tool| tool.definition().spec.name.to_string())
        .collect();
    assert_eq!(referring, BTreeSet::new());
}
