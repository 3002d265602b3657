//! Telegram with a Bot API that misbehaves.

use std::time::Duration;

use http::{HeaderMap, HeaderValue};
use ostler_channels::connection::ChannelConnection;
use ostler_channels::error::{CallError, ReceiveError};
use ostler_channels::inbound::{
    FileSource, IgnoreReason, InboundContent, InboundPart, ReceiveOutcome, RemoteFile,
};
use ostler_channels::outbound::{FileContents, OutboundMessage};
use ostler_channels::outcome::SendOutcome;
use ostler_domain::id::BlobId;
use ostler_domain::message::{Attachment, MessagePart};
use serde_json::{Value, json};

use crate::fake_server::{Reply, Server};
use crate::real_servers::{free_port, with_timeout};
use crate::support::{NOW, SEND, message, open, open_with_timeout, send};

const TOKEN: &str = "123:secret-token";

fn bot(url: &str) -> ChannelConnection {
    open("telegram", &json!({"base_url": url}), TOKEN)
}

fn sent() -> Reply {
    Reply::json(200, &json!({"ok": true, "result": {"message_id": 42}}))
}

fn error(status: u16, description: &str) -> Reply {
    Reply::json(status, &json!({"ok": false, "error_code": status, "description": description}))
}

/// C17, C18, Z09: no outcome contains the token.
#[tokio::test]
async fn c17_z09_responses_of_the_bot_api_decide_the_outcome() {
    let check = async |reply: Reply, expected: SendOutcome| {
        let server = Server::start([reply.clone()]).await;
        let outcome = send(&bot(&server.url), &message("7", "**hi**")).await;
        assert_eq!(outcome, expected, "{reply:?}");
        assert!(!format!("{outcome:?}").contains("secret-token"));
        let seen = server.seen();
        assert_eq!(seen[0].path(), "/bot123:secret-token/sendMessage");
        assert_eq!(seen[0].json()["text"], "<b>hi</b>");
    };
    let provider_id = Some("42".to_owned());
    check(sent(), SendOutcome::Delivered { provider_id }).await;
    let busy = json!({"ok": false, "error_code": 429, "description": "Too Many Requests",
        "parameters": {"retry_after": 7}});
    let (retry_after, reason) =
        (Some(Duration::from_secs(7)), "Telegram: Too Many Requests (HTTP 429)");
    check(Reply::json(429, &busy), SendOutcome::Retry { retry_after, reason: reason.into() }).await;
    let retry = |reason: &str| SendOutcome::Retry { retry_after: None, reason: reason.into() };
    check(error(500, "Internal"), retry("Telegram: Internal (HTTP 500)")).await;
    let gateway = Reply::Status(502, "", b"<html>".to_vec());
    check(gateway, retry("Telegram: it responded with HTTP 502")).await;
    let parse = "Bad Request: can't parse entities: Unsupported start tag";
    let reason = format!("Telegram: {parse} (HTTP 400)");
    check(error(400, parse), SendOutcome::FormattingRejected { reason }).await;
    let rejected = |reason: &str| SendOutcome::Rejected { reason: reason.into() };
    let blocked = "Forbidden: bot was blocked by the user";
    check(error(403, blocked), rejected(&format!("Telegram: {blocked} (HTTP 403)"))).await;
    let unknown_bot = rejected("Telegram: the bot's token is not accepted (HTTP 401)");
    check(error(401, "no such bot123:secret-token"), unknown_bot).await;
    let quoted = rejected("Telegram: bot[hidden] is odd (HTTP 400)");
    check(error(400, "bot123:secret-token is odd"), quoted).await;
    let moved = json!({"ok": false, "description": "moved", "parameters":
        {"migrate_to_chat_id": -1001}});
    let reason = "Telegram: moved (HTTP 400); the group has moved to -1001";
    check(Reply::json(400, &moved), rejected(reason)).await;
    let page = Reply::Status(200, "", b"<html>welcome".to_vec());
    let reason = "Telegram: the response is not from the Bot API".into();
    check(page, SendOutcome::Unknown { reason }).await;
}

