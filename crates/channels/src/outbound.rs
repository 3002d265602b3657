//! Outbound messages, and the pieces they are sent in.
//!
//! A piece is sent in one call to the provider, so it succeeds or fails as a whole.
//! Retrying a piece does not repeat the pieces before it.

use std::collections::HashMap;

use bytes::Bytes;
use ostler_domain::id::BlobId;
use ostler_domain::message::{Attachment, MessagePart};
use serde::{Deserialize, Serialize};

use crate::button::Button;
use crate::email_thread::EmailThread;
use crate::text::{HtmlDialect, LengthLimit, RichText};

/// Replaces a part that a newer version of the program has written.
const UNKNOWN_PART: &str = "(There is something here that cannot be shown.)";

/// A message to a person or group.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutboundMessage {
    /// The channel's address of the recipient: a chat, an address, a number.
    pub to: String,
    pub parts: Vec<MessagePart>,
    #[serde(default)]
    pub text_format: TextFormat,
    /// Rows of buttons below the message.
    #[serde(default)]
    pub buttons: Vec<Vec<Button>>,
    /// The provider's id of the message that this one replies to.
    #[serde(default)]
    pub reply_to: Option<String>,
    #[serde(default)]
    pub email_thread: Option<EmailThread>,
}

/// How the text of a message is to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TextFormat {
    /// Text of agents.
    #[default]
    Markdown,
    /// Text of people, shown unchanged.
    Verbatim,
}

/// A part of a message that is sent in one call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessagePiece {
    pub to: String,
    /// The position in the message, from 0.
    pub index: u32,
    pub text: Option<PieceText>,
    pub files: Vec<Attachment>,
    pub buttons: Vec<Vec<Button>>,
    pub reply_to: Option<String>,
    pub email_thread: Option<EmailThread>,
}

/// The rendered text of a piece.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PieceText {
    pub plain: String,
    /// In the markup of the channel, if it has one.
    pub formatted: Option<String>,
}

/// What a channel needs to know about one attempt to send a piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SendContext<'a> {
    /// Identifies the message: the same for every attempt.
    pub idempotency_key: &'a str,
    /// Whether to omit formatting, because the provider rejected it.
    pub plain_text: bool,
    /// Whether an earlier attempt may have been delivered.
    pub possible_duplicate: bool,
    /// Whether a person wrote the message, and not a program.
    pub by_person: bool,
}

/// The bytes of the files of a message.
pub type FileContents = HashMap<BlobId, Bytes>;

