//! The limits of an inbound message, the same for every channel.
//!
//! What a person wrote is cut, and the agent is told; what a program sent is refused. The
//! caps of all inputs are in [`ChannelInput::cap`]; `docs/LIMITS.md` shows them.

use ostler_domain::message::MAX_BLOB_BYTES;
use ostler_domain::session::key::Peer;
use sha2::{Digest as _, Sha256};

use crate::connection::MAX_BODY_BYTES;
use crate::error::ReceiveError;
use crate::inbound::{
    FileSource, GroupMember, InboundContent, InboundMessage, InboundPart, Sender,
};

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
/// The most bytes of the URL of a file.
pub const MAX_URL_BYTES: usize = 2048;
/// The most messages of an e-mail thread that are remembered.
pub const MAX_REFERENCES: usize = 20;

/// Something that a message from outside may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChannelInput {
    Body,
    Text,
    Files,
    File,
    FileName,
    FileUrl,
    SenderName,
    Subject,
    Locale,
    ButtonData,
    ButtonCallback,
    CommandName,
    CommandPayload,
    SenderId,
    GroupId,
    DeliveryId,
    MessageId,
    ReplyTo,
    Reference,
    References,
}

/// The cap of an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InputCap {
    pub max: usize,
    pub unit: Unit,
    pub beyond: Beyond,
}

/// What a cap counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    Bytes,
    Characters,
    /// Files, ids or other items.
    Items,
}

/// What happens to an input beyond its cap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Beyond {
    /// The whole message is refused.
    Refused,
    /// The rest is cut off.
    Cut,
    /// The rest is cut off, and the agent and the sender are told.
    CutWithNotice,
    /// The input is left out, and the agent and the sender are told.
    LeftOutWithNotice,
    /// The input is left out.
    LeftOut,
    /// Its hash takes its place.
    Hashed,
}

impl ChannelInput {
    /// All inputs, in the order of the document.
    pub const ALL: [Self; 20] = [
        Self::Body,
        Self::Text,
        Self::Files,
        Self::File,
        Self::FileName,
        Self::FileUrl,
        Self::SenderName,
        Self::Subject,
        Self::Locale,
        Self::ButtonData,
        Self::ButtonCallback,
        Self::CommandName,
        Self::CommandPayload,
        Self::SenderId,
        Self::GroupId,
        Self::DeliveryId,
        Self::MessageId,
        Self::ReplyTo,
        Self::Reference,
        Self::References,
    ];

    /// Returns the cap of the input.
    pub const fn cap(self) -> InputCap {
        use Beyond::{Cut, CutWithNotice, Hashed, LeftOut, LeftOutWithNotice, Refused};
        use Unit::{Bytes, Characters, Items};
        let (max, unit, beyond) = match self {
            Self::Body => (MAX_BODY_BYTES, Bytes, Refused),
            Self::Text => (MAX_TEXT_BYTES, Bytes, CutWithNotice),
            Self::Files => (MAX_FILES, Items, LeftOutWithNotice),
            Self::File => (MAX_BLOB_BYTES, Bytes, LeftOutWithNotice),
            Self::FileUrl => (MAX_URL_BYTES, Bytes, Refused),
            Self::FileName | Self::SenderName | Self::Subject => (MAX_NAME_CHARS, Characters, Cut),
            Self::Locale => (MAX_LOCALE_CHARS, Characters, LeftOut),
            Self::ButtonData | Self::CommandName => (MAX_DATA_BYTES, Bytes, Refused),
            Self::CommandPayload => (MAX_PAYLOAD_CHARS, Characters, Cut),
            Self::SenderId | Self::GroupId => (MAX_ID_BYTES, Bytes, Refused),
            Self::DeliveryId => (MAX_ID_BYTES, Bytes, Hashed),
            Self::MessageId | Self::ReplyTo | Self::Reference | Self::ButtonCallback => {
                (MAX_ID_BYTES, Bytes, LeftOut)
            }
            Self::References => (MAX_REFERENCES, Items, LeftOut),
        };
        InputCap { max, unit, beyond }
    }

    /// Returns the name of the input for people.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Body => "request body",
            Self::Text => "text of a message",
            Self::Files => "files of a message",
            Self::File => "one file",
            Self::FileName => "name of a file",
            Self::FileUrl => "URL of a file",
            Self::SenderName => "name of the sender",
            Self::Subject => "subject of a mail",
            Self::Locale => "locale",
            Self::ButtonData => "data of a button",
            Self::ButtonCallback => "id of a button press",
            Self::CommandName => "name of a command",
            Self::CommandPayload => "payload of a command",
            Self::SenderId => "id of the sender",
            Self::GroupId => "id of a group",
            Self::DeliveryId => "id of the delivery",
            Self::MessageId => "id of the message",
            Self::ReplyTo => "id of the message that is answered",
            Self::Reference => "id of an earlier mail of the thread",
            Self::References => "earlier mails of the thread",
        }
    }
}

