//! Inbound messages of a gateway.

use bytes::Bytes;
use http::HeaderMap;
use ostler_domain::channel::Channel;
use ostler_domain::contact::{SenderProof, normalize_identifier};
use ostler_domain::message::MediaType;
use ostler_domain::session::key::Peer;
use ostler_domain::time::Timestamp;
use serde::Deserialize;

use super::Webhook;
use crate::error::ReceiveError;
use crate::inbound::{
    FileSource, IgnoreReason, InboundContent, InboundMessage, InboundPart, ReceiveOutcome,
    RemoteFile, Sender, text_part,
};

/// The body of a request of a gateway.
#[derive(Debug, Deserialize)]
struct Payload {
    #[serde(rename = "type")]
    kind: String,
    from: PayloadSender,
    group: Option<String>,
    /// For replies that quote it; a repeat is recognized by the header `webhook-id`.
    message_id: Option<String>,
    reply_to: Option<String>,
    text: Option<String>,
    #[serde(default)]
    attachments: Vec<PayloadAttachment>,
    press: Option<String>,
}

#[derive(Debug, Deserialize)]
struct PayloadSender {
    id: String,
    name: Option<String>,
    locale: Option<String>,
}

/// A file at a URL or included in the message.
#[derive(Debug, Deserialize)]
pub(crate) struct PayloadAttachment {
    media_type: MediaType,
    name: Option<String>,
    size: Option<u64>,
    url: Option<String>,
    #[serde(default, deserialize_with = "deserialize_content")]
    content: Option<Bytes>,
}

fn deserialize_content<'de, D: serde::Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Bytes>, D::Error> {
    crate::encoding::base64_bytes::deserialize(deserializer).map(Some)
}

impl PayloadAttachment {
    /// Converts the attachment to a message part. Returns `None` if it has neither
    /// content nor URL.
    pub(crate) fn into_part(self) -> Option<InboundPart> {
        let source = match (self.content, self.url) {
            (Some(bytes), _) => FileSource::Inline(bytes),
            (None, Some(url)) => FileSource::Url(url),
            (None, None) => return None,
        };
        let Self { media_type, name, size, .. } = self;
        Some(InboundPart::file(RemoteFile { source, media_type, name, size }))
    }
}

impl Webhook {
    /// Checks that a request is signed, and now.
    pub(crate) fn check_headers(
        &self,
        headers: &HeaderMap,
        now: Timestamp,
    ) -> Result<(), ReceiveError> {
        self.keys.check_headers(headers, now)
    }

    /// Verifies and parses a request of the gateway.
    pub(crate) fn receive(
        &self,
        headers: &HeaderMap,
        body: &[u8],
        now: Timestamp,
    ) -> Result<ReceiveOutcome, ReceiveError> {
        let verified = self.keys.verify(headers, body, now)?;
        let payload: Payload = serde_json::from_slice(body)
            .map_err(|error| ReceiveError::BadBody(error.to_string()))?;
        parse(&self.channel, self.senders, verified.id, payload)
    }
}

fn parse(
    channel: &Channel,
    proof: SenderProof,
    id: String,
    payload: Payload,
) -> Result<ReceiveOutcome, ReceiveError> {
    let bad_body = |reason: &str| ReceiveError::BadBody(reason.to_owned());
    let content = match (payload.kind.as_str(), payload.press) {
        ("message", _) => {
            let text = payload.text.as_deref().and_then(text_part);
            let files = payload.attachments.into_iter().map(PayloadAttachment::into_part);
            let files: Option<Vec<InboundPart>> = files.collect();
            let files =
                files.ok_or_else(|| bad_body("an attachment has neither `url` nor `content`"))?;
            InboundContent::Message(text.into_iter().chain(files).collect())
        }
        ("press", Some(data)) => InboundContent::Press { data, callback_id: None },
        ("press", None) => return Err(bad_body("`press` is missing")),
        (other, _) => {
            return Ok(ReceiveOutcome::Ignored(IgnoreReason::UnsupportedKind(other.to_owned())));
        }
    };
    if matches!(&content, InboundContent::Message(parts) if parts.is_empty()) {
        return Ok(ReceiveOutcome::Ignored(IgnoreReason::Empty));
    }
    let identifier = normalize_identifier(channel, &payload.from.id);
    let PayloadSender { name, locale, .. } = payload.from;
    let identifier = identifier.ok_or_else(|| bad_body("`from.id` is empty"))?;
    let group = payload.group.filter(|group| !group.trim().is_empty());
    Ok(ReceiveOutcome::Message(Box::new(InboundMessage {
        id,
        peer: group.map_or_else(|| Peer::Person(identifier.clone()), Peer::Group),
        from: Sender { identifier, name, locale, proof },
        message_id: payload.message_id,
        reply_to: payload.reply_to,
        email_thread: None,
        content,
    })))
}

