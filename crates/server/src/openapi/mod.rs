//! The OpenAPI 3.1 document, generated from the table of routes and the types of their
//! handlers, and a page that shows it without any script.

mod examples;
mod operations;
mod page;
mod problems;
mod schemas;
mod shapes;

use std::sync::LazyLock;

use axum::Json;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use serde_json::{Map, Value, json};

use crate::route::Access::Public;
use crate::route::{self, Group, Route, get};
use schemas::Schemas;

pub(crate) fn routes() -> Vec<Route> {
    vec![
        get(Public, "/openapi.json", "getDocument", "Get this document", show_document)
            .returns_content("application/json"),
        get(Public, "/docs", "getDocumentPage", "Get this document as a page", show_page)
            .returns_content("text/html"),
    ]
}

/// Nothing runs on the page and nothing is loaded.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; \
                      form-action 'none'; frame-ancestors 'none'";

async fn show_document() -> Response {
    Json(document()).into_response()
}

async fn show_page() -> Response {
    static PAGE: LazyLock<String> = LazyLock::new(|| page::render(document()));
    let headers = [
        (header::CONTENT_TYPE, "text/html; charset=utf-8"),
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::REFERRER_POLICY, "no-referrer"),
    ];
    (headers, PAGE.as_str()).into_response()
}

/// Returns the OpenAPI document of the server.
pub fn document() -> &'static Value {
    static DOCUMENT: LazyLock<Value> = LazyLock::new(|| generate(&route::groups()));
    &DOCUMENT
}

const ABOUT: &str = "Times are milliseconds since 1970 in UTC. The prefix of an id says what it \
    names. `{org}` is the id or the slug of an organization; other ids in paths may be shortened \
    to their end. A list is `{\"items\": […], \"next\": \"…\"}`: send `next` as `cursor` to get \
    the next page. A POST with an `Idempotency-Key` runs once, and a repeat gets the same \
    response. Resources of other organizations are answered with 404. `x-ostler-access` is what \
    the route needs: nothing (`public`), a page that may embed the chat (`visitor`), a message \
    that the channel verifies (`signed`), a password or code in the request (`log_in`), a key \
    or log-in (`caller`), or a permission in the organization \
    of the path.";

