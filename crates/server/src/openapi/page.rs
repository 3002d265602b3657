//! The document as a page: plain HTML that loads nothing and runs nothing.

use serde_json::Value;

const STYLE: &str = "body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;\
    padding:0 1rem;color:#1b1b1b;background:#fff}\
    code,pre{font:13px/1.45 ui-monospace,monospace}pre{background:#f4f4f4;padding:.6rem;\
    overflow:auto}details{border:1px solid #ddd;border-radius:4px;margin:.3rem 0;padding:.3rem .6rem}\
    summary{cursor:pointer}summary b{display:inline-block;min-width:4rem}\
    .needs{color:#555;float:right}table{border-collapse:collapse}\
    td,th{border:1px solid #ddd;padding:.2rem .5rem;text-align:left;vertical-align:top}\
    @media(prefers-color-scheme:dark){body{color:#e6e6e6;background:#161616}pre{background:#242424}\
    details,td,th{border-color:#444}.needs{color:#aaa}a{color:#8ab4f8}}";

/// Renders a document.
pub(super) fn render(document: &Value) -> String {
    let info = &document["info"];
    let mut page = format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width\"><title>{0} API</title>\
         <style>{STYLE}</style></head><body><h1>{0} API {1}</h1><p>{2}</p>\
         <p>For programs: <a href=\"openapi.json\">openapi.json</a></p>",
        text(&info["title"]),
        text(&info["version"]),
        text(&info["description"]),
    );
    for tag in items(&document["tags"]) {
        page.push_str(&format!("<h2>{}</h2>", text(&tag["name"])));
        page.push_str(&format!("<p>{}</p>", text(&tag["description"])));
        for (path, methods) in fields(&document["paths"]) {
            for (method, operation) in fields(methods) {
                if operation["tags"][0] == tag["name"] {
                    push_operation(&mut page, path, method, operation);
                }
            }
        }
    }
    page.push_str("<h2>Schemas</h2>");
    for (name, schema) in fields(&document["components"]["schemas"]) {
        let json = pretty(schema);
        page.push_str(&format!(
            "<details id=\"{name}\"><summary><code>{name}</code></summary><pre>{json}</pre></details>"
        ));
    }
    page + "</body></html>"
}

fn push_operation(page: &mut String, path: &str, method: &str, operation: &Value) {
    page.push_str(&format!(
        "<details id=\"{0}\"><summary><b>{1}</b><code>{2}</code>\
         <span class=\"needs\">{3}</span><br>{4}</summary>",
        text(&operation["operationId"]),
        method.to_uppercase(),
        escape(path),
        text(&operation["x-ostler-access"]),
        text(&operation["summary"]),
    ));
    let parameters: Vec<&Value> =
        items(&operation["parameters"]).filter(|one| one["name"].is_string()).collect();
    if !parameters.is_empty() {
        page.push_str("<table><tr><th>parameter</th><th>in</th><th></th></tr>");
        for one in parameters {
            let (name, place) = (text(&one["name"]), text(&one["in"]));
            let about = text(&one["description"]);
            page.push_str(&format!(
                "<tr><td><code>{name}</code></td><td>{place}</td><td>{about}</td></tr>"
            ));
        }
        page.push_str("</table>");
    }
    for (media_type, content) in fields(&operation["requestBody"]["content"]) {
        page.push_str(&format!("<p>Body: {}</p>", content_type(media_type, content)));
        if !content["example"].is_null() {
            page.push_str(&format!("<pre>{}</pre>", pretty(&content["example"])));
        }
    }
    for (status, response) in fields(&operation["responses"]) {
        for (media_type, content) in fields(&response["content"]) {
            page.push_str(&format!("<p>{status}: {}</p>", content_type(media_type, content)));
        }
        if response["content"].is_null() && response["$ref"].is_null() {
            page.push_str(&format!("<p>{status}: no content</p>"));
        }
    }
    page.push_str("</details>");
}

/// Returns a link to the schema of a body, or its media type.
fn content_type(media_type: &str, content: &Value) -> String {
    match content["schema"]["$ref"].as_str().and_then(|target| target.rsplit('/').next()) {
        Some(name) => format!("<a href=\"#{name}\"><code>{name}</code></a>"),
        None => format!("<code>{}</code>", escape(media_type)),
    }
}

fn items(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn fields(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flatten()
}

fn text(value: &Value) -> String {
    escape(value.as_str().unwrap_or_default())
}

fn pretty(value: &Value) -> String {
    escape(&serde_json::to_string_pretty(value).unwrap_or_default())
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::render;
    use crate::openapi::document;

    #[test]
    fn k01_the_page_shows_every_operation_and_loads_nothing() {
        let page = render(document());
        for methods in document()["paths"].as_object().unwrap().values() {
            for operation in methods.as_object().unwrap().values() {
                let id = operation["operationId"].as_str().unwrap();
                assert!(page.contains(&format!("id=\"{id}\"")), "{id}");
            }
        }
        for forbidden in ["<script", "src=", "=\"http", "@import", "url("] {
            assert!(!page.contains(forbidden), "{forbidden}");
        }
    }
}
