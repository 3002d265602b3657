//! Writing a mail: text and HTML, files, and the headers that keep a thread
//! together.

use lettre::Message;
use lettre::message::header::{ContentType, HeaderName, HeaderValue};
use lettre::message::{Attachment, Mailbox, MultiPart, SinglePart};

use super::Email;
use crate::outbound::{Files, Piece, Sending};

/// A mail that is ready to be sent.
pub(super) struct Composed {
    pub(super) mail: Message,
    /// Its id without angle brackets.
    pub(super) id: String,
}

impl Email {
    /// Writes a mail, or says why there is none.
    pub(super) fn compose(
        &self,
        piece: &Piece,
        how: Sending<'_>,
        files: &Files,
    ) -> Result<Composed, String> {
        let to: Mailbox = piece.to.trim().parse().map_err(|_| "this is no address of e-mail")?;
        let id = self.message_id(piece, how);
        let subject = match &piece.thread {
            Some(thread) => thread.answer_subject(),
            None => self.subject.clone(),
        };
        let subject: String = subject.chars().filter(|c| !c.is_control()).collect();
        let mut builder = Message::builder()
            .from(self.from.clone())
            .to(to)
            .subject(subject)
            .message_id(Some(format!("<{id}>")));
        if let Some(thread) = &piece.thread
            && let Some(latest) = thread.latest()
        {
            let all: Vec<String> = thread.references.iter().map(|id| format!("<{id}>")).collect();
            builder = builder.in_reply_to(format!("<{latest}>")).references(all.join(" "));
        }
        let body = body(piece, how, files)?;
        let mut mail = builder.multipart(body).map_err(|error| error.to_string())?;
        // Mailboxes that answer by themselves do not answer this.
        let name = HeaderName::new_from_ascii_str("Auto-Submitted");
        mail.headers_mut().insert_raw(HeaderValue::new(name, "auto-replied".to_owned()));
        Ok(Composed { mail, id })
    }

    /// The same each time it is tried, so that a mailbox shows a repeat once.
    fn message_id(&self, piece: &Piece, how: Sending<'_>) -> String {
        let plain = |c: char| if c.is_ascii_alphanumeric() || c == '_' { c } else { '-' };
        let key: String = how.key.chars().map(plain).collect();
        format!("{key}.{}@{}", piece.number, self.from.email.domain())
    }
}

fn body(piece: &Piece, how: Sending<'_>, files: &Files) -> Result<MultiPart, String> {
    let words = piece.words.as_ref();
    let plain = words.map(|words| words.plain.clone()).unwrap_or_default();
    let formatted = words.and_then(|words| words.formatted.clone()).filter(|_| !how.plain);
    let words = match formatted {
        Some(html) => MultiPart::alternative_plain_html(plain, page(&html)),
        None => MultiPart::mixed().singlepart(SinglePart::plain(plain)),
    };
    if piece.files.is_empty() {
        return Ok(words);
    }
    let mut all = MultiPart::mixed().multipart(words);
    for file in &piece.files {
        let bytes = files.get(&file.blob).ok_or("the file of this mail is not there any more")?;
        let kind =
            ContentType::parse(file.media_type.as_str()).map_err(|error| error.to_string())?;
        let name = file.name.clone().unwrap_or_else(|| "file".to_owned());
        all = all.singlepart(Attachment::new(name).body(bytes.to_vec(), kind));
    }
    Ok(all)
}

fn page(html: &str) -> String {
    format!("<!doctype html>\n<html><body>\n{html}\n</body></html>\n")
}
