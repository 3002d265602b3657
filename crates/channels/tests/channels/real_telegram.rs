//! A real server with the Bot API: telegram-test-api from npm.

use std::time::Duration;

use ostler_channels::button::Button;
use ostler_channels::connection::ChannelConnection;
use ostler_channels::inbound::{InboundContent, InboundMessage, InboundPart, ReceiveOutcome};
use ostler_channels::outbound::OutboundMessage;
use ostler_channels::outcome::SendOutcome;
use ostler_channels::telegram::Poller;
use ostler_domain::session::key::Peer;
use serde_json::json;

use crate::real_servers::{TOKEN, TelegramServer, with_timeout};
use crate::support::{message, open, send};

async fn next_message(poller: &mut Poller) -> InboundMessage {
    let mut batch = with_timeout(poller.poll(Duration::from_secs(1))).await.unwrap();
    assert_eq!(batch.len(), 1, "{batch:?}");
    let (id, received) = batch.remove(0);
    poller.confirm(id);
    match received {
        ReceiveOutcome::Message(inbound) => *inbound,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn c16_g36_text_commands_and_buttons_work_with_a_real_server() {
    let phone = TelegramServer::start().await;
    let settings = json!({"base_url": format!("http://127.0.0.1:{}", phone.port)});
    let connection = open("telegram", &settings, TOKEN);
    let ChannelConnection::Telegram(bot) = &connection else { panic!() };
    assert_eq!(with_timeout(bot.fetch_username()).await.unwrap(), "TestNameBot");
    let mut poller = bot.poller();
    assert_eq!(with_timeout(poller.poll(Duration::from_secs(1))).await.unwrap(), []);

    let entity = json!({"type": "bot_command", "offset": 0, "length": 6});
    phone.act("/sendCommand", json!({"text": "/start org_1", "entities": [entity]})).await;
    let start = next_message(&mut poller).await;
    let (name, payload) = ("start".into(), Some("org_1".into()));
    assert_eq!(start.content, InboundContent::Command { name, payload });

    phone.act("/sendMessage", json!({"text": "Avete la pizza?"})).await;
    let question = next_message(&mut poller).await;
    assert_eq!(
        question.content,
        InboundContent::Message(vec![InboundPart::Text("Avete la pizza?".into())])
    );
    assert_eq!(
        (&question.peer, question.from.locale.as_deref()),
        (&Peer::Person("7".into()), Some("it"))
    );
    assert_ne!(question.id, start.id);

    let reply = OutboundMessage {
        buttons: vec![vec![Button::press("Prendila", "take:1").unwrap()]],
        reply_to: question.message_id.clone(),
        ..message("7", "**Sì**, a meno di 10 € & subito")
    };
    let outcome = send(&connection, &reply).await;
    assert!(matches!(&outcome, SendOutcome::Delivered { provider_id: Some(_) }), "{outcome:?}");
    let messages = phone.bot_messages().await;
    assert_eq!(messages.len(), 1);
    assert_eq!(messages[0]["text"], "<b>Sì</b>, a meno di 10 € &amp; subito");
    assert_eq!(messages[0]["parse_mode"], "HTML");
    assert_eq!(
        messages[0]["reply_parameters"]["message_id"].to_string(),
        question.message_id.unwrap()
    );
    let button = messages[0]["reply_markup"]["inline_keyboard"][0][0].clone();
    assert_eq!(button["text"], "Prendila");

    let message = json!({"message_id": 3, "chat": {"id": 7, "type": "private"}, "date": 1});
    phone.act("/sendCallback", json!({"data": button["callback_data"], "message": message})).await;
    let pressed = next_message(&mut poller).await;
    let InboundContent::Press { data, callback_id } = pressed.content else { panic!() };
    assert_eq!(data, "take:1");
    with_timeout(bot.answer_button_press(&callback_id.unwrap(), "Fatto")).await.unwrap();

    // This server does not support `sendChatAction`.
    assert!(with_timeout(bot.show_typing("7")).await.is_err());
}
