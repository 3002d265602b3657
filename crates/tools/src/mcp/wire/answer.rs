//! The answer of a server in words: a model reads text only.

use rmcp::model::{CallToolResult, ContentBlock, ResourceContents};

use super::Answer;

/// The text of an answer, of about as many bytes as may be.
pub(super) fn read(result: CallToolResult, most: usize) -> Answer {
    let is_error = result.is_error == Some(true);
    let mut text = String::new();
    for block in result.content {
        if !text.is_empty() {
            text.push('\n');
        }
        add(&mut text, block);
        if text.len() > most {
            break;
        }
    }
    if text.is_empty()
        && let Some(value) = result.structured_content
    {
        text = value.to_string();
    }
    Answer { text, is_error }
}

fn add(text: &mut String, block: ContentBlock) {
    match block {
        ContentBlock::Text(words) => text.push_str(&words.text),
        ContentBlock::Image(image) => {
            text.push_str(&notice("an image", Some(&image.mime_type), Some(&image.data)));
        }
        ContentBlock::Audio(audio) => {
            text.push_str(&notice("a sound", Some(&audio.mime_type), Some(&audio.data)));
        }
        ContentBlock::Resource(resource) => match resource.resource {
            ResourceContents::TextResourceContents { uri, text: words, .. } => {
                text.push_str(&format!("[the resource {}]\n{words}", shown(&uri)));
            }
            ResourceContents::BlobResourceContents { uri, mime_type, blob, .. } => {
                let what = format!("the resource {}", shown(&uri));
                text.push_str(&notice(&what, mime_type.as_deref(), Some(&blob)));
            }
            _ => text.push_str("[a resource was left out]"),
        },
        ContentBlock::ResourceLink(link) => {
            let (name, uri) = (shown(&link.name), shown(&link.uri));
            text.push_str(&format!("[a link to the resource {name}, {uri}]"));
        }
        _ => text.push_str("[something that is no text was left out]"),
    }
}

/// What is said in the place of what is no text.
fn notice(what: &str, kind: Option<&str>, base64: Option<&str>) -> String {
    let kind = kind.map(|kind| format!(", {}", shown(kind))).unwrap_or_default();
    let size = base64.map(|data| format!(", about {} bytes", data.len() / 4 * 3));
    format!("[{what}{kind}{} was left out: only text can be shown]", size.unwrap_or_default())
}

fn shown(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(200).collect()
}

#[cfg(test)]
mod tests {
    use super::read;
    use serde_json::{Value, json};

    fn said(result: Value) -> (String, bool) {
        let answer = read(serde_json::from_value(result).unwrap(), 1000);
        (answer.text, answer.is_error)
    }

    #[test]
    fn everything_becomes_text() {
        let check = |result: Value, expected: &str| {
            assert_eq!(said(result), (expected.to_owned(), false));
        };
        let content = |block: Value| json!({ "content": [block] });
        check(json!({"content": []}), "");
        check(
            json!({"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}),
            "a\nb",
        );
        check(
            content(json!({"type": "image", "mimeType": "image/png", "data": "AAAA"})),
            "[an image, image/png, about 3 bytes was left out: only text can be shown]",
        );
        check(
            content(json!({"type": "resource", "resource": {"uri": "f:a", "text": "words"}})),
            "[the resource f:a]\nwords",
        );
        check(
            content(json!({"type": "resource", "resource": {"uri": "f:a", "blob": "AAAA"}})),
            "[the resource f:a, about 3 bytes was left out: only text can be shown]",
        );
        check(
            content(json!({"type": "resource_link", "uri": "f:a", "name": "n"})),
            "[a link to the resource n, f:a]",
        );
        check(json!({"content": [], "structuredContent": {"a": 1}}), "{\"a\":1}");
    }

    #[test]
    fn an_error_is_one() {
        let result = json!({"content": [{"type": "text", "text": "no"}], "isError": true});
        assert_eq!(said(result), ("no".to_owned(), true));
    }

    #[test]
    fn what_would_be_cut_is_not_collected() {
        let block = json!({"type": "text", "text": "x".repeat(900)});
        let result = json!({"content": [block, block, block, block]});
        assert_eq!(said(result).0.len(), 1801);
    }
}
