//! Composing a mail: text and HTML, files, and the headers of its thread.

use lettre::Address;
use mail_builder::MessageBuilder;
use mail_builder::headers::message_id::MessageId;
use mail_builder::headers::raw::Raw;
use mail_builder::mime::MimePart;

use super::Email;
use super::address::content_disposition;
use crate::email_thread::EmailThread;
use crate::encoding;
use crate::outbound::{FileContents, MessagePiece, SendContext};

/// A mail that is ready to send.
pub(super) struct OutgoingMail {
    pub(super) to: Address,
    /// Without angle brackets.
    pub(super) id: String,
    pub(super) bytes: Vec<u8>,
}

impl Email {
    /// Composes a mail. Fails if the recipient is invalid or a file is missing.
    pub(super) fn compose(
        &self,
        piece: &MessagePiece,
        context: SendContext<'_>,
        files: &FileContents,
    ) -> Result<OutgoingMail, &'static str> {
        let to: Address =
            piece.to.trim().parse().map_err(|_| "the recipient is not an e-mail address")?;
        let id = self.message_id(piece, context);
        let subject = match &piece.email_thread {
            Some(thread) => thread.next_subject(),
            None => self.subject.clone(),
        };
        let is_new = piece.email_thread.as_ref().is_some_and(EmailThread::is_new);
        let automatic = if is_new { "auto-generated" } else { "auto-replied" };
        let subject: String = subject.chars().filter(|c| !c.is_control()).collect();
        let mut mail = MessageBuilder::new()
            .header("From", Raw::new(self.from.to_header()))
            .header("To", Raw::new(to.to_string()))
            .subject(subject)
            .message_id(id.as_str())
            .body(body(piece, context, files)?);
        // Prevents automatic replies to what a program wrote.
        if !context.by_person {
            mail = mail.header("Auto-Submitted", Raw::new(automatic));
        }
        if let Some(thread) = &piece.email_thread
            && let Some(latest) = thread.latest_message_id()
        {
            let references = MessageId::new_list(thread.references.iter().map(String::as_str));
            mail = mail.in_reply_to(latest).references(references);
        }
        let bytes = mail.write_to_vec().map_err(|_| "the mail cannot be composed")?;
        Ok(OutgoingMail { to, id, bytes })
    }

    /// Returns an id that is the same for every attempt, so that mailboxes show
    /// duplicates once.
    fn message_id(&self, piece: &MessagePiece, context: SendContext<'_>) -> String {
        let escape = |c: char| if c.is_ascii_alphanumeric() || c == '_' { c } else { '-' };
        let key: String = context.idempotency_key.chars().map(escape).collect();
        format!("{key}.{}@{}", piece.index, self.from.address.domain())
    }
}

fn body<'a>(
    piece: &'a MessagePiece,
    context: SendContext<'_>,
    files: &'a FileContents,
) -> Result<MimePart<'a>, &'static str> {
    let crlf = |text: &str| text.replace('\n', "\r\n");
    let text = piece.text.as_ref();
    let plain = crlf(text.map_or("", |text| text.plain.as_str()));
    let plain = MimePart::new("text/plain", plain);
    let formatted = text.and_then(|text| text.formatted.as_deref()).filter(|_| !context.plain_text);
    let text = match formatted {
        Some(html) => {
            let html = MimePart::new("text/html", crlf(&html_document(html)));
            MimePart::new("multipart/alternative", vec![plain, html])
        }
        None => plain,
    };
    if piece.files.is_empty() {
        return Ok(text);
    }
    let mut parts = vec![text];
    for file in &piece.files {
        let bytes = files.get(&file.blob).ok_or("a file of this mail no longer exists")?;
        let name = content_disposition(file.name.as_deref().unwrap_or("file"));
        // Always base 64, because servers may change line endings in anything else.
        let part = MimePart::new(file.media_type.as_str(), base64_lines(bytes));
        let part = part.header("Content-Disposition", Raw::new(name));
        parts.push(part.transfer_encoding("base64"));
    }
    Ok(MimePart::new("multipart/mixed", parts))
}

/// Encodes bytes as lines of base 64.
fn base64_lines(bytes: &[u8]) -> Vec<u8> {
    let text = encoding::base64_encode(bytes).into_bytes();
    text.chunks(76).flat_map(|line| [line, b"\r\n"]).flatten().copied().collect()
}

fn html_document(html: &str) -> String {
    format!("<!doctype html>\n<html><body>\n{html}\n</body></html>\n")
}
