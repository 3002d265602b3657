//! The generic webhook in both directions.

use std::time::Duration;

use http::HeaderMap;
use ostler_channels::error::{CallError, ReceiveError};
use ostler_channels::inbound::{FileSource, ReceiveOutcome, RemoteFile};
use ostler_channels::outbound::{FileContents, OutboundMessage, SendContext};
use ostler_channels::outcome::SendOutcome;
use ostler_domain::id::BlobId;
use ostler_domain::message::{Attachment, MessagePart};
use serde_json::json;

use crate::fake_server::{Reply, Server};
use crate::real_servers::{free_port, with_timeout};
use crate::support::{KEY, NOW, SEND, keys, message, open, open_with_timeout, piece, send, signed};

#[tokio::test]
async fn c16_plain_text_is_sent_in_signed_pieces() {
    let server = Server::start([Reply::json(202, &json!({"id": "sm_1"}))]).await;
    let settings = json!({"url": format!("{}/hook", server.url), "max_chars": 20});
    let gateway = open("sms", &settings, KEY);
    let pieces = gateway.pieces(&message("+39061234", "Your **pizza** is [here](http://x.it)"));
    for piece in &pieces {
        let outcome = with_timeout(gateway.send(piece, SEND, &FileContents::new(), NOW)).await;
        assert_eq!(outcome, SendOutcome::Delivered { provider_id: Some("sm_1".into()) });
    }
    let seen = server.seen();
    assert_eq!(seen.len(), 2);
    let bodies: Vec<_> = seen.iter().map(crate::fake_server::SeenRequest::json).collect();
    let expected = |number: u32, text: &str| {
        json!({"type": "message", "id": "out_1", "piece": number, "channel": "sms",
            "to": "+39061234", "text": text, "format": "plain", "possible_duplicate": false})
    };
    assert_eq!(bodies, [expected(0, "Your pizza is here"), expected(1, "(http://x.it)")]);
    for (number, seen) in seen.iter().enumerate() {
        assert_eq!(seen.path(), "/hook");
        let verified = keys().verify(&seen.headers(), &seen.body, NOW).unwrap();
        assert_eq!(verified.id, format!("out_1.{number}"));
    }
}

#[tokio::test]
async fn z09_a_resend_has_the_same_id_and_is_marked_as_duplicate() {
    let server = Server::start([Reply::Cut, Reply::json(200, &json!({}))]).await;
    let gateway = open("webhook", &json!({"url": server.url, "format": "markdown"}), KEY);
    let piece = piece(&gateway, &message("7", "**hi**"));
    let first = with_timeout(gateway.send(&piece, SEND, &FileContents::new(), NOW)).await;
    assert!(matches!(first, SendOutcome::Unknown { .. }), "{first:?}");
    let resend = SendContext { possible_duplicate: true, ..SEND };
    let second = with_timeout(gateway.send(&piece, resend, &FileContents::new(), NOW)).await;
    assert_eq!(second, SendOutcome::Delivered { provider_id: None });
    let seen = server.seen();
    let ids: Vec<_> = seen.iter().map(|seen| seen.headers()["webhook-id"].clone()).collect();
    assert_eq!(ids[0], ids[1]);
    assert_eq!(
        (&seen[0].json()["text"], &seen[0].json()["format"]),
        (&json!("**hi**"), &json!("markdown"))
    );
    let marks: Vec<_> = seen.iter().map(|seen| seen.json()["possible_duplicate"].clone()).collect();
    assert_eq!(marks, [json!(false), json!(true)]);
}

