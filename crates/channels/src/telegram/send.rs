//! Sending a piece: words as HTML or plain, or a file.

use ostler_domain::message::Attachment;
use reqwest::multipart::{Form, Part};
use serde_json::{Value, json};

use super::Telegram;
use super::api::outcome;
use crate::button::{Action, Button};
use crate::outbound::{Files, Piece, Sending};
use crate::outcome::Outcome;

/// The most bytes of a photo; a larger one goes as a document.
const MOST_PHOTO: u64 = 10 * 1024 * 1024;
/// What stands before words that may have arrived before.
const AGAIN: &str = "(You may have received this before.)\n";

impl Telegram {
    /// Sends a piece.
    pub(crate) async fn send(&self, piece: &Piece, how: Sending<'_>, files: &Files) -> Outcome {
        let request = match (&piece.words, piece.files.first()) {
            (Some(_), _) => self.request("sendMessage").json(&message(piece, how)),
            (None, Some(file)) => {
                let Some(bytes) = files.get(&file.blob) else {
                    return Outcome::rejected("the file of this message is not there any more");
                };
                let (method, field) = method(file);
                let Some(form) = form(piece, file, bytes.to_vec(), field) else {
                    return Outcome::rejected("the file of this message has no media type");
                };
                // A file takes longer than words do.
                let request = self.request(method).multipart(form);
                let limits = self.http.limits;
                let sent = self.http.ask_within(request, limits.file, limits.answer_bytes).await;
                return outcome(self.understand(sent));
            }
            (None, None) => return Outcome::rejected("there is nothing in this message"),
        };
        outcome(self.understand(self.http.ask(request).await))
    }
}

fn message(piece: &Piece, how: Sending<'_>) -> Value {
    let words = piece.words.as_ref();
    let formatted = words.and_then(|words| words.formatted.as_deref()).filter(|_| !how.plain);
    let plain = words.map_or("", |words| words.plain.as_str());
    let mark = if how.again { AGAIN } else { "" };
    let mut body = json!({
        "chat_id": piece.to,
        "text": format!("{mark}{}", formatted.unwrap_or(plain)),
        "link_preview_options": {"is_disabled": true},
    });
    if formatted.is_some() {
        body["parse_mode"] = "HTML".into();
    }
    if let Some(keyboard) = keyboard(&piece.buttons) {
        body["reply_markup"] = keyboard;
    }
    if let Some(reply) = reply(piece) {
        body["reply_parameters"] = reply;
    }
    body
}

fn keyboard(rows: &[Vec<Button>]) -> Option<Value> {
    let key = |button: &Button| match button.action() {
        Action::Press(data) => json!({"text": button.label(), "callback_data": data}),
        Action::Link(url) => json!({"text": button.label(), "url": url}),
    };
    let rows: Vec<Vec<Value>> = rows.iter().map(|row| row.iter().map(key).collect()).collect();
    (!rows.is_empty()).then(|| json!({"inline_keyboard": rows}))
}

/// A message that was deleted meanwhile does not keep the answer from going.
fn reply(piece: &Piece) -> Option<Value> {
    let id: i64 = piece.reply_to.as_ref()?.parse().ok()?;
    Some(json!({"message_id": id, "allow_sending_without_reply": true}))
}

/// How a file is sent, and the name of its field.
fn method(file: &Attachment) -> (&'static str, &'static str) {
    match file.media_type.as_str() {
        "image/jpeg" | "image/png" | "image/webp" if file.size <= MOST_PHOTO => {
            ("sendPhoto", "photo")
        }
        "audio/ogg" => ("sendVoice", "voice"),
        "audio/mpeg" | "audio/mp4" | "audio/x-m4a" => ("sendAudio", "audio"),
        _ => ("sendDocument", "document"),
    }
}

fn form(piece: &Piece, file: &Attachment, bytes: Vec<u8>, field: &'static str) -> Option<Form> {
    let name = file.name.clone().unwrap_or_else(|| "file".to_owned());
    let part = Part::bytes(bytes).file_name(name).mime_str(file.media_type.as_str()).ok()?;
    let mut form = Form::new().text("chat_id", piece.to.clone()).part(field, part);
    if let Some(keyboard) = keyboard(&piece.buttons) {
        form = form.text("reply_markup", keyboard.to_string());
    }
    if let Some(reply) = reply(piece) {
        form = form.text("reply_parameters", reply.to_string());
    }
    Some(form)
}

#[cfg(test)]
mod tests {
    use super::{message, method};
    use crate::button::Button;
    use crate::outbound::{Piece, Sending, Words};
    use ostler_domain::id::BlobId;
    use ostler_domain::message::Attachment;
    use serde_json::json;

    /// C17, G36: the same piece with and without formatting, and its buttons.
    #[test]
    fn c17_a_piece_is_sent_as_html_or_plain() {
        let words = Words { plain: "1 < 2".into(), formatted: Some("<b>1</b> &lt; 2".into()) };
        let buttons = vec![vec![
            Button::press("Take over", "take:esc_1").unwrap(),
            Button::link("Open", "https://x.it").unwrap(),
        ]];
        let piece = Piece {
            to: "-100".into(),
            number: 0,
            words: Some(words),
            files: vec![],
            buttons,
            reply_to: Some("5".into()),
            thread: None,
        };
        let how = Sending { key: "k", plain: false, again: false };
        let keyboard = json!({"inline_keyboard": [[
            {"text": "Take over", "callback_data": "take:esc_1"},
            {"text": "Open", "url": "https://x.it"},
        ]]});
        let mut expected = json!({
            "chat_id": "-100",
            "text": "<b>1</b> &lt; 2",
            "parse_mode": "HTML",
            "link_preview_options": {"is_disabled": true},
            "reply_markup": keyboard,
            "reply_parameters": {"message_id": 5, "allow_sending_without_reply": true},
        });
        assert_eq!(message(&piece, how), expected);
        expected.as_object_mut().unwrap().remove("parse_mode");
        expected["text"] = "1 < 2".into();
        assert_eq!(message(&piece, Sending { plain: true, ..how }), expected);
        let again = message(&piece, Sending { again: true, ..how });
        assert_eq!(again["text"], "(You may have received this before.)\n<b>1</b> &lt; 2");
    }

    #[test]
    fn a_file_goes_as_what_it_is() {
        let check = |media: &str, size: u64, expected: &str| {
            let media_type = media.parse().unwrap();
            let file = Attachment { blob: BlobId::from_u128(1), media_type, name: None, size };
            assert_eq!(method(&file).0, expected, "{media}");
        };
        check("image/png", 9, "sendPhoto");
        check("image/png", 11 * 1024 * 1024, "sendDocument");
        check("image/svg+xml", 9, "sendDocument");
        check("audio/ogg", 9, "sendVoice");
        check("audio/mpeg", 9, "sendAudio");
        check("application/pdf", 9, "sendDocument");
    }
}
