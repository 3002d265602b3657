//! Requests that are almost right: bodies of every channel, changed at random. Each is accepted,
//! ignored or refused; none panics, and what is accepted is within the limits.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use http::{HeaderMap, HeaderValue};
use ostler_channels::connection::ChannelConnection;
use ostler_channels::inbound::{InboundContent, InboundPart, ReceiveOutcome};
use ostler_channels::limits::{MAX_ID_BYTES, MAX_TEXT_BYTES};
use ostler_channels::webchat::VisitorTokenRequest;
use proptest::prelude::{any, prop, prop_oneof};
use proptest::sample::select;
use proptest::strategy::{Just, Strategy};
use proptest::test_runner::TestRunner;
use serde_json::json;

use crate::fake_server::{Reply, Server};
use crate::support::{KEY, NOW, open, signed};

/// What is put into a body: pieces of syntax that parsers stumble over.
const TOKENS: [&str; 24] = [
    "\"",
    "\\",
    "\\u0000",
    "\\ud800",
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "null",
    "1e999",
    "-0",
    "\r\n\r\n",
    "--b\n",
    "--b--",
    "=?utf-8?Q?=FF?=",
    "=3D",
    "<a href=\"",
    "&#x110000;",
    "> ",
    "On x wrote:\n",
    "Content-Type: message/rfc822\n",
    "\u{202e}\u{0}é",
];

/// A change of a body.
#[derive(Debug, Clone)]
enum Edit {
    Insert(usize, String),
    Replace(usize, u8),
    Delete(usize, usize),
    Repeat(usize, usize, usize),
}

fn edits() -> impl Strategy<Value = Vec<Edit>> {
    let at = || any::<u16>().prop_map(usize::from);
    let token = prop_oneof![
        select(TOKENS.to_vec()).prop_map(str::to_owned),
        (select(TOKENS.to_vec()), 1..200_usize).prop_map(|(token, count)| token.repeat(count)),
        "\\PC{0,20}",
    ];
    let edit = prop_oneof![
        (at(), token).prop_map(|(at, text)| Edit::Insert(at, text)),
        (at(), any::<u8>()).prop_map(|(at, byte)| Edit::Replace(at, byte)),
        (at(), 0..40_usize).prop_map(|(at, count)| Edit::Delete(at, count)),
        (at(), 1..60_usize, 1..40_usize)
            .prop_map(|(at, length, count)| { Edit::Repeat(at, length, count) }),
        Just(Edit::Delete(0, 0)),
    ];
    prop::collection::vec(edit, 0..8)
}

fn apply(body: &[u8], edits: &[Edit]) -> Vec<u8> {
    let mut body = body.to_vec();
    for edit in edits {
        let within = |at: usize, body: &[u8]| at % (body.len() + 1);
        match edit {
            Edit::Insert(at, text) => {
                let at = within(*at, &body);
                body.splice(at..at, text.bytes());
            }
            Edit::Replace(at, byte) => {
                let at = within(*at, &body);
                if let Some(place) = body.get_mut(at) {
                    *place = *byte;
                }
            }
            Edit::Delete(at, count) => {
                let at = within(*at, &body);
                body.drain(at..(at + count).min(body.len()));
            }
            Edit::Repeat(at, length, count) => {
                let at = within(*at, &body);
                let part = body[at..(at + length).min(body.len())].repeat(*count);
                body.splice(at..at, part);
            }
        }
    }
    body
}

/// Checks what was accepted.
fn check(received: &ReceiveOutcome) {
    let ReceiveOutcome::Message(message) = received else { return };
    assert!(!message.from.identifier.is_empty(), "{message:?}");
    assert!(message.from.identifier.len() <= MAX_ID_BYTES, "{message:?}");
    let InboundContent::Message(parts) = &message.content else { return };
    let length = |part: &InboundPart| match part {
        InboundPart::Text(text) => text.len(),
        _ => 0,
    };
    // A notice about what was cut comes on top.
    assert!(parts.iter().map(length).sum::<usize>() <= MAX_TEXT_BYTES + 1024, "{message:?}");
}

/// Sends changed bodies to a connection, each with headers that it believes.
fn fuzz(
    connection: &ChannelConnection,
    samples: &[Vec<u8>],
    headers: &dyn Fn(&[u8]) -> HeaderMap,
    wrap: &dyn Fn(Vec<u8>) -> Vec<u8>,
) {
    for sample in samples {
        let body = wrap(sample.clone());
        let received = connection.receive(&headers(&body), &body, NOW);
        assert!(matches!(received, Ok(ReceiveOutcome::Message(_))), "{received:?}");
    }
    let strategy = (select(samples.to_vec()), edits());
    let tried = TestRunner::default().run(&strategy, |(sample, edits)| {
        let body = wrap(apply(&sample, &edits));
        if let Ok(received) = connection.receive(&headers(&body), &body, NOW) {
            check(&received);
        }
        Ok(())
    });
    tried.unwrap();
}

fn signature(body: &[u8]) -> HeaderMap {
    // The signature of a body that is not text does not matter: it is not parsed.
    std::str::from_utf8(body).map(|body| signed("msg_1", body)).unwrap_or_default()
}

fn unchanged(body: Vec<u8>) -> Vec<u8> {
    body
}

