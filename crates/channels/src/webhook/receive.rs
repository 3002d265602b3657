//! What a gateway brings.

use bytes::Bytes;
use http::HeaderMap;
use ostler_domain::channel::Channel;
use ostler_domain::contact::normal_identifier;
use ostler_domain::message::MediaType;
use ostler_domain::session::key::Peer;
use ostler_domain::time::Timestamp;
use serde::Deserialize;

use super::Webhook;
use crate::error::ReceiveError;
use crate::inbound::{
    Content, Ignored, Inbound, InboundPart, Received, RemoteFile, Source, Writer, text_part,
};

/// What a gateway sends.
#[derive(Debug, Deserialize)]
struct Form {
    #[serde(rename = "type")]
    kind: String,
    from: From,
    group: Option<String>,
    message_id: Option<String>,
    reply_to: Option<String>,
    text: Option<String>,
    #[serde(default)]
    attachments: Vec<Attached>,
    press: Option<String>,
}

#[derive(Debug, Deserialize)]
struct From {
    id: String,
    name: Option<String>,
    locale: Option<String>,
}

/// A file, by its address or along with the message.
#[derive(Debug, Deserialize)]
pub(crate) struct Attached {
    media_type: MediaType,
    name: Option<String>,
    size: Option<u64>,
    url: Option<String>,
    #[serde(default, deserialize_with = "some_bytes")]
    content: Option<Bytes>,
}

fn some_bytes<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Option<Bytes>, D::Error> {
    crate::encoding::bytes::deserialize(from).map(Some)
}

impl Attached {
    /// The part of a message that it makes; none if it is nowhere.
    pub(crate) fn part(self) -> Option<InboundPart> {
        let source = match (self.content, self.url) {
            (Some(bytes), _) => Source::Inline(bytes),
            (None, Some(url)) => Source::Url(url),
            (None, None) => return None,
        };
        let Self { media_type, name, size, .. } = self;
        Some(InboundPart::file(RemoteFile { source, media_type, name, size }))
    }
}

impl Webhook {
    /// Checks and reads what somebody brought.
    pub(crate) fn receive(
        &self,
        headers: &HeaderMap,
        body: &[u8],
        now: Timestamp,
    ) -> Result<Received, ReceiveError> {
        let verified = self.keys.verify(headers, body, now)?;
        let form: Form = serde_json::from_slice(body)
            .map_err(|error| ReceiveError::BadBody(error.to_string()))?;
        read(&self.channel, verified.id, form)
    }
}

fn read(channel: &Channel, id: String, form: Form) -> Result<Received, ReceiveError> {
    let bad = |why: &str| ReceiveError::BadBody(why.to_owned());
    let content = match (form.kind.as_str(), form.press) {
        ("message", _) => {
            let words = form.text.as_deref().and_then(text_part);
            let files = form.attachments.into_iter().map(Attached::part);
            let files: Option<Vec<InboundPart>> = files.collect();
            let files =
                files.ok_or_else(|| bad("an attachment has neither `url` nor `content`"))?;
            Content::Message(words.into_iter().chain(files).collect())
        }
        ("press", Some(data)) => Content::Press { data, callback: None },
        ("press", None) => return Err(bad("`press` is missing")),
        (other, _) => return Ok(Received::Ignored(Ignored::Kind(other.to_owned()))),
    };
    if matches!(&content, Content::Message(parts) if parts.is_empty()) {
        return Ok(Received::Ignored(Ignored::Empty));
    }
    let identifier = normal_identifier(channel, &form.from.id);
    let identifier = identifier.ok_or_else(|| bad("`from.id` is empty"))?;
    let group = form.group.filter(|group| !group.trim().is_empty());
    Ok(Received::Inbound(Box::new(Inbound {
        id,
        peer: group.map_or_else(|| Peer::Person(identifier.clone()), Peer::Group),
        from: Writer { identifier, name: form.from.name, locale: form.from.locale },
        message: form.message_id,
        reply_to: form.reply_to,
        thread: None,
        content,
    })))
}

