//! Incoming messages of the channels, and the conversations they belong to.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use ostler_domain::contact::{Contact, ContactDetails};
use ostler_domain::id::{AgentId, BindingId, ContactId, OrgId};
use ostler_domain::message::MessagePart;
use ostler_domain::org::OrgPlace;
use ostler_domain::org::plan::LicencePlan;
use ostler_domain::org::settings::{ChannelAddress, NotifyAddresses, OrgSettings};
use ostler_domain::session::key::{ConversationEntry, Peer};
use ostler_domain::session::lifetime::CloseReason;
use ostler_domain::session::status::SessionStatus;
use ostler_runtime::conversation::receive::InboundOutcome;
use ostler_runtime::org_view::{SETTINGS, settings_record};
use ostler_runtime::records::session::Session;
use ostler_store::AcceptOutcome;
use serde_json::{Value, json};

use crate::fake_server::Reply;
use crate::support::{BOT, ConnectedOrg, ENZO, GIA, ORG, SMS, sent_message, telegram_message};

const SILENT: &str = "default: I see.";
/// Varied answers, because similar ones escalate.
const VARIED: &str = "
rules:
  - when: { user: one }
    answer: Good morning.
  - when: { user: two }
    answer: What a pity!
default: I see.
";

fn ok() -> Reply {
    Reply::json(200, &json!({}))
}

fn text(from: &str, text: &str) -> Value {
    json!({"type": "message", "from": {"id": from, "name": "Rosa"}, "text": text})
}

fn is_new(taken: &InboundOutcome) -> bool {
    matches!(taken, InboundOutcome::Accepted(AcceptOutcome::New(_)))
}

async fn session_of(org: &ConnectedOrg, who: &str) -> Session {
    org.scenario.session(who).await
}

/// A12: on a phone channel a contact is recognized by the number, however it is spaced,
/// also in later messages; an unknown person is answered too.
#[tokio::test]
async fn a12_a_contact_is_recognized_by_phone_number() {
    let org = ConnectedOrg::new(VARIED).await;
    let gateway = org.sms([ok()]).await;
    let details =
        ContactDetails { phone: Some("+39 06 12 34".into()), ..ContactDetails::default() };
    let rosa = Contact {
        id: ContactId::from_u128(5),
        name: "Rosa".into(),
        details,
        locale: None,
        tags: BTreeSet::new(),
        notes: Vec::new(),
        crm: None,
    };
    org.scenario.org().create_contact(rosa).await.unwrap();
    for (from, words) in [("+3906 1234", "one"), ("+39 061234", "two"), ("+44 20", "hi")] {
        assert!(is_new(&org.receive_webhook(SMS, &format!("m-{words}"), &text(from, words)).await));
        org.work().await;
    }
    assert_eq!(session_of(&org, "+39061234").await.contact, Some(ContactId::from_u128(5)));
    assert_eq!(org.scenario.runs("+39061234").await.len(), 2, "one conversation, however spaced");
    assert_eq!(session_of(&org, "+4420").await.contact, None);
    let to: Vec<Value> = gateway.seen().iter().map(|seen| seen.json()["to"].clone()).collect();
    assert_eq!(to, ["+39061234", "+39061234", "+4420"]);
}

/// B11: media tools are not offered on SMS, and are on the web chat.
#[tokio::test]
async fn b11_media_tools_are_off_on_sms() {
    let org = ConnectedOrg::new(SILENT).await;
    org.sms([ok()]).await;
    org.receive_webhook(SMS, "m1", &text("+39", "hi")).await;
    org.work().await;
    org.scenario.say("rosa", "hi").await;
    let offered = |runs: Vec<ostler_runtime::records::run::RunRecord>| -> BTreeSet<String> {
        let tools = runs[0].turns[0].harness.tool_scope.active_tools.iter();
        tools.map(|tool| tool.as_str().to_owned()).collect()
    };
    let (sms, webchat) =
        (offered(org.scenario.runs("+39").await), offered(org.scenario.runs("rosa").await));
    let missing: Vec<&String> = webchat.difference(&sms).collect();
    assert_eq!(missing, ["search_media"]);
}

