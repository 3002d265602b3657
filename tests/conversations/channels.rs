//! Whole conversations through real servers, from npm and PyPI.

use std::time::Duration;

use base64::Engine as _;
use ostler_domain::message::MessagePart;
use ostler_runtime::operations::Actor;
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::fake_server::{Reply, SeenRequest, Server};
use crate::real_servers::{SmtpServer, TelegramServer, with_timeout};
use crate::support::{BOT, ConnectedOrg, GIA, MAIL, ORG, SMS, sent_message, telegram_message};

const PIZZA: &str = "
rules:
  - when: { user: pizza }
    answer: '**Sì**, fino alle 23.'
default: I see.
";

/// C16: a message on Telegram is polled and answered, and the person gets the answer.
#[tokio::test]
async fn c16_a_telegram_conversation_through_a_real_server() {
    let phone = TelegramServer::start().await;
    let org = ConnectedOrg::new(PIZZA).await;
    let base = json!({"base_url": format!("http://127.0.0.1:{}", phone.port)});
    org.bind(BOT, "telegram", GIA, 1, &base).await;
    let (stop, stopped) = watch::channel(false);
    let (receiver, delivery, worker) =
        (org.receiver.clone(), org.delivery.clone(), org.scenario.worker.clone());
    let (first, second, third) = (stopped.clone(), stopped.clone(), stopped);
    let polling = tokio::spawn(async move { receiver.poll(BOT, first).await });
    let sending = tokio::spawn(async move { delivery.run(2, second).await });
    let working = tokio::spawn(async move { worker.run(2, third).await });
    for (asked, answer) in [("Avete la pizza?", "<b>Sì</b>, fino alle 23."), ("Bene", "I see.")] {
        phone.act("/sendMessage", json!({"text": asked})).await;
        assert_eq!(with_timeout(next_bot_message(&phone)).await["text"], answer);
    }
    stop.send(true).unwrap();
    for task in [polling, sending, working] {
        with_timeout(task).await.unwrap();
    }
    assert_eq!(org.scenario.runs("7").await.len(), 2);
}

/// Returns the next message of the bot.
async fn next_bot_message(phone: &TelegramServer) -> Value {
    loop {
        if let Some(message) = phone.bot_messages().await.into_iter().next() {
            return message;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// C16: an e-mail from a gateway is answered through an SMTP server, in its thread.
#[tokio::test]
async fn c16_an_email_conversation_through_a_real_server() {
    let mut smtp = SmtpServer::start().await;
    let org = ConnectedOrg::new(PIZZA).await;
    let mut settings = smtp.settings("none");
    settings["inbound_secret"] = "env:KEY".into();
    org.bind(MAIL, "email", GIA, 1, &settings).await;
    let mail = json!({"from": {"email": "rosa@example.com", "name": "Rosa"},
        "subject": "Re: Domanda", "text": "Avete la pizza?", "message_id": "<2@example.com>",
        "references": ["<1@bella.example>"]});
    for id in ["d1", "d2"] {
        org.receive_webhook(MAIL, id, &mail).await;
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
    assert_eq!(org.scenario.runs("rosa@example.com").await.len(), 1, "the mail is taken once");
    assert!(raw.contains("Auto-Submitted: auto-replied\r\n"), "{raw}");

    // What a person writes stays in the thread, and is not automatic.
    let session = org.scenario.session("rosa@example.com").await.id;
    let operations = org.scenario.operations();
    let operations = operations.as_actor(Actor::Terminal, ORG);
    operations.take_over(session).await.unwrap();
    operations.say(session, vec![MessagePart::text("One moment.")]).await.unwrap();
    org.deliver().await;
    let raw = smtp.next_mail().await["raw"].as_str().unwrap().to_owned();
    let raw = base64::engine::general_purpose::STANDARD.decode(raw).unwrap();
    let raw = String::from_utf8(raw).unwrap();
    for line in ["Subject: Re: Domanda\r\n", "In-Reply-To: <2@example.com>\r\n", "One moment."] {
        assert!(raw.contains(line), "{line}: {raw}");
    }
    assert!(!raw.contains("Auto-Submitted"), "{raw}");
}

/// Returns an answer with every kind of formatting, longer than one Telegram message.
fn long_answer() -> String {
    let line = "- `margherita` costs **8** euros, see [the menu](https://bella.example/menu)";
    format!("# Pizza\n\n*All* of it & more <here>:\n\n{}", vec![line; 120].join("\n"))
}

fn texts(server: &Server) -> Vec<String> {
    let text = |body: Value| body["text"].as_str().unwrap_or_default().to_owned();
    server.seen().iter().map(|seen| text(seen.json())).collect()
}

/// C16: the same answer is HTML in pieces on Telegram, plain text on SMS, both as one
/// e-mail, and unchanged Markdown on the web chat.
#[tokio::test]
async fn c16_an_answer_is_formatted_for_its_channel() {
    let script = format!("default: {}", serde_json::to_string(&long_answer()).unwrap());
    let mut smtp = SmtpServer::start().await;
    let org = ConnectedOrg::new(&script).await;
    let bot = org.bot((1..=9).map(sent_message)).await;
    let gateway = org.sms([Reply::json(200, &json!({}))]).await;
    let mut settings = smtp.settings("none");
    settings["inbound_secret"] = "env:KEY".into();
    org.bind(MAIL, "email", GIA, 1, &settings).await;

    org.update(BOT, &telegram_message(1, 7, "the menu")).await;
    org.work().await;
    let pieces: Vec<Value> = bot.seen().iter().map(SeenRequest::json).collect();
    assert!(pieces.len() > 1, "{}", pieces.len());
    for piece in &pieces {
        let text = piece["text"].as_str().unwrap();
        let words = text.split('<').filter_map(|part| part.rsplit('>').next());
        let visible: usize = words.map(|part| part.encode_utf16().count()).sum();
        assert!(visible <= 4096 && piece["parse_mode"] == "HTML", "{visible}: {piece}");
        assert!(!text.contains("**") && !text.contains("`"), "{text}");
    }
    let all = texts(&bot).join("\n");
    assert_eq!(all.matches("<b>8</b>").count(), 120, "nothing is lost or repeated");
    assert!(all.contains("<i>All</i> of it &amp; more &lt;here&gt;"), "{all}");
    assert!(all.contains(r#"<a href="https://bella.example/menu">the menu</a>"#), "{all}");

    let text = json!({"type": "message", "from": {"id": "+39061234"}, "text": "the menu"});
    org.receive_webhook(SMS, "m1", &text).await;
    org.work().await;
    let plain = texts(&gateway).join("\n");
    assert!(plain.contains("All of it & more <here>"), "{plain}");
    assert_eq!(plain.matches("margherita costs 8 euros").count(), 120);
    for mark in ["**", "`", "<b>", "<a ", "# "] {
        assert!(!plain.contains(mark), "{mark}: {plain}");
    }

    let mail = json!({"from": {"email": "rosa@example.com"}, "subject": "Menu",
        "text": "the menu", "message_id": "<9@example.com>"});
    org.receive_webhook(MAIL, "d9", &mail).await;
    org.work().await;
    let raw = smtp.next_mail().await["raw"].as_str().unwrap().to_owned();
    let raw = base64::engine::general_purpose::STANDARD.decode(raw).unwrap();
    let raw = String::from_utf8(raw).unwrap();
    assert!(raw.contains("multipart/alternative"), "{raw}");
    assert!(raw.contains("text/plain") && raw.contains("text/html"), "{raw}");

    assert_eq!(org.scenario.say("otto", "the menu").await, [long_answer()], "a page renders it");
}
