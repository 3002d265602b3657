//! Sending a piece to a gateway. Its id is the same for every attempt, so that the
//! gateway can deduplicate.

use std::time::SystemTime;

use bytes::Bytes;
use ostler_domain::message::MediaType;
use ostler_domain::time::Timestamp;
use serde::Serialize;
use serde_json::Value;

use super::Webhook;
use crate::button::Button;
use crate::http::{HttpError, HttpResponse, one_line, retry_after};
use crate::outbound::{FileContents, Markup, MessagePiece, SendContext};
use crate::outcome::SendOutcome;

/// The body of a request to a gateway.
#[derive(Debug, Serialize)]
struct Payload<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    id: &'a str,
    piece: u32,
    channel: &'a str,
    to: &'a str,
    text: Option<&'a str>,
    format: &'static str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    attachments: Vec<PayloadAttachment<'a>>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    buttons: &'a [Vec<Button>],
    #[serde(skip_serializing_if = "Option::is_none")]
    reply_to: Option<&'a str>,
    possible_duplicate: bool,
}

#[derive(Debug, Serialize)]
struct PayloadAttachment<'a> {
    media_type: &'a MediaType,
    name: Option<&'a str>,
    size: u64,
    #[serde(with = "crate::encoding::base64_bytes")]
    content: Bytes,
}

impl Webhook {
    /// Sends a piece once.
    pub(crate) async fn send(
        &self,
        piece: &MessagePiece,
        context: SendContext<'_>,
        files: &FileContents,
        now: Timestamp,
    ) -> SendOutcome {
        let Some(payload) = self.payload(piece, context, files) else {
            return SendOutcome::rejected("a file of this message no longer exists");
        };
        let Ok(body) = serde_json::to_vec(&payload) else {
            return SendOutcome::rejected("the message cannot be serialized as JSON");
        };
        let id = format!("{}.{}", context.idempotency_key, piece.index);
        let mut request = self.http.client.post(self.url.clone());
        for (name, value) in self.keys.sign(&id, now, &body) {
            request = request.header(name, value);
        }
        let request = request.header("content-type", "application/json").body(body);
        let limits = self.http.limits;
        let time_limit =
            if piece.files.is_empty() { limits.send_timeout } else { limits.file_timeout };
        send_outcome(
            self.http.send_with_limits(request, time_limit, limits.max_response_bytes).await,
        )
    }

    fn payload<'a>(
        &'a self,
        piece: &'a MessagePiece,
        context: SendContext<'a>,
        files: &FileContents,
    ) -> Option<Payload<'a>> {
        let text = piece.text.as_ref();
        let formatted = text.and_then(|text| text.formatted.as_deref());
        let formatted =
            formatted.filter(|_| !context.plain_text && self.layout.markup == Markup::Markdown);
        let attachment = |file: &'a ostler_domain::message::Attachment| {
            Some(PayloadAttachment {
                media_type: &file.media_type,
                name: file.name.as_deref(),
                size: file.size,
                content: files.get(&file.blob)?.clone(),
            })
        };
        Some(Payload {
            kind: "message",
            id: context.idempotency_key,
            piece: piece.index,
            channel: self.channel.name(),
            to: &piece.to,
            text: formatted.or(text.map(|text| text.plain.as_str())),
            format: if formatted.is_some() { "markdown" } else { "plain" },
            attachments: piece.files.iter().map(attachment).collect::<Option<_>>()?,
            buttons: &piece.buttons,
            reply_to: piece.reply_to.as_deref(),
            possible_duplicate: context.possible_duplicate,
        })
    }
}

fn send_outcome(response: Result<HttpResponse, HttpError>) -> SendOutcome {
    let response = match response {
        Ok(response) => response,
        Err(HttpError::NotSent(reason)) => {
            return SendOutcome::retry(format!("the gateway: {reason}"));
        }
        Err(HttpError::NoResponse(reason)) => {
            return SendOutcome::unknown(format!("the gateway: {reason}"));
        }
        Err(HttpError::TooLarge) => {
            return SendOutcome::unknown("the gateway's response is too large");
        }
    };
    let body = std::str::from_utf8(&response.body).map(one_line).unwrap_or_default();
    let reason = match body.as_str() {
        "" => format!("the gateway responded with HTTP {}", response.status),
        body => format!("the gateway responded with HTTP {}: {body}", response.status),
    };
    match response.status {
        200..300 => {
            let body: Value = serde_json::from_slice(&response.body).unwrap_or_default();
            SendOutcome::Delivered { provider_id: body["id"].as_str().map(str::to_owned) }
        }
        408 | 425 | 429 | 500.. => SendOutcome::Retry {
            retry_after: retry_after(&response.headers, SystemTime::now()),
            reason,
        },
        _ => SendOutcome::Rejected { reason },
    }
}
