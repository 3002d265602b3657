//! Problems as responses of the document.

use ostler_api::completion::CompletionError;
use ostler_api::problem::{PROBLEM_MEDIA_TYPE, Problem, ProblemCode};
use serde_json::{Map, Value, json};

use super::schemas::{Direction, Schemas};
use crate::route::describe::schema_of;
use crate::route::{Access, Protocol, Route};

/// The statuses of problems, with the names of their responses.
const RESPONSES: [(u16, &str); 13] = [
    (400, "BadRequest"),
    (401, "Unauthorized"),
    (402, "NoCredits"),
    (403, "Forbidden"),
    (404, "NotFound"),
    (408, "TimedOut"),
    (409, "Conflict"),
    (412, "Changed"),
    (413, "TooLarge"),
    (422, "Invalid"),
    (429, "TooMany"),
    (500, "Internal"),
    (503, "Unavailable"),
];

/// The response of routes that speak the protocol of the OpenAI API.
const OPENAI: &str = "OpenAiError";

/// Returns the response of a route with a status.
pub(super) fn reference(route: &Route, status: u16) -> Value {
    let known = RESPONSES.iter().find(|(known, _)| *known == status);
    let name = match route.protocol {
        Protocol::OpenAi => OPENAI,
        Protocol::Ostler | Protocol::Mcp => known.map_or("Internal", |(_, name)| name),
    };
    json!({"$ref": format!("#/components/responses/{name}")})
}

/// Returns the statuses with which a route can fail.
pub(super) fn statuses(route: &Route) -> Vec<u16> {
    let changes = !route.method.is_safe();
    let may_fail_with = |status: u16| match status {
        _ if route.operation.problems.contains(&status) => true,
        400 => route.path.contains('{') || route.operation.query.is_some() || changes,
        401 => !matches!(route.access, Access::Public),
        402 => route.path.contains("/threads"),
        403 => route.access != Access::Public,
        404 => route.path.contains('{') || route.protocol == Protocol::OpenAi,
        409 | 422 => !matches!(route.access, Access::Public),
        412 => route.operation.checks_version,
        413 => changes,
        429 => !matches!(route.access, Access::Public),
        _ => true,
    };
    let known = RESPONSES.iter().map(|(status, _)| *status);
    let agent_failed = (route.protocol == Protocol::OpenAi && changes).then_some(502);
    known.filter(|one| may_fail_with(*one)).chain(agent_failed).collect()
}

/// Returns the responses, each with an example of every code.
pub(super) fn components(schemas: &mut Schemas) -> Value {
    let schema = schemas.reference(schema_of::<Problem>, Direction::Output);
    let mut responses = Map::new();
    for (status, name) in RESPONSES {
        let codes = ProblemCode::ALL.iter().filter(|code| code.status() == status);
        let mut examples = Map::new();
        for code in codes.clone() {
            let problem = Problem::new(*code, "what happened, and what to do about it");
            examples.insert(code.word().to_owned(), json!({"value": problem}));
        }
        let codes: Vec<String> = codes.map(|code| format!("`{}`", code.word())).collect();
        let content = json!({"schema": schema, "examples": examples});
        responses.insert(
            name.to_owned(),
            json!({"description": format!("Codes: {}.", codes.join(", ")),
                "content": {PROBLEM_MEDIA_TYPE: content}}),
        );
    }
    let schema = schemas.reference(schema_of::<CompletionError>, Direction::Output);
    let example = json!({"error": {"message": "what happened, and what to do about it",
        "type": "invalid_request_error", "param": null, "code": "invalid"}});
    responses.insert(
        OPENAI.to_owned(),
        json!({"description": "An error in the form of the OpenAI API.",
            "content": {"application/json": {"schema": schema, "example": example}}}),
    );
    Value::Object(responses)
}