/// How a channel lays out a message in pieces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PieceLayout {
    pub(crate) markup: Markup,
    /// The limit for the text of a piece; `None` if text is never split.
    pub(crate) max_length: Option<LengthLimit>,
    pub(crate) files: FilePlacement,
    /// Whether the channel has buttons; links are written out otherwise.
    pub(crate) buttons: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Markup {
    Plain,
    Html(HtmlDialect),
    /// Markdown, unchanged.
    Markdown,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FilePlacement {
    /// With the last text of the message.
    WithText,
    /// Each file in a piece of its own.
    Separate,
}

/// Splits a message into pieces. An empty message has none.
pub(crate) fn pieces(message: &OutboundMessage, layout: &PieceLayout) -> Vec<MessagePiece> {
    let mut contents: Vec<(Option<PieceText>, Vec<Attachment>)> =
        render_text(message, layout).into_iter().map(|text| (Some(text), Vec::new())).collect();
    let files: Vec<Attachment> =
        message.parts.iter().filter_map(MessagePart::attachment).cloned().collect();
    match layout.files {
        FilePlacement::Separate => {
            contents.extend(files.into_iter().map(|file| (None, vec![file])));
        }
        FilePlacement::WithText if files.is_empty() => {}
        FilePlacement::WithText => match contents.last_mut() {
            Some((_, piece_files)) => *piece_files = files,
            None => contents.push((None, files)),
        },
    }
    let last = contents.len().saturating_sub(1);
    let pieces = contents.into_iter().enumerate().map(|(index, (text, files))| MessagePiece {
        to: message.to.clone(),
        index: u32::try_from(index).unwrap_or(u32::MAX),
        text,
        files,
        buttons: if layout.buttons && index == last { message.buttons.clone() } else { Vec::new() },
        reply_to: message.reply_to.clone().filter(|_| index == 0),
        email_thread: message.email_thread.clone(),
    });
    pieces.collect()
}

/// Renders the text of a message, split to the length limit.
fn render_text(message: &OutboundMessage, layout: &PieceLayout) -> Vec<PieceText> {
    let text = full_text(message, layout);
    if text.trim().is_empty() {
        return Vec::new();
    }
    let rich = match message.text_format {
        TextFormat::Markdown => RichText::from_markdown(&text),
        TextFormat::Verbatim => RichText::from_verbatim(&text),
    };
    let split = |rich: RichText| match layout.max_length {
        Some(limit) => rich.split(limit),
        None => vec![rich],
    };
    match layout.markup {
        Markup::Plain => split(rich.with_link_urls())
            .into_iter()
            .map(|piece| PieceText { plain: piece.to_plain(), formatted: None })
            .collect(),
        Markup::Html(dialect) => split(rich)
            .into_iter()
            .map(|piece| {
                let with_urls = piece.with_link_urls().to_plain();
                let fits = layout.max_length.is_none_or(|limit| limit.fits(&with_urls));
                let plain = if fits { with_urls } else { piece.to_plain() };
                PieceText { plain, formatted: Some(piece.to_html(dialect)) }
            })
            .collect(),
        Markup::Markdown => {
            let formatted = (message.text_format == TextFormat::Markdown).then(|| text.clone());
            vec![PieceText { plain: rich.with_link_urls().to_plain(), formatted }]
        }
    }
}

/// Joins the text parts of a message and, on channels without buttons, the links of
/// its buttons.
fn full_text(message: &OutboundMessage, layout: &PieceLayout) -> String {
    let texts = message.parts.iter().filter_map(|part| match part {
        MessagePart::Text { text } => Some(text.clone()),
        MessagePart::Unknown => Some(UNKNOWN_PART.to_owned()),
        MessagePart::Image(_) | MessagePart::Audio(_) | MessagePart::File(_) => None,
    });
    let links = message.buttons.iter().flatten().filter(|_| !layout.buttons);
    texts.chain(links.filter_map(Button::link_text)).collect::<Vec<_>>().join("\n\n")
}

#[cfg(test)]
mod tests {
    use super::{
        FilePlacement, Markup, OutboundMessage, PieceLayout, PieceText, TextFormat, pieces,
    };
    use crate::button::Button;
    use crate::text::{HtmlDialect, LengthLimit, LengthUnit};
    use ostler_domain::id::BlobId;
    use ostler_domain::message::{Attachment, MessagePart};

    fn message(parts: Vec<MessagePart>) -> OutboundMessage {
        OutboundMessage {
            to: "7".into(),
            parts,
            text_format: TextFormat::Markdown,
            buttons: vec![vec![
                Button::press("Yes", "yes").unwrap(),
                Button::link("Menu", "https://x.it").unwrap(),
            ]],
            reply_to: Some("3".into()),
            email_thread: None,
        }
    }

    fn picture() -> MessagePart {
        let media_type = "image/png".parse().unwrap();
        MessagePart::from_attachment(Attachment {
            blob: BlobId::from_u128(1),
            media_type,
            name: None,
            size: 3,
        })
    }

    const TELEGRAM: PieceLayout = PieceLayout {
        markup: Markup::Html(HtmlDialect::Telegram),
        max_length: Some(LengthLimit { unit: LengthUnit::Chars, max: 10 }),
        files: FilePlacement::Separate,
        buttons: true,
    };

    #[test]
    fn c16_long_text_and_files_are_split_into_pieces() {
        let pieces =
            pieces(&message(vec![MessagePart::text("**one** two three"), picture()]), &TELEGRAM);
        let texts: Vec<Option<(&str, Option<&str>)>> = pieces
            .iter()
            .map(|piece| {
                let text = piece.text.as_ref()?;
                Some((text.plain.as_str(), text.formatted.as_deref()))
            })
            .collect();
        assert_eq!(
            texts,
            [Some(("one two", Some("<b>one</b> two"))), Some(("three", Some("three"))), None,]
        );
        let each = |f: fn(&super::MessagePiece) -> usize| pieces.iter().map(f).collect::<Vec<_>>();
        assert_eq!(each(|piece| piece.files.len()), [0, 0, 1]);
        assert_eq!(each(|piece| piece.buttons.len()), [0, 0, 1]);
        assert_eq!(each(|piece| usize::from(piece.reply_to.is_some())), [1, 0, 0]);
        assert_eq!(each(|piece| piece.index as usize), [0, 1, 2]);
    }

    #[test]
    fn c16_links_are_written_out_on_channels_without_buttons() {
        let layout = PieceLayout {
            markup: Markup::Plain,
            max_length: None,
            files: FilePlacement::WithText,
            buttons: false,
        };
        let pieces = pieces(
            &message(vec![MessagePart::text("_Look_"), picture(), MessagePart::Unknown]),
            &layout,
        );
        assert_eq!(pieces.len(), 1);
        let plain = "Look\n\n(There is something here that cannot be shown.)\n\nMenu: https://x.it";
        assert_eq!(pieces[0].text, Some(PieceText { plain: plain.into(), formatted: None }));
        assert_eq!((pieces[0].files.len(), pieces[0].buttons.len()), (1, 0));
    }

    #[test]
    fn verbatim_text_is_not_parsed_as_markdown() {
        let message = OutboundMessage {
            text_format: TextFormat::Verbatim,
            ..message(vec![MessagePart::text("*no*")])
        };
        let markdown = PieceLayout { markup: Markup::Markdown, max_length: None, ..TELEGRAM };
        let text = |layout: &PieceLayout| pieces(&message, layout).remove(0).text.unwrap();
        assert_eq!(
            text(&TELEGRAM),
            PieceText { plain: "*no*".into(), formatted: Some("*no*".into()) }
        );
        assert_eq!(text(&markdown), PieceText { plain: "*no*".into(), formatted: None });
        assert_eq!(
            pieces(
                &OutboundMessage { parts: vec![MessagePart::text(" ")], ..message.clone() },
                &TELEGRAM
            ),
            []
        );
    }
}