#[cfg(test)]
mod tests {
    use super::{Payload, parse};
    use crate::error::ReceiveError;
    use crate::inbound::{
        FileSource, IgnoreReason, InboundContent, InboundPart, ReceiveOutcome, RemoteFile,
    };
    use ostler_domain::channel::Channel;
    use ostler_domain::contact::SenderProof;
    use ostler_domain::session::key::Peer;
    use serde_json::{Value, json};

    fn receive(channel: &str, payload: Value) -> Result<ReceiveOutcome, ReceiveError> {
        let payload: Payload = serde_json::from_value(payload).unwrap();
        parse(&Channel::from(channel), SenderProof::Proven, "m1".into(), payload)
    }

    #[test]
    fn a12_senders_are_identified_by_normalized_identifiers() {
        let check = |channel: &str, id: &str, expected: &str| {
            let payload = json!({"type": "message", "from": {"id": id}, "text": "hi"});
            let Ok(ReceiveOutcome::Message(message)) = receive(channel, payload) else {
                panic!("{id}")
            };
            assert_eq!(message.peer, Peer::Person(expected.into()));
            assert_eq!(message.from.identifier, expected);
        };
        check("sms", " +39 06 1234", "+39061234");
        check("whatsapp", "+39061234", "+39061234");
        check("pager", " Rosa ", "Rosa");
    }

    #[test]
    fn a_message_with_text_and_files_is_parsed() {
        let payload = json!({"type": "message", "from": {"id": "7", "name": "Rosa", "locale": "it"},
        "group": "g", "message_id": "3", "reply_to": "2", "text": "look", "attachments": [
            {"media_type": "image/png", "url": "https://g.it/1", "size": 3},
            {"media_type": "text/plain", "name": "a.txt", "content": "aGk="},
            {"media_type": "video/mp4", "url": "https://g.it/2", "size": 99_000_000},
        ]});
        let Ok(ReceiveOutcome::Message(message)) = receive("webhook", payload) else { panic!() };
        assert_eq!(message.peer, Peer::Group("g".into()));
        assert_eq!(
            (message.message_id.as_deref(), message.reply_to.as_deref()),
            (Some("3"), Some("2"))
        );
        let file = |source, media: &str, name: Option<&str>, size| {
            let media_type = media.parse().unwrap();
            let name = name.map(str::to_owned);
            InboundPart::File(RemoteFile { source, media_type, name, size })
        };
        let expected = InboundContent::Message(vec![
            InboundPart::Text("look".into()),
            file(FileSource::Url("https://g.it/1".into()), "image/png", None, Some(3)),
            file(FileSource::Inline("hi".into()), "text/plain", Some("a.txt"), None),
            InboundPart::Notice("(A file is larger than 20 MiB and was not accepted.)".into()),
        ]);
        assert_eq!(message.content, expected);
    }

    #[test]
    fn unsupported_and_invalid_payloads_are_ignored_or_rejected() {
        let from = json!({"id": "7"});
        let ignored = |payload, reason| {
            assert_eq!(receive("sms", payload), Ok(ReceiveOutcome::Ignored(reason)));
        };
        ignored(
            json!({"type": "receipt", "from": from}),
            IgnoreReason::UnsupportedKind("receipt".into()),
        );
        ignored(json!({"type": "message", "from": from, "text": " "}), IgnoreReason::Empty);
        let bad = |payload, reason: &str| {
            assert_eq!(receive("sms", payload), Err(ReceiveError::BadBody(reason.into())));
        };
        bad(json!({"type": "press", "from": from}), "`press` is missing");
        bad(json!({"type": "message", "from": {"id": " "}, "text": "x"}), "`from.id` is empty");
        let no_source = json!([{"media_type": "image/png"}]);
        let payload = json!({"type": "message", "from": from, "attachments": no_source});
        bad(payload, "an attachment has neither `url` nor `content`");
        let payload = json!({"type": "press", "from": from, "press": "yes"});
        let Ok(ReceiveOutcome::Message(message)) = receive("sms", payload) else { panic!() };
        assert_eq!(
            message.content,
            InboundContent::Press { data: "yes".into(), callback_id: None }
        );
    }
}