/// F01: a session on SMS ends after an hour of silence.
#[tokio::test]
async fn f01_a_session_on_sms_ends_after_an_hour_of_silence() {
    let org = ConnectedOrg::new(VARIED).await;
    org.sms([ok()]).await;
    org.receive_webhook(SMS, "m1", &text("+39", "one")).await;
    org.work().await;
    let first = session_of(&org, "+39").await.id;
    org.scenario.advance(Duration::from_secs(59 * 60));
    org.receive_webhook(SMS, "m2", &text("+39", "two")).await;
    org.work().await;
    assert_eq!(session_of(&org, "+39").await.id, first);
    org.scenario.advance(Duration::from_secs(61 * 60));
    org.receive_webhook(SMS, "m3", &text("+39", "hi")).await;
    org.work().await;
    let sessions = org.scenario.sessions().await;
    assert_eq!((sessions.len(), sessions[1].id), (2, first));
    assert_eq!(sessions[1].status, SessionStatus::Closed(CloseReason::IdleTimeout));
}

/// Attachments become parts of the message and are stored once, also if the message is
/// delivered again; the agent and the sender are told about refused ones.
#[tokio::test]
async fn attachments_are_stored_once() {
    let org = ConnectedOrg::new(SILENT).await;
    let gateway = org.sms([ok()]).await;
    let mut body = text("+39", "look");
    body["attachments"] = json!([
        {"media_type": "image/png", "name": "a.png", "content": "aGk="},
        {"media_type": "text/plain", "name": "b.txt", "url": "https://elsewhere.example/b"},
    ]);
    let (first, again) =
        (org.receive_webhook(SMS, "m1", &body).await, org.receive_webhook(SMS, "m1", &body).await);
    let InboundOutcome::Accepted(AcceptOutcome::New(id)) = first else { panic!("{first:?}") };
    assert_eq!(again, InboundOutcome::Accepted(AcceptOutcome::Duplicate(id)));
    org.work().await;
    let thread = org.scenario.thread("+39").await;
    let [
        MessagePart::Text { text: words },
        MessagePart::Image(picture),
        MessagePart::Text { text: missing },
    ] = thread[0].parts.as_slice()
    else {
        panic!("{thread:?}")
    };
    assert_eq!(words, "look");
    let kept = org.scenario.org().blob(picture.blob).await.unwrap();
    assert_eq!((kept.bytes.as_slice(), picture.name.as_deref()), (&b"hi"[..], Some("a.png")));
    assert_eq!(missing, "(The file b.txt could not be fetched and was not taken.)");
    let heard: Vec<Value> = gateway.seen().iter().map(|seen| seen.json()["text"].clone()).collect();
    assert_eq!(heard, [missing.as_str(), "I see."]);
}

/// A hundred Telegram updates, each delivered a hundred times concurrently, have a
/// hundred turns and a hundred replies.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn duplicate_telegram_updates_are_answered_once() {
    let org = Arc::new(ConnectedOrg::new(SILENT).await);
    let bot = org.bot([sent_message(1)]).await;
    let headers = org.telegram_headers(BOT).await;
    let mut bringing = tokio::task::JoinSet::new();
    for _ in 0..100 {
        let (org, headers) = (org.clone(), headers.clone());
        bringing.spawn(async move {
            let mut new = 0;
            for n in 1..=100 {
                let taken =
                    org.receive_update(BOT, &headers, &telegram_message(n, 1000 + n, "hi")).await;
                new += usize::from(is_new(&taken.unwrap()));
            }
            new
        });
    }
    let mut new = 0;
    while let Some(brought) = bringing.join_next().await {
        new += brought.unwrap();
    }
    assert_eq!(new, 100);
    org.scenario.grant(10_000).await;
    org.work().await;
    let sessions = org.scenario.sessions().await;
    assert_eq!(sessions.len(), 100);
    for session in sessions {
        assert_eq!(org.scenario.org().runs(session.id, None, 10).await.unwrap().len(), 1);
    }
    let to: BTreeSet<String> =
        bot.seen().iter().map(|seen| seen.json()["chat_id"].to_string()).collect();
    assert_eq!((bot.seen().len(), to.len()), (100, 100));
}

