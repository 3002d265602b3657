//! Sending a piece to a gateway. Its id is the same each time it is tried, so a
//! gateway that keeps ids takes it once.

use std::time::SystemTime;

use bytes::Bytes;
use ostler_domain::message::MediaType;
use ostler_domain::time::Timestamp;
use serde::Serialize;
use serde_json::Value;

use super::Webhook;
use crate::button::Button;
use crate::http::{Answer, Failure, presentable, retry_after};
use crate::outbound::{Files, Format, Piece, Sending};
use crate::outcome::Outcome;

/// What a gateway gets.
#[derive(Debug, Serialize)]
struct Form<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    id: &'a str,
    piece: u32,
    channel: &'a str,
    to: &'a str,
    text: Option<&'a str>,
    format: &'static str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    attachments: Vec<Attached<'a>>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    buttons: &'a [Vec<Button>],
    #[serde(skip_serializing_if = "Option::is_none")]
    reply_to: Option<&'a str>,
    possible_duplicate: bool,
}

#[derive(Debug, Serialize)]
struct Attached<'a> {
    media_type: &'a MediaType,
    name: Option<&'a str>,
    size: u64,
    #[serde(with = "crate::encoding::bytes")]
    content: Bytes,
}

impl Webhook {
    /// Sends a piece.
    pub(crate) async fn send(
        &self,
        piece: &Piece,
        how: Sending<'_>,
        files: &Files,
        now: Timestamp,
    ) -> Outcome {
        let Some(form) = self.form(piece, how, files) else {
            return Outcome::rejected("the file of this message is not there any more");
        };
        let Ok(body) = serde_json::to_vec(&form) else {
            return Outcome::rejected("the message cannot be written as JSON");
        };
        let id = format!("{}.{}", how.key, piece.number);
        let mut request = self.http.client.post(self.url.clone());
        for (name, value) in self.keys.sign(&id, now, &body) {
            request = request.header(name, value);
        }
        let request = request.header("content-type", "application/json").body(body);
        let limits = self.http.limits;
        let time = if piece.files.is_empty() { limits.send } else { limits.file };
        outcome(self.http.ask_within(request, time, limits.answer_bytes).await)
    }

    fn form<'a>(&'a self, piece: &'a Piece, how: Sending<'a>, files: &Files) -> Option<Form<'a>> {
        let words = piece.words.as_ref();
        let formatted = words.and_then(|words| words.formatted.as_deref());
        let formatted = formatted.filter(|_| !how.plain && self.shape.format == Format::Markdown);
        let attached = |file: &'a ostler_domain::message::Attachment| {
            Some(Attached {
                media_type: &file.media_type,
                name: file.name.as_deref(),
                size: file.size,
                content: files.get(&file.blob)?.clone(),
            })
        };
        Some(Form {
            kind: "message",
            id: how.key,
            piece: piece.number,
            channel: self.channel.name(),
            to: &piece.to,
            text: formatted.or(words.map(|words| words.plain.as_str())),
            format: if formatted.is_some() { "markdown" } else { "plain" },
            attachments: piece.files.iter().map(attached).collect::<Option<_>>()?,
            buttons: &piece.buttons,
            reply_to: piece.reply_to.as_deref(),
            possible_duplicate: how.again,
        })
    }
}

fn outcome(answer: Result<Answer, Failure>) -> Outcome {
    let answer = match answer {
        Ok(answer) => answer,
        Err(Failure::NotSent(why)) => return Outcome::retry(format!("the gateway: {why}")),
        Err(Failure::NoAnswer(why)) => return Outcome::unknown(format!("the gateway: {why}")),
        // It has answered: only the rest of what it says is lost.
        Err(Failure::TooLarge) => return Outcome::unknown("the gateway's answer is too long"),
    };
    let said = std::str::from_utf8(&answer.body).map(presentable).unwrap_or_default();
    let reason = match said.as_str() {
        "" => format!("the gateway answered with HTTP {}", answer.status),
        said => format!("the gateway answered with HTTP {}: {said}", answer.status),
    };
    match answer.status {
        200..300 => {
            let body: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
            Outcome::Delivered { provider_id: body["id"].as_str().map(str::to_owned) }
        }
        408 | 425 | 429 | 500.. => {
            Outcome::Retry { after: retry_after(&answer.headers, SystemTime::now()), reason }
        }
        _ => Outcome::Rejected { reason },
    }
}
