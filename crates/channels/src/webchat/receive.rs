//! Messages of visitors.

use http::HeaderMap;
use http::header::AUTHORIZATION;
use ostler_domain::contact::SenderProof;
use ostler_domain::session::key::Peer;
use ostler_domain::time::Timestamp;

use super::wire::VisitorMessage;
use super::{Visitor, Webchat};
use crate::error::ReceiveError;
use crate::inbound::{
    FileSource, IgnoreReason, InboundContent, InboundMessage, InboundPart, ReceiveOutcome,
    RemoteFile, Sender, text_part,
};

const MAX_ID_CHARS: usize = 64;
/// Longer names and locales are cut.
const MAX_NAME_CHARS: usize = 100;
const MAX_TEXT_CHARS: usize = 16_000;
const MAX_FILES: usize = 10;
/// The command by which owners switch to another org on the platform's chat. Everywhere else its
/// text is for the agent.
const SWITCH_ORG: &str = "org";

impl Webchat {
    /// Returns the visitor whose token a request has.
    pub(crate) fn visitor_of(
        &self,
        headers: &HeaderMap,
        now: Timestamp,
    ) -> Result<Visitor, ReceiveError> {
        let header = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok());
        let token = header.and_then(|value| value.strip_prefix("Bearer "));
        self.verify_token(token.ok_or(ReceiveError::Unsigned("authorization"))?, now)
    }

    /// Verifies the visitor's token and parses the message.
    pub(crate) fn receive(
        &self,
        headers: &HeaderMap,
        body: &[u8],
        now: Timestamp,
    ) -> Result<ReceiveOutcome, ReceiveError> {
        let visitor = self.visitor_of(headers, now)?;
        let message: VisitorMessage = serde_json::from_slice(body)
            .map_err(|error| ReceiveError::BadBody(error.to_string()))?;
        convert(visitor, message)
    }
}

fn convert(visitor: Visitor, message: VisitorMessage) -> Result<ReceiveOutcome, ReceiveError> {
    let bad_body = |reason: &str| Err(ReceiveError::BadBody(reason.to_owned()));
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
    if !(1..=MAX_ID_CHARS).contains(&message.id.len()) || !message.id.chars().all(is_plain) {
        return bad_body("`id` is 1 to 64 letters, digits, - or _");
    }
    let text = message.text.unwrap_or_default();
    if text.chars().count() > MAX_TEXT_CHARS || message.files.len() > MAX_FILES {
        return bad_body("a message has at most 16000 characters and 10 files");
    }
    let command = parse_command(&text).filter(|_| message.files.is_empty());
    let content = match (message.press, command) {
        (Some(data), _) => InboundContent::Press { data, callback_id: None },
        (None, Some(command)) => command,
        (None, None) => {
            let files = message.files.into_iter().map(|file| {
                InboundPart::file(RemoteFile {
                    size: Some(file.content.len() as u64),
                    source: FileSource::Inline(file.content),
                    media_type: file.media_type,
                    name: Some(file.name),
                })
            });
            let parts: Vec<InboundPart> = text_part(&text).into_iter().chain(files).collect();
            if parts.is_empty() {
                return Ok(ReceiveOutcome::Ignored(IgnoreReason::Empty));
            }
            InboundContent::Message(parts)
        }
    };
    let shorten = |text: String| -> String { text.trim().chars().take(MAX_NAME_CHARS).collect() };
    Ok(ReceiveOutcome::Message(Box::new(InboundMessage {
        // Two pages may choose the same id.
        id: format!("{}:{}", visitor.identifier, message.id),
        peer: Peer::Person(visitor.identifier.clone()),
        from: Sender {
            identifier: visitor.identifier,
            name: message.name.map(shorten).filter(|name| !name.is_empty()),
            locale: message.locale.map(shorten).filter(|locale| !locale.is_empty()),
            // The token is signed, and names an address only if that was proved.
            proof: SenderProof::Proven,
        },
        message_id: Some(message.id),
        reply_to: None,
        email_thread: None,
        content,
    })))
}