#[tokio::test]
async fn c17_http_status_decides_the_outcome() {
    let check = async |status: u16, headers: &'static str, expected: SendOutcome| {
        let server = Server::start([Reply::Status(status, headers, b"why".to_vec())]).await;
        let outcome =
            send(&open("webhook", &json!({"url": server.url}), KEY), &message("7", "hi")).await;
        assert_eq!(outcome, expected);
    };
    let reason = |status: u16| format!("the gateway responded with HTTP {status}: why");
    let retry = |status, after: Option<u64>| SendOutcome::Retry {
        retry_after: after.map(Duration::from_secs),
        reason: reason(status),
    };
    check(429, "retry-after: 5\r\n", retry(429, Some(5))).await;
    check(503, "", retry(503, None)).await;
    check(500, "", retry(500, None)).await;
    for status in [301, 400, 404, 410] {
        let headers = "location: http://127.0.0.1:1/\r\n";
        check(status, headers, SendOutcome::Rejected { reason: reason(status) }).await;
    }
    let unreachable = json!({"url": format!("http://127.0.0.1:{}", free_port())});
    let outcome = send(&open("webhook", &unreachable, KEY), &message("7", "hi")).await;
    assert!(matches!(outcome, SendOutcome::Retry { .. }), "{outcome:?}");
    let slow = Server::start([Reply::Hang]).await;
    let gateway =
        open_with_timeout("webhook", &json!({"url": slow.url}), KEY, Duration::from_millis(500));
    let outcome = send(&gateway, &message("7", "hi")).await;
    assert!(matches!(outcome, SendOutcome::Unknown { .. }), "{outcome:?}");
}

#[tokio::test]
async fn files_are_included_in_base_64() {
    let server = Server::start([Reply::json(200, &json!({}))]).await;
    let gateway = open("whatsapp", &json!({"url": server.url}), KEY);
    let blob = BlobId::from_u128(3);
    let media_type = "image/png".parse().unwrap();
    let file = Attachment { blob, media_type, name: Some("a.png".into()), size: 2 };
    let message =
        OutboundMessage { parts: vec![MessagePart::from_attachment(file)], ..message("+39", "") };
    let piece = piece(&gateway, &message);
    let files = FileContents::from([(blob, "hi".into())]);
    with_timeout(gateway.send(&piece, SEND, &files, NOW)).await;
    let attachments = server.seen()[0].json()["attachments"].clone();
    let expected =
        json!([{"media_type": "image/png", "name": "a.png", "size": 2, "content": "aGk="}]);
    assert_eq!(attachments, expected);
}

#[tokio::test]
async fn inbound_requests_must_be_signed() {
    let gateway = open("sms", &json!({"url": "https://gateway.example"}), KEY);
    let receive =
        |body: &str, of: &str| gateway.receive(&signed("msg_1", of), body.as_bytes(), NOW);
    let body = r#"{"type": "message", "from": {"id": "+39 06"}, "text": "ciao"}"#;
    let Ok(ReceiveOutcome::Message(message)) = receive(body, body) else { panic!() };
    assert_eq!((message.id.as_str(), message.from.identifier.as_str()), ("msg_1", "+3906"));
    assert_eq!(receive(body, "another"), Err(ReceiveError::BadSignature));
    assert!(matches!(receive("{", "{"), Err(ReceiveError::BadBody(_))));
    let unsigned = gateway.receive(&HeaderMap::new(), body.as_bytes(), NOW);
    assert_eq!(unsigned, Err(ReceiveError::Unsigned("webhook-id")));
}

#[tokio::test]
async fn files_are_fetched_from_allowed_origins_only() {
    let ours = Server::start([Reply::Status(200, "", b"png".to_vec())]).await;
    let other = Server::start([Reply::Status(200, "", b"secret".to_vec())]).await;
    let file = |url: &str| RemoteFile {
        source: FileSource::Url(format!("{url}/1")),
        media_type: "image/png".parse().unwrap(),
        name: None,
        size: None,
    };
    let gateway = open("webhook", &json!({"url": ours.url}), KEY);
    assert_eq!(
        &with_timeout(gateway.fetch_file(&file(&ours.url))).await.unwrap().bytes[..],
        b"png"
    );
    let refused = with_timeout(gateway.fetch_file(&file(&other.url))).await;
    assert!(matches!(refused, Err(CallError::Rejected(_))), "{refused:?}");
    assert_eq!(other.seen().len(), 0);
    let settings = json!({"url": ours.url, "file_origins": [other.url]});
    let gateway = open("webhook", &settings, KEY);
    assert!(with_timeout(gateway.fetch_file(&file(&other.url))).await.is_ok());
    let redirect = "location: http://127.0.0.1:1/\r\n";
    let away = Server::start([Reply::Status(302, redirect, vec![])]).await;
    let gateway = open("webhook", &json!({"url": away.url}), KEY);
    let refused = with_timeout(gateway.fetch_file(&file(&away.url))).await;
    assert!(matches!(refused, Err(CallError::Rejected(_))), "{refused:?}");
}
