//! Builds the request of an HTTP tool from the arguments of a call.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use ostler_domain::tool::http::{BodyFormat, HttpTool};
use ostler_domain::tool::template::{ArgumentTemplate, InvalidTemplate};
use serde_json::{Map, Value};

/// A request without its headers.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct HttpRequest {
    pub(super) url: String,
    pub(super) body: Option<RequestBody>,
}

/// A body with its content type.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct RequestBody {
    pub(super) content_type: &'static str,
    pub(super) text: String,
}

/// Why there is no request for these arguments. The texts are for models.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum RequestError {
    #[error("The argument `{0}` is missing or empty.")]
    MissingArgument(String),
    #[error("The argument for the address must not be `.` or `..`.")]
    DotSegment,
    #[error("The tool is not defined correctly: {0}.")]
    Template(#[from] InvalidTemplate),
}

/// Builds the request of a call.
pub(super) fn build(
    tool: &HttpTool,
    arguments: &Map<String, Value>,
) -> Result<HttpRequest, RequestError> {
    let mut used = BTreeSet::new();
    let (path, query) = match tool.url.split_once('?') {
        Some((path, query)) => (path, Some(query)),
        None => (tool.url.as_str(), None),
    };
    let mut url = render_path(path, arguments, &mut used)?;
    let mut separator = '?';
    if let Some(query) = query {
        let template = parse(query, &mut used)?;
        let value = |name: &str| text_of(arguments.get(name)).map(|text| percent_encode(&text));
        let query = template.render(value).ok_or_else(|| missing(&template, arguments))?;
        let _ = write!(url, "?{query}");
        separator = '&';
    }
    for (name, text) in &tool.query {
        let template = parse(text, &mut used)?;
        let Some(value) = template.render(|name| text_of(arguments.get(name))) else { continue };
        let _ = write!(url, "{separator}{}={}", percent_encode(name), percent_encode(&value));
        separator = '&';
    }
    let body = match &tool.body {
        Some(body) => Some(fill(body, arguments)?.unwrap_or(Value::Null)),
        None if tool.method.sends_arguments() => {
            let rest = arguments.iter().filter(|(name, _)| !used.contains(name.as_str()));
            Some(rest.map(|(name, value)| (name.clone(), value.clone())).collect())
        }
        None => None,
    };
    Ok(HttpRequest { url, body: body.map(|body| write_body(&body, tool.body_format)) })
}

fn parse(text: &str, used: &mut BTreeSet<String>) -> Result<ArgumentTemplate, InvalidTemplate> {
    let template = ArgumentTemplate::parse(text)?;
    used.extend(template.arguments().map(str::to_owned));
    Ok(template)
}

fn missing(template: &ArgumentTemplate, arguments: &Map<String, Value>) -> RequestError {
    let absent = |name: &&str| text_of(arguments.get(*name)).is_none_or(|text| text.is_empty());
    let name = template.arguments().find(absent).unwrap_or_default();
    RequestError::MissingArgument(name.to_owned())
}

/// Renders the part of a URL before the query. A value can never become another path: it is
/// encoded, and dots and empty values are refused.
fn render_path(
    path: &str,
    arguments: &Map<String, Value>,
    used: &mut BTreeSet<String>,
) -> Result<String, RequestError> {
    let template = parse(path, used)?;
    let value = |name: &str| {
        let text = text_of(arguments.get(name)).filter(|text| !text.is_empty());
        text.map(|text| percent_encode(&text))
    };
    let rendered = template.render(value).ok_or_else(|| missing(&template, arguments))?;
    if rendered.split('/').any(|segment| matches!(segment, "." | "..")) {
        return Err(RequestError::DotSegment);
    }
    Ok(rendered)
}

/// Returns the text of an argument, or `None` if it is missing or null.
fn text_of(value: Option<&Value>) -> Option<String> {
    match value? {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        Value::Array(items) => {
            let texts: Vec<String> = items.iter().filter_map(|item| text_of(Some(item))).collect();
            Some(texts.join(","))
        }
        other => Some(other.to_string()),
    }
}

/// Encodes everything but letters, digits, `-`, `.`, `_` and `~`.
fn percent_encode(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            let _ = write!(encoded, "%{byte:02X}");
        }
    }
    encoded
}

