//! Delivery as a worker does it: a send, what the domain says about its outcome,
//! and the next send.

use std::time::Duration;

use ostler_channels::button::Button;
use ostler_channels::connection::Connection;
use ostler_channels::outbound::{Files, Outbound, Sending};
use ostler_channels::outcome::Outcome;
use ostler_domain::channel::Channel;
use ostler_domain::channel::delivery::{Attempt, NextSend, WhenUnknown, next};
use ostler_domain::retry::RetryPolicy;
use serde_json::json;

use crate::real::within;
use crate::server::{Reply, Server};
use crate::support::{KEY, NOW, message, open, piece};

/// What became of a message, and the waits in between.
async fn deliver(
    connection: &Connection,
    channel: &Channel,
    message: &Outbound,
) -> (Outcome, NextSend, Vec<Duration>) {
    let piece = piece(connection, message);
    let policy = RetryPolicy::of_channel(channel);
    let (mut attempt, mut waits) = (Attempt { number: 1, plain: false }, Vec::new());
    loop {
        let how = Sending { key: "out_1", plain: attempt.plain, again: false };
        let outcome = within(connection.send(&piece, how, &Files::new(), NOW)).await;
        let Some(failure) = outcome.failure() else {
            return (outcome, NextSend::DeadLetter, waits);
        };
        match next(failure, attempt, policy, WhenUnknown::AskPerson, 500) {
            NextSend::After(wait) => {
                waits.push(wait);
                attempt.number += 1;
            }
            NextSend::Plain => attempt.plain = true,
            end => return (outcome, end, waits),
        }
    }
}

fn telegram(server: &Server) -> Connection {
    open("telegram", &json!({"base_url": server.url}), "123:abc")
}

/// C17: a parse error is followed by one plain-text resend.
#[tokio::test]
async fn c17_a_parse_error_is_followed_by_one_plain_resend() {
    let parse = json!({"ok": false, "description": "Bad Request: can't parse entities"});
    let sent = json!({"ok": true, "result": {"message_id": 9}});
    let server = Server::start([Reply::json(400, &parse), Reply::json(200, &sent)]).await;
    let (bot, message) = (telegram(&server), message("7", "**1** < 2 [menu](https://x.it)"));
    let (outcome, _, waits) = deliver(&bot, &Channel::Telegram, &message).await;
    assert_eq!(outcome, Outcome::Delivered { provider_id: Some("9".into()) });
    assert_eq!(waits, []);
    let seen: Vec<_> = server.seen().iter().map(crate::server::Seen::json).collect();
    assert_eq!(seen.len(), 2);
    assert_eq!(seen[0]["text"], "<b>1</b> &lt; 2 <a href=\"https://x.it\">menu</a>");
    assert_eq!(seen[0]["parse_mode"], "HTML");
    assert_eq!(seen[1]["text"], "1 < 2 menu (https://x.it)");
    assert_eq!(seen[1].get("parse_mode"), None);

    let server = Server::start([Reply::json(400, &parse)]).await;
    let (_, end, _) = deliver(&telegram(&server), &Channel::Telegram, &message).await;
    assert_eq!((end, server.seen().len()), (NextSend::DeadLetter, 2));
}

/// C17: as often as the channel's policy says, after the waits it says, or those
/// that the provider asks for.
#[tokio::test]
async fn c17_a_transient_failure_is_tried_again_by_the_channels_policy() {
    let millis =
        |waits: &[u64]| waits.iter().map(|n| Duration::from_millis(*n)).collect::<Vec<_>>();
    let down = Reply::json(500, &json!({"ok": false}));
    let server = Server::start([down.clone()]).await;
    let end = deliver(&telegram(&server), &Channel::Telegram, &message("7", "hi")).await;
    assert_eq!((end.1, end.2), (NextSend::DeadLetter, millis(&[400, 1200])));
    assert_eq!(server.seen().len(), 3);

    let server = Server::start([down]).await;
    let gateway = open("sms", &json!({"url": server.url}), KEY);
    let end = deliver(&gateway, &Channel::Sms, &message("+39", "hi")).await;
    assert_eq!((end.1, end.2), (NextSend::DeadLetter, millis(&[1000])));
    assert_eq!(server.seen().len(), 2);

    let busy = json!({"ok": false, "parameters": {"retry_after": 3}});
    let sent = json!({"ok": true, "result": {"message_id": 9}});
    let server = Server::start([Reply::json(429, &busy), Reply::json(200, &sent)]).await;
    let end = deliver(&telegram(&server), &Channel::Telegram, &message("7", "hi")).await;
    assert_eq!(end.0, Outcome::Delivered { provider_id: Some("9".into()) });
    assert_eq!(end.2, millis(&[3000]));
}

/// C16: a long message goes out in pieces that Telegram takes, with the buttons
/// below the last.
#[tokio::test]
async fn c16_a_long_message_goes_out_in_pieces() {
    let sent = json!({"ok": true, "result": {"message_id": 9}});
    let server = Server::start([Reply::json(200, &sent)]).await;
    let bot = telegram(&server);
    let text = "Una pizza **buonissima** 🍕.\n\n".repeat(400);
    let buttons = vec![vec![Button::press("Yes", "yes").unwrap()]];
    let pieces = bot.pieces(&Outbound { buttons, ..message("7", &text) });
    for piece in &pieces {
        let how = Sending { key: "out_1", plain: false, again: false };
        let outcome = within(bot.send(piece, how, &Files::new(), NOW)).await;
        assert!(matches!(outcome, Outcome::Delivered { .. }));
    }
    let seen: Vec<_> = server.seen().iter().map(crate::server::Seen::json).collect();
    assert_eq!(seen.len(), 3);
    let plain = |html: &str| html.replace("<b>", "").replace("</b>", "");
    let texts: Vec<String> =
        seen.iter().map(|body| plain(body["text"].as_str().unwrap())).collect();
    assert!(texts.iter().all(|text| text.encode_utf16().count() <= 4096));
    assert_eq!(texts.join("\n\n"), text.replace("**", "").trim_end());
    let with_buttons = seen.iter().map(|body| body.get("reply_markup").is_some());
    assert_eq!(with_buttons.collect::<Vec<_>>(), [false, false, true]);
}