/// Parses `/org` and `/org SLUG`.
fn parse_command(text: &str) -> Option<InboundContent> {
    let mut words = text.strip_prefix('/')?.split_whitespace();
    let (name, payload) = (words.next()?, words.next().map(str::to_owned));
    let is_switch = name == SWITCH_ORG && words.next().is_none();
    is_switch.then(|| InboundContent::Command { name: name.to_owned(), payload })
}

#[cfg(test)]
mod tests {
    use super::super::{VisitorTokenRequest, Webchat};
    use crate::error::ReceiveError;
    use crate::inbound::{IgnoreReason, InboundContent, ReceiveOutcome};
    use crate::secret::ChannelSecret;
    use http::{HeaderMap, HeaderValue, header::AUTHORIZATION};
    use ostler_domain::id::BindingId;
    use ostler_domain::session::key::Peer;
    use ostler_domain::time::Timestamp;
    use serde_json::{Value, json};

    const NOW: Timestamp = Timestamp::from_millis(1_700_000_000_000);

    fn chat() -> Webchat {
        let settings = r#"{"origins": ["https://bella.example"]}"#;
        Webchat::open(BindingId::from_u128(1), settings, || Ok(ChannelSecret::new("s".repeat(40))))
            .unwrap()
    }

    fn receive(body: &Value) -> Result<ReceiveOutcome, ReceiveError> {
        let response = chat().issue_token(&VisitorTokenRequest::default(), 7, NOW).unwrap();
        let token = format!("Bearer {}", response.token);
        let token = HeaderValue::from_str(&token).unwrap();
        let headers = HeaderMap::from_iter([(AUTHORIZATION, token)]);
        chat().receive(&headers, body.to_string().as_bytes(), NOW)
    }

    #[test]
    fn a_message_belongs_to_the_visitor_of_its_token() {
        let post = json!({"id": "1", "text": "hi", "name": " Rosa ", "locale": "it"});
        let Ok(ReceiveOutcome::Message(read)) = receive(&post) else { panic!() };
        let visitor = "00000000000000000000000000000007";
        assert_eq!(read.id, format!("{visitor}:1"));
        assert_eq!(read.peer, Peer::Person(visitor.into()));
        assert_eq!(read.from.name.as_deref(), Some("Rosa"));
        let Ok(ReceiveOutcome::Message(read)) = receive(&json!({"id": "2", "press": "yes"})) else {
            panic!()
        };
        assert_eq!(read.content, InboundContent::Press { data: "yes".into(), callback_id: None });
        assert_eq!(receive(&json!({"id": "3"})), Ok(ReceiveOutcome::Ignored(IgnoreReason::Empty)));
    }

    /// L50: `/org` with one word at most is a command, everything else is for the agent.
    #[test]
    fn l50_only_org_is_a_command_of_a_web_chat() {
        let check = |text: &str, expected: Option<Option<&str>>| {
            let Ok(ReceiveOutcome::Message(read)) = receive(&json!({"id": "1", "text": text}))
            else {
                panic!("{text}")
            };
            let command = match read.content {
                InboundContent::Command { name, payload } if name == "org" => Some(payload),
                _ => None,
            };
            let expected = expected.map(|payload| payload.map(str::to_owned));
            assert_eq!(command, expected, "{text}");
        };
        check("/org", Some(None));
        check("/org bella", Some(Some("bella")));
        check("/org  bella ", Some(Some("bella")));
        check("/org bella please", None);
        check("/organization", None);
        check("org bella", None);
        check("/exit", None);
        check("/", None);
    }

    #[test]
    fn invalid_messages_are_rejected() {
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
        let unsigned = chat().receive(&HeaderMap::new(), b"{}", NOW);
        assert_eq!(unsigned, Err(ReceiveError::Unsigned("authorization")));
    }

    #[test]
    fn s10_only_listed_origins_and_the_own_host_may_embed_the_chat() {
        let own = ["chat.example", "127.0.0.1:7470"];
        for (origin, allowed) in [
            ("https://bella.example", true),
            ("https://chat.example", true),
            ("http://127.0.0.1:7470", true),
            ("https://evil.example", false),
            ("https://bella.example:444", false),
            ("https://chat.example.evil.example", false),
            ("http://127.0.0.1:7471", false),
            ("null", false),
        ] {
            assert_eq!(chat().allows_origin(origin, &own), allowed, "{origin}");
        }
    }
}
