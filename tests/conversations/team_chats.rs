//! Members of the org in their chats: the owner, and the team group.

use std::sync::Arc;

use ostler_domain::org::settings::{ChannelAddress, NotifyAddresses, OrgSettings};
use ostler_domain::session::key::ConversationEntry;
use ostler_domain::session::status::SessionStatus;
use ostler_domain::team::config::TeamConfig;
use ostler_runtime::conversation::receive::{InboundOutcome, InboundReceiver};
use ostler_runtime::deps::Clock;
use ostler_runtime::operations::Actor;
use serde_json::{Value, json};

use crate::fake_server::{Reply, SeenRequest, Server};
use crate::support::{BOT, ConnectedOrg, ORG, SMS, sent_message, telegram_message};

const SILENT: &str = "default: I see.";
const OWNER: i64 = 77;
const GROUP: i64 = -100_500;

/// Returns an org with an owner on Telegram and, optionally, a team group.
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

/// Lets a customer ask for a person. Returns the session.
async fn escalate(org: &ConnectedOrg, who: &str) -> String {
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

/// Returns an update with a message in the team group, optionally in reply to another.
fn group_message(update: i64, text: &str, reply_to: Option<i64>) -> Value {
    let mut says = telegram_message(update, 9, text);
    says["message"]["from"]["first_name"] = "Luca".into();
    says["message"]["chat"] = json!({"id": GROUP, "type": "supergroup"});
    if let Some(id) = reply_to {
        says["message"]["reply_to_message"] = json!({"message_id": id, "date": 1,
            "chat": {"id": GROUP, "type": "supergroup"}});
    }
    says
}

/// Returns the messages sent to a chat, with their provider ids.
fn sent_to(bot: &Server, chat: i64) -> Vec<(i64, Value)> {
    let (seen, chat) = (bot.seen(), json!(chat.to_string()));
    let numbered = seen.iter().map(SeenRequest::json).zip(1..).map(|(body, n)| (n, body));
    numbered.filter(|(_, body)| body["chat_id"] == chat).collect::<Vec<_>>()
}

/// G36: the owner gets two buttons, and both work from the owner's chat only.
#[tokio::test]
async fn g36_the_buttons_of_the_owner_take_over_and_dismiss() {
    let (org, bot) = org(false).await;
    let session = escalate(&org, "+391").await;
    let (_, push) = sent_to(&bot, OWNER).remove(0);
    let keys = &push["reply_markup"]["inline_keyboard"][0];
    let data = |n: usize| keys[n]["callback_data"].as_str().unwrap().to_owned();
    assert_eq!(keys[0]["text"], "Take over");
    assert_eq!(keys[1]["text"], "Dismiss");
    assert!(sent_to(&bot, GROUP).is_empty(), "the group is not enabled");
    for (update, n) in [(1, 0), (2, 1), (1, 0)] {
        assert_eq!(
            org.update(BOT, &press(update, OWNER, OWNER, &data(n))).await,
            InboundOutcome::Done
        );
    }
    let expected = [format!("Luca takes over {session}"), format!("Luca dismisses {session}")];
    assert_eq!(org.team_requests.done(), expected);
    let seen = bot.seen();
    let answered = seen.iter().filter(|seen| seen.path().contains("answerCallbackQuery"));
    assert_eq!(answered.count(), 3);
    // The data of a button has no effect as a message of a customer.
    let taken = org.update(BOT, &press(3, 5, 5, &data(0))).await;
    assert!(matches!(taken, InboundOutcome::Accepted(_)), "{taken:?}");
    assert_eq!(org.team_requests.done().len(), 2);
}

/// G37, G40, G41, G45: the team group is notified where it is enabled. A message there
/// goes to the customer it replies to, else to the customer of the last notice; only
/// `@agent resume` hands back.
#[tokio::test]
async fn g37_g41_g45_messages_in_the_team_group_are_sent_to_customers() {
    let (org, bot) = org(true).await;
    let quiet = org.update(BOT, &group_message(1, "anybody here?", None)).await;
    assert!(matches!(quiet, InboundOutcome::Ignored(_)), "{quiet:?}");
    let first = escalate(&org, "+391").await;
    let second = escalate(&org, "+392").await;
    let group = sent_to(&bot, GROUP);
    assert_eq!(group.len(), 2);
    let about_first = group[0].0;
    for update in [
        group_message(2, "Luca here, *one* moment", Some(about_first)),
        group_message(3, "And hello to you", None),
        group_message(3, "And hello to you", None),
        group_message(4, "please @agent resume", None),
        group_message(5, "@Agent  RESUME", Some(about_first)),
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
    // Screens and the audit log know the people of the group by their names.
    let operations = org.scenario.operations();
    let names = operations.as_actor(Actor::Terminal, ORG).actor_names().await.unwrap();
    assert_eq!(names.people.into_values().collect::<Vec<_>>(), ["Luca"]);
    // A failed request is reported in the group.
    org.team_requests.refuse("this conversation is not handed over to a human");
    assert_eq!(
        org.update(BOT, &group_message(6, "one more thing", Some(about_first))).await,
        InboundOutcome::Done
    );
    let (_, last) = sent_to(&bot, GROUP).pop().unwrap();
    assert_eq!(last["text"], "this conversation is not handed over to a human");
}

/// In the owner's chat a reply to a notice goes to the customer; other messages go to the
/// agents.
#[tokio::test]
async fn a_reply_of_the_owner_goes_to_the_customer_and_other_messages_to_agents() {
    let (org, bot) = org(false).await;
    let session = escalate(&org, "+391").await;
    let (number, _) = sent_to(&bot, OWNER).remove(0);
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

/// G36, G37, G45: the requests of the team's group are carried out: a press on the notice takes
/// over, the customer hears what a person writes there, and the button of the takeover hands
/// back to the agent, which answers again. A press by a customer changes nothing.
#[tokio::test]
async fn g36_g37_g45_the_group_takes_over_and_the_button_resumes_the_agent() {
    let (mut org, bot) = org(true).await;
    org.receiver = InboundReceiver::new(
        org.scenario.worker.org_views().clone(),
        org.scenario.intake.clone(),
        org.channels.clone(),
        Arc::new(org.scenario.operations()),
        Clock::system(),
    );
    escalate(&org, "+391").await;
    let data = |message: &Value, label: &str| -> String {
        let rows = message["reply_markup"]["inline_keyboard"].as_array().expect("buttons").clone();
        let all = rows.iter().flat_map(|row| row.as_array().expect("a row").clone());
        let mut found = all.filter(|one| one["text"] == label);
        found.next().expect("the button")["callback_data"].as_str().unwrap().to_owned()
    };
    let status = async || org.scenario.session("+391").await.status;
    let (_, notice) = sent_to(&bot, GROUP).remove(0);
    org.update(BOT, &press(1, 9, GROUP, &data(&notice, "Take over"))).await;
    org.deliver().await;
    assert_eq!(status().await, SessionStatus::HandedOff);
    let (_, offer) = sent_to(&bot, GROUP).pop().unwrap();
    assert!(offer["text"].as_str().unwrap().starts_with("You have the conversation"), "{offer}");
    let resume = data(&offer, "Resume agent");
    org.update(BOT, &group_message(2, "Luca here", None)).await;
    org.update(BOT, &press(3, 5, 5, &resume)).await;
    org.work().await;
    assert_eq!(status().await, SessionStatus::HandedOff, "a press of a customer");
    org.update(BOT, &press(4, 9, GROUP, &resume)).await;
    org.work().await;
    assert_eq!(status().await, SessionStatus::Active);
    let body = json!({"type": "message", "from": {"id": "+391"}, "text": "thank you"});
    org.receive_webhook(SMS, "thanks", &body).await;
    org.work().await;
    let thread = org.scenario.thread("+391").await;
    let texts: Vec<_> = thread.iter().map(|one| one.text().into_owned()).collect();
    assert!(texts.contains(&"Luca here".to_owned()), "{texts:?}");
    assert_eq!(texts.last().map(String::as_str), Some("I see."), "{texts:?}");
}
