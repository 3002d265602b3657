//! Receipts, acknowledgements, and the next stage if nobody reacts.

use std::time::Duration;

use ostler_domain::audit::AuditActor;
use ostler_domain::id::UserId;
use ostler_domain::message::MessagePart;
use ostler_domain::notice::NoticeRecipient;
use ostler_domain::notice::preferences::{DirectDestination, NoticeDestination, NoticePreferences};
use ostler_domain::notice::schedule::NoticeStage;
use ostler_domain::org::role::Role;
use ostler_domain::org::settings::{
    ChannelAddress, NotifyAddresses, OWNER as OWNER_NAME, OrgSettings, PersonNotices,
};
use ostler_runtime::delivery::NoticeDispatcher;
use ostler_runtime::deps::Clock;
use ostler_store::{Author, NewNotice, NoticeDeliveryState, OutboxState, Store, StoredNotice};
use serde_json::json;

use super::{ask, chat, mail, notify_owner};
use crate::enforcement::spend_all_credits;
use crate::fake_server::{Reply, SeenRequest};
use crate::support::{
    BOT, ConnectedOrg, GIA, OWNER, SMS, Scenario, on_every_database, scenario, sent_message,
};

const SILENT: &str = "default: I see.";

async fn credits_notice(scenario: &Scenario) -> StoredNotice {
    let all = scenario.notices().await;
    let kind = ostler_domain::notice::NoticeKind::CreditsExhausted;
    all.into_iter().find(|stored| stored.notice.kind == kind).expect("a notice")
}

/// O31: an urgent notice is mailed if nobody reacts within five minutes.
#[tokio::test]
async fn o31_an_urgent_notice_is_mailed_if_nobody_reacts() {
    let (scenario, _) = scenario(SILENT).await;
    notify_owner(&scenario, NoticePreferences::default()).await;
    spend_all_credits(&scenario).await;
    ask(&scenario, "hello").await;
    let sent = scenario.deliver().await;
    assert!(super::texts(&sent, crate::support::EMAIL, "owner@bella.example").is_empty());
    scenario.advance(Duration::from_secs(299));
    assert!(mail(&scenario).await.is_empty());
    scenario.advance(Duration::from_secs(1));
    let mails = mail(&scenario).await;
    assert_eq!(mails.len(), 1, "{mails:?}");
    let text = "Bella Pizza: nobody has reacted yet: the credits are used up";
    assert!(mails[0].starts_with(text), "{mails:?}");
    scenario.advance(Duration::from_secs(3600));
    assert!(mail(&scenario).await.is_empty(), "it is sent once");
}

/// O31: an acknowledged notice goes no further, and its record says so.
#[tokio::test]
async fn o31_an_acknowledged_notice_goes_no_further() {
    let (scenario, _) = scenario(SILENT).await;
    notify_owner(&scenario, NoticePreferences::default()).await;
    spend_all_credits(&scenario).await;
    ask(&scenario, "hello").await;
    assert!(!chat(&scenario).await.is_empty());
    let id = credits_notice(&scenario).await.notice.id;
    let operations = scenario.operations();
    let operator = crate::approvals::operator(&operations);
    operator.acknowledge_notice(id).await.unwrap();
    scenario.advance(Duration::from_secs(600));
    assert!(mail(&scenario).await.is_empty());
    let (stored, deliveries) = operator.notice(id).await.unwrap();
    assert!(stored.read_at.is_some());
    assert_eq!(stored.read_by, Some(AuditActor::Terminal));
    let states: Vec<_> =
        deliveries.iter().map(|one| (one.key.stage, one.key.destination, &one.state)).collect();
    let skipped = NoticeDeliveryState::Skipped("it was acknowledged".into());
    assert_eq!(
        states,
        [
            (NoticeStage::First, NoticeDestination::Chat, &NoticeDeliveryState::Delivered),
            (NoticeStage::Next, NoticeDestination::Email, &skipped),
        ]
    );
}

async fn connected(replies: Vec<Reply>) -> (ConnectedOrg, crate::fake_server::Server) {
    let org = ConnectedOrg::new(SILENT).await;
    let bot = org.bot(replies).await;
    let at = |who: &str| Some(ChannelAddress { binding: BOT, identifier: who.to_owned() });
    let people = NotifyAddresses { owner: at("77"), team_group: at("-500"), owner_email: None };
    let mut own = PersonNotices::default();
    own.preferences.unanswered.to = DirectDestination::TeamGroup;
    let notices = [(OWNER_NAME.to_owned(), own)].into();
    org.scenario.save_settings(&OrgSettings { people, notices, ..OrgSettings::default() }).await;
    org.scenario.change_agent(GIA, |gia| gia.models = vec!["nobody/nothing".into()]).await;
    org.scenario.write("rosa", "hello").await;
    (org, bot)
}

