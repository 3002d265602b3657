//! The org's own people in their chats: the owner, and the team's group.

use ostler_domain::org::settings::{ChannelAddress, OrgSettings, NotifyAddresses};
use ostler_domain::session::key::ConversationEntry;
use ostler_domain::team::config::TeamConfig;
use ostler_runtime::conversation::receive::InboundOutcome;
use serde_json::{Value, json};

use crate::fake_server::{Reply, SeenRequest, Server};
use crate::support::{BOT, ConnectedOrg, SMS, sent_message, telegram_message};

const SILENT: &str = "default: I see.";
const OWNER: i64 = 77;
const GROUP: i64 = -100_500;

/// An org with an owner on Telegram and, if it wants, a team's group there.
async fn org(with_group: bool) -> (ConnectedOrg, Server) {
    let org = ConnectedOrg::new(SILENT).await;
    let bot = org.bot((1..).map(sent_message).take(50).collect::<Vec<_>>()).await;
    org.sms([Reply::json(200, &json!({}))]).await;
    let at = |who: i64| Some(ChannelAddress { binding: BOT, identifier: who.to_string() });
    let team = TeamConfig { team_group_enabled: with_group, ..TeamConfig::default() };
    let people = NotifyAddresses { owner: at(OWNER), team_group: at(GROUP), owner_email: None };
    let settings = OrgSettings { team: Some(team), people, ..OrgSettings::default() };
    org.scenario.save_settings(&settings).await;
    (org, bot)
}

/// A customer asks for a person; says in which session.
async fn asks(org: &ConnectedOrg, who: &str) -> String {
    let body = json!({"type": "message", "from": {"id": who}, "text": "I want to talk to a human"});
    org.receive_webhook(SMS, &format!("asks-{}", who.trim_start_matches('+')), &body).await;
    org.work().await;
    org.scenario.session(who).await.id.to_string()
}

fn press(update: i64, who: i64, chat: i64, data: &str) -> Value {
    let kind = if chat < 0 { "supergroup" } else { "private" };
    json!({"update_id": update, "callback_query": {"id": "cb", "data": data,
        "from": {"id": who, "is_bot": false, "first_name": "Luca"},
        "message": {"message_id": 1, "date": 1, "chat": {"id": chat, "type": kind}}}})
}

/// Somebody writes in the team's group, perhaps in reply to a message there.
fn says(update: i64, text: &str, reply_to: Option<i64>) -> Value {
    let mut says = telegram_message(update, 9, text);
    says["message"]["from"]["first_name"] = "Luca".into();
    says["message"]["chat"] = json!({"id": GROUP, "type": "supergroup"});
    if let Some(id) = reply_to {
        says["message"]["reply_to_message"] = json!({"message_id": id, "date": 1,
            "chat": {"id": GROUP, "type": "supergroup"}});
    }
    says
}

/// What was sent to a chat, with the number that the provider gave it.
fn told(bot: &Server, chat: i64) -> Vec<(i64, Value)> {
    let (seen, chat) = (bot.seen(), json!(chat.to_string()));
    let numbered = seen.iter().map(SeenRequest::json).zip(1..).map(|(body, n)| (n, body));
    numbered.filter(|(_, body)| body["chat_id"] == chat).collect::<Vec<_>>()
}

/// G36: the owner is told with two buttons, and both work, from the owner's chat
/// and from nowhere else.
#[tokio::test]
async fn g36_the_owner_takes_over_or_dismisses() {
    let (org, bot) = org(false).await;
    let session = asks(&org, "+391").await;
    let (_, push) = told(&bot, OWNER).remove(0);
    let keys = &push["reply_markup"]["inline_keyboard"][0];
    let data = |n: usize| keys[n]["callback_data"].as_str().unwrap().to_owned();
    assert_eq!(keys[0]["text"], "Take over");
    assert_eq!(keys[1]["text"], "Dismiss");
    assert!(told(&bot, GROUP).is_empty(), "the group is not enabled");
    for (update, n) in [(1, 0), (2, 1), (1, 0)] {
        assert_eq!(org.update(BOT, &press(update, OWNER, OWNER, &data(n))).await, InboundOutcome::Done);
    }
    let expected = [format!("Luca takes over {session}"), format!("Luca dismisses {session}")];
    assert_eq!(org.team_requests.done(), expected);
    let seen = bot.seen();
    let answered = seen.iter().filter(|seen| seen.path().contains("answerCallbackQuery"));
    assert_eq!(answered.count(), 3);
    // A customer who learned of the button presses nothing but words.
    let taken = org.update(BOT, &press(3, 5, 5, &data(0))).await;
    assert!(matches!(taken, InboundOutcome::Accepted(_)), "{taken:?}");
    assert_eq!(org.team_requests.done().len(), 2);
}

/// G37, G40, G41, G45: the team's group is told where that is enabled; what is
/// written there goes to the customer whom it replies to, else to the one the
/// group was told of last; `@agent resume` hands back, and nothing else does.
#[tokio::test]
async fn g37_g41_g45_the_team_talks_to_customers_in_its_group() {
    let (org, bot) = org(true).await;
    let quiet = org.update(BOT, &says(1, "anybody here?", None)).await;
    assert!(matches!(quiet, InboundOutcome::Ignored(_)), "{quiet:?}");
    let first = asks(&org, "+391").await;
    let second = asks(&org, "+392").await;
    let group = told(&bot, GROUP);
    assert_eq!(group.len(), 2);
    let about_first = group[0].0;
    for update in [
        says(2, "Luca here, *one* moment", Some(about_first)),
        says(3, "And hello to you", None),
        says(3, "And hello to you", None),
        says(4, "please @agent resume", None),
        says(5, "@Agent  RESUME", Some(about_first)),
    ] {
        assert_eq!(org.update(BOT, &update).await, InboundOutcome::Done);
    }
    let expected = [
        format!("Luca says \"Luca here, *one* moment\" in {first}"),
        format!("Luca says \"And hello to you\" in {second}"),
        format!("Luca says \"please @agent resume\" in {second}"),
        format!("Luca resumes {first}"),
    ];
    assert_eq!(org.team_requests.done(), expected);
    // What cannot be done is said in the group.
    org.team_requests.refuse("this conversation is not handed over to a human");
    assert_eq!(org.update(BOT, &says(6, "one more thing", Some(about_first))).await, InboundOutcome::Done);
    let (_, last) = told(&bot, GROUP).pop().unwrap();
    assert_eq!(last["text"], "this conversation is not handed over to a human");
}

/// The owner talks to the org's agents in the same chat; only a reply to what
/// the chat was told of a customer goes to that customer.
#[tokio::test]
async fn the_owner_replies_to_a_customer_or_talks_to_agents() {
    let (org, bot) = org(false).await;
    let session = asks(&org, "+391").await;
    let (number, _) = told(&bot, OWNER).remove(0);
    let mut reply = telegram_message(1, OWNER, "I am on it");
    reply["message"]["reply_to_message"] = json!({"message_id": number, "date": 1,
        "chat": {"id": OWNER, "type": "private"}});
    assert_eq!(org.update(BOT, &reply).await, InboundOutcome::Done);
    assert_eq!(org.team_requests.done(), [format!("Rosa says \"I am on it\" in {session}")]);
    org.update(BOT, &telegram_message(2, OWNER, "how are sales?")).await;
    org.work().await;
    let own = org.scenario.session(&OWNER.to_string()).await;
    assert_eq!(own.entry, ConversationEntry::Owner);
    assert_eq!(org.team_requests.done().len(), 1);
}