#[cfg(test)]
mod tests {
    use super::{Form, read};
    use crate::error::ReceiveError;
    use crate::inbound::{Content, Ignored, InboundPart, Received, RemoteFile, Source};
    use ostler_domain::channel::Channel;
    use ostler_domain::session::key::Peer;
    use serde_json::{Value, json};

    fn receive(channel: &str, form: Value) -> Result<Received, ReceiveError> {
        let form: Form = serde_json::from_value(form).unwrap();
        read(&Channel::from(channel), "m1".into(), form)
    }

    /// A12: whoever writes is known by what the channel compares, whatever its
    /// spelling.
    #[test]
    fn a12_an_identifier_is_read_as_its_channel_compares_it() {
        let check = |channel: &str, id: &str, expected: &str| {
            let form = json!({"type": "message", "from": {"id": id}, "text": "hi"});
            let Ok(Received::Inbound(read)) = receive(channel, form) else { panic!("{id}") };
            assert_eq!(read.peer, Peer::Person(expected.into()));
            assert_eq!(read.from.identifier, expected);
        };
        check("sms", " +39 06 1234", "+39061234");
        check("whatsapp", "+39061234", "+39061234");
        check("pager", " Rosa ", "Rosa");
    }

    #[test]
    fn a_message_has_words_and_files() {
        let form = json!({"type": "message", "from": {"id": "7", "name": "Rosa", "locale": "it"},
        "group": "g", "message_id": "3", "reply_to": "2", "text": "look", "attachments": [
            {"media_type": "image/png", "url": "https://g.it/1", "size": 3},
            {"media_type": "text/plain", "name": "a.txt", "content": "aGk="},
            {"media_type": "video/mp4", "url": "https://g.it/2", "size": 99_000_000},
        ]});
        let Ok(Received::Inbound(read)) = receive("webhook", form) else { panic!() };
        assert_eq!(read.peer, Peer::Group("g".into()));
        assert_eq!((read.message.as_deref(), read.reply_to.as_deref()), (Some("3"), Some("2")));
        let file = |source, media: &str, name: Option<&str>, size| {
            let media_type = media.parse().unwrap();
            let name = name.map(str::to_owned);
            InboundPart::File(RemoteFile { source, media_type, name, size })
        };
        let expected = Content::Message(vec![
            InboundPart::Text("look".into()),
            file(Source::Url("https://g.it/1".into()), "image/png", None, Some(3)),
            file(Source::Inline("hi".into()), "text/plain", Some("a.txt"), None),
            InboundPart::Notice("(A file was larger than 20 MiB and was not taken.)".into()),
        ]);
        assert_eq!(read.content, expected);
    }

    #[test]
    fn what_cannot_be_read_says_why() {
        let from = json!({"id": "7"});
        let ignored = |form, why| assert_eq!(receive("sms", form), Ok(Received::Ignored(why)));
        ignored(json!({"type": "receipt", "from": from}), Ignored::Kind("receipt".into()));
        ignored(json!({"type": "message", "from": from, "text": " "}), Ignored::Empty);
        let bad = |form, why: &str| {
            assert_eq!(receive("sms", form), Err(ReceiveError::BadBody(why.into())));
        };
        bad(json!({"type": "press", "from": from}), "`press` is missing");
        bad(json!({"type": "message", "from": {"id": " "}, "text": "x"}), "`from.id` is empty");
        let nowhere = json!([{"media_type": "image/png"}]);
        let form = json!({"type": "message", "from": from, "attachments": nowhere});
        bad(form, "an attachment has neither `url` nor `content`");
        let form = json!({"type": "press", "from": from, "press": "yes"});
        let Ok(Received::Inbound(read)) = receive("sms", form) else { panic!() };
        assert_eq!(read.content, Content::Press { data: "yes".into(), callback: None });
    }
}
