//! The generic webhook, both ways.

use std::time::Duration;

use http::HeaderMap;
use ostler_channels::error::{CallError, ReceiveError};
use ostler_channels::inbound::{Received, RemoteFile, Source};
use ostler_channels::outbound::{Files, Outbound, Sending};
use ostler_channels::outcome::Outcome;
use ostler_domain::id::BlobId;
use ostler_domain::message::{Attachment, Part};
use serde_json::json;

use crate::real::{free_port, within};
use crate::server::{Reply, Server};
use crate::support::{HOW, KEY, NOW, keys, message, open, open_hasty, piece, send, signed};

/// C16: a phone gets plain text, in pieces, each signed.
#[tokio::test]
async fn c16_a_gateway_gets_signed_plain_text() {
    let server = Server::start([Reply::json(202, &json!({"id": "sm_1"}))]).await;
    let settings = json!({"url": format!("{}/hook", server.url), "max_chars": 20});
    let gateway = open("sms", &settings, KEY);
    let pieces = gateway.pieces(&message("+39061234", "Your **pizza** is [here](http://x.it)"));
    for piece in &pieces {
        let outcome = within(gateway.send(piece, HOW, &Files::new(), NOW)).await;
        assert_eq!(outcome, Outcome::Delivered { provider_id: Some("sm_1".into()) });
    }
    let seen = server.seen();
    assert_eq!(seen.len(), 2);
    let bodies: Vec<_> = seen.iter().map(crate::server::Seen::json).collect();
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

/// Z09: the id of a repeat is the same, and it says that it is one.
#[tokio::test]
async fn z09_a_repeat_has_the_same_id_and_says_so() {
    let server = Server::start([Reply::Cut, Reply::json(200, &json!({}))]).await;
    let gateway = open("webhook", &json!({"url": server.url, "format": "markdown"}), KEY);
    let piece = piece(&gateway, &message("7", "**hi**"));
    let first = within(gateway.send(&piece, HOW, &Files::new(), NOW)).await;
    assert!(matches!(first, Outcome::Unknown { .. }), "{first:?}");
    let again = Sending { again: true, ..HOW };
    let second = within(gateway.send(&piece, again, &Files::new(), NOW)).await;
    assert_eq!(second, Outcome::Delivered { provider_id: None });
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
async fn c17_every_status_has_a_meaning() {
    let check = async |status: u16, headers: &'static str, expected: Outcome| {
        let server = Server::start([Reply::Status(status, headers, b"why".to_vec())]).await;
        let outcome =
            send(&open("webhook", &json!({"url": server.url}), KEY), &message("7", "hi")).await;
        assert_eq!(outcome, expected);
    };
    let reason = |status: u16| format!("the gateway answered with HTTP {status}: why");
    let retry = |status, after: Option<u64>| Outcome::Retry {
        after: after.map(Duration::from_secs),
        reason: reason(status),
    };
    check(429, "retry-after: 5\r\n", retry(429, Some(5))).await;
    check(503, "", retry(503, None)).await;
    check(500, "", retry(500, None)).await;
    for status in [301, 400, 404, 410] {
        let headers = "location: http://127.0.0.1:1/\r\n";
        check(status, headers, Outcome::Rejected { reason: reason(status) }).await;
    }
    let nobody = json!({"url": format!("http://127.0.0.1:{}", free_port())});
    let outcome = send(&open("webhook", &nobody, KEY), &message("7", "hi")).await;
    assert!(matches!(outcome, Outcome::Retry { .. }), "{outcome:?}");
    let slow = Server::start([Reply::Hang]).await;
    let hasty = open_hasty("webhook", &json!({"url": slow.url}), KEY, Duration::from_millis(500));
    let outcome = send(&hasty, &message("7", "hi")).await;
    assert!(matches!(outcome, Outcome::Unknown { .. }), "{outcome:?}");
}

#[tokio::test]
async fn files_and_buttons_go_along() {
    let server = Server::start([Reply::json(200, &json!({}))]).await;
    let gateway = open("whatsapp", &json!({"url": server.url}), KEY);
    let blob = BlobId::from_u128(3);
    let media_type = "image/png".parse().unwrap();
    let file = Attachment { blob, media_type, name: Some("a.png".into()), size: 2 };
    let message = Outbound { parts: vec![Part::attached(file)], ..message("+39", "") };
    let piece = piece(&gateway, &message);
    let files = Files::from([(blob, "hi".into())]);
    within(gateway.send(&piece, HOW, &files, NOW)).await;
    let attachments = server.seen()[0].json()["attachments"].clone();
    let expected =
        json!([{"media_type": "image/png", "name": "a.png", "size": 2, "content": "aGk="}]);
    assert_eq!(attachments, expected);
}

#[tokio::test]
async fn what_comes_in_is_checked_first() {
    let gateway = open("sms", &json!({"url": "https://gateway.example"}), KEY);
    let receive =
        |body: &str, of: &str| gateway.receive(&signed("msg_1", of), body.as_bytes(), NOW);
    let body = r#"{"type": "message", "from": {"id": "+39 06"}, "text": "ciao"}"#;
    let Ok(Received::Inbound(read)) = receive(body, body) else { panic!() };
    assert_eq!((read.id.as_str(), read.from.identifier.as_str()), ("msg_1", "+3906"));
    assert_eq!(receive(body, "another"), Err(ReceiveError::BadSignature));
    assert!(matches!(receive("{", "{"), Err(ReceiveError::BadBody(_))));
    let unsigned = gateway.receive(&HeaderMap::new(), body.as_bytes(), NOW);
    assert_eq!(unsigned, Err(ReceiveError::Unsigned("webhook-id")));
}

/// A file is fetched from the gateway and from nowhere else.
#[tokio::test]
async fn a_file_is_fetched_from_known_places_only() {
    let ours = Server::start([Reply::Status(200, "", b"png".to_vec())]).await;
    let other = Server::start([Reply::Status(200, "", b"secret".to_vec())]).await;
    let file = |url: &str| RemoteFile {
        source: Source::Url(format!("{url}/1")),
        media_type: "image/png".parse().unwrap(),
        name: None,
        size: None,
    };
    let gateway = open("webhook", &json!({"url": ours.url}), KEY);
    assert_eq!(&within(gateway.fetch(&file(&ours.url))).await.unwrap().bytes[..], b"png");
    let refused = within(gateway.fetch(&file(&other.url))).await;
    assert!(matches!(refused, Err(CallError::Refused(_))), "{refused:?}");
    assert_eq!(other.seen().len(), 0);
    let settings = json!({"url": ours.url, "file_origins": [other.url]});
    let gateway = open("webhook", &settings, KEY);
    assert!(within(gateway.fetch(&file(&other.url))).await.is_ok());
    let leads_away = "location: http://127.0.0.1:1/\r\n";
    let away = Server::start([Reply::Status(302, leads_away, vec![])]).await;
    let gateway = open("webhook", &json!({"url": away.url}), KEY);
    let refused = within(gateway.fetch(&file(&away.url))).await;
    assert!(matches!(refused, Err(CallError::Refused(_))), "{refused:?}");
}