impl InboundMessage {
    /// Returns the message within the limits, or fails if it must be refused.
    pub(crate) fn within_limits(mut self) -> Result<Self, ReceiveError> {
        if self.id.len() > ChannelInput::DeliveryId.cap().max {
            let digest = Sha256::digest(self.id.as_bytes());
            self.id = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        }
        check_sender(&mut self.from)?;
        match &self.peer {
            Peer::Group(id) => ChannelInput::GroupId.check(id)?,
            Peer::Person(id) => ChannelInput::SenderId.check(id)?,
        }
        ChannelInput::MessageId.leave_out(&mut self.message_id);
        ChannelInput::ReplyTo.leave_out(&mut self.reply_to);
        if let Some(thread) = &mut self.email_thread {
            ChannelInput::Subject.cut(&mut thread.subject);
            let max_bytes = ChannelInput::Reference.cap().max;
            thread.references.retain(|id| id.len() <= max_bytes);
            let oldest = thread.references.len().saturating_sub(ChannelInput::References.cap().max);
            thread.references.drain(..oldest);
        }
        match &mut self.content {
            InboundContent::Message(parts) => {
                parts.iter().try_for_each(check_url)?;
                limit_parts(parts);
            }
            InboundContent::Command { name, payload } => {
                ChannelInput::CommandName.check(name)?;
                if let Some(payload) = payload {
                    ChannelInput::CommandPayload.cut(payload);
                }
            }
            InboundContent::Press { data, callback_id } => {
                ChannelInput::ButtonData.check(data)?;
                ChannelInput::ButtonCallback.leave_out(callback_id);
            }
            InboundContent::Membership { member: GroupMember::Person(person), .. } => {
                check_sender(person)?;
            }
            InboundContent::Membership { member: GroupMember::Bot, .. } => {}
        }
        Ok(self)
    }
}

impl ChannelInput {
    /// Fails if a text is beyond its cap.
    fn check(self, text: &str) -> Result<(), ReceiveError> {
        let InputCap { max, unit, .. } = self.cap();
        if unit.measure(text) <= max {
            return Ok(());
        }
        let why = format!("the {} has at most {max} {}", self.name(), unit.name());
        Err(ReceiveError::BadBody(why))
    }

    /// Cuts a text at its cap.
    fn cut(self, text: &mut String) {
        if let Some((end, _)) = text.char_indices().nth(self.cap().max) {
            text.truncate(end);
        }
    }

    /// Leaves out a text that is beyond its cap.
    fn leave_out(self, text: &mut Option<String>) {
        let InputCap { max, unit, .. } = self.cap();
        *text = text.take().filter(|text| unit.measure(text) <= max);
    }
}

impl Unit {
    fn measure(self, text: &str) -> usize {
        match self {
            Self::Bytes => text.len(),
            Self::Characters => text.chars().count(),
            Self::Items => 1,
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Bytes => "bytes",
            Self::Characters => "characters",
            Self::Items => "items",
        }
    }
}

fn check_sender(sender: &mut Sender) -> Result<(), ReceiveError> {
    ChannelInput::SenderId.check(&sender.identifier)?;
    if let Some(name) = &mut sender.name {
        ChannelInput::SenderName.cut(name);
    }
    ChannelInput::Locale.leave_out(&mut sender.locale);
    Ok(())
}