#[tokio::test]
async fn z09_a_lost_response_is_unknown_and_a_refused_connection_is_retried() {
    let cut = Server::start([Reply::Cut]).await;
    let outcome = send(&bot(&cut.url), &message("7", "hi")).await;
    assert!(matches!(outcome, SendOutcome::Unknown { .. }), "{outcome:?}");
    assert_eq!(cut.seen().len(), 1);

    let slow = Server::start([Reply::Hang]).await;
    let with_wait =
        |url: &str, wait| open_with_timeout("telegram", &json!({"base_url": url}), TOKEN, wait);
    let outcome =
        send(&with_wait(&slow.url, Duration::from_millis(500)), &message("7", "hi")).await;
    let reason = "Telegram: no response within 500 ms".into();
    assert_eq!(outcome, SendOutcome::Unknown { reason });

    let unreachable = format!("http://127.0.0.1:{}", free_port());
    let outcome = send(&bot(&unreachable), &message("7", "hi")).await;
    assert!(matches!(&outcome, SendOutcome::Retry { retry_after: None, .. }), "{outcome:?}");
    assert!(!format!("{outcome:?}").contains("secret-token"), "{outcome:?}");
}

#[tokio::test]
async fn files_are_sent_with_their_media_type() {
    let server = Server::start([sent()]).await;
    let bot = bot(&server.url);
    let blob = BlobId::from_u128(3);
    let media_type = "image/png".parse().unwrap();
    let file = Attachment { blob, media_type, name: Some("pizza.png".into()), size: 5 };
    let parts = vec![MessagePart::text("look"), MessagePart::from_attachment(file)];
    let pieces = bot.pieces(&OutboundMessage { parts, ..message("7", "") });
    assert_eq!(pieces.len(), 2);
    let files = FileContents::from([(blob, "bytes".into())]);
    let outcome = with_timeout(bot.send(&pieces[1], SEND, &files, NOW)).await;
    assert_eq!(outcome, SendOutcome::Delivered { provider_id: Some("42".into()) });
    let seen = &server.seen()[0];
    let body = String::from_utf8_lossy(&seen.body).into_owned();
    assert!(seen.path().ends_with("/sendPhoto"));
    for expected in
        ["name=\"chat_id\"\r\n\r\n7\r\n", "filename=\"pizza.png\"", "image/png", "bytes"]
    {
        assert!(body.contains(expected), "{expected} in {body}");
    }
    let outcome = with_timeout(bot.send(&pieces[1], SEND, &FileContents::new(), NOW)).await;
    assert!(matches!(outcome, SendOutcome::Rejected { .. }), "{outcome:?}");
}

#[tokio::test]
async fn a_file_is_fetched_within_limits_of_size_and_time() {
    let file = RemoteFile {
        source: FileSource::Telegram("f1".into()),
        media_type: "image/png".parse().unwrap(),
        name: None,
        size: None,
    };
    let at = |path: &str| Reply::json(200, &json!({"ok": true, "result": {"file_path": path}}));
    let server = Server::start([at("photos/1.png"), Reply::Status(200, "", b"png".to_vec())]).await;
    let fetched = with_timeout(bot(&server.url).fetch_file(&file)).await.unwrap();
    assert_eq!(&fetched.bytes[..], b"png");
    assert_eq!(server.seen()[1].path(), "/file/bot123:secret-token/photos/1.png");

    let check = async |replies: Vec<Reply>, expected: &dyn Fn(&CallError) -> bool| {
        let server = Server::start(replies.clone()).await;
        let settings = json!({"base_url": server.url});
        let hangs = replies.iter().any(|reply| matches!(reply, Reply::Hang));
        let wait = Duration::from_secs(if hangs { 1 } else { 60 });
        let bot = open_with_timeout("telegram", &settings, TOKEN, wait);
        let error = with_timeout(bot.fetch_file(&file)).await.unwrap_err();
        assert!(expected(&error), "{error:?}");
        assert!(!format!("{error:?} {error}").contains("secret-token"), "{error:?}");
    };
    let too_large = |error: &CallError| *error == CallError::TooLarge;
    let later = |error: &CallError| matches!(error, CallError::Retryable { .. });
    let refused = |error: &CallError| matches!(error, CallError::Rejected(_));
    let huge = Reply::Status(200, "", vec![0; 21 * 1024 * 1024]);
    check(vec![at("a"), huge], &too_large).await;
    check(vec![error(400, "Bad Request: file is too big")], &too_large).await;
    check(vec![at("a"), Reply::Hang], &later).await;
    check(vec![at("a"), Reply::Cut], &later).await;
    check(vec![at("../../etc")], &refused).await;
    check(vec![at("a"), error(404, "gone")], &refused).await;
}

