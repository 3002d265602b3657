//! What a visitor posts.

use http::HeaderMap;
use http::header::AUTHORIZATION;
use ostler_domain::session::key::Peer;
use ostler_domain::time::Timestamp;

use super::wire::Post;
use super::{Visitor, Webchat};
use crate::error::ReceiveError;
use crate::inbound::{
    Content, Ignored, Inbound, InboundPart, Received, RemoteFile, Source, Writer, text_part,
};

/// The most characters of a page's own id.
const MOST_ID: usize = 64;
/// The most characters of what a visitor calls themselves.
const MOST_NAME: usize = 100;
/// The most characters that a visitor writes at once.
const MOST_TEXT: usize = 16_000;
/// The most files at once.
const MOST_FILES: usize = 10;

impl Webchat {
    /// Checks whose post it is, and reads it.
    pub(crate) fn receive(
        &self,
        headers: &HeaderMap,
        body: &[u8],
        now: Timestamp,
    ) -> Result<Received, ReceiveError> {
        let header = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok());
        let token = header.and_then(|value| value.strip_prefix("Bearer "));
        let visitor = self.visitor(token.ok_or(ReceiveError::Unsigned("authorization"))?, now)?;
        let post: Post = serde_json::from_slice(body)
            .map_err(|error| ReceiveError::BadBody(error.to_string()))?;
        read(visitor, post)
    }
}

fn read(visitor: Visitor, post: Post) -> Result<Received, ReceiveError> {
    let bad = |why: &str| Err(ReceiveError::BadBody(why.to_owned()));
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
    if !(1..=MOST_ID).contains(&post.id.len()) || !post.id.chars().all(plain) {
        return bad("`id` is 1 to 64 letters, digits, - or _");
    }
    let text = post.text.unwrap_or_default();
    if text.chars().count() > MOST_TEXT || post.files.len() > MOST_FILES {
        return bad("a message has at most 16000 characters and 10 files");
    }
    let content = match post.press {
        Some(data) => Content::Press { data, callback: None },
        None => {
            let files = post.files.into_iter().map(|file| {
                InboundPart::file(RemoteFile {
                    size: Some(file.content.len() as u64),
                    source: Source::Inline(file.content),
                    media_type: file.media_type,
                    name: Some(file.name),
                })
            });
            let parts: Vec<InboundPart> = text_part(&text).into_iter().chain(files).collect();
            if parts.is_empty() {
                return Ok(Received::Ignored(Ignored::Empty));
            }
            Content::Message(parts)
        }
    };
    let short = |text: String| -> String { text.trim().chars().take(MOST_NAME).collect() };
    Ok(Received::Inbound(Box::new(Inbound {
        // Two pages may come upon the same id.
        id: format!("{}:{}", visitor.identifier, post.id),
        peer: Peer::Person(visitor.identifier.clone()),
        from: Writer {
            identifier: visitor.identifier,
            name: post.name.map(short).filter(|name| !name.is_empty()),
            locale: post.locale.map(short).filter(|locale| !locale.is_empty()),
        },
        message: Some(post.id),
        reply_to: None,
        thread: None,
        content,
    })))
}

#[cfg(test)]
mod tests {
    use super::super::{Hello, Webchat};
    use crate::error::ReceiveError;
    use crate::inbound::{Content, Ignored, Received};
    use crate::secret::Secret;
    use http::{HeaderMap, HeaderValue, header::AUTHORIZATION};
    use ostler_domain::id::BindingId;
    use ostler_domain::session::key::Peer;
    use ostler_domain::time::Timestamp;
    use serde_json::{Value, json};

    const NOW: Timestamp = Timestamp::from_millis(1_700_000_000_000);

    fn chat() -> Webchat {
        let settings = r#"{"origins": ["https://bella.example"]}"#;
        Webchat::open(BindingId::from_u128(1), settings, || Ok(Secret::new("s".repeat(40))))
            .unwrap()
    }

    fn receive(body: &Value) -> Result<Received, ReceiveError> {
        let welcome = chat().welcome(&Hello::default(), 7, NOW).unwrap();
        let token = format!("Bearer {}", welcome.token);
        let token = HeaderValue::from_str(&token).unwrap();
        let headers = HeaderMap::from_iter([(AUTHORIZATION, token)]);
        chat().receive(&headers, body.to_string().as_bytes(), NOW)
    }

    #[test]
    fn a_post_is_its_visitors_whatever_it_says() {
        let post = json!({"id": "1", "text": "hi", "name": " Rosa ", "locale": "it"});
        let Ok(Received::Inbound(read)) = receive(&post) else { panic!() };
        let visitor = "00000000000000000000000000000007";
        assert_eq!(read.id, format!("{visitor}:1"));
        assert_eq!(read.peer, Peer::Person(visitor.into()));
        assert_eq!(read.from.name.as_deref(), Some("Rosa"));
        let Ok(Received::Inbound(read)) = receive(&json!({"id": "2", "press": "yes"})) else {
            panic!()
        };
        assert_eq!(read.content, Content::Press { data: "yes".into(), callback: None });
        assert_eq!(receive(&json!({"id": "3"})), Ok(Received::Ignored(Ignored::Empty)));
    }

    #[test]
    fn a_bad_post_is_refused() {
        for post in [
            json!({}),
            json!({"id": ""}),
            json!({"id": "a b", "text": "x"}),
            json!({"id": "1", "visitor": "somebody else"}),
            json!({"id": "1", "text": "x".repeat(16_001)}),
            json!({"id": "1", "files": [{"name": "a", "media_type": "x", "content": ""}]}),
        ] {
            assert!(matches!(receive(&post), Err(ReceiveError::BadBody(_))), "{post}");
        }
        let nobody = chat().receive(&HeaderMap::new(), b"{}", NOW);
        assert_eq!(nobody, Err(ReceiveError::Unsigned("authorization")));
    }

    #[test]
    fn only_known_pages_embed_it() {
        assert!(chat().allows_origin("https://bella.example"));
        assert!(!chat().allows_origin("https://evil.example"));
        assert!(!chat().allows_origin("null"));
    }
}
