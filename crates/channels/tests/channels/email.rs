//! E-mail, when the server misbehaves.

use std::time::Duration;

use ostler_channels::error::ReceiveError;
use ostler_channels::inbound::{Ignored, Received};
use ostler_channels::outcome::Outcome;
use serde_json::{Value, json};

use crate::mailbox::Step::{Cut, Hang, Say};
use crate::mailbox::{Mailbox, Step};
use crate::real::free_port;
use crate::support::{KEY, NOW, message, open, open_hasty, send, signed};

fn settings(port: u16, username: Option<&str>) -> Value {
    json!({"from": "Bella <ciao@bella.example>", "smtp": {"host": "127.0.0.1", "port": port,
        "security": "none", "username": username}})
}

const HELLO: [Step; 2] = [Say("220 hi"), Say("250 hi")];
const OK: Step = Say("250 ok");
const GO: Step = Say("354 go");

/// C17, C18, Z09: up to the mail itself nothing was sent; behind it everything
/// may have been.
#[tokio::test]
async fn c17_z09_every_answer_of_a_mail_server_has_a_meaning() {
    let check = async |steps: &[Step], expected: &dyn Fn(&Outcome) -> bool| {
        let server = Mailbox::start(&[&HELLO, steps].concat()).await;
        let hangs = steps.iter().any(|step| matches!(step, Hang));
        let wait = Duration::from_secs(if hangs { 5 } else { 60 });
        let mailbox = open_hasty("email", &settings(server.port, None), "", wait);
        let outcome = send(&mailbox, &message("rosa@example.com", "hi")).await;
        assert!(expected(&outcome), "{steps:?}: {outcome:?} {:?}", server.told);
    };
    let retry = |outcome: &Outcome| matches!(outcome, Outcome::Retry { .. });
    let rejected = |outcome: &Outcome| matches!(outcome, Outcome::Rejected { .. });
    let unknown = |outcome: &Outcome| matches!(outcome, Outcome::Unknown { .. });
    let delivered = |outcome: &Outcome| {
        *outcome == Outcome::Delivered { provider_id: Some("out_1.0@bella.example".into()) }
    };
    check(&[OK, OK, GO, OK, Say("221 bye")], &delivered).await;
    check(&[OK, OK, GO, OK, Cut], &delivered).await;
    check(&[Say("451 later")], &retry).await;
    check(&[OK, Say("550 no such person")], &rejected).await;
    check(&[OK, Cut], &retry).await;
    check(&[OK, OK, GO, Say("452 full")], &retry).await;
    check(&[OK, OK, GO, Say("554 spam")], &rejected).await;
    check(&[OK, OK, GO, Cut], &unknown).await;
    tokio::join!(check(&[OK, Hang], &retry), check(&[OK, OK, GO, Hang], &unknown));

    let nobody = open("email", &settings(free_port(), None), "");
    let outcome = send(&nobody, &message("rosa@example.com", "hi")).await;
    assert!(retry(&outcome), "{outcome:?}");
    let outcome = send(&nobody, &message("not an address", "hi")).await;
    assert!(rejected(&outcome), "{outcome:?}");
}

#[tokio::test]
async fn a_password_that_is_refused_is_not_repeated() {
    let steps = [Say("220 hi"), Say("250 AUTH PLAIN LOGIN"), Say("535 hunter2 is wrong")];
    let server = Mailbox::start(&steps).await;
    let mailbox = open("email", &settings(server.port, Some("bella")), "hunter2");
    let outcome = send(&mailbox, &message("rosa@example.com", "hi")).await;
    let reason = "the mail server does not accept the user name and password".into();
    assert_eq!(outcome, Outcome::Rejected { reason });
    assert!(!format!("{mailbox:?}").contains("hunter2"));
}

/// Mail comes in signed, and what its gateway knows to be forged does not.
#[tokio::test]
async fn mail_that_comes_in_is_checked_first() {
    let closed = open("email", &settings(1, None), "");
    let mut with_key = settings(1, None);
    with_key["inbound_secret"] = "env:INBOUND".into();
    let mailbox = open("email", &with_key, KEY);
    let body = json!({"from": {"email": "rosa@example.com"}, "text": "ciao", "dmarc": "none"});
    let receive = |body: &Value| {
        let body = body.to_string();
        mailbox.receive(&signed("msg_1", &body), body.as_bytes(), NOW)
    };
    let Ok(Received::Inbound(read)) = receive(&body) else { panic!() };
    assert_eq!((read.id.as_str(), read.from.identifier.as_str()), ("msg_1", "rosa@example.com"));
    let mut forged = body.clone();
    forged["dmarc"] = "fail".into();
    assert_eq!(receive(&forged), Ok(Received::Ignored(Ignored::Forged)));
    let other =
        mailbox.receive(&signed("msg_1", &body.to_string()), forged.to_string().as_bytes(), NOW);
    assert_eq!(other, Err(ReceiveError::BadSignature));
    let nobody =
        closed.receive(&signed("msg_1", &body.to_string()), body.to_string().as_bytes(), NOW);
    assert!(matches!(nobody, Err(ReceiveError::NotReceiving(_))), "{nobody:?}");
}
