//! Sending a piece: text as HTML or plain, or a file.

use ostler_domain::message::Attachment;
use reqwest::multipart::{Form, Part};
use serde_json::{Value, json};

use super::Telegram;
use crate::button::{Button, ButtonAction};
use crate::outbound::{FileContents, MessagePiece, SendContext};
use crate::outcome::SendOutcome;

/// Larger photos are sent as documents.
const MAX_PHOTO_BYTES: u64 = 10 * 1024 * 1024;
const DUPLICATE_NOTICE: &str = "(You may have received this before.)\n";

impl Telegram {
    /// Sends a piece once.
    pub(crate) async fn send(
        &self,
        piece: &MessagePiece,
        context: SendContext<'_>,
        files: &FileContents,
    ) -> SendOutcome {
        let request = match (&piece.text, piece.files.first()) {
            (Some(_), _) => self.request("sendMessage").json(&message(piece, context)),
            (None, Some(file)) => {
                let Some(bytes) = files.get(&file.blob) else {
                    return SendOutcome::rejected("the file of this message no longer exists");
                };
                let (method, field) = upload_method(file);
                let Some(form) = upload_form(piece, file, bytes.to_vec(), field) else {
                    return SendOutcome::rejected("the media type of the file is invalid");
                };
                let request = self.request(method).multipart(form);
                let limits = self.http.limits;
                let response = self
                    .http
                    .send_with_limits(request, limits.file_timeout, limits.max_response_bytes)
                    .await;
                return self.interpret(response).into_send_outcome();
            }
            (None, None) => return SendOutcome::rejected("the message is empty"),
        };
        self.interpret(self.http.send(request).await).into_send_outcome()
    }
}

fn message(piece: &MessagePiece, context: SendContext<'_>) -> Value {
    let text = piece.text.as_ref();
    let formatted = text.and_then(|text| text.formatted.as_deref()).filter(|_| !context.plain_text);
    let plain = text.map_or("", |text| text.plain.as_str());
    let notice = if context.possible_duplicate { DUPLICATE_NOTICE } else { "" };
    let mut body = json!({
        "chat_id": piece.to,
        "text": format!("{notice}{}", formatted.unwrap_or(plain)),
        "link_preview_options": {"is_disabled": true},
    });
    if formatted.is_some() {
        body["parse_mode"] = "HTML".into();
    }
    if let Some(keyboard) = keyboard(&piece.buttons) {
        body["reply_markup"] = keyboard;
    }
    if let Some(reply) = reply_parameters(piece) {
        body["reply_parameters"] = reply;
    }
    body
}

fn keyboard(rows: &[Vec<Button>]) -> Option<Value> {
    let json = |button: &Button| match button.action() {
        ButtonAction::Press(data) => json!({"text": button.label(), "callback_data": data}),
        ButtonAction::Link(url) => json!({"text": button.label(), "url": url}),
    };
    let rows: Vec<Vec<Value>> = rows.iter().map(|row| row.iter().map(json).collect()).collect();
    (!rows.is_empty()).then(|| json!({"inline_keyboard": rows}))
}

/// The reply is sent even if the message it answers was deleted.
fn reply_parameters(piece: &MessagePiece) -> Option<Value> {
    let id: i64 = piece.reply_to.as_ref()?.parse().ok()?;
    Some(json!({"message_id": id, "allow_sending_without_reply": true}))
}

/// Returns the method that sends a file, and the name of its field.
fn upload_method(file: &Attachment) -> (&'static str, &'static str) {
    match file.media_type.as_str() {
        "image/jpeg" | "image/png" | "image/webp" if file.size <= MAX_PHOTO_BYTES => {
            ("sendPhoto", "photo")
        }
        "audio/ogg" => ("sendVoice", "voice"),
        "audio/mpeg" | "audio/mp4" | "audio/x-m4a" => ("sendAudio", "audio"),
        _ => ("sendDocument", "document"),
    }
}

fn upload_form(
    piece: &MessagePiece,
    file: &Attachment,
    bytes: Vec<u8>,
    field: &'static str,
) -> Option<Form> {
    let name = file.name.clone().unwrap_or_else(|| "file".to_owned());
    let part = Part::bytes(bytes).file_name(name).mime_str(file.media_type.as_str()).ok()?;
    let mut form = Form::new().text("chat_id", piece.to.clone()).part(field, part);
    if let Some(keyboard) = keyboard(&piece.buttons) {
        form = form.text("reply_markup", keyboard.to_string());
    }
    if let Some(reply) = reply_parameters(piece) {
        form = form.text("reply_parameters", reply.to_string());
    }
    Some(form)
}

#[cfg(test)]
mod tests {
    use super::{message, upload_method};
    use crate::button::Button;
    use crate::outbound::{MessagePiece, PieceText, SendContext};
    use ostler_domain::id::BlobId;
    use ostler_domain::message::Attachment;
    use serde_json::json;

    #[test]
    fn c17_a_piece_is_sent_as_html_or_plain_text() {
        let text = PieceText { plain: "1 < 2".into(), formatted: Some("<b>1</b> &lt; 2".into()) };
        let buttons = vec![vec![
            Button::press("Take over", "take:esc_1").unwrap(),
            Button::link("Open", "https://x.it").unwrap(),
        ]];
        let piece = MessagePiece {
            to: "-100".into(),
            index: 0,
            text: Some(text),
            files: vec![],
            buttons,
            reply_to: Some("5".into()),
            email_thread: None,
        };
        let context = SendContext {
            idempotency_key: "k",
            plain_text: false,
            possible_duplicate: false,
            by_person: false,
        };
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
        assert_eq!(message(&piece, context), expected);
        expected.as_object_mut().unwrap().remove("parse_mode");
        expected["text"] = "1 < 2".into();
        assert_eq!(message(&piece, SendContext { plain_text: true, ..context }), expected);
        let duplicate = message(&piece, SendContext { possible_duplicate: true, ..context });
        assert_eq!(duplicate["text"], "(You may have received this before.)\n<b>1</b> &lt; 2");
    }

    #[test]
    fn the_media_type_decides_the_upload_method() {
        let check = |media: &str, size: u64, expected: &str| {
            let media_type = media.parse().unwrap();
            let file = Attachment { blob: BlobId::from_u128(1), media_type, name: None, size };
            assert_eq!(upload_method(&file).0, expected, "{media}");
        };
        check("image/png", 9, "sendPhoto");
        check("image/png", 11 * 1024 * 1024, "sendDocument");
        check("image/svg+xml", 9, "sendDocument");
        check("audio/ogg", 9, "sendVoice");
        check("audio/mpeg", 9, "sendAudio");
        check("application/pdf", 9, "sendDocument");
    }
}
