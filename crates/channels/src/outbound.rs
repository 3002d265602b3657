//! A message on its way out, and the pieces it is sent in.
//!
//! A piece is what a provider takes in one call, so a piece is what succeeds or
//! fails; one that is tried again does not repeat the pieces before it.

use std::collections::HashMap;

use bytes::Bytes;
use ostler_domain::id::BlobId;
use ostler_domain::message::{Attachment, Part};
use serde::{Deserialize, Serialize};

use crate::button::Button;
use crate::mail_thread::Thread;
use crate::text::{Html, Length, Rich};

/// What a person is shown in place of a part that a newer program wrote.
const UNKNOWN_PART: &str = "(There is something here that cannot be shown.)";

/// A message for somebody.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outbound {
    /// Whom it is for, as the channel calls them: a chat, an address, a number.
    pub to: String,
    /// What it is made of.
    pub parts: Vec<Part>,
    /// How its words are written.
    #[serde(default)]
    pub writing: Writing,
    /// Buttons below it, row by row.
    #[serde(default)]
    pub buttons: Vec<Vec<Button>>,
    /// The message that it replies to, as the provider calls it.
    #[serde(default)]
    pub reply_to: Option<String>,
    /// The thread of e-mail that it belongs to.
    #[serde(default)]
    pub thread: Option<Thread>,
}

/// How words are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Writing {
    /// As agents write.
    #[default]
    Markdown,
    /// As people write: it is shown as it is.
    Verbatim,
}

/// What goes out in one call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Piece {
    /// Whom it is for.
    pub to: String,
    /// Which piece of its message it is, from 0.
    pub number: u32,
    /// Its words.
    pub words: Option<Words>,
    /// Files that go along.
    pub files: Vec<Attachment>,
    /// Buttons below it.
    pub buttons: Vec<Vec<Button>>,
    /// The message that it replies to.
    pub reply_to: Option<String>,
    /// The thread of e-mail that it belongs to.
    pub thread: Option<Thread>,
}

/// Words, ready to be sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Words {
    /// Without any formatting.
    pub plain: String,
    /// With it, if the channel knows any.
    pub formatted: Option<String>,
}

/// How a piece is sent this time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sending<'a> {
    /// What this message is known by: the same each time it is tried.
    pub key: &'a str,
    /// Without formatting, because the provider could not read it.
    pub plain: bool,
    /// Whether it may have arrived before.
    pub again: bool,
}

/// The bytes of the files of a message.
pub type Files = HashMap<BlobId, Bytes>;

/// What a channel makes of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Shape {
    pub(crate) format: Format,
    /// How long the words of a piece may be.
    pub(crate) length: Option<Length>,
    /// Whether files go with the words or each in a piece of its own.
    pub(crate) files: FilesGo,
    /// Whether there are buttons that can be pressed.
    pub(crate) buttons: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    Plain,
    Html(Html),
    /// Markdown as it is.
    Markdown,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FilesGo {
    Along,
    Apart,
}

/// The pieces that a message is sent in, in order. A message without anything in
/// it has none.
pub(crate) fn pieces(message: &Outbound, shape: &Shape) -> Vec<Piece> {
    let words = words(message, shape);
    let files: Vec<Attachment> =
        message.parts.iter().filter_map(Part::attachment).cloned().collect();
    let mut contents: Vec<(Option<Words>, Vec<Attachment>)> =
        words.into_iter().map(|words| (Some(words), Vec::new())).collect();
    match shape.files {
        FilesGo::Apart => contents.extend(files.into_iter().map(|file| (None, vec![file]))),
        FilesGo::Along if files.is_empty() => {}
        FilesGo::Along => match contents.last_mut() {
            Some((_, along)) => *along = files,
            None => contents.push((None, files)),
        },
    }
    let last = contents.len().saturating_sub(1);
    let piece = |(number, (words, files)): (usize, (Option<Words>, Vec<Attachment>))| Piece {
        to: message.to.clone(),
        number: u32::try_from(number).unwrap_or(u32::MAX),
        words,
        files,
        // Below the message as a whole, and its reply above.
        buttons: if shape.buttons && number == last { message.buttons.clone() } else { Vec::new() },
        reply_to: message.reply_to.clone().filter(|_| number == 0),
        thread: message.thread.clone(),
    };
    contents.into_iter().enumerate().map(piece).collect()
}

