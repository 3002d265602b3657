//! An inbound mail, parsed from JSON fields or from RFC 5322.

use bytes::Bytes;
use mail_parser::{HeaderValue, MessageParser, MimeHeaders as _, PartType};
use ostler_domain::message::MediaType;
use serde::Deserialize;

use super::authentication::DmarcResult;
use super::html_text::html_to_text;
use crate::inbound::{FileSource, InboundPart, RemoteFile};

/// The parts of a mail that are used.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct InboundMail {
    pub(super) from: String,
    pub(super) name: Option<String>,
    /// Where the sender wants replies, if that is another address.
    pub(super) reply_to: Option<ReplyAddress>,
    pub(super) subject: String,
    pub(super) text: String,
    pub(super) message_id: Option<String>,
    pub(super) in_reply_to: Option<String>,
    pub(super) references: Vec<String>,
    pub(super) automatic: bool,
    pub(super) files: Vec<InboundPart>,
    pub(super) dmarc: DmarcResult,
}

/// Where replies go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ReplyAddress {
    pub(super) address: String,
    pub(super) name: Option<String>,
}

/// A mail as JSON fields.
#[derive(Debug, Deserialize)]
pub(super) struct MailFields {
    from: MailAddress,
    reply_to: Option<MailAddress>,
    #[serde(default)]
    subject: String,
    text: Option<String>,
    html: Option<String>,
    message_id: Option<String>,
    in_reply_to: Option<String>,
    #[serde(default)]
    references: Vec<String>,
    #[serde(default)]
    automatic: bool,
    #[serde(default)]
    attachments: Vec<MailFile>,
}

#[derive(Debug, Deserialize)]
struct MailAddress {
    email: String,
    name: Option<String>,
}

#[derive(Debug, Deserialize)]
struct MailFile {
    media_type: MediaType,
    name: Option<String>,
    #[serde(with = "crate::encoding::base64_bytes")]
    content: Bytes,
}

impl From<MailFields> for InboundMail {
    fn from(fields: MailFields) -> Self {
        let html = || fields.html.as_deref().map(html_to_text);
        let text = fields.text.filter(|text| !text.trim().is_empty());
        let file = |file: MailFile| file_part(file.media_type, file.name, file.content);
        Self {
            from: fields.from.email,
            name: fields.from.name,
            reply_to: fields
                .reply_to
                .map(|MailAddress { email, name }| ReplyAddress { address: email, name }),
            subject: fields.subject,
            text: text.or_else(html).unwrap_or_default(),
            message_id: fields.message_id,
            in_reply_to: fields.in_reply_to,
            references: fields.references,
            automatic: fields.automatic,
            files: fields.attachments.into_iter().map(file).collect(),
            dmarc: DmarcResult::None,
        }
    }
}

impl InboundMail {
    /// Parses a mail in the format of RFC 5322. Returns `None` if it is not a mail
    /// with a sender. `authserv_id` is the gateway whose report on the sender is believed.
    pub(super) fn parse(raw: &[u8], authserv_id: Option<&str>) -> Option<Self> {
        let mail = MessageParser::default().parse(raw)?;
        let from = mail.from().and_then(|from| from.first())?;
        let bodies = mail.text_bodies().filter_map(|part| match &part.body {
            PartType::Text(text) => Some(text.to_string()),
            PartType::Html(html) => Some(html_to_text(html)),
            _ => None,
        });
        let reply_to = mail.reply_to().and_then(|to| to.first()).and_then(|to| {
            let (address, name) = (to.address()?.to_owned(), to.name().map(str::to_owned));
            Some(ReplyAddress { address, name })
        });
        let ids = |value: &HeaderValue<'_>| match value {
            HeaderValue::Text(id) => vec![id.to_string()],
            HeaderValue::TextList(ids) => ids.iter().map(ToString::to_string).collect(),
            _ => Vec::new(),
        };
        let files = mail.attachments().filter_map(|attachment| {
            let media_type = attachment.content_type().map(|kind| {
                format!("{}/{}", kind.ctype(), kind.subtype().unwrap_or("octet-stream"))
            });
            let media_type = media_type.unwrap_or_else(|| "application/octet-stream".to_owned());
            let bytes = match &attachment.body {
                PartType::Message(inner) => inner.raw_message().to_vec(),
                _ => attachment.contents().to_vec(),
            };
            let name = attachment.attachment_name().map(str::to_owned);
            Some(file_part(media_type.parse().ok()?, name, bytes.into()))
        });
        let dmarc = authserv_id.map(|gateway| dmarc(&mail, gateway, from.address()));
        Some(Self {
            from: from.address()?.to_owned(),
            name: from.name().map(str::to_owned),
            reply_to,
            subject: mail.subject().unwrap_or_default().to_owned(),
            text: bodies.collect::<Vec<_>>().join("\n\n"),
            message_id: mail.message_id().map(str::to_owned),
            in_reply_to: ids(mail.in_reply_to()).into_iter().next_back(),
            references: ids(mail.references()),
            automatic: is_automatic(&mail),
            files: files.collect(),
            dmarc: dmarc.unwrap_or_default(),
        })
    }
}

/// Returns what a gateway reports about the sender. A mail that names several senders is
/// nobody's: the report may be about another one.
fn dmarc(mail: &mail_parser::Message<'_>, gateway: &str, from: Option<&str>) -> DmarcResult {
    let named = |name: &'static str| {
        let headers = mail.headers_raw().filter(move |(is, _)| is.eq_ignore_ascii_case(name));
        headers.map(|(_, value)| value)
    };
    let senders = mail.from().map_or(0, |from| from.iter().count());
    match from {
        Some(from) if senders == 1 && named("From").count() == 1 => {
            DmarcResult::of_headers(named("Authentication-Results"), gateway, from)
        }
        _ => DmarcResult::None,
    }
}

/// Returns whether a mail is an automatic reply, a bounce or from a mailing list.
/// Replying to it could cause a mail loop.
fn is_automatic(mail: &mail_parser::Message<'_>) -> bool {
    let header = |name: &'static str| {
        mail.header_raw(name).map(|value| value.trim().to_lowercase()).unwrap_or_default()
    };
    let submitted = header("Auto-Submitted");
    let precedence = header("Precedence");
    let bounced = header("Return-Path") == "<>";
    (!submitted.is_empty() && !submitted.starts_with("no"))
        || ["bulk", "junk", "list", "auto_reply"].contains(&precedence.as_str())
        || !header("List-Id").is_empty()
        || !header("X-Autoreply").is_empty()
        || !header("X-Autorespond").is_empty()
        || bounced
}

fn file_part(media_type: MediaType, name: Option<String>, content: Bytes) -> InboundPart {
    let size = Some(content.len() as u64);
    InboundPart::file(RemoteFile { source: FileSource::Inline(content), media_type, name, size })
}