/// Fills the placeholders of a body. A text that is one placeholder becomes the argument
/// itself; a member whose argument is missing is left out.
fn fill(body: &Value, arguments: &Map<String, Value>) -> Result<Option<Value>, InvalidTemplate> {
    Ok(match body {
        Value::String(text) => {
            let template = ArgumentTemplate::parse(text)?;
            match template.single_argument() {
                Some(name) => arguments.get(name).filter(|value| !value.is_null()).cloned(),
                None => template.render(|name| text_of(arguments.get(name))).map(Value::String),
            }
        }
        Value::Object(members) => {
            let mut filled = Map::new();
            for (name, value) in members {
                if let Some(value) = fill(value, arguments)? {
                    filled.insert(name.clone(), value);
                }
            }
            Some(Value::Object(filled))
        }
        Value::Array(items) => {
            let mut filled = Vec::new();
            for item in items {
                filled.extend(fill(item, arguments)?);
            }
            Some(Value::Array(filled))
        }
        other => Some(other.clone()),
    })
}

fn write_body(body: &Value, format: BodyFormat) -> RequestBody {
    match format {
        BodyFormat::Json => {
            RequestBody { content_type: "application/json", text: body.to_string() }
        }
        BodyFormat::Form => {
            let members = body.as_object().into_iter().flatten();
            let fields = members.filter_map(|(name, value)| {
                let value = text_of(Some(value))?;
                Some(format!("{}={}", percent_encode(name), percent_encode(&value)))
            });
            let text = fields.collect::<Vec<_>>().join("&");
            RequestBody { content_type: "application/x-www-form-urlencoded", text }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{HttpRequest, RequestError, build};
    use ostler_domain::tool::http::HttpTool;
    use proptest::prelude::{any, prop_assert, proptest};
    use serde_json::{Value, json};
    use url::Url;

    fn tool(changes: &Value) -> HttpTool {
        let mut tool = json!({"name": "t", "description": "d", "risk": "write",
            "url": "https://shop.example/orders/{order}"});
        for (name, value) in changes.as_object().unwrap() {
            tool[name] = value.clone();
        }
        serde_json::from_value(tool).unwrap()
    }

    fn request(changes: &Value, arguments: &Value) -> Result<HttpRequest, RequestError> {
        build(&tool(changes), arguments.as_object().unwrap())
    }

    #[test]
    fn o18_arguments_go_into_the_url_the_query_and_the_body() {
        let check = |changes: Value, arguments: Value, url: &str, body: Option<&str>| {
            let request = request(&changes, &arguments).unwrap();
            assert_eq!(request.url, format!("https://shop.example/orders/{url}"));
            // The order of members does not matter; forms are compared as they are.
            let parsed = |text: &str| serde_json::from_str(text).unwrap_or_else(|_| json!(text));
            let sent: Option<Value> = request.body.map(|sent| parsed(&sent.text));
            assert_eq!(sent, body.map(parsed));
        };
        check(json!({}), json!({"order": "A/1 ü"}), "A%2F1%20%C3%BC", None);
        let query = json!({"query": {"limit": "{limit}", "sort": "new", "tag": "x-{tag}"}});
        check(query.clone(), json!({"order": 7, "limit": 3}), "7?limit=3&sort=new", None);
        check(query, json!({"order": 7, "tag": ["a", "b"]}), "7?sort=new&tag=x-a%2Cb", None);
        let both = json!({"url": "https://shop.example/orders/{order}?v=2", "query": {"a": "1"}});
        check(both, json!({"order": 7}), "7?v=2&a=1", None);
        let post = json!({"method": "POST"});
        check(post, json!({"order": 7, "note": "hi"}), "7", Some(r#"{"note":"hi"}"#));
        let body = json!({"method": "POST", "body":
            {"sum": "{amount}", "text": "for {order}", "list": ["{amount}", 1], "gone": "{none}"}});
        let filled = r#"{"list":[2.5,1],"sum":2.5,"text":"for 7"}"#;
        check(body, json!({"order": 7, "amount": 2.5}), "7", Some(filled));
        let form = json!({"method": "POST", "body_format": "form", "body": {"a b": "{x}"}});
        check(form, json!({"order": 7, "x": "1&2"}), "7", Some("a%20b=1%262"));
    }

    #[test]
    fn o18_a_value_cannot_become_another_path() {
        for value in ["", ".", ".."] {
            assert!(request(&json!({}), &json!({"order": value})).is_err(), "{value}");
        }
        assert_eq!(
            request(&json!({}), &json!({})),
            Err(RequestError::MissingArgument("order".to_owned()))
        );
    }

    proptest! {
        /// Whatever a model writes, the host and the number of path segments are fixed.
        #[test]
        fn o18_every_value_stays_in_its_place(value in any::<String>()) {
            if let Ok(request) = request(&json!({}), &json!({"order": value})) {
                let url = Url::parse(&request.url).unwrap();
                prop_assert!(url.host_str() == Some("shop.example"));
                prop_assert!(url.path_segments().unwrap().count() == 2, "{}", url);
                prop_assert!(url.query().is_none() && url.fragment().is_none());
            }
        }
    }
}
