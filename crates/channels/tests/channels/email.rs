//! E-mail with a mail server that misbehaves.

use std::time::Duration;

use ostler_channels::error::ReceiveError;
use ostler_channels::inbound::{IgnoreReason, ReceiveOutcome};
use ostler_channels::outcome::SendOutcome;
use serde_json::{Value, json};

use crate::fake_smtp::Step::{Close, Hang, Reply};
use crate::fake_smtp::{FakeSmtpServer, Step};
use crate::real_servers::free_port;
use crate::support::{KEY, NOW, message, open, open_with_timeout, send, signed};

fn settings(port: u16, username: Option<&str>) -> Value {
    json!({"from": "Bella <ciao@bella.example>", "smtp": {"host": "127.0.0.1", "port": port,
        "security": "none", "username": username}})
}

const HELLO: [Step; 2] = [Reply("220 hi"), Reply("250 hi")];
const OK: Step = Reply("250 ok");
const GO: Step = Reply("354 go");

/// C17, C18, Z09: before the data of the mail nothing was sent; after it the outcome
/// may be unknown.
#[tokio::test]
async fn c17_z09_replies_of_the_mail_server_decide_the_outcome() {
    let check = async |steps: &[Step], expected: &dyn Fn(&SendOutcome) -> bool| {
        let server = FakeSmtpServer::start(&[&HELLO, steps].concat()).await;
        let hangs = steps.iter().any(|step| matches!(step, Hang));
        let wait = Duration::from_secs(if hangs { 5 } else { 60 });
        let mailbox = open_with_timeout("email", &settings(server.port, None), "", wait);
        let outcome = send(&mailbox, &message("rosa@example.com", "hi")).await;
        assert!(expected(&outcome), "{steps:?}: {outcome:?} {:?}", server.commands);
    };
    let retry = |outcome: &SendOutcome| matches!(outcome, SendOutcome::Retry { .. });
    let rejected = |outcome: &SendOutcome| matches!(outcome, SendOutcome::Rejected { .. });
    let unknown = |outcome: &SendOutcome| matches!(outcome, SendOutcome::Unknown { .. });
    let delivered = |outcome: &SendOutcome| {
        *outcome == SendOutcome::Delivered { provider_id: Some("out_1.0@bella.example".into()) }
    };
    check(&[OK, OK, GO, OK, Reply("221 bye")], &delivered).await;
    check(&[OK, OK, GO, OK, Close], &delivered).await;
    check(&[Reply("451 later")], &retry).await;
    check(&[OK, Reply("550 no such person")], &rejected).await;
    check(&[OK, Close], &retry).await;
    check(&[OK, OK, GO, Reply("452 full")], &retry).await;
    check(&[OK, OK, GO, Reply("554 spam")], &rejected).await;
    check(&[OK, OK, GO, Close], &unknown).await;
    tokio::join!(check(&[OK, Hang], &retry), check(&[OK, OK, GO, Hang], &unknown));

    let unreachable = open("email", &settings(free_port(), None), "");
    let outcome = send(&unreachable, &message("rosa@example.com", "hi")).await;
    assert!(retry(&outcome), "{outcome:?}");
    let outcome = send(&unreachable, &message("not an address", "hi")).await;
    assert!(rejected(&outcome), "{outcome:?}");
}

#[tokio::test]
async fn a_rejected_password_is_not_quoted() {
    let steps = [Reply("220 hi"), Reply("250 AUTH PLAIN LOGIN"), Reply("535 hunter2 is wrong")];
    let server = FakeSmtpServer::start(&steps).await;
    let mailbox = open("email", &settings(server.port, Some("bella")), "hunter2");
    let outcome = send(&mailbox, &message("rosa@example.com", "hi")).await;
    let reason = "the mail server rejected the user name and password".into();
    assert_eq!(outcome, SendOutcome::Rejected { reason });
    assert!(!format!("{mailbox:?}").contains("hunter2"));
}

#[tokio::test]
async fn inbound_mail_must_be_signed_and_not_forged() {
    let closed = open("email", &settings(1, None), "");
    let mut with_key = settings(1, None);
    with_key["inbound_secret"] = "env:INBOUND".into();
    let mailbox = open("email", &with_key, KEY);
    let body = json!({"from": {"email": "rosa@example.com"}, "text": "ciao", "dmarc": "none"});
    let receive = |body: &Value| {
        let body = body.to_string();
        mailbox.receive(&signed("msg_1", &body), body.as_bytes(), NOW)
    };
    let Ok(ReceiveOutcome::Message(message)) = receive(&body) else { panic!() };
    assert_eq!(
        (message.id.as_str(), message.from.identifier.as_str()),
        ("msg_1", "rosa@example.com")
    );
    let mut forged = body.clone();
    forged["dmarc"] = "fail".into();
    assert_eq!(receive(&forged), Ok(ReceiveOutcome::Ignored(IgnoreReason::Forged)));
    let other =
        mailbox.receive(&signed("msg_1", &body.to_string()), forged.to_string().as_bytes(), NOW);
    assert_eq!(other, Err(ReceiveError::BadSignature));
    let rejected =
        closed.receive(&signed("msg_1", &body.to_string()), body.to_string().as_bytes(), NOW);
    assert!(matches!(rejected, Err(ReceiveError::InboundDisabled(_))), "{rejected:?}");
}
