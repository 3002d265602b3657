//! A real SMTP server: aiosmtpd from PyPI. The mail that it accepts is received again
//! as inbound mail.

use ostler_channels::email_thread::EmailThread;
use ostler_channels::inbound::{FileSource, InboundContent, InboundPart, ReceiveOutcome};
use ostler_channels::outbound::{FileContents, OutboundMessage, TextFormat};
use ostler_channels::outcome::SendOutcome;
use ostler_domain::id::BlobId;
use ostler_domain::message::{Attachment, MessagePart};
use serde_json::{Value, json};

use crate::real_servers::{SmtpServer, with_timeout};
use crate::support::{KEY, NOW, SEND, message, open, piece, send, signed};

#[tokio::test]
async fn c16_a_mail_with_text_html_thread_and_files_is_sent_and_received() {
    let mut smtp = SmtpServer::start().await;
    let mailbox = open("email", &smtp.settings("none"), "hunter2");
    let blob = BlobId::from_u128(3);
    let media_type = "text/csv".parse().unwrap();
    let file = Attachment { blob, media_type, name: Some("menù.csv".into()), size: 7 };
    let references = vec!["1@example.com".to_owned()];
    let mail = OutboundMessage {
        to: "rosa@example.com".into(),
        parts: vec![
            MessagePart::text("Ciao **Rosa**, perché no?\n.\n- 🍕 < €8"),
            MessagePart::from_attachment(file),
        ],
        text_format: TextFormat::Markdown,
        buttons: vec![],
        reply_to: None,
        email_thread: Some(EmailThread::with_message(
            "Re: Pizza à la carte",
            references,
            Some("2@example.com"),
        )),
    };
    let piece = piece(&mailbox, &mail);
    let files = FileContents::from([(blob, "a,b\n1,2".into())]);
    let outcome = with_timeout(mailbox.send(&piece, SEND, &files, NOW)).await;
    let id = "out_1.0@bella.example";
    assert_eq!(outcome, SendOutcome::Delivered { provider_id: Some(id.into()) });

    let mail = smtp.next_mail().await;
    assert_eq!((&mail["user"], &mail["to"]), (&json!(true), &json!(["rosa@example.com"])));
    let parsed = parse(&mail["raw"]);
    assert_eq!(parsed.message_id.as_deref(), Some(id));
    assert_eq!(parsed.from.name.as_deref(), Some("Bella Pizza"));
    assert_eq!(parsed.reply_to.as_deref(), Some("2@example.com"));
    let thread = parsed.email_thread.unwrap();
    assert_eq!(thread.subject, "Pizza à la carte");
    assert_eq!(thread.references, ["1@example.com", "2@example.com", id]);
    let InboundContent::Message(parts) = parsed.content else { panic!() };
    assert_eq!(parts[0], InboundPart::Text("Ciao Rosa, perché no?\n.\n\n• 🍕 < €8".into()));
    let InboundPart::File(file) = &parts[1] else { panic!("{parts:?}") };
    assert_eq!(file.source, FileSource::Inline("a,b\n1,2".into()));
    assert_eq!(file.name.as_deref(), Some("menù.csv"));
}

/// Receives a mail as the mailbox of its recipient.
fn parse(raw: &Value) -> ostler_channels::inbound::InboundMessage {
    let settings = json!({"from": "rosa@example.com", "smtp": {"host": "x"},
        "inbound_secret": "env:INBOUND"});
    let rosa = open("email", &settings, KEY);
    // The mark of an automatic reply is removed, because such mail is ignored.
    let text = base64_decode(raw.as_str().unwrap());
    assert!(text.contains("Auto-Submitted: auto-replied\r\n"), "{text}");
    let text = text.replace("Auto-Submitted: auto-replied\r\n", "");
    let body = json!({"raw": base64_encode(&text)}).to_string();
    match rosa.receive(&signed("m", &body), body.as_bytes(), NOW) {
        Ok(ReceiveOutcome::Message(inbound)) => *inbound,
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
async fn a_wrong_password_and_a_server_without_starttls_are_rejected() {
    let smtp = SmtpServer::start().await;
    let wrong = open("email", &smtp.settings("none"), "hunter3");
    let outcome = send(&wrong, &message("rosa@example.com", "hi")).await;
    assert!(
        matches!(&outcome, SendOutcome::Rejected { reason } if reason.contains("password")),
        "{outcome:?}"
    );
    // There is no fallback to an unencrypted connection.
    let starttls = open("email", &smtp.settings("starttls"), "hunter2");
    let outcome = send(&starttls, &message("rosa@example.com", "hi")).await;
    assert!(
        matches!(&outcome, SendOutcome::Rejected { reason } if reason.contains("STARTTLS")),
        "{outcome:?}"
    );
}
