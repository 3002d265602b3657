//! A real SMTP server: aiosmtpd, from PyPI. What it gets is brought back in as
//! mail that came in.

use ostler_channels::inbound::{Content, InboundPart, Received, Source};
use ostler_channels::mail_thread::Thread;
use ostler_channels::outbound::{Files, Outbound, Writing};
use ostler_channels::outcome::Outcome;
use ostler_domain::id::BlobId;
use ostler_domain::message::{Attachment, Part};
use serde_json::{Value, json};

use crate::real::{Smtp, within};
use crate::support::{HOW, KEY, NOW, message, open, piece, send, signed};

/// C16: a mail is text and HTML, answers below its question, and carries files.
#[tokio::test]
async fn c16_a_mail_goes_through_a_real_server() {
    let mut smtp = Smtp::start().await;
    let mailbox = open("email", &smtp.settings("none"), "hunter2");
    let blob = BlobId::from_u128(3);
    let media_type = "text/csv".parse().unwrap();
    let file = Attachment { blob, media_type, name: Some("menù.csv".into()), size: 7 };
    let references = vec!["1@example.com".to_owned()];
    let mail = Outbound {
        to: "rosa@example.com".into(),
        parts: vec![Part::text("Ciao **Rosa**, perché no?\n.\n- 🍕 < €8"), Part::attached(file)],
        writing: Writing::Markdown,
        buttons: vec![],
        reply_to: None,
        thread: Some(Thread::after("Re: Pizza à la carte", references, Some("2@example.com"))),
    };
    let piece = piece(&mailbox, &mail);
    let files = Files::from([(blob, "a,b\n1,2".into())]);
    let outcome = within(mailbox.send(&piece, HOW, &files, NOW)).await;
    let id = "out_1.0@bella.example";
    assert_eq!(outcome, Outcome::Delivered { provider_id: Some(id.into()) });

    let mail = smtp.next_mail().await;
    assert_eq!((&mail["user"], &mail["to"]), (&json!(true), &json!(["rosa@example.com"])));
    let parsed = parse(&mail["raw"]);
    assert_eq!(parsed.message.as_deref(), Some(id));
    assert_eq!(parsed.from.name.as_deref(), Some("Bella Pizza"));
    assert_eq!(parsed.reply_to.as_deref(), Some("2@example.com"));
    let thread = parsed.thread.unwrap();
    assert_eq!(thread.subject, "Pizza à la carte");
    assert_eq!(thread.references, ["1@example.com", "2@example.com", id]);
    let Content::Message(parts) = parsed.content else { panic!() };
    assert_eq!(parts[0], InboundPart::Text("Ciao Rosa, perché no?\n.\n\n• 🍕 < €8".into()));
    let InboundPart::File(file) = &parts[1] else { panic!("{parts:?}") };
    assert_eq!(file.source, Source::Inline("a,b\n1,2".into()));
    assert_eq!(file.name.as_deref(), Some("menù.csv"));
}

/// Reads a mail as another mailbox would get it through its gateway.
fn parse(raw: &Value) -> ostler_channels::inbound::Inbound {
    let settings = json!({"from": "rosa@example.com", "smtp": {"host": "x"},
        "inbound_secret": "env:INBOUND"});
    let rosa = open("email", &settings, KEY);
    // Ostler answers no answer of a machine: what marks it as one is taken away.
    let text = base64_decode(raw.as_str().unwrap());
    assert!(text.contains("Auto-Submitted: auto-replied\r\n"), "{text}");
    let text = text.replace("Auto-Submitted: auto-replied\r\n", "");
    let body = json!({"raw": base64_encode(&text)}).to_string();
    match rosa.receive(&signed("m", &body), body.as_bytes(), NOW) {
        Ok(Received::Inbound(inbound)) => *inbound,
        other => panic!("{other:?}: {text}"),
    }
}

fn base64_decode(text: &str) -> String {
    use base64::Engine as _;
    let bytes = base64::engine::general_purpose::STANDARD.decode(text).unwrap();
    String::from_utf8(bytes).unwrap()
}

fn base64_encode(text: &str) -> String {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD.encode(text)
}

#[tokio::test]
async fn a_wrong_password_and_a_server_without_tls_are_refused() {
    let smtp = Smtp::start().await;
    let wrong = open("email", &smtp.settings("none"), "hunter3");
    let outcome = send(&wrong, &message("rosa@example.com", "hi")).await;
    assert!(
        matches!(&outcome, Outcome::Rejected { reason } if reason.contains("password")),
        "{outcome:?}"
    );
    // TLS that was asked for is never left out.
    let starttls = open("email", &smtp.settings("starttls"), "hunter2");
    let outcome = send(&starttls, &message("rosa@example.com", "hi")).await;
    assert!(
        matches!(&outcome, Outcome::Rejected { reason } if reason.contains("STARTTLS")),
        "{outcome:?}"
    );
}