/// S05: any request to a webhook is accepted, ignored or refused.
#[test]
fn s05_generated_webhooks_are_parsed_or_refused() {
    let gateway = open("sms", &json!({"url": "https://gateway.example"}), KEY);
    let samples = [
        json!({"type": "message", "from": {"id": "+39 06", "name": "Rosa"}, "text": "ciao",
            "attachments": [{"url": "https://gateway.example/1", "media_type": "image/png"}]}),
        json!({"type": "press", "from": {"id": "rosa"}, "press": "confirm:1"}),
        json!({"type": "message", "from": {"id": "rosa"}, "group": "g", "reply_to": "2", "text": "x"}),
    ];
    let samples = samples.map(|sample| sample.to_string().into_bytes());
    fuzz(&gateway, &samples, &signature, &unchanged);
}

/// S05: any mail is accepted, ignored or refused, as a whole and as its fields.
#[test]
fn s05_generated_mails_are_parsed_or_refused() {
    let settings = json!({"from": "ciao@bella.example", "inbound_secret": "env:INBOUND",
        "smtp": {"host": "127.0.0.1", "port": 1, "security": "none"}});
    let mailbox = open("email", &settings, KEY);
    let fields = json!({"from": {"email": "rosa@example.com", "name": "Rosa"}, "dmarc": "pass",
        "subject": "Re: hi", "text": "ciao\n\nOn Monday Bella wrote:\n> hi",
        "html": "<p>ciao</p><blockquote>hi</blockquote>", "references": ["<1@x>"],
        "attachments": [{"name": "a.png", "media_type": "image/png", "content": "aGk="}]});
    fuzz(&mailbox, &[fields.to_string().into_bytes()], &signature, &unchanged);
    let mail = "From: Rosa <rosa@example.com>\nTo: ciao@bella.example\nSubject: =?utf-8?Q?hi?=\n\
        Message-ID: <2@x>\nIn-Reply-To: <1@x>\nReferences: <0@x> <1@x>\n\
        Authentication-Results: mx.example; dmarc=pass header.from=example.com\n\
        MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=b\n\n\
        --b\nContent-Type: text/html; charset=utf-8\nContent-Transfer-Encoding: quoted-printable\n\n\
        <p>ciao=20</p><table><tr><td>1</td></tr></table>\n\
        --b\nContent-Type: text/plain\n\nciao\n\nOn Monday Bella wrote:\n> hi\n\
        --b\nContent-Type: image/png; name=a.png\nContent-Transfer-Encoding: base64\n\naGk=\n--b--\n";
    let raw = |mail: Vec<u8>| json!({"raw": BASE64.encode(mail)}).to_string().into_bytes();
    fuzz(&mailbox, &[mail.as_bytes().to_vec()], &signature, &raw);
}

/// S05: any message of a web chat is accepted or refused.
#[test]
fn s05_generated_chat_messages_are_parsed_or_refused() {
    let connection = open("webchat", &json!({}), &"c".repeat(40));
    let ChannelConnection::Webchat(chat) = &connection else { panic!() };
    let anonymous = VisitorTokenRequest { email: None, proof: None, expires: None };
    let token = chat.issue_token(&anonymous, 7, NOW).unwrap().token;
    let headers = |_: &[u8]| {
        let bearer = HeaderValue::from_str(&format!("Bearer {token}")).unwrap();
        HeaderMap::from_iter([(http::header::AUTHORIZATION, bearer)])
    };
    let samples = [
        json!({"id": "1", "text": "ciao", "files": [
            {"name": "a.png", "media_type": "image/png", "content": "aGk="}]}),
        json!({"id": "2", "press": "confirm:1"}),
    ];
    let samples = samples.map(|sample| sample.to_string().into_bytes());
    fuzz(&connection, &samples, &headers, &unchanged);
}

/// S05: any update of Telegram is accepted, ignored or refused.
#[tokio::test]
async fn s05_generated_updates_are_parsed_or_refused() {
    let server = Server::start([Reply::json(200, &json!({"ok": true, "result": true}))]).await;
    let connection = open("telegram", &json!({"base_url": server.url}), "123:secret-token");
    let ChannelConnection::Telegram(bot) = &connection else { panic!() };
    bot.set_webhook("https://ostler.example/hooks/1").await.unwrap();
    let secret = server.seen()[0].json()["secret_token"].as_str().unwrap().to_owned();
    let headers = |_: &[u8]| {
        let value = HeaderValue::from_str(&secret).unwrap();
        let name = http::HeaderName::from_static("x-telegram-bot-api-secret-token");
        HeaderMap::from_iter([(name, value)])
    };
    let from = json!({"id": 7, "is_bot": false, "first_name": "Rosa", "language_code": "it"});
    let chat = json!({"id": 7, "type": "private"});
    let samples = [
        json!({"update_id": 1, "message": {"message_id": 2, "date": 1, "from": from, "chat": chat,
            "text": "/start x", "entities": [{"type": "bot_command", "offset": 0, "length": 6}],
            "reply_to_message": {"message_id": 1, "date": 1, "chat": chat}}}),
        json!({"update_id": 3, "message": {"message_id": 3, "date": 1, "from": from, "chat": chat,
            "caption": "hi", "photo": [{"file_id": "f", "width": 1, "height": 1, "file_size": 9}]}}),
        json!({"update_id": 4, "callback_query": {"id": "9", "from": from, "data": "confirm:1",
            "message": {"message_id": 1, "date": 1, "chat": chat}}}),
    ];
    let samples = samples.map(|sample| sample.to_string().into_bytes());
    fuzz(&connection, &samples, &headers, &unchanged);
}
