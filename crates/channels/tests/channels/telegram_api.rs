//! A real server of the Bot API for tests: telegram-test-api, from npm. A person
//! writes, the bot answers, the person presses a button.

use std::time::Duration;

use ostler_channels::button::Button;
use ostler_channels::connection::Connection;
use ostler_channels::inbound::{Content, Inbound, InboundPart, Received};
use ostler_channels::outbound::Outbound;
use ostler_channels::outcome::Outcome;
use ostler_channels::telegram::Poller;
use ostler_domain::session::key::Peer;
use serde_json::json;

use crate::real::{Phone, TOKEN, within};
use crate::support::{message, open, send};

async fn next(poller: &mut Poller) -> Inbound {
    let mut batch = within(poller.poll(Duration::from_secs(1))).await.unwrap();
    assert_eq!(batch.len(), 1, "{batch:?}");
    let (id, received) = batch.remove(0);
    poller.confirm(id);
    match received {
        Received::Inbound(inbound) => *inbound,
        other => panic!("{other:?}"),
    }
}

/// C16, G36: words, commands and buttons, there and back.
#[tokio::test]
async fn c16_g36_a_conversation_with_a_real_server() {
    let phone = Phone::start().await;
    let settings = json!({"base_url": format!("http://127.0.0.1:{}", phone.port)});
    let connection = open("telegram", &settings, TOKEN);
    let Connection::Telegram(bot) = &connection else { panic!() };
    assert_eq!(within(bot.name()).await.unwrap(), "TestNameBot");
    let mut poller = bot.poller();
    assert_eq!(within(poller.poll(Duration::from_secs(1))).await.unwrap(), []);

    let entity = json!({"type": "bot_command", "offset": 0, "length": 6});
    phone.does("/sendCommand", json!({"text": "/start org_1", "entities": [entity]})).await;
    let start = next(&mut poller).await;
    let (name, payload) = ("start".into(), Some("org_1".into()));
    assert_eq!(start.content, Content::Command { name, payload });

    phone.does("/sendMessage", json!({"text": "Avete la pizza?"})).await;
    let asked = next(&mut poller).await;
    assert_eq!(asked.content, Content::Message(vec![InboundPart::Text("Avete la pizza?".into())]));
    assert_eq!(
        (&asked.peer, asked.from.locale.as_deref()),
        (&Peer::Person("7".into()), Some("it"))
    );
    assert_ne!(asked.id, start.id);

    let answer = Outbound {
        buttons: vec![vec![Button::press("Prendila", "take:1").unwrap()]],
        reply_to: asked.message.clone(),
        ..message("7", "**Sì**, a meno di 10 € & subito")
    };
    let outcome = send(&connection, &answer).await;
    assert!(matches!(&outcome, Outcome::Delivered { provider_id: Some(_) }), "{outcome:?}");
    let read = phone.reads().await;
    assert_eq!(read.len(), 1);
    assert_eq!(read[0]["text"], "<b>Sì</b>, a meno di 10 € &amp; subito");
    assert_eq!(read[0]["parse_mode"], "HTML");
    assert_eq!(read[0]["reply_parameters"]["message_id"].to_string(), asked.message.unwrap());
    let button = read[0]["reply_markup"]["inline_keyboard"][0][0].clone();
    assert_eq!(button["text"], "Prendila");

    let below = json!({"message_id": 3, "chat": {"id": 7, "type": "private"}, "date": 1});
    phone.does("/sendCallback", json!({"data": button["callback_data"], "message": below})).await;
    let pressed = next(&mut poller).await;
    let Content::Press { data, callback } = pressed.content else { panic!() };
    assert_eq!(data, "take:1");
    within(bot.answer_press(&callback.unwrap(), "Fatto")).await.unwrap();

    // This server knows no such method, and says so.
    assert!(within(bot.typing("7")).await.is_err());
}
