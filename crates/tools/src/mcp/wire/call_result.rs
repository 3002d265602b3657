//! Converts the result of a call to text, because models receive text only.

use rmcp::model::{CallToolResult, ContentBlock, ResourceContents};

use super::McpCallResult;

/// Converts a result. Content is dropped once the text is longer than `max_bytes`.
pub(super) fn to_text(result: CallToolResult, max_bytes: usize) -> McpCallResult {
    let is_error = result.is_error == Some(true);
    let mut text = String::new();
    for block in result.content {
        if !text.is_empty() {
            text.push('\n');
        }
        push_block(&mut text, block);
        if text.len() > max_bytes {
            break;
        }
    }
    if text.is_empty()
        && let Some(value) = result.structured_content
    {
        text = value.to_string();
    }
    McpCallResult { text, is_error }
}

fn push_block(text: &mut String, block: ContentBlock) {
    match block {
        ContentBlock::Text(content) => text.push_str(&content.text),
        ContentBlock::Image(image) => {
            text.push_str(&notice("an image", Some(&image.mime_type), Some(&image.data)));
        }
        ContentBlock::Audio(audio) => {
            text.push_str(&notice("an audio file", Some(&audio.mime_type), Some(&audio.data)));
        }
        ContentBlock::Resource(resource) => match resource.resource {
            ResourceContents::TextResourceContents { uri, text: content, .. } => {
                text.push_str(&format!("[the resource {}]\n{content}", printable(&uri)));
            }
            ResourceContents::BlobResourceContents { uri, mime_type, blob, .. } => {
                let subject = format!("the resource {}", printable(&uri));
                text.push_str(&notice(&subject, mime_type.as_deref(), Some(&blob)));
            }
            _ => text.push_str("[a resource was omitted]"),
        },
        ContentBlock::ResourceLink(link) => {
            let (name, uri) = (printable(&link.name), printable(&link.uri));
            text.push_str(&format!("[a link to the resource {name}, {uri}]"));
        }
        _ => text.push_str("[content that is not text was omitted]"),
    }
}

/// Returns the text that replaces content which is not text.
fn notice(subject: &str, kind: Option<&str>, base64: Option<&str>) -> String {
    let kind = kind.map(|kind| format!(", {}", printable(kind))).unwrap_or_default();
    let size = base64.map(|data| format!(", about {} bytes", data.len() / 4 * 3));
    format!("[{subject}{kind}{} was omitted: only text can be shown]", size.unwrap_or_default())
}

fn printable(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(200).collect()
}

#[cfg(test)]
mod tests {
    use super::to_text;
    use serde_json::{Value, json};

    fn converted(result: Value) -> (String, bool) {
        let answer = to_text(serde_json::from_value(result).unwrap(), 1000);
        (answer.text, answer.is_error)
    }

    #[test]
    fn all_content_becomes_text() {
        let check = |result: Value, expected: &str| {
            assert_eq!(converted(result), (expected.to_owned(), false));
        };
        let content = |block: Value| json!({ "content": [block] });
        check(json!({"content": []}), "");
        check(
            json!({"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}),
            "a\nb",
        );
        check(
            content(json!({"type": "image", "mimeType": "image/png", "data": "AAAA"})),
            "[an image, image/png, about 3 bytes was omitted: only text can be shown]",
        );
        check(
            content(json!({"type": "resource", "resource": {"uri": "f:a", "text": "words"}})),
            "[the resource f:a]\nwords",
        );
        check(
            content(json!({"type": "resource", "resource": {"uri": "f:a", "blob": "AAAA"}})),
            "[the resource f:a, about 3 bytes was omitted: only text can be shown]",
        );
        check(
            content(json!({"type": "resource_link", "uri": "f:a", "name": "n"})),
            "[a link to the resource n, f:a]",
        );
        check(json!({"content": [], "structuredContent": {"a": 1}}), "{\"a\":1}");
    }

    #[test]
    fn an_error_result_stays_an_error() {
        let result = json!({"content": [{"type": "text", "text": "no"}], "isError": true});
        assert_eq!(converted(result), ("no".to_owned(), true));
    }

    #[test]
    fn content_over_the_limit_is_dropped() {
        let block = json!({"type": "text", "text": "x".repeat(900)});
        let result = json!({"content": [block, block, block, block]});
        assert_eq!(converted(result).0.len(), 1801);
    }
}
