//! Whole conversations through real servers, from npm and PyPI.

use std::time::Duration;

use base64::Engine as _;
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::exchange::{BOT, Exchange, MAIL};
use crate::real::{Phone, Smtp, within};
use crate::world::GIA;

const PIZZA: &str = "
rules:
  - when: { user: pizza }
    answer: '**Sì**, fino alle 23.'
default: I see.
";

/// C16: a person writes on Telegram, Ostler asks for it, answers, and the person
/// reads the answer.
#[tokio::test]
async fn c16_a_telegram_conversation_through_a_real_server() {
    let phone = Phone::start().await;
    let org = Exchange::new(PIZZA).await;
    let base = json!({"base_url": format!("http://127.0.0.1:{}", phone.port)});
    org.bind(BOT, "telegram", GIA, 1, &base).await;
    let (stop, stopped) = watch::channel(false);
    let (reception, courier, worker) =
        (org.reception.clone(), org.courier.clone(), org.world.worker.clone());
    let (first, second, third) = (stopped.clone(), stopped.clone(), stopped);
    let polling = tokio::spawn(async move { reception.poll(BOT, first).await });
    let sending = tokio::spawn(async move { courier.run(2, second).await });
    let working = tokio::spawn(async move { worker.run(2, third).await });
    for (asked, answer) in [("Avete la pizza?", "<b>Sì</b>, fino alle 23."), ("Bene", "I see.")] {
        phone.does("/sendMessage", json!({"text": asked})).await;
        assert_eq!(within(heard(&phone)).await["text"], answer);
    }
    stop.send(true).unwrap();
    for task in [polling, sending, working] {
        within(task).await.unwrap();
    }
    assert_eq!(org.world.runs("7").await.len(), 2);
}

/// What the bot writes next.
async fn heard(phone: &Phone) -> Value {
    loop {
        if let Some(message) = phone.reads().await.into_iter().next() {
            return message;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// C16: mail comes in through a gateway and is answered through a real server, in
/// its thread.
#[tokio::test]
async fn c16_a_mail_conversation_through_a_real_server() {
    let mut smtp = Smtp::start().await;
    let org = Exchange::new(PIZZA).await;
    let mut settings = smtp.settings("none");
    settings["inbound_secret"] = "env:KEY".into();
    org.bind(MAIL, "email", GIA, 1, &settings).await;
    let mail = json!({"from": {"email": "rosa@example.com", "name": "Rosa"},
        "subject": "Re: Domanda", "text": "Avete la pizza?", "message_id": "<2@example.com>",
        "references": ["<1@bella.example>"]});
    for id in ["d1", "d2"] {
        org.gateway(MAIL, id, &mail).await;
    }
    org.work().await;
    let answer = smtp.next_mail().await;
    assert_eq!(answer["to"], json!(["rosa@example.com"]));
    let raw = answer["raw"].as_str().unwrap();
    let raw = base64::engine::general_purpose::STANDARD.decode(raw).unwrap();
    let raw = String::from_utf8(raw).unwrap();
    for line in [
        "Subject: Re: Domanda\r\n",
        "In-Reply-To: <2@example.com>\r\n",
        "References: <1@bella.example> <2@example.com>\r\n",
        "To: rosa@example.com\r\n",
    ] {
        assert!(raw.contains(line), "{line}: {raw}");
    }
    assert_eq!(org.world.runs("rosa@example.com").await.len(), 1, "the mail is taken once");
}