/// O31: a notice that cannot be delivered goes to the next stage at once; both receipts are
/// kept, and no notice about the notice is sent.
#[tokio::test]
async fn o31_a_notice_that_fails_goes_to_the_next_stage_at_once() {
    let blocked = json!({"ok": false, "error_code": 403, "description": "Forbidden: blocked"});
    let replies: Vec<Reply> = [Reply::json(403, &blocked), Reply::json(403, &blocked)]
        .into_iter()
        .chain((3..).map(sent_message).take(20))
        .collect();
    let (org, bot) = connected(replies).await;
    org.work().await;
    let all = org.scenario.notices().await;
    let failed = ostler_domain::notice::NoticeKind::ModelsFailed;
    let id = all.iter().find(|one| one.notice.kind == failed).unwrap().notice.id;
    let deliveries = org.scenario.org().notice_deliveries(id).await.unwrap();
    let states: Vec<_> =
        deliveries.into_iter().map(|one| (one.key.destination, one.state)).collect();
    let why = "Telegram: Forbidden: blocked (HTTP 403)".to_owned();
    assert_eq!(
        states,
        [
            (NoticeDestination::Chat, NoticeDeliveryState::Failed(why)),
            (NoticeDestination::TeamGroup, NoticeDeliveryState::Delivered),
        ]
    );
    let seen = bot.seen();
    let chats: Vec<String> =
        seen.iter().map(|one| one.json()["chat_id"].as_str().unwrap_or_default().into()).collect();
    assert_eq!(chats, ["77", "77", "-500"], "the notice, the escalation, and the next stage");
}

/// O31: the button of a notice acknowledges it, for the people of the org only, and not
/// for a viewer.
#[tokio::test]
async fn o31_the_button_of_a_notice_acknowledges_it() {
    let (org, bot) = connected((1..).map(sent_message).take(20).collect()).await;
    org.scenario.add_member(OWNER, Role::Owner).await;
    org.work().await;
    let seen: Vec<_> = bot.seen().iter().map(SeenRequest::json).collect();
    let notice =
        seen.iter().find(|one| one["text"].to_string().contains("no model answered")).unwrap();
    let data = notice["reply_markup"]["inline_keyboard"][0][0]["callback_data"].clone();
    let press = |update: i64, who: i64| {
        json!({"update_id": update, "callback_query": {"id": "cb", "data": data,
            "from": {"id": who, "is_bot": false, "first_name": "Luca"},
            "message": {"message_id": 1, "date": 1, "chat": {"id": who, "type": "private"}}}})
    };
    let viewer = UserId::from_u128(0x5e);
    org.scenario.add_member(viewer, Role::Viewer).await;
    let mut settings = super::settings(&org.scenario).await;
    let chat = Some(ChannelAddress { binding: BOT, identifier: "6".into() });
    let own = PersonNotices { chat, ..PersonNotices::default() };
    settings.notices.insert(format!("{viewer}@example.org"), own);
    org.scenario.save_settings(&settings).await;
    let open = org.scenario.notices().await.len();
    for stranger in [5, 6] {
        org.update(BOT, &press(stranger, stranger)).await;
        assert_eq!(org.scenario.notices().await.len(), open);
    }
    org.update(BOT, &press(7, 77)).await;
    assert_eq!(org.scenario.notices().await.len(), open - 1);
    let id = data.as_str().unwrap().split_once(':').unwrap().1.parse().unwrap();
    let stored = org.scenario.org().notice(id).await.unwrap();
    assert_eq!(stored.read_by, Some(AuditActor::User(OWNER)));
}

/// O31, C18: a message to a customer that cannot be sent is reported in the owner's chat.
#[tokio::test]
async fn o31_a_dead_letter_is_reported_in_the_owners_chat() {
    let org = ConnectedOrg::new(SILENT).await;
    let bot = org.bot((1..).map(sent_message).take(20).collect::<Vec<_>>()).await;
    let _gateway = org.sms([Reply::json(404, &json!({}))]).await;
    let owner = Some(ChannelAddress { binding: BOT, identifier: "77".into() });
    let people = NotifyAddresses { owner, ..NotifyAddresses::default() };
    org.scenario.save_settings(&OrgSettings { people, ..OrgSettings::default() }).await;
    let text = vec![MessagePart::text("hello")];
    let id = org.queue_message("+4917", SMS, Author::Agent, text).await;
    org.deliver_until(id, OutboxState::Dead).await;
    org.deliver().await;
    let seen: Vec<_> = bot.seen().iter().map(SeenRequest::json).collect();
    assert_eq!(seen.len(), 1, "{seen:?}");
    assert_eq!(seen[0]["chat_id"], "77");
    let text = seen[0]["text"].to_string();
    assert!(text.contains("a message could not be sent and is tried again later"), "{text}");
    assert!(!text.contains("4917"), "{text}");
}

on_every_database!(
    /// O31: of many processes that dispatch at the same time, one sends each notice.
    o31_a_notice_is_sent_once_by_many_processes
);
async fn o31_a_notice_is_sent_once_by_many_processes(store: Store) {
    let scenario = Scenario::in_store(store, SILENT).await;
    notify_owner(&scenario, NoticePreferences::default()).await;
    for number in 0..20_u32 {
        let notice = NewNotice {
            id: ostler_domain::id::NoticeId::from_u128(u128::from(number) + 1),
            kind: ostler_domain::notice::NoticeKind::ToolDisabled,
            recipient: NoticeRecipient::Owner,
            subject: format!("tool_{number}"),
            data: "{}".into(),
        };
        scenario.org().notify(notice.clone()).await.unwrap();
        scenario.org().notify(notice).await.unwrap();
    }
    let dispatch = |_| {
        let dispatcher = NoticeDispatcher::new(scenario.store.clone(), Clock::system());
        tokio::spawn(async move { dispatcher.dispatch().await })
    };
    for done in (0..6).map(dispatch).collect::<Vec<_>>() {
        let _ = done.await.unwrap();
    }
    NoticeDispatcher::new(scenario.store.clone(), Clock::system()).dispatch().await.unwrap();
    let mut told = super::texts(&scenario.deliver().await, crate::support::TELEGRAM, "1001");
    assert_eq!(told.len(), 20, "{told:?}");
    told.sort();
    told.dedup();
    assert_eq!(told.len(), 20);
}
