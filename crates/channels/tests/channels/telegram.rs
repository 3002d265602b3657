//! Telegram, when it misbehaves.

use std::time::Duration;

use http::{HeaderMap, HeaderValue};
use ostler_channels::connection::Connection;
use ostler_channels::error::{CallError, ReceiveError};
use ostler_channels::inbound::{Content, Ignored, InboundPart, Received, RemoteFile, Source};
use ostler_channels::outbound::{Files, Outbound};
use ostler_channels::outcome::Outcome;
use ostler_domain::id::BlobId;
use ostler_domain::message::{Attachment, Part};
use serde_json::{Value, json};

use crate::real::{free_port, within};
use crate::server::{Reply, Server};
use crate::support::{HOW, NOW, message, open, open_hasty, send};

const TOKEN: &str = "123:secret-token";

fn bot(url: &str) -> Connection {
    open("telegram", &json!({"base_url": url}), TOKEN)
}

fn sent() -> Reply {
    Reply::json(200, &json!({"ok": true, "result": {"message_id": 42}}))
}

fn no(status: u16, description: &str) -> Reply {
    Reply::json(status, &json!({"ok": false, "error_code": status, "description": description}))
}

/// C17, C18, Z09: what an answer means, and none of it shows the token.
#[tokio::test]
async fn c17_z09_every_answer_of_the_bot_api_has_a_meaning() {
    let check = async |reply: Reply, expected: Outcome| {
        let server = Server::start([reply.clone()]).await;
        let outcome = send(&bot(&server.url), &message("7", "**hi**")).await;
        assert_eq!(outcome, expected, "{reply:?}");
        assert!(!format!("{outcome:?}").contains("secret-token"));
        let seen = server.seen();
        assert_eq!(seen[0].path(), "/bot123:secret-token/sendMessage");
        assert_eq!(seen[0].json()["text"], "<b>hi</b>");
    };
    let provider_id = Some("42".to_owned());
    check(sent(), Outcome::Delivered { provider_id }).await;
    let busy = json!({"ok": false, "error_code": 429, "description": "Too Many Requests",
        "parameters": {"retry_after": 7}});
    let (after, reason) = (Some(Duration::from_secs(7)), "Telegram: Too Many Requests (HTTP 429)");
    check(Reply::json(429, &busy), Outcome::Retry { after, reason: reason.into() }).await;
    let retry = |reason: &str| Outcome::Retry { after: None, reason: reason.into() };
    check(no(500, "Internal"), retry("Telegram: Internal (HTTP 500)")).await;
    let gateway = Reply::Status(502, "", b"<html>".to_vec());
    check(gateway, retry("Telegram: it answered with HTTP 502")).await;
    let parse = "Bad Request: can't parse entities: Unsupported start tag";
    let reason = format!("Telegram: {parse} (HTTP 400)");
    check(no(400, parse), Outcome::Formatting { reason }).await;
    let rejected = |reason: &str| Outcome::Rejected { reason: reason.into() };
    let blocked = "Forbidden: bot was blocked by the user";
    check(no(403, blocked), rejected(&format!("Telegram: {blocked} (HTTP 403)"))).await;
    let unknown_bot = rejected("Telegram: it does not know the bot's token (HTTP 401)");
    check(no(401, "no such bot123:secret-token"), unknown_bot).await;
    let quoted = rejected("Telegram: bot[hidden] is odd (HTTP 400)");
    check(no(400, "bot123:secret-token is odd"), quoted).await;
    let moved = json!({"ok": false, "description": "moved", "parameters":
        {"migrate_to_chat_id": -1001}});
    let words = "Telegram: moved (HTTP 400); the group is -1001 now";
    check(Reply::json(400, &moved), rejected(words)).await;
    let page = Reply::Status(200, "", b"<html>welcome".to_vec());
    let reason = "Telegram: what answers is not the Bot API".into();
    check(page, Outcome::Unknown { reason }).await;
}