fn words(message: &Outbound, shape: &Shape) -> Vec<Words> {
    let text = text(message, shape);
    if text.trim().is_empty() {
        return Vec::new();
    }
    let rich = match message.writing {
        Writing::Markdown => Rich::markdown(&text),
        Writing::Verbatim => Rich::verbatim(&text),
    };
    let split = |rich: Rich| match shape.length {
        Some(length) => rich.split(length),
        None => vec![rich],
    };
    match shape.format {
        Format::Plain => split(rich.with_addresses())
            .into_iter()
            .map(|piece| Words { plain: piece.plain(), formatted: None })
            .collect(),
        Format::Html(whose) => split(rich)
            .into_iter()
            .map(|piece| {
                let written = piece.with_addresses().plain();
                let fits = shape.length.is_none_or(|length| length.fits(&written));
                let plain = if fits { written } else { piece.plain() };
                Words { plain, formatted: Some(piece.html(whose)) }
            })
            .collect(),
        Format::Markdown => {
            let formatted = (message.writing == Writing::Markdown).then(|| text.clone());
            vec![Words { plain: rich.with_addresses().plain(), formatted }]
        }
    }
}

/// All words of a message. Where nothing can be pressed, what a button leads to
/// is written out.
fn text(message: &Outbound, shape: &Shape) -> String {
    let words = message.parts.iter().filter_map(|part| match part {
        Part::Text { text } => Some(text.clone()),
        Part::Unknown => Some(UNKNOWN_PART.to_owned()),
        Part::Image(_) | Part::Audio(_) | Part::File(_) => None,
    });
    let links = message.buttons.iter().flatten().filter(|_| !shape.buttons);
    words.chain(links.filter_map(Button::written_out)).collect::<Vec<_>>().join("\n\n")
}

#[cfg(test)]
mod tests {
    use super::{FilesGo, Format, Outbound, Shape, Words, Writing, pieces};
    use crate::button::Button;
    use crate::text::{Html, Length, Unit};
    use ostler_domain::id::BlobId;
    use ostler_domain::message::{Attachment, Part};

    fn message(parts: Vec<Part>) -> Outbound {
        Outbound {
            to: "7".into(),
            parts,
            writing: Writing::Markdown,
            buttons: vec![vec![
                Button::press("Yes", "yes").unwrap(),
                Button::link("Menu", "https://x.it").unwrap(),
            ]],
            reply_to: Some("3".into()),
            thread: None,
        }
    }

    fn picture() -> Part {
        let media_type = "image/png".parse().unwrap();
        Part::attached(Attachment { blob: BlobId::from_u128(1), media_type, name: None, size: 3 })
    }

    const CHAT: Shape = Shape {
        format: Format::Html(Html::Telegram),
        length: Some(Length { unit: Unit::Chars, most: 10 }),
        files: FilesGo::Apart,
        buttons: true,
    };

    #[test]
    fn c16_a_message_is_sent_in_pieces() {
        let pieces = pieces(&message(vec![Part::text("**one** two three"), picture()]), &CHAT);
        let words: Vec<Option<(&str, Option<&str>)>> = pieces
            .iter()
            .map(|piece| {
                let words = piece.words.as_ref()?;
                Some((words.plain.as_str(), words.formatted.as_deref()))
            })
            .collect();
        assert_eq!(
            words,
            [Some(("one two", Some("<b>one</b> two"))), Some(("three", Some("three"))), None,]
        );
        let shown = |f: fn(&super::Piece) -> usize| pieces.iter().map(f).collect::<Vec<_>>();
        assert_eq!(shown(|piece| piece.files.len()), [0, 0, 1]);
        assert_eq!(shown(|piece| piece.buttons.len()), [0, 0, 1]);
        assert_eq!(shown(|piece| usize::from(piece.reply_to.is_some())), [1, 0, 0]);
        assert_eq!(shown(|piece| piece.number as usize), [0, 1, 2]);
    }

    #[test]
    fn c16_where_nothing_can_be_pressed_links_are_written_out() {
        let shape =
            Shape { format: Format::Plain, length: None, files: FilesGo::Along, buttons: false };
        let pieces = pieces(&message(vec![Part::text("_Look_"), picture(), Part::Unknown]), &shape);
        assert_eq!(pieces.len(), 1);
        let plain = "Look\n\n(There is something here that cannot be shown.)\n\nMenu: https://x.it";
        assert_eq!(pieces[0].words, Some(Words { plain: plain.into(), formatted: None }));
        assert_eq!((pieces[0].files.len(), pieces[0].buttons.len()), (1, 0));
    }

    #[test]
    fn what_a_person_wrote_goes_out_as_it_is() {
        let message = Outbound { writing: Writing::Verbatim, ..message(vec![Part::text("*no*")]) };
        let markdown = Shape { format: Format::Markdown, length: None, ..CHAT };
        let words = |shape: &Shape| pieces(&message, shape).remove(0).words.unwrap();
        assert_eq!(words(&CHAT), Words { plain: "*no*".into(), formatted: Some("*no*".into()) });
        assert_eq!(words(&markdown), Words { plain: "*no*".into(), formatted: None });
        assert_eq!(
            pieces(&Outbound { parts: vec![Part::text(" ")], ..message.clone() }, &CHAT),
            []
        );
    }
}
