//! Definitions with and without mistakes.

use super::{HttpTool, ResponseMapping, StatusMeaning};
use crate::money::Credits;
use crate::tool::{Audience, Reach, Risk, Trust};
use proptest::prelude::{any, proptest};

const ORDER: &str = r#"
name = "shop_order"
description = "Looks up an order."
risk = "read"
audience = "customer"
url = "https://shop.example/orders/{order}"
headers = { Authorization = "Bearer env:SHOP_TOKEN" }
[input]
required = ["order"]
properties.order = { type = "string" }
"#;

fn parse(text: &str) -> HttpTool {
    toml::from_str(text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn problems(tool: &HttpTool) -> Vec<String> {
    tool.check().iter().map(ToString::to_string).collect()
}

/// O18: a short definition is enough; the rest has defaults.
#[test]
fn o18_a_definition_has_defaults() {
    let tool = parse(ORDER);
    assert_eq!(problems(&tool), [""; 0]);
    let spec = tool.spec();
    assert_eq!(
        (spec.risk, spec.reach, spec.output),
        (Risk::Read, Reach::External, Trust::Untrusted)
    );
    assert_eq!((spec.audience, spec.price), (Audience::Customer, Credits::ZERO));
    assert_eq!((tool.timeout_secs, tool.idempotent), (20, false));
    assert_eq!(tool.schema()["type"], "object");
    let again: HttpTool = toml::from_str(&toml::to_string(&tool).unwrap()).unwrap();
    assert_eq!(again, tool);
    let json = serde_json::to_string(&tool).unwrap();
    assert_eq!(serde_json::from_str::<HttpTool>(&json).unwrap(), tool);
    assert!(toml::from_str::<HttpTool>(&format!("colour = 1\n{ORDER}")).is_err());
}

/// O18: every mistake is a sentence with the path of its field.
#[test]
fn o18_mistakes_are_told_with_their_field() {
    let check = |changes: &[(&str, &str)], expected: &str| {
        let mut text = ORDER.to_owned();
        for (from, to) in changes {
            assert!(text.contains(from), "{from}");
            text = text.replace(from, to);
        }
        let found = problems(&parse(&text));
        assert!(found.iter().any(|one| one.contains(expected)), "{expected}: {found:?}");
    };
    let line = |line: &str| format!("risk = \"read\"\n{line}");
    let add = |text: &str, expected: &str| check(&[("risk = \"read\"", &line(text))], expected);
    check(&[("shop_order", "get_order")], "name: there is a built-in tool `get_order`");
    check(&[("shop_order", "mcp__x")], "name: names that start with `mcp__`");
    check(&[("Looks up an order.", " ")], "description: say what");
    check(&[("{order}", "{number}")], "url: `{number}` is not in `input.properties`");
    check(&[("{order}", "{order")], "url: a brace is not closed");
    check(&[("{order}", "x")], "input.properties.order: `order` is used nowhere");
    check(&[("[\"order\"]", "[]")], "url: `{order}` must be in `input.required`");
    check(&[("[\"order\"]", "[\"order\", \"x\"]")], "input.required: `x` is not one");
    check(&[("https://shop.example", "https://{order}.example")], "url: the host must be fixed");
    check(&[("https://", "https://me:pw@")], "url: a user name or password");
    check(&[("https://", "ftp://")], "url: a URL starts with");
    check(&[("{order}", "{order}?api_key=abc")], "url: a secret must not be written down");
    check(&[("Bearer env:SHOP_TOKEN", "Bearer abc")], "headers.Authorization: a secret must not");
    check(&[("Authorization", "Idempotency-Key")], "headers.Idempotency-Key: this header is set");
    check(&[("Authorization", "\"a b\"")], "headers.a b: this is not the name");
    add("method = \"DELETE\"", "risk: a DELETE request changes something");
    add("timeout_secs = 0", "timeout_secs: a call may take 1 to 120 seconds");
    add("price = 5000", "price: a call costs at most");
    add("body = { a = 1 }", "body: a GET request has no body");
    add("query = { token = \"abc\" }", "query.token: a secret must not");
    add("query = { q = \"{what}\" }", "query.q: `{what}` is not in");
    add("response = { result = [\"status\"] }", "response.result.0: a JSON pointer starts");
    add("response = { success = [200, 200] }", "response.success: 200 is listed twice");
    add("response = { failed = [99] }", "response.failed: 99 is not the status");
    check(&[("type = \"string\"", "\"$ref\" = \"https://x\"")], "input: a schema must not refer");
}

/// O18: the lists of a definition come first, then the usual meaning.
#[test]
fn o18_a_status_has_a_meaning() {
    use StatusMeaning::{Failed, NotFound, Refused, Success, Unclear};
    let usual = ResponseMapping::default();
    let own = ResponseMapping {
        success: vec![200, 404],
        refused: vec![402],
        failed: vec![500],
        ..ResponseMapping::default()
    };
    for (status, by_default, by_list) in [
        (200, Success, Success),
        (201, Success, Unclear),
        (302, Failed, Failed),
        (401, Failed, Failed),
        (402, Failed, Refused),
        (404, NotFound, Success),
        (409, Refused, Failed),
        (500, Unclear, Failed),
        (503, Failed, Failed),
        (504, Unclear, Unclear),
    ] {
        assert_eq!(usual.meaning(status), by_default, "{status}");
        assert_eq!(own.meaning(status), by_list, "{status}");
    }
}

proptest! {
    /// A check never panics.
    #[test]
    fn every_text_is_checked(url in any::<String>(), query in any::<String>()) {
        let mut tool = parse(ORDER);
        tool.url = url;
        tool.query.insert("q".to_owned(), query);
        let _ = tool.check();
    }
}