/// The secret of the webhook is the one that was registered.
#[tokio::test]
async fn an_update_needs_the_secret_of_the_webhook() {
    let server = Server::start([Reply::json(200, &json!({"ok": true, "result": true}))]).await;
    let connection = bot(&server.url);
    let ChannelConnection::Telegram(telegram) = &connection else { panic!() };
    with_timeout(telegram.set_webhook("https://ostler.example/hooks/1")).await.unwrap();
    let registered = server.seen()[0].json();
    assert_eq!(registered["url"], "https://ostler.example/hooks/1");
    let secret = registered["secret_token"].as_str().unwrap().to_owned();
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
    assert_eq!(receive(Some(&secret), edited), Ok(ReceiveOutcome::Ignored(IgnoreReason::Edited)));
    let header = "x-telegram-bot-api-secret-token";
    assert_eq!(receive(None, edited), Err(ReceiveError::Unsigned(header)));
    for wrong in ["", "x", &secret[1..], &secret.to_uppercase()] {
        assert_eq!(receive(Some(wrong), edited), Err(ReceiveError::BadSignature), "{wrong}");
    }
    for body in ["", "{", "[]", r#"{"update_id": "x"}"#] {
        let result = receive(Some(&secret), body);
        assert!(matches!(result, Err(ReceiveError::BadBody(_))), "{body}: {result:?}");
    }
}

#[tokio::test]
async fn unconfirmed_updates_are_polled_again() {
    let update = |id: i64, text: &str| {
        json!({"update_id": id, "message": {"message_id": id, "from": {"id": 7},
            "chat": {"id": 7, "type": "private"}, "text": text}})
    };
    let updates = json!({"ok": true, "result": [update(5, "a"), {"update_id": 6, "odd": 1},
        update(7, "b"), "nonsense"]});
    let conflict = error(409, "Conflict: terminated by other getUpdates request");
    let server = Server::start([
        Reply::json(200, &updates),
        Reply::json(200, &updates),
        Reply::json(200, &updates),
        conflict,
    ])
    .await;
    let connection = bot(&server.url);
    let ChannelConnection::Telegram(telegram) = &connection else { panic!() };
    let mut poller = telegram.poller();
    let wait = Duration::from_secs(1);
    let batch = with_timeout(poller.poll(wait)).await.unwrap();
    let texts: Vec<String> = batch
        .iter()
        .map(|(_, received)| match received {
            ReceiveOutcome::Message(inbound) => match &inbound.content {
                InboundContent::Message(parts) => match &parts[0] {
                    InboundPart::Text(text) => text.clone(),
                    other => format!("{other:?}"),
                },
                other => format!("{other:?}"),
            },
            ReceiveOutcome::Ignored(reason) => reason.to_string(),
        })
        .collect();
    assert_eq!(texts, ["a", "`odd` is not supported", "b"]);
    with_timeout(poller.poll(wait)).await.unwrap();
    poller.confirm(batch[2].0);
    poller.confirm(batch[0].0);
    with_timeout(poller.poll(wait)).await.unwrap();
    let offsets: Vec<Value> =
        server.seen().iter().map(|seen| seen.json()["offset"].clone()).collect();
    assert_eq!(offsets, [Value::Null, Value::Null, json!(8)]);
    let error = with_timeout(poller.poll(wait)).await.unwrap_err();
    assert!(error.to_string().contains("terminated by other getUpdates"), "{error}");
}
