//! Sending with retries, as a delivery worker does it.

use std::time::Duration;

use ostler_channels::button::Button;
use ostler_channels::connection::ChannelConnection;
use ostler_channels::outbound::{FileContents, OutboundMessage, SendContext};
use ostler_channels::outcome::SendOutcome;
use ostler_domain::channel::Channel;
use ostler_domain::channel::delivery::{
    FailedSendAction, SendAttempt, SendRetries, UnknownOutcomePolicy, next_action,
};
use serde_json::json;

use crate::fake_server::{Reply, Server};
use crate::real_servers::with_timeout;
use crate::support::{KEY, NOW, message, open, piece};

/// Sends a message until the policy ends. Returns the outcome, the last decision and
/// the waits.
async fn deliver(
    connection: &ChannelConnection,
    channel: &Channel,
    message: &OutboundMessage,
) -> (SendOutcome, FailedSendAction, Vec<Duration>) {
    let piece = piece(connection, message);
    let retries = SendRetries::for_channel(channel, Duration::ZERO);
    let failing_for = Duration::ZERO;
    let mut attempt = SendAttempt { number: 1, failing_for, plain: false, is_dead_letter: false };
    let mut waits = Vec::new();
    loop {
        let context = SendContext {
            idempotency_key: "out_1",
            plain_text: attempt.plain,
            possible_duplicate: false,
            by_person: false,
        };
        let outcome =
            with_timeout(connection.send(&piece, context, &FileContents::new(), NOW)).await;
        let Some(failure) = outcome.failure() else {
            return (outcome, FailedSendAction::DeadLetter, waits);
        };
        match next_action(failure, attempt, retries, UnknownOutcomePolicy::AskPerson, 500) {
            FailedSendAction::RetryAfter(wait) => {
                waits.push(wait);
                attempt.number += 1;
            }
            FailedSendAction::RetryAsPlainText => attempt.plain = true,
            action => return (outcome, action, waits),
        }
    }
}

fn telegram(server: &Server) -> ChannelConnection {
    open("telegram", &json!({"base_url": server.url}), "123:abc")
}

#[tokio::test]
async fn c17_a_parse_error_is_followed_by_one_plain_text_attempt() {
    let parse = json!({"ok": false, "description": "Bad Request: can't parse entities"});
    let sent = json!({"ok": true, "result": {"message_id": 9}});
    let server = Server::start([Reply::json(400, &parse), Reply::json(200, &sent)]).await;
    let (bot, message) = (telegram(&server), message("7", "**1** < 2 [menu](https://x.it)"));
    let (outcome, _, waits) = deliver(&bot, &Channel::Telegram, &message).await;
    assert_eq!(outcome, SendOutcome::Delivered { provider_id: Some("9".into()) });
    assert_eq!(waits, []);
    let seen: Vec<_> = server.seen().iter().map(crate::fake_server::SeenRequest::json).collect();
    assert_eq!(seen.len(), 2);
    assert_eq!(seen[0]["text"], "<b>1</b> &lt; 2 <a href=\"https://x.it\">menu</a>");
    assert_eq!(seen[0]["parse_mode"], "HTML");
    assert_eq!(seen[1]["text"], "1 < 2 menu (https://x.it)");
    assert_eq!(seen[1].get("parse_mode"), None);

    let server = Server::start([Reply::json(400, &parse)]).await;
    let (_, action, _) = deliver(&telegram(&server), &Channel::Telegram, &message).await;
    assert_eq!((action, server.seen().len()), (FailedSendAction::DeadLetter, 2));
}

/// C17: the number of attempts and the waits follow the channel's policy, or the wait
/// that the provider asks for.
#[tokio::test]
async fn c17_a_transient_failure_is_retried_by_the_channels_policy() {
    let millis =
        |waits: &[u64]| waits.iter().map(|n| Duration::from_millis(*n)).collect::<Vec<_>>();
    let down = Reply::json(500, &json!({"ok": false}));
    let server = Server::start([down.clone()]).await;
    let result = deliver(&telegram(&server), &Channel::Telegram, &message("7", "hi")).await;
    assert_eq!((result.1, result.2), (FailedSendAction::DeadLetter, millis(&[400, 1200])));
    assert_eq!(server.seen().len(), 3);

    let server = Server::start([down]).await;
    let gateway = open("sms", &json!({"url": server.url}), KEY);
    let result = deliver(&gateway, &Channel::Sms, &message("+39", "hi")).await;
    assert_eq!((result.1, result.2), (FailedSendAction::DeadLetter, millis(&[1000])));
    assert_eq!(server.seen().len(), 2);

    let busy = json!({"ok": false, "parameters": {"retry_after": 3}});
    let sent = json!({"ok": true, "result": {"message_id": 9}});
    let server = Server::start([Reply::json(429, &busy), Reply::json(200, &sent)]).await;
    let result = deliver(&telegram(&server), &Channel::Telegram, &message("7", "hi")).await;
    assert_eq!(result.0, SendOutcome::Delivered { provider_id: Some("9".into()) });
    assert_eq!(result.2, millis(&[3000]));
}

#[tokio::test]
async fn c16_a_long_message_is_sent_in_pieces_with_buttons_on_the_last() {
    let sent = json!({"ok": true, "result": {"message_id": 9}});
    let server = Server::start([Reply::json(200, &sent)]).await;
    let bot = telegram(&server);
    let text = "Una pizza **buonissima** 🍕.\n\n".repeat(400);
    let buttons = vec![vec![Button::press("Yes", "yes").unwrap()]];
    let pieces = bot.pieces(&OutboundMessage { buttons, ..message("7", &text) });
    for piece in &pieces {
        let context = SendContext {
            idempotency_key: "out_1",
            plain_text: false,
            possible_duplicate: false,
            by_person: false,
        };
        let outcome = with_timeout(bot.send(piece, context, &FileContents::new(), NOW)).await;
        assert!(matches!(outcome, SendOutcome::Delivered { .. }));
    }
    let seen: Vec<_> = server.seen().iter().map(crate::fake_server::SeenRequest::json).collect();
    assert_eq!(seen.len(), 3);
    let plain = |html: &str| html.replace("<b>", "").replace("</b>", "");
    let texts: Vec<String> =
        seen.iter().map(|body| plain(body["text"].as_str().unwrap())).collect();
    assert!(texts.iter().all(|text| text.encode_utf16().count() <= 4096));
    assert_eq!(texts.join("\n\n"), text.replace("**", "").trim_end());
    let with_buttons = seen.iter().map(|body| body.get("reply_markup").is_some());
    assert_eq!(with_buttons.collect::<Vec<_>>(), [false, false, true]);
}
