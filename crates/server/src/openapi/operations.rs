//! A route as an operation of the document.

use serde_json::{Value, json};

use super::problems;
use super::schemas::{Direction, Schemas};
use crate::route::{Access, Content, Protocol, Route};

/// Returns the operation of a route.
pub(super) fn operation(route: &Route, tag: &str, schemas: &mut Schemas) -> Value {
    let mut parameters = path_parameters(&route.path);
    if let Some(query) = route.operation.query {
        parameters.extend(query_parameters(&Schemas::inline(query)));
    }
    if route.runs_once() {
        parameters.push(json!({"$ref": "#/components/parameters/IdempotencyKey"}));
    }
    if route.operation.checks_version {
        parameters.push(json!({"$ref": "#/components/parameters/IfMatch"}));
    }
    if is_event_log(route) {
        let about = "Id of the last event that was received; it takes precedence over `after`.";
        parameters.push(json!({"name": "Last-Event-ID", "in": "header", "required": false,
            "description": about, "schema": {"type": "string"}}));
    }
    let mut responses = success(route, schemas);
    for status in problems::statuses(route) {
        responses[status.to_string()] = problems::reference(route, status);
    }
    let mut operation = json!({
        "operationId": route.id,
        "tags": [tag],
        "summary": route.summary,
        "x-ostler-access": route.access.name(),
        "security": security(route.access),
        "responses": responses,
    });
    if !parameters.is_empty() {
        operation["parameters"] = parameters.into();
    }
    if let Some(body) = &route.operation.body {
        operation["requestBody"] = request_body(body, route, schemas);
    }
    operation
}

fn security(access: Access) -> Value {
    match access {
        Access::Public | Access::Signed | Access::LogIn => json!([]),
        Access::Visitor => json!([{"visitor": []}, {}]),
        Access::Caller | Access::Org(_) => json!([{"apiKey": []}]),
    }
}

/// Returns whether a client can continue a stream after the last event that it has got.
fn is_event_log(route: &Route) -> bool {
    if route.protocol != Protocol::Ostler {
        return false;
    }
    let streams = |content: &Content| content.media_type == "text/event-stream";
    route.operation.responses.iter().any(|(_, body)| body.as_ref().is_some_and(streams))
}

fn path_parameters(path: &str) -> Vec<Value> {
    let names = path.split('{').skip(1).filter_map(|rest| rest.split('}').next());
    let parameter = |name: &str| {
        json!({"name": name, "in": "path", "required": true, "schema": {"type": "string"},
            "description": parameter_text(name)})
    };
    names.map(parameter).collect()
}

/// Returns what a parameter of a path names.
fn parameter_text(name: &str) -> String {
    match name {
        "org" => "Id or slug of the organization.".to_owned(),
        "binding" => "Id of the channel binding.".to_owned(),
        "blob" | "file" => "Id of the file.".to_owned(),
        "person" => "Id, identifier on a channel or name of a contact or visitor.".to_owned(),
        "service" => "Name of the service.".to_owned(),
        "agent" => "Id, slug or subtype of the agent.".to_owned(),
        other => format!("Id of the {}, or the end of it.", other.replace('_', " ")),
    }
}

/// Returns the fields of a query as parameters.
fn query_parameters(schema: &Value) -> Vec<Value> {
    let required: Vec<&str> =
        schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let fields = schema["properties"].as_object().into_iter().flatten();
    let parameter = |(name, field): (&String, &Value)| {
        let mut field = field.clone();
        without_null(&mut field);
        let mut parameter = json!({"name": name, "in": "query",
            "required": required.contains(&name.as_str())});
        if let Some(about) = field.as_object_mut().and_then(|fields| fields.remove("description")) {
            parameter["description"] = about;
        }
        parameter["schema"] = field;
        parameter
    };
    fields.map(parameter).collect()
}

/// A parameter that is absent is not `null`.
fn without_null(schema: &mut Value) {
    if let Some(types) = schema["type"].as_array() {
        let rest: Vec<&Value> = types.iter().filter(|name| *name != "null").collect();
        if let [one] = rest.as_slice() {
            schema["type"] = (*one).clone();
        }
    }
    if let Some(choices) = schema["anyOf"].as_array()
        && let [one, null] = choices.as_slice()
        && null["type"] == "null"
    {
        *schema = one.clone();
    }
    if let Some(fields) = schema.as_object_mut() {
        fields.retain(|name, value| !(name == "default" && value.is_null()));
    }
}

fn request_body(body: &Content, route: &Route, schemas: &mut Schemas) -> Value {
    let Some(schema) = body.schema else {
        return json!({"required": true, "content": {body.media_type: {}}});
    };
    let mut schema = schemas.reference(schema, Direction::Input);
    let optional = schema.get("anyOf").is_some();
    without_null(&mut schema);
    let mut content = json!({"schema": schema});
    if let Some(example) = &route.operation.example {
        content["example"] = example.clone();
    }
    json!({"required": !optional, "content": {body.media_type: content}})
}

fn success(route: &Route, schemas: &mut Schemas) -> Value {
    let mut responses = json!({});
    for (status, body) in &route.operation.responses {
        let about = match status {
            201 => "Created.",
            202 => "Accepted.",
            204 => "Done.",
            _ => "OK.",
        };
        let mut response = json!({"description": about});
        if let Some(Content { media_type, schema }) = body {
            let content = match schema {
                Some(schema) => json!({"schema": schemas.reference(*schema, Direction::Output)}),
                None => json!({"schema": {"type": "string"}}),
            };
            // A route may answer in several forms.
            let mut all = responses[status.to_string()]["content"].clone();
            if all.is_null() {
                all = json!({});
            }
            all[*media_type] = content;
            response["content"] = all;
        }
        if route.operation.has_version {
            let about = "The version, for `If-Match` of a change.";
            response["headers"] =
                json!({"ETag": {"description": about, "schema": {"type": "string"}}});
        }
        responses[status.to_string()] = response;
    }
    responses
}