fn generate(groups: &[Group]) -> Value {
    let mut schemas = Schemas::new();
    let mut paths: Map<String, Value> = Map::new();
    for group in groups {
        for route in &group.routes {
            let operation = operations::operation(route, group.name, &mut schemas);
            let path = paths.entry(route.path.as_str()).or_insert_with(|| json!({}));
            if let Some(methods) = path.as_object_mut() {
                methods.insert(route.method.as_str().to_lowercase(), operation);
            }
        }
    }
    let tags = groups.iter().map(|one| json!({"name": one.name, "description": one.about}));
    let key = "An API key, `osk_…`, as `ostler key create` prints it.";
    let visitor = "A visitor's token.";
    let repeat = "A request with the same key runs once; a repeat gets the same response.";
    let version = "The `ETag` of the answer that the change is based on. If somebody else has \
        changed it meanwhile, the answer is 412 and nothing is changed.";
    let responses = problems::components(&mut schemas);
    let mut document = json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Ostler",
            "version": env!("CARGO_PKG_VERSION"),
            "description": ABOUT,
            "license": {"name": env!("CARGO_PKG_LICENSE"), "identifier": env!("CARGO_PKG_LICENSE")},
        },
        "servers": [{"url": "/"}],
        "tags": tags.collect::<Vec<_>>(),
        "paths": paths,
        "components": {
            "securitySchemes": {
                "apiKey": {"type": "http", "scheme": "bearer", "description": key},
                "visitor": {"type": "http", "scheme": "bearer", "description": visitor},
            },
            "responses": responses,
            "parameters": {"IfMatch": {
                "name": "If-Match", "in": "header", "required": false,
                "description": version, "schema": {"type": "string"},
            }, "IdempotencyKey": {
                "name": "Idempotency-Key", "in": "header", "required": false,
                "description": repeat, "schema": {"type": "string", "minLength": 1, "maxLength": 128},
            }},
        },
    });
    schemas.finish(&mut document);
    examples::add(&mut document);
    document
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::Value;

    use super::document;
    use crate::route::groups;

    const SNAPSHOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/openapi.json");

    /// Every part of the document.
    fn visit<'v>(value: &'v Value, found: &mut impl FnMut(&'v Value)) {
        found(value);
        match value {
            Value::Object(fields) => fields.values().for_each(|field| visit(field, found)),
            Value::Array(items) => items.iter().for_each(|item| visit(item, found)),
            _ => {}
        }
    }

    /// `ostler schema --api > docs/openapi.json` updates the file.
    #[test]
    fn k01_the_document_is_the_one_in_the_docs() {
        let stored: Value =
            serde_json::from_str(&std::fs::read_to_string(SNAPSHOT).unwrap()).unwrap();
        let paths = |document: &Value| {
            let paths = document["paths"].as_object().unwrap().keys().cloned();
            paths.collect::<BTreeSet<String>>()
        };
        assert_eq!(paths(&stored), paths(document()));
        for part in ["paths", "components", "info", "tags"] {
            for (name, value) in document()[part].as_object().into_iter().flatten() {
                assert_eq!(&stored[part][name], value, "{part} {name}");
            }
        }
        assert!(stored == *document(), "`ostler schema --api > docs/openapi.json` updates it");
    }

    /// The requests for others (S01) are made from the document.
    #[test]
    fn k01_every_route_is_in_the_document() {
        for route in groups().iter().flat_map(|group| &group.routes) {
            let operation = &document()["paths"][&route.path][route.method.as_str().to_lowercase()];
            assert_eq!(operation["operationId"], route.id, "{} {}", route.method, route.path);
            assert_eq!(operation["x-ostler-access"], route.access.name());
        }
    }

    #[test]
    fn k01_every_reference_leads_to_something_and_no_schema_is_unused() {
        let mut used = BTreeSet::new();
        visit(document(), &mut |part| {
            if let Some(target) = part["$ref"].as_str() {
                let pointer = target.strip_prefix('#').expect("a reference within the document");
                assert!(document().pointer(pointer).is_some(), "{target}");
                used.insert(target.to_owned());
            }
            let mapped = part["discriminator"]["mapping"].as_object();
            used.extend(
                mapped
                    .into_iter()
                    .flatten()
                    .filter_map(|(_, name)| name.as_str().map(str::to_owned)),
            );
        });
        for name in document()["components"]["schemas"].as_object().unwrap().keys() {
            assert!(used.contains(&format!("#/components/schemas/{name}")), "{name} is unused");
            let is_name = name.chars().all(|char| char.is_ascii_alphanumeric());
            assert!(is_name && !name.ends_with(|c: char| c.is_ascii_digit()), "{name}");
        }
    }

    /// A generated client gets a name for every type.
    #[test]
    fn k01_choices_between_objects_have_named_types() {
        visit(document(), &mut |part| {
            let choices = part["oneOf"].as_array().or_else(|| part["anyOf"].as_array());
            for choice in choices.into_iter().flatten() {
                assert!(choice.get("properties").is_none(), "no name: {choice}");
            }
        });
    }

    /// What a route takes as a body is shown by an example that its schema allows.
    #[test]
    fn k01_every_body_has_an_example() {
        let mut checked = 0;
        for (path, methods) in document()["paths"].as_object().unwrap() {
            for (method, operation) in methods.as_object().unwrap() {
                let content = &operation["requestBody"]["content"]["application/json"];
                if content.is_null() {
                    continue;
                }
                let components = document()["components"].clone();
                let schema =
                    serde_json::json!({"allOf": [content["schema"]], "components": components});
                let validator = jsonschema::validator_for(&schema).unwrap();
                let example = &content["example"];
                assert!(!example.is_null(), "{method} {path} has no example");
                let wrong: Vec<String> =
                    validator.iter_errors(example).map(|error| error.to_string()).collect();
                assert!(wrong.is_empty(), "{method} {path}: {wrong:?}");
                checked += 1;
            }
        }
        assert!(checked > 20, "{checked}");
    }

    /// Returns each operation with its method and path.
    fn operations() -> Vec<(String, &'static Value)> {
        let paths = document()["paths"].as_object().unwrap().iter();
        let each = paths.flat_map(|(path, methods)| {
            let methods = methods.as_object().unwrap().iter();
            methods.map(move |(method, operation)| (format!("{method} {path}"), operation))
        });
        each.collect()
    }

    /// What a route answers with is shown by an example that its schema allows.
    #[test]
    fn k01_every_answer_has_an_example() {
        let mut checked = 0;
        for (name, operation) in operations() {
            for (status, response) in operation["responses"].as_object().unwrap() {
                let content = &response["content"]["application/json"];
                if !status.starts_with('2') || content.is_null() {
                    continue;
                }
                let components = document()["components"].clone();
                let schema =
                    serde_json::json!({"allOf": [content["schema"]], "components": components});
                let validator = jsonschema::validator_for(&schema).unwrap();
                let wrong: Vec<String> = validator
                    .iter_errors(&content["example"])
                    .map(|error| error.to_string())
                    .collect();
                assert!(wrong.is_empty(), "{name}: {wrong:?} in {}", content["example"]);
                checked += 1;
            }
        }
        assert!(checked > 150, "{checked}");
    }

    /// An operation says how it can fail, and each way has an example of every code with which it
    /// does.
    #[test]
    fn k01_every_operation_has_its_errors_with_examples() {
        for (name, operation) in operations() {
            let responses = operation["responses"].as_object().unwrap();
            let has = |status: &str| responses.contains_key(status);
            let access = operation["x-ostler-access"].as_str().unwrap();
            assert!(has("500") && has("503"), "{name}: any request may fail inside");
            let is_known = access == "public" || (has("401") && has("403") && has("429"));
            assert!(is_known, "{name}: what needs a caller refuses others");
            assert!(!name.contains('{') || has("404"), "{name}: what a path names may be missing");
            let body = &operation["requestBody"];
            assert!(body.is_null() || (has("400") && has("413")), "{name}: a body may be wrong");
            let parameters = operation["parameters"].as_array();
            let is_conditional = parameters
                .into_iter()
                .flatten()
                .any(|one| one["$ref"].as_str().is_some_and(|name| name.ends_with("/IfMatch")));
            assert!(!is_conditional || has("412"), "{name}: somebody else may be faster");
            for (status, response) in
                responses.iter().filter(|(status, _)| status.as_str() >= "400")
            {
                let target = response["$ref"].as_str().unwrap().trim_start_matches('#');
                let contents = document().pointer(target).unwrap()["content"].as_object().unwrap();
                for content in contents.values() {
                    let has_example =
                        content["examples"].as_object().is_some_and(|all| !all.is_empty())
                            || !content["example"].is_null();
                    assert!(has_example, "{name}: {status}");
                }
            }
        }
    }

    /// What is registered, added or begun, and ended, but never edited there.
    const NOT_EDITED: [&str; 4] = [
        "/v1/orgs/{org}/members/{member}/logins",
        "/v1/orgs/{org}/people/{person}",
        "/v1/orgs/{org}/knowledge/{document}",
        "/v1/orgs/{org}/queue-agents/{agent}",
    ];
    /// Changes of what is read at another path.
    const CHANGED_ELSEWHERE: [(&str, &str); 6] = [
        ("/v1/orgs/{org}/agents/{agent}/soul/rollback", "post"),
        ("/v1/orgs/{org}/contacts/{contact}/merge", "post"),
        ("/v1/orgs/{org}/sessions/{session}/assignee", "put"),
        ("/v1/orgs/{org}/sessions/{session}/assignee", "delete"),
        ("/v1/resources/plan", "post"),
        ("/v1/resources/apply", "post"),
    ];

    /// K09: what is read and changed at one path has a version, and a change may be based on it.
    #[test]
    fn k09_everything_editable_has_a_version() {
        let mut checked = 0;
        for (path, methods) in document()["paths"].as_object().unwrap() {
            for method in ["patch", "put", "delete"] {
                let (shown, change) = (&methods["get"], &methods[method]);
                if shown.is_null() || change.is_null() || NOT_EDITED.contains(&path.as_str()) {
                    continue;
                }
                let tag = &shown["responses"]["200"]["headers"]["ETag"];
                assert!(tag.is_object(), "get {path} has no ETag");
                let is_checked = change["responses"]["412"].is_object();
                assert!(is_checked, "{method} {path} takes no If-Match");
                checked += 1;
            }
        }
        assert!(checked > 20, "{checked}");
        for (path, method) in CHANGED_ELSEWHERE {
            let change = &document()["paths"][path][method];
            assert!(change["responses"]["412"].is_object(), "{method} {path} takes no If-Match");
        }
    }
}
