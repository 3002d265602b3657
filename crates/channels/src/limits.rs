//! The limits of an inbound message, the same for every channel.
//!
//! What a person wrote is cut, and the agent is told; what a program sent is refused.
//!
//! | input | limit | beyond it |
//! |---|---|---|
//! | request body | [`MAX_BODY_BYTES`] | refused |
//! | text of a message | [`MAX_TEXT_BYTES`] | cut, with a notice |
//! | files of a message | [`MAX_FILES`] | left out, with a notice |
//! | one file | `MAX_BLOB_BYTES` of the domain | left out, with a notice |
//! | names, subjects | [`MAX_NAME_CHARS`] | cut |
//! | locale | [`MAX_LOCALE_CHARS`] | left out |
//! | data of a button, name of a command | [`MAX_DATA_BYTES`] | refused |
//! | payload of a command | [`MAX_PAYLOAD_CHARS`] | cut |
//! | id of a sender or group | [`MAX_ID_BYTES`] | refused |
//! | id of a delivery | [`MAX_ID_BYTES`] | replaced by its hash |
//! | other ids | [`MAX_ID_BYTES`] | left out |
//!
//! [`MAX_BODY_BYTES`]: crate::connection::MAX_BODY_BYTES

use ostler_domain::session::key::Peer;
use sha2::{Digest as _, Sha256};

use crate::error::ReceiveError;
use crate::inbound::{GroupMember, InboundContent, InboundMessage, InboundPart, Sender};

/// The most bytes of a message's text.
pub const MAX_TEXT_BYTES: usize = 64 * 1024;
/// The most files of a message.
pub const MAX_FILES: usize = 10;
/// The most characters of a person's name, a file name or a subject.
pub const MAX_NAME_CHARS: usize = 200;
/// The most characters of a locale, as BCP 47 recommends to provide for.
pub const MAX_LOCALE_CHARS: usize = 35;
/// The most bytes of the data of a button.
pub const MAX_DATA_BYTES: usize = 64;
/// The most characters of the payload of a command.
pub const MAX_PAYLOAD_CHARS: usize = 1000;
/// The most bytes of an id.
pub const MAX_ID_BYTES: usize = 512;

impl InboundMessage {
    /// Returns the message within the limits, or fails if it must be refused.
    pub(crate) fn within_limits(mut self) -> Result<Self, ReceiveError> {
        if self.id.len() > MAX_ID_BYTES {
            let digest = Sha256::digest(self.id.as_bytes());
            self.id = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        }
        check_sender(&mut self.from)?;
        let (Peer::Group(id) | Peer::Person(id)) = &self.peer;
        check_id(id)?;
        for id in [&mut self.message_id, &mut self.reply_to] {
            *id = id.take().filter(|id| id.len() <= MAX_ID_BYTES);
        }
        if let Some(thread) = &mut self.email_thread {
            cut_chars(&mut thread.subject, MAX_NAME_CHARS);
            thread.references.retain(|id| id.len() <= MAX_ID_BYTES);
        }
        match &mut self.content {
            InboundContent::Message(parts) => limit_parts(parts),
            InboundContent::Command { name, payload } => {
                check_data("the name of the command", name)?;
                if let Some(payload) = payload {
                    cut_chars(payload, MAX_PAYLOAD_CHARS);
                }
            }
            InboundContent::Press { data, .. } => check_data("`press`", data)?,
            InboundContent::Membership { member: GroupMember::Person(person), .. } => {
                check_sender(person)?;
            }
            InboundContent::Membership { member: GroupMember::Bot, .. } => {}
        }
        Ok(self)
    }
}

fn check_sender(sender: &mut Sender) -> Result<(), ReceiveError> {
    check_id(&sender.identifier)?;
    if let Some(name) = &mut sender.name {
        cut_chars(name, MAX_NAME_CHARS);
    }
    let locale = sender.locale.take();
    sender.locale = locale.filter(|locale| locale.chars().count() <= MAX_LOCALE_CHARS);
    Ok(())
}

fn check_id(id: &str) -> Result<(), ReceiveError> {
    if id.len() > MAX_ID_BYTES {
        let why = format!("the id of a sender or group has at most {MAX_ID_BYTES} bytes");
        return Err(ReceiveError::BadBody(why));
    }
    Ok(())
}

fn check_data(what: &str, data: &str) -> Result<(), ReceiveError> {
    if data.len() > MAX_DATA_BYTES {
        let why = format!("{what} has at most {MAX_DATA_BYTES} bytes");
        return Err(ReceiveError::BadBody(why));
    }
    Ok(())
}

/// Cuts texts and leaves out files beyond the limits, and adds a notice.
fn limit_parts(parts: &mut Vec<InboundPart>) {
    let (mut room, mut files, mut cut) = (MAX_TEXT_BYTES, 0, false);
    parts.retain_mut(|part| match part {
        InboundPart::Text(text) | InboundPart::Notice(text) => {
            cut |= text.len() > room;
            text.truncate(text.floor_char_boundary(room));
            room -= text.len();
            !text.is_empty()
        }
        InboundPart::File(file) => {
            if let Some(name) = &mut file.name {
                cut_chars(name, MAX_NAME_CHARS);
            }
            files += 1;
            files <= MAX_FILES
        }
    });
    if cut {
        let limit = MAX_TEXT_BYTES / 1024;
        parts.push(InboundPart::Notice(format!(
            "(The message was longer than {limit} KiB; the rest was not accepted.)"
        )));
    }
    if files > MAX_FILES {
        let rest = files - MAX_FILES;
        parts.push(InboundPart::Notice(format!(
            "({rest} more files were not accepted; a message has at most {MAX_FILES}.)"
        )));
    }
}