const OTHER_BOT: BindingId = BindingId::from_u128(0xb08);

fn in_group(update: i64, number: i64, chat: i64, text: &str) -> Value {
    json!({"update_id": update, "message": {"message_id": number, "date": 1, "text": text,
        "from": {"id": 7, "is_bot": false, "first_name": "Rosa"},
        "chat": {"id": chat, "type": "supergroup"}}})
}

/// G04: two bots of an org in one group are a team; the one with the lowest priority
/// number of its binding answers, and a message that both deliver is accepted once.
#[tokio::test]
async fn g04_a_group_with_two_bots_is_a_team() {
    let org = ConnectedOrg::new(SILENT).await;
    let server = org.bot([sent_message(1)]).await;
    let settings = json!({"base_url": server.url});
    org.bind(BOT, "telegram", GIA, 20, &settings).await;
    org.bind(OTHER_BOT, "telegram", ENZO, 10, &settings).await;
    let chat = -1_001_234;
    for (bot, update) in [(BOT, 1), (OTHER_BOT, 1)] {
        let joined = json!({"update_id": update, "my_chat_member": {"date": 1,
            "chat": {"id": chat, "type": "supergroup"},
            "from": {"id": 9, "is_bot": false, "first_name": "Luca"},
            "old_chat_member": {"status": "left", "user": {"id": 1, "is_bot": true, "first_name": "b"}},
            "new_chat_member": {"status": "member", "user": {"id": 1, "is_bot": true, "first_name": "b"}}}});
        assert!(matches!(org.update(bot, &joined).await, InboundOutcome::Ignored(_)));
    }
    assert!(is_new(&org.update(OTHER_BOT, &in_group(2, 50, chat, "hello")).await));
    let again = org.update(BOT, &in_group(2, 50, chat, "hello")).await;
    assert!(matches!(again, InboundOutcome::Accepted(AcceptOutcome::Duplicate(_))), "{again:?}");
    org.work().await;
    let session = org.scenario.sessions().await.remove(0);
    assert_eq!(session.peer, Peer::Group(chat.to_string()));
    let team = session.team.unwrap();
    assert_eq!((team.participants(), team.active()), (&[ENZO, GIA][..], ENZO));
    assert_eq!(server.seen().len(), 1);
    assert_eq!(server.seen()[0].json()["reply_parameters"]["message_id"], 50);
    // A group with one bot is no team.
    org.update(BOT, &in_group(3, 9, -1_005, "hello")).await;
    org.work().await;
    let alone = org.scenario.sessions().await.remove(0);
    assert_eq!((alone.agent, alone.team), (Some(GIA), None));
}