/// Z09: a send whose answer does not come may have arrived; one that cannot have
/// begun has not.
#[tokio::test]
async fn z09_a_lost_answer_is_unknown_and_a_refused_connection_is_not() {
    let cut = Server::start([Reply::Cut]).await;
    let outcome = send(&bot(&cut.url), &message("7", "hi")).await;
    assert!(matches!(outcome, Outcome::Unknown { .. }), "{outcome:?}");
    assert_eq!(cut.seen().len(), 1);

    let slow = Server::start([Reply::Hang]).await;
    let hasty = |url: &str, wait| open_hasty("telegram", &json!({"base_url": url}), TOKEN, wait);
    let outcome = send(&hasty(&slow.url, Duration::from_millis(500)), &message("7", "hi")).await;
    let reason = "Telegram: no answer came within 500 ms".into();
    assert_eq!(outcome, Outcome::Unknown { reason });

    let nobody = format!("http://127.0.0.1:{}", free_port());
    let outcome = send(&bot(&nobody), &message("7", "hi")).await;
    assert!(matches!(&outcome, Outcome::Retry { after: None, .. }), "{outcome:?}");
    assert!(!format!("{outcome:?}").contains("secret-token"), "{outcome:?}");
}

#[tokio::test]
async fn files_are_sent_as_what_they_are() {
    let server = Server::start([sent()]).await;
    let bot = bot(&server.url);
    let blob = BlobId::from_u128(3);
    let media_type = "image/png".parse().unwrap();
    let file = Attachment { blob, media_type, name: Some("pizza.png".into()), size: 5 };
    let parts = vec![Part::text("look"), Part::attached(file)];
    let pieces = bot.pieces(&Outbound { parts, ..message("7", "") });
    assert_eq!(pieces.len(), 2);
    let files = Files::from([(blob, "bytes".into())]);
    let outcome = within(bot.send(&pieces[1], HOW, &files, NOW)).await;
    assert_eq!(outcome, Outcome::Delivered { provider_id: Some("42".into()) });
    let seen = &server.seen()[0];
    let body = String::from_utf8_lossy(&seen.body).into_owned();
    assert!(seen.path().ends_with("/sendPhoto"));
    for expected in
        ["name=\"chat_id\"\r\n\r\n7\r\n", "filename=\"pizza.png\"", "image/png", "bytes"]
    {
        assert!(body.contains(expected), "{expected} in {body}");
    }
    let gone = within(bot.send(&pieces[1], HOW, &Files::new(), NOW)).await;
    assert!(matches!(gone, Outcome::Rejected { .. }), "{gone:?}");
}

#[tokio::test]
async fn a_file_is_fetched_within_its_size_and_time() {
    let file = RemoteFile {
        source: Source::Telegram("f1".into()),
        media_type: "image/png".parse().unwrap(),
        name: None,
        size: None,
    };
    let at = |path: &str| Reply::json(200, &json!({"ok": true, "result": {"file_path": path}}));
    let server = Server::start([at("photos/1.png"), Reply::Status(200, "", b"png".to_vec())]).await;
    let fetched = within(bot(&server.url).fetch(&file)).await.unwrap();
    assert_eq!(&fetched.bytes[..], b"png");
    assert_eq!(server.seen()[1].path(), "/file/bot123:secret-token/photos/1.png");

    let check = async |replies: Vec<Reply>, expected: &dyn Fn(&CallError) -> bool| {
        let server = Server::start(replies.clone()).await;
        let settings = json!({"base_url": server.url});
        let hangs = replies.iter().any(|reply| matches!(reply, Reply::Hang));
        let wait = Duration::from_secs(if hangs { 1 } else { 60 });
        let bot = open_hasty("telegram", &settings, TOKEN, wait);
        let error = within(bot.fetch(&file)).await.unwrap_err();
        assert!(expected(&error), "{error:?}");
        assert!(!format!("{error:?} {error}").contains("secret-token"), "{error:?}");
    };
    let too_large = |error: &CallError| *error == CallError::TooLarge;
    let later = |error: &CallError| matches!(error, CallError::Later { .. });
    let refused = |error: &CallError| matches!(error, CallError::Refused(_));
    let huge = Reply::Status(200, "", vec![0; 21 * 1024 * 1024]);
    check(vec![at("a"), huge], &too_large).await;
    check(vec![no(400, "Bad Request: file is too big")], &too_large).await;
    check(vec![at("a"), Reply::Hang], &later).await;
    check(vec![at("a"), Reply::Cut], &later).await;
    check(vec![at("../../etc")], &refused).await;
    check(vec![at("a"), no(404, "gone")], &refused).await;
}