fn cut_chars(text: &mut String, limit: usize) {
    if let Some((end, _)) = text.char_indices().nth(limit) {
        text.truncate(end);
    }
}

#[cfg(test)]
mod tests {
    use ostler_domain::contact::SenderProof;
    use ostler_domain::session::key::Peer;

    use super::{
        MAX_DATA_BYTES, MAX_FILES, MAX_ID_BYTES, MAX_LOCALE_CHARS, MAX_NAME_CHARS,
        MAX_PAYLOAD_CHARS, MAX_TEXT_BYTES,
    };
    use crate::email_thread::EmailThread;
    use crate::inbound::{
        FileSource, InboundContent, InboundMessage, InboundPart, RemoteFile, Sender,
    };

    fn message(content: InboundContent) -> InboundMessage {
        InboundMessage {
            id: "1".into(),
            from: Sender {
                identifier: "rosa".into(),
                name: None,
                locale: None,
                proof: SenderProof::Proven,
            },
            peer: Peer::Person("rosa".into()),
            message_id: None,
            reply_to: None,
            email_thread: None,
            content,
        }
    }

    fn text(length: usize) -> InboundMessage {
        message(InboundContent::Message(vec![InboundPart::Text("é".repeat(length / 2))]))
    }

    fn parts(message: InboundMessage) -> Vec<InboundPart> {
        let InboundContent::Message(parts) = message.within_limits().unwrap().content else {
            panic!("a message")
        };
        parts
    }

    /// S04: what a program sends is refused one byte beyond its limit.
    #[test]
    fn s04_one_byte_more_is_refused() {
        let press = |length| InboundContent::Press { data: "x".repeat(length), callback_id: None };
        let command = |length| InboundContent::Command { name: "x".repeat(length), payload: None };
        let from = |length: usize| {
            let mut message = text(2);
            message.from.identifier = "x".repeat(length);
            message
        };
        let group =
            |length: usize| InboundMessage { peer: Peer::Group("x".repeat(length)), ..text(2) };
        let check = |what: &str, limit: usize, make: &dyn Fn(usize) -> InboundMessage| {
            let whole = make(limit);
            assert_eq!(whole.clone().within_limits(), Ok(whole), "{what}");
            make(limit + 1).within_limits().expect_err(what);
        };
        check("press", MAX_DATA_BYTES, &|length| message(press(length)));
        check("command", MAX_DATA_BYTES, &|length| message(command(length)));
        check("sender", MAX_ID_BYTES, &from);
        check("group", MAX_ID_BYTES, &group);
    }

    /// S04: what a person wrote is cut one byte beyond its limit, and the agent is told.
    #[test]
    fn s04_a_long_text_is_cut_with_a_notice() {
        assert_eq!(parts(text(MAX_TEXT_BYTES)).len(), 1);
        let cut = parts(text(MAX_TEXT_BYTES + 2));
        let [InboundPart::Text(kept), InboundPart::Notice(notice)] = cut.as_slice() else {
            panic!("{} parts", cut.len())
        };
        assert_eq!(kept.len(), MAX_TEXT_BYTES);
        assert!(notice.contains("longer than 64 KiB"), "{notice}");
    }

    /// S04: files beyond the limit are left out, and the agent is told.
    #[test]
    fn s04_too_many_files_are_left_out_with_a_notice() {
        let files = |count| {
            let file = |_| {
                InboundPart::File(RemoteFile {
                    source: FileSource::Telegram("x".into()),
                    media_type: "image/png".parse().unwrap(),
                    name: Some("n".repeat(MAX_NAME_CHARS + 1)),
                    size: None,
                })
            };
            parts(message(InboundContent::Message((0..count).map(file).collect())))
        };
        assert_eq!(files(MAX_FILES).len(), MAX_FILES);
        let cut = files(MAX_FILES + 3);
        assert_eq!(cut.len(), MAX_FILES + 1);
        assert!(matches!(&cut[MAX_FILES], InboundPart::Notice(one) if one.starts_with("(3 more")));
        let InboundPart::File(first) = &cut[0] else { panic!("a file") };
        assert_eq!(first.name.as_ref().map(String::len), Some(MAX_NAME_CHARS));
    }

    /// S04: names, subjects and ids are cut, hashed or left out.
    #[test]
    fn s04_names_and_ids_are_shortened() {
        let long = "x".repeat(4096);
        let received = InboundMessage {
            id: long.clone(),
            from: Sender {
                identifier: "rosa".into(),
                name: Some(long.clone()),
                locale: Some("x".repeat(MAX_LOCALE_CHARS + 1)),
                proof: SenderProof::Proven,
            },
            message_id: Some(long.clone()),
            reply_to: Some(long.clone()),
            email_thread: Some(EmailThread {
                subject: long.clone(),
                references: vec!["1@x".into(), long.clone()],
            }),
            ..message(InboundContent::Command { name: "start".into(), payload: Some(long) })
        };
        let kept = received.clone().within_limits().unwrap();
        assert_eq!(kept.id.len(), 64);
        assert_eq!(kept, received.within_limits().unwrap(), "a repeat has the same id");
        assert_eq!(kept.from.name.map(|name| name.len()), Some(MAX_NAME_CHARS));
        assert_eq!((kept.from.locale, kept.message_id, kept.reply_to), (None, None, None));
        let thread = kept.email_thread.unwrap();
        assert_eq!((thread.subject.len(), thread.references.len()), (MAX_NAME_CHARS, 1));
        let InboundContent::Command { payload, .. } = kept.content else { panic!("a command") };
        assert_eq!(payload.map(|text| text.len()), Some(MAX_PAYLOAD_CHARS));
    }
}