/// L34, L36: the owner of an agency who follows a deep link to an agent of a sub-org is
/// in testing mode until `/exit` and is told so; after that it is an owner conversation, and
/// other people who follow the link are customers.
#[tokio::test]
async fn l34_l36_the_owner_of_an_agency_tests_by_deep_link() {
    let org = ConnectedOrg::new(VARIED).await;
    let agency = OrgId::from_u128(0xa6e);
    let above = crate::support::org(agency, "agency", OrgPlace::TopLevel, LicencePlan::Agency);
    org.scenario.store.create_org(above).await.unwrap();
    let mut bella = org.scenario.org().org().await.unwrap();
    bella.place = OrgPlace::SubOrg { parent: agency };
    org.scenario.org().update_org(bella).await.unwrap();
    let server = org.bot([sent_message(1)]).await;
    // The owner of the agency is known by the bot of the agency.
    let theirs = BindingId::from_u128(0xa6e);
    let cora = ostler_testkit::agent(agency, AgentId::from_u128(0xc0a), "cora");
    let of = org.scenario.store.org(agency);
    of.save_agent(cora.clone()).await.unwrap();
    let mut bound = org.scenario.org().binding(BOT).await.unwrap();
    (bound.binding.id, bound.agent) = (theirs, cora.id);
    of.save_binding(bound).await.unwrap();
    let owner = Some(ChannelAddress { binding: theirs, identifier: "77".into() });
    let people = NotifyAddresses { owner, ..NotifyAddresses::default() };
    let settings = serde_json::to_string(&OrgSettings { people, ..OrgSettings::default() });
    of.create_record(SETTINGS, settings_record(agency), settings.unwrap()).await.unwrap();

    let start = |update: i64, who: i64, text: &str| {
        let mut start = telegram_message(update, who, text);
        let length = text.find(' ').unwrap_or(text.len());
        start["message"]["entities"] =
            json!([{"type": "bot_command", "offset": 0, "length": length}]);
        start
    };
    org.update(BOT, &start(1, 77, "/start gia")).await;
    org.update(BOT, &start(2, 78, "/start gia")).await;
    org.work().await;
    org.update(BOT, &telegram_message(3, 77, "this is number two")).await;
    org.work().await;
    let entries = |sessions: &[Session]| -> BTreeSet<(String, ConversationEntry)> {
        let entry = |one: &Session| match &one.peer {
            Peer::Person(who) | Peer::Group(who) => (who.clone(), one.entry),
        };
        sessions.iter().map(entry).collect()
    };
    let sessions = org.scenario.sessions().await;
    let (tester, customer) =
        (("77".into(), ConversationEntry::Testing), ("78".into(), ConversationEntry::Customer));
    assert_eq!(entries(&sessions), BTreeSet::from([tester, customer]));
    let heard = |who: &str| -> Vec<String> {
        let seen = server.seen();
        let to = seen
            .iter()
            .map(crate::fake_server::SeenRequest::json)
            .filter(|one| one["chat_id"] == who);
        to.map(|one| one["text"].as_str().unwrap().to_owned()).collect()
    };
    let greeting =
        "Welcome to testing mode for Bella Pizza. You are talking to Gia. Send /exit to leave.";
    assert_eq!(heard("77"), [greeting, "I see.", "What a pity!"]);
    assert_eq!(heard("78"), ["I see."]);
    let left = "You left testing mode for Bella Pizza. You are talking to its PM again.";
    for (update, text) in [(4, "/exit"), (5, "/start")] {
        org.update(BOT, &start(update, 77, text)).await;
        org.work().await;
    }
    assert!(heard("77").contains(&left.to_owned()), "{:?}", heard("77"));
    let sessions = org.scenario.sessions().await;
    assert!(entries(&sessions).contains(&("77".into(), ConversationEntry::Owner)), "{sessions:?}");
    assert_eq!(sessions[0].org, ORG);
}

/// A webhook for a disabled or unknown binding, or without the right secret, is refused.
#[tokio::test]
async fn a_disabled_or_unknown_binding_and_a_wrong_secret_are_refused() {
    let org = ConnectedOrg::new(SILENT).await;
    org.bot([sent_message(1)]).await;
    let headers = org.telegram_headers(BOT).await;
    assert!(
        org.receive_update(BOT, &http::HeaderMap::new(), &telegram_message(1, 7, "hi"))
            .await
            .is_err()
    );
    let mut bound = org.scenario.org().binding(BOT).await.unwrap();
    bound.binding.enabled = false;
    org.scenario.org().save_binding(bound).await.unwrap();
    for binding in [BOT, OTHER_BOT] {
        let refused = org.receive_update(binding, &headers, &telegram_message(1, 7, "hi")).await;
        assert!(refused.is_err(), "{refused:?}");
    }
    assert!(org.scenario.sessions().await.is_empty());
}