/// The secret that Telegram is told is the one that is checked.
#[tokio::test]
async fn an_update_is_taken_from_telegram_only() {
    let server = Server::start([Reply::json(200, &json!({"ok": true, "result": true}))]).await;
    let connection = bot(&server.url);
    let Connection::Telegram(telegram) = &connection else { panic!() };
    within(telegram.set_webhook("https://ostler.example/hooks/1")).await.unwrap();
    let told = server.seen()[0].json();
    assert_eq!(told["url"], "https://ostler.example/hooks/1");
    let secret = told["secret_token"].as_str().unwrap().to_owned();
    assert!(!secret.contains("secret-token"));

    let receive = |secret: Option<&str>, body: &str| {
        let mut headers = HeaderMap::new();
        if let Some(secret) = secret {
            let value = HeaderValue::from_str(secret).unwrap();
            headers.insert("x-telegram-bot-api-secret-token", value);
        }
        connection.receive(&headers, body.as_bytes(), NOW)
    };
    let edited = r#"{"update_id": 1, "edited_message": {}}"#;
    assert_eq!(receive(Some(&secret), edited), Ok(Received::Ignored(Ignored::Edited)));
    let header = "x-telegram-bot-api-secret-token";
    assert_eq!(receive(None, edited), Err(ReceiveError::Unsigned(header)));
    for wrong in ["", "x", &secret[1..], &secret.to_uppercase()] {
        assert_eq!(receive(Some(wrong), edited), Err(ReceiveError::BadSignature), "{wrong}");
    }
    for body in ["", "{", "[]", r#"{"update_id": "x"}"#] {
        let read = receive(Some(&secret), body);
        assert!(matches!(read, Err(ReceiveError::BadBody(_))), "{body}: {read:?}");
    }
}

/// An update that was not stored is asked for again.
#[tokio::test]
async fn only_what_is_confirmed_is_not_asked_for_again() {
    let update = |id: i64, text: &str| {
        json!({"update_id": id, "message": {"message_id": id, "from": {"id": 7},
            "chat": {"id": 7, "type": "private"}, "text": text}})
    };
    let updates = json!({"ok": true, "result": [update(5, "a"), {"update_id": 6, "odd": 1},
        update(7, "b"), "nonsense"]});
    let conflict = no(409, "Conflict: terminated by other getUpdates request");
    let server = Server::start([
        Reply::json(200, &updates),
        Reply::json(200, &updates),
        Reply::json(200, &updates),
        conflict,
    ])
    .await;
    let connection = bot(&server.url);
    let Connection::Telegram(telegram) = &connection else { panic!() };
    let mut poller = telegram.poller();
    let wait = Duration::from_secs(1);
    let batch = within(poller.poll(wait)).await.unwrap();
    let texts: Vec<String> = batch
        .iter()
        .map(|(_, received)| match received {
            Received::Inbound(inbound) => match &inbound.content {
                Content::Message(parts) => match &parts[0] {
                    InboundPart::Text(text) => text.clone(),
                    other => format!("{other:?}"),
                },
                other => format!("{other:?}"),
            },
            Received::Ignored(why) => why.to_string(),
        })
        .collect();
    assert_eq!(texts, ["a", "`odd` is not read", "b"]);
    within(poller.poll(wait)).await.unwrap();
    poller.confirm(batch[2].0);
    poller.confirm(batch[0].0);
    within(poller.poll(wait)).await.unwrap();
    let offsets: Vec<Value> =
        server.seen().iter().map(|seen| seen.json()["offset"].clone()).collect();
    assert_eq!(offsets, [Value::Null, Value::Null, json!(8)]);
    let error = within(poller.poll(wait)).await.unwrap_err();
    assert!(error.to_string().contains("terminated by other getUpdates"), "{error}");
}