fn check_url(part: &InboundPart) -> Result<(), ReceiveError> {
    let InboundPart::File(file) = part else { return Ok(()) };
    match &file.source {
        FileSource::Url(url) | FileSource::Telegram(url) => ChannelInput::FileUrl.check(url),
        FileSource::Inline(_) => Ok(()),
    }
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
                ChannelInput::FileName.cut(name);
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

#[cfg(test)]
mod tests {
    use ostler_domain::contact::SenderProof;
    use ostler_domain::session::key::Peer;

    use super::{
        Beyond, ChannelInput, InputCap, MAX_FILES, MAX_LOCALE_CHARS, MAX_NAME_CHARS,
        MAX_PAYLOAD_CHARS, MAX_TEXT_BYTES, Unit,
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

    fn file(source: FileSource, name: &str) -> InboundPart {
        InboundPart::file(RemoteFile {
            source,
            media_type: "image/png".parse().unwrap(),
            name: Some(name.into()),
            size: None,
        })
    }

    fn with_parts(parts: Vec<InboundPart>) -> InboundMessage {
        message(InboundContent::Message(parts))
    }

    /// Returns a message with an input of this size, or `None` if the input is none of a parsed
    /// message.
    fn message_with(input: ChannelInput, size: usize) -> Option<InboundMessage> {
        let long = "x".repeat(size);
        let mut one = with_parts(vec![InboundPart::Text("hi".into())]);
        let thread = |subject: &str, references: Vec<String>| {
            Some(EmailThread { subject: subject.into(), references })
        };
        let inline = |bytes: usize| FileSource::Inline(vec![0; bytes].into());
        match input {
            ChannelInput::Body => return None,
            ChannelInput::Text => one = with_parts(vec![InboundPart::Text(long)]),
            ChannelInput::Files => one = with_parts(vec![file(inline(1), "a"); size]),
            ChannelInput::File => one = with_parts(vec![file(inline(size), "a")]),
            ChannelInput::FileName => one = with_parts(vec![file(inline(1), &long)]),
            ChannelInput::FileUrl => one = with_parts(vec![file(FileSource::Url(long), "a")]),
            ChannelInput::SenderName => one.from.name = Some(long),
            ChannelInput::Subject => one.email_thread = thread(&long, Vec::new()),
            ChannelInput::Locale => one.from.locale = Some(long),
            ChannelInput::ButtonData => {
                one = message(InboundContent::Press { data: long, callback_id: None });
            }
            ChannelInput::ButtonCallback => {
                let content = InboundContent::Press { data: "a".into(), callback_id: Some(long) };
                one = message(content);
            }
            ChannelInput::CommandName => {
                one = message(InboundContent::Command { name: long, payload: None });
            }
            ChannelInput::CommandPayload => {
                let content = InboundContent::Command { name: "a".into(), payload: Some(long) };
                one = message(content);
            }
            ChannelInput::SenderId => one.from.identifier = long,
            ChannelInput::GroupId => one.peer = Peer::Group(long),
            ChannelInput::DeliveryId => one.id = long,
            ChannelInput::MessageId => one.message_id = Some(long),
            ChannelInput::ReplyTo => one.reply_to = Some(long),
            ChannelInput::Reference => one.email_thread = thread("a", vec![long]),
            ChannelInput::References => {
                one.email_thread = thread("a", (0..size).map(|n| n.to_string()).collect());
            }
        }
        Some(one)
    }

    /// S04: every input is taken whole at its cap, and one more of its unit is refused, cut,
    /// left out or hashed, as the table of the caps says.
    #[test]
    fn s04_one_more_than_any_cap_is_not_accepted() {
        for input in ChannelInput::ALL {
            let InputCap { max, beyond, .. } = input.cap();
            let Some(whole) = message_with(input, max) else { continue };
            assert_eq!(whole.clone().within_limits(), Ok(whole), "{input:?}");
            let more = message_with(input, max + 1).unwrap();
            // A file that is too large is replaced when the channel reads it.
            let is_read = input != ChannelInput::File;
            let taken = more.clone().within_limits();
            let Ok(taken) = taken else {
                assert_eq!(beyond, Beyond::Refused, "{input:?}: {taken:?}");
                continue;
            };
            assert_ne!(beyond, Beyond::Refused, "{input:?}");
            assert!(taken != more || !is_read, "{input:?}");
            let notices = match &taken.content {
                InboundContent::Message(parts) => {
                    parts.iter().filter(|part| matches!(part, InboundPart::Notice(_))).count()
                }
                _ => 0,
            };
            let has_notice = matches!(beyond, Beyond::CutWithNotice | Beyond::LeftOutWithNotice);
            assert_eq!(notices > 0, has_notice, "{input:?}");
            assert_eq!(taken.clone().within_limits(), Ok(taken), "{input:?}: it is within now");
        }
    }

    /// S04: the document shows the caps as they are.
    #[test]
    fn s04_the_document_has_the_caps() {
        let document = include_str!("../../../docs/LIMITS.md");
        for input in ChannelInput::ALL {
            let InputCap { max, unit, beyond } = input.cap();
            let size = match unit {
                Unit::Bytes if max.is_multiple_of(1 << 20) => format!("{} MiB", max >> 20),
                Unit::Bytes if max.is_multiple_of(1024) => format!("{} KiB", max >> 10),
                Unit::Bytes => format!("{max} bytes"),
                Unit::Characters => format!("{max} characters"),
                Unit::Items => max.to_string(),
            };
            let what = match beyond {
                Beyond::Refused => "refused",
                Beyond::Cut => "cut",
                Beyond::CutWithNotice => "cut, with a notice to the agent and the sender",
                Beyond::LeftOutWithNotice => "left out, with a notice to the agent and the sender",
                Beyond::LeftOut => "left out",
                Beyond::Hashed => "replaced by its hash",
            };
            let row = format!("| {} | {size} | {what} |", input.name());
            assert!(document.contains(&row), "docs/LIMITS.md needs the row\n{row}");
        }
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
