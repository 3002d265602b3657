//! Writing a mail: text and HTML, files, and the headers that keep a thread
//! together.

use lettre::Address;
use mail_builder::MessageBuilder;
use mail_builder::headers::message_id::MessageId;
use mail_builder::headers::raw::Raw;
use mail_builder::mime::MimePart;

use super::Email;
use super::address::disposition;
use crate::encoding;
use crate::outbound::{Files, Piece, Sending};

/// A mail that is ready to be sent.
pub(super) struct Composed {
    pub(super) to: Address,
    /// Its id without angle brackets.
    pub(super) id: String,
    pub(super) bytes: Vec<u8>,
}

impl Email {
    /// Writes a mail, or says why there is none.
    pub(super) fn compose(
        &self,
        piece: &Piece,
        how: Sending<'_>,
        files: &Files,
    ) -> Result<Composed, &'static str> {
        let to: Address = piece.to.trim().parse().map_err(|_| "this is no address of e-mail")?;
        let id = self.message_id(piece, how);
        let subject = match &piece.thread {
            Some(thread) => thread.answer_subject(),
            None => self.subject.clone(),
        };
        let subject: String = subject.chars().filter(|c| !c.is_control()).collect();
        let mut mail = MessageBuilder::new()
            .header("From", Raw::new(self.from.header()))
            .header("To", Raw::new(to.to_string()))
            .subject(subject)
            .message_id(id.as_str())
            // Mailboxes that answer by themselves do not answer this.
            .header("Auto-Submitted", Raw::new("auto-replied"))
            .body(body(piece, how, files)?);
        if let Some(thread) = &piece.thread
            && let Some(latest) = thread.latest()
        {
            let all = MessageId::new_list(thread.references.iter().map(String::as_str));
            mail = mail.in_reply_to(latest).references(all);
        }
        let bytes = mail.write_to_vec().map_err(|_| "the mail cannot be written")?;
        Ok(Composed { to, id, bytes })
    }

    /// The same each time it is tried, so that a mailbox shows a repeat once.
    fn message_id(&self, piece: &Piece, how: Sending<'_>) -> String {
        let plain = |c: char| if c.is_ascii_alphanumeric() || c == '_' { c } else { '-' };
        let key: String = how.key.chars().map(plain).collect();
        format!("{key}.{}@{}", piece.number, self.from.address.domain())
    }
}

fn body<'a>(
    piece: &'a Piece,
    how: Sending<'_>,
    files: &'a Files,
) -> Result<MimePart<'a>, &'static str> {
    let lines = |text: &str| text.replace('\n', "\r\n");
    let words = piece.words.as_ref();
    let plain = lines(words.map_or("", |words| words.plain.as_str()));
    let plain = MimePart::new("text/plain", plain);
    let formatted = words.and_then(|words| words.formatted.as_deref()).filter(|_| !how.plain);
    let words = match formatted {
        Some(html) => {
            let html = MimePart::new("text/html", lines(&page(html)));
            MimePart::new("multipart/alternative", vec![plain, html])
        }
        None => plain,
    };
    if piece.files.is_empty() {
        return Ok(words);
    }
    let mut all = vec![words];
    for file in &piece.files {
        let bytes = files.get(&file.blob).ok_or("the file of this mail is not there any more")?;
        let name = disposition(file.name.as_deref().unwrap_or("file"));
        // As base 64 always: a server may change the line ends of anything else.
        let part = MimePart::new(file.media_type.as_str(), folded(bytes));
        let part = part.header("Content-Disposition", Raw::new(name));
        all.push(part.transfer_encoding("base64"));
    }
    Ok(MimePart::new("multipart/mixed", all))
}

/// Bytes as lines of base 64.
fn folded(bytes: &[u8]) -> Vec<u8> {
    let text = encoding::standard(bytes).into_bytes();
    text.chunks(76).flat_map(|line| [line, b"\r\n"]).flatten().copied().collect()
}

fn page(html: &str) -> String {
    format!("<!doctype html>\n<html><body>\n{html}\n</body></html>\n")
}
