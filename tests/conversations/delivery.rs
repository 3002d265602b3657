//! What becomes of a reply on its way out, with providers that misbehave and
//! count what they get.

use std::time::Duration;

use ostler_domain::id::BlobId;
use ostler_domain::message::MessagePart;
use ostler_domain::notice::{NoticeKind, NoticeRecipient};
use ostler_domain::retry::RetryPolicy;
use ostler_runtime::delivery::{DeliveryOptions, Typing};
use ostler_store::{Author, DeadLetterId, NewBlob, OutboxState};
use serde_json::json;

use crate::fake_server::{Reply, SeenRequest, Server};
use crate::support::{BOT, ConnectedOrg, SMS, Scenario, WEBCHAT, delivery_options, sent_message, telegram_message};

const SILENT: &str = "default: I see.";

fn status(code: u16) -> Reply {
    Reply::json(code, &json!({"ok": false, "error_code": code, "description": "no"}))
}

fn texts(server: &Server) -> Vec<String> {
    let text = |seen: &SeenRequest| seen.json()["text"].as_str().unwrap_or_default().to_owned();
    server.seen().iter().map(text).collect()
}

fn hello() -> Vec<MessagePart> {
    vec![MessagePart::text("hello")]
}

/// C17: Telegram is tried three times, and the third one is delivered.
#[tokio::test]
async fn c17_a_provider_that_stumbles_is_tried_again() {
    let org = ConnectedOrg::new(SILENT).await;
    let bot = org.bot([status(500), status(502), sent_message(1)]).await;
    let id = org.queue_message("7", BOT, Author::Agent, hello()).await;
    org.deliver_until(id, OutboxState::Sent).await;
    assert_eq!(texts(&bot), ["hello", "hello", "hello"]);
}

/// C17, C18: a text message is tried twice and is a dead letter then, with its
/// reason and how often it was tried; a person has it sent again.
#[tokio::test]
async fn c17_c18_what_cannot_be_sent_is_a_dead_letter() {
    // Dead letters wait as long as they do in earnest.
    let letters = RetryPolicy::DEAD_LETTER;
    let scenario = Scenario::new(SILENT).await;
    let org = ConnectedOrg::of(scenario, DeliveryOptions { dead_letter_retries: letters, ..delivery_options() });
    let sms = org.sms([status(500), status(503), Reply::json(200, &json!({}))]).await;
    let id = org.queue_message("+39061234", SMS, Author::Agent, hello()).await;
    org.deliver_until(id, OutboxState::Dead).await;
    assert_eq!(sms.seen().len(), 2);
    let letter = org.scenario.org().dead_letter(DeadLetterId::Outbox(id)).await.unwrap();
    assert_eq!(letter.attempts, 2);
    assert!(letter.reason.contains("503"), "{letter:?}");
    assert!(letter.payload.contains("+39061234") && letter.payload.contains("hello"));
    assert_eq!(org.delivery.sweep().await.unwrap().revived, 0, "it is not time yet");
    org.scenario.org().replay_dead_letter(letter.id).await.unwrap();
    org.deliver_until(id, OutboxState::Sent).await;
    let last = sms.seen().pop().unwrap().json();
    assert_eq!((&last["text"], &last["possible_duplicate"]), (&json!("hello"), &json!(false)));
}

/// C18: a dead letter is tried ten times in all, then it is given up and the
/// owner is told.
#[tokio::test]
async fn c18_a_dead_letter_is_given_up_after_ten_times() {
    let org = ConnectedOrg::new(SILENT).await;
    let bot = org
        .bot([Reply::json(
            403,
            &json!({"ok": false, "error_code": 403,
        "description": "Forbidden: bot was blocked by the user"}),
        )])
        .await;
    let id = org.queue_message("7", BOT, Author::Agent, hello()).await;
    for _ in 0..1000 {
        org.deliver().await;
        if org.state(id).await == OutboxState::Abandoned {
            break;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
        org.delivery.sweep().await.unwrap();
    }
    assert_eq!(org.state(id).await, OutboxState::Abandoned);
    assert_eq!(bot.seen().len(), 10);
    let told = org.scenario.org().unread_notices(NoticeRecipient::Owner, None, 10).await.unwrap();
    assert_eq!(told.len(), 1, "{told:?}");
    assert_eq!(told[0].notice.kind, NoticeKind::DeadLetterAbandoned);
    assert!(told[0].notice.data.contains("blocked by the user"), "{told:?}");
}

/// C17: formatting that the provider cannot read is left out, once.
#[tokio::test]
async fn c17_what_cannot_be_read_goes_as_plain_text() {
    let org = ConnectedOrg::new(SILENT).await;
    let bad = Reply::json(
        400,
        &json!({"ok": false, "error_code": 400,
            "description": "Bad Request: can't parse entities: unexpected end"}),
    );
    let bot = org.bot([bad.clone(), sent_message(1), bad]).await;
    let first = org.queue_message("7", BOT, Author::Agent, vec![MessagePart::text("**hello**")]).await;
    org.deliver().await;
    assert_eq!(org.state(first).await, OutboxState::Sent);
    assert_eq!(texts(&bot), ["<b>hello</b>", "hello"]);
    let second = org.queue_message("7", BOT, Author::Agent, vec![MessagePart::text("**again**")]).await;
    org.deliver().await;
    assert_eq!(org.state(second).await, OutboxState::Dead);
    assert_eq!(texts(&bot)[2..], ["<b>again</b>", "again"]);
}

/// C17: while a provider asks to be left alone, nothing else is tried there, and
/// other bindings go on.
#[tokio::test]
async fn c17_a_provider_that_asks_for_time_gets_it() {
    let org = ConnectedOrg::new(SILENT).await;
    let slow_down = Reply::json(
        429,
        &json!({"ok": false, "error_code": 429, "description": "Too Many Requests",
            "parameters": {"retry_after": 2}}),
    );
    let bot = org.bot([slow_down, sent_message(1)]).await;
    let sms = org.sms([Reply::json(200, &json!({}))]).await;
    let began = std::time::Instant::now();
    let first = org.queue_message("7", BOT, Author::Agent, hello()).await;
    let others = [
        org.queue_message("8", BOT, Author::Agent, hello()).await,
        org.queue_message("9", BOT, Author::Agent, hello()).await,
    ];
    let text = org.queue_message("+39", SMS, Author::Agent, hello()).await;
    org.deliver().await;
    if began.elapsed() < Duration::from_secs(2) {
        assert_eq!(bot.seen().len(), 1);
    }
    assert_eq!((org.state(text).await, sms.seen().len()), (OutboxState::Sent, 1));
    for id in [first, others[0], others[1]] {
        org.deliver_until(id, OutboxState::Sent).await;
    }
    assert!(began.elapsed() >= Duration::from_secs(2));
    assert_eq!(bot.seen().len(), 4);
}

/// Z09: a send that was cut may have arrived; that is said, and it is not sent
/// again. What comes after it goes out.
#[tokio::test]
async fn z09_nobody_repeats_what_may_have_arrived() {
    let org = ConnectedOrg::new(SILENT).await;
    let bot = org.bot([Reply::Cut, Reply::Hang, sent_message(1)]).await;
    let cut = org.queue_message("7", BOT, Author::Agent, vec![MessagePart::text("one")]).await;
    let slow = org.queue_message("7", BOT, Author::Agent, vec![MessagePart::text("two")]).await;
    let last = org.queue_message("7", BOT, Author::Agent, vec![MessagePart::text("three")]).await;
    org.deliver_until(last, OutboxState::Sent).await;
    let states = [org.state(cut).await, org.state(slow).await];
    assert_eq!(states, [OutboxState::Unknown, OutboxState::Unknown]);
    assert_eq!(texts(&bot), ["one", "two", "three"]);
    org.delivery.sweep().await.unwrap();
    org.deliver().await;
    assert_eq!(bot.seen().len(), 3, "nobody repeats it unasked");
    org.scenario.org().replay_dead_letter(DeadLetterId::Outbox(cut)).await.unwrap();
    org.deliver().await;
    assert_eq!(texts(&bot)[3], "(You may have received this before.)\none");
}

/// Z09: where a binding wants it, it is sent again, and marked.
#[tokio::test]
async fn z09_a_binding_may_have_it_sent_again() {
    let org = ConnectedOrg::new(SILENT).await;
    let server = Server::start([Reply::Cut, Reply::json(200, &json!({}))]).await;
    let settings = json!({"url": server.url, "when_unknown": "resend"});
    org.bind(SMS, "webhook", crate::support::GIA, 1, &settings).await;
    let id = org.queue_message("rosa", SMS, Author::Agent, hello()).await;
    org.deliver().await;
    assert_eq!(org.state(id).await, OutboxState::Sent);
    let marked: Vec<bool> = server
        .seen()
        .iter()
        .map(|seen| seen.json()["possible_duplicate"].as_bool().unwrap())
        .collect();
    assert_eq!(marked, [false, true]);
}

/// C16: a long message goes out in pieces, and one that is tried again does not
/// repeat those before it.
#[tokio::test]
async fn c16_pieces_that_were_sent_are_not_repeated() {
    let org = ConnectedOrg::new(SILENT).await;
    let bot = org.bot([sent_message(1), status(500), sent_message(2), sent_message(3)]).await;
    let long = ["a", "b", "c"].map(|letter| letter.repeat(3900)).join("\n\n");
    let id = org.queue_message("7", BOT, Author::Agent, vec![MessagePart::text(long)]).await;
    let after = org.queue_message("7", BOT, Author::Agent, hello()).await;
    org.deliver_until(after, OutboxState::Sent).await;
    assert_eq!(org.state(id).await, OutboxState::Sent);
    let begins: Vec<String> = texts(&bot).iter().map(|text| text[..1].to_owned()).collect();
    assert_eq!(begins, ["a", "b", "b", "c", "h"]);
}

/// C15: without an enabled binding nothing is tried, the message is kept, and the
/// owner hears of it once; when the binding is back, the message goes out.
#[tokio::test]
async fn c15_a_message_waits_for_its_binding() {
    let org = ConnectedOrg::new(SILENT).await;
    let bot = org.bot([sent_message(1)]).await;
    let mut bound = org.scenario.org().binding(BOT).await.unwrap();
    bound.binding.enabled = false;
    org.scenario.org().save_binding(bound.clone()).await.unwrap();
    let disabled = org.queue_message("7", BOT, Author::Agent, hello()).await;
    let second = org.queue_message("8", BOT, Author::Agent, hello()).await;
    org.deliver().await;
    assert_eq!(org.state(disabled).await, OutboxState::Dead);
    assert_eq!(org.state(second).await, OutboxState::Dead);
    let letter = org.scenario.org().dead_letter(DeadLetterId::Outbox(disabled)).await.unwrap();
    assert_eq!(letter.reason, "the binding is disabled");
    let told = org.scenario.org().unread_notices(NoticeRecipient::Owner, None, 10).await.unwrap();
    let kinds: Vec<NoticeKind> = told.iter().map(|one| one.notice.kind).collect();
    assert_eq!((kinds, bot.seen().len()), (vec![NoticeKind::NoBinding], 0));
    bound.binding.enabled = true;
    org.scenario.org().save_binding(bound).await.unwrap();
    tokio::time::sleep(Duration::from_millis(5)).await;
    assert_eq!(org.delivery.sweep().await.unwrap().revived, 2);
    org.deliver().await;
    assert_eq!(org.state(disabled).await, OutboxState::Sent);
}

/// Z08: after a takeover no reply of an agent is sent, neither one that waits
/// nor one that was a dead letter; what a person wrote goes out as it is.
#[tokio::test]
async fn z08_after_a_takeover_no_agent_is_heard() {
    let org = ConnectedOrg::new(SILENT).await;
    let bot = org.bot([status(403), sent_message(1)]).await;
    let dead = org.queue_message("7", BOT, Author::Agent, vec![MessagePart::text("dead")]).await;
    org.deliver().await;
    let waits = org.queue_message("7", BOT, Author::Agent, vec![MessagePart::text("waits")]).await;
    let letter = org.scenario.org().dead_letter(DeadLetterId::Outbox(dead)).await.unwrap();
    org.scenario.org().withdraw_agent_messages(letter.conversation).await.unwrap();
    let person = org.queue_message("7", BOT, Author::Human, vec![MessagePart::text("*I* am here")]).await;
    tokio::time::sleep(Duration::from_millis(5)).await;
    org.delivery.sweep().await.unwrap();
    org.deliver().await;
    let states = [org.state(dead).await, org.state(waits).await, org.state(person).await];
    let expected = [OutboxState::Withdrawn, OutboxState::Withdrawn, OutboxState::Sent];
    assert_eq!(states, expected);
    assert_eq!(texts(&bot), ["dead", "*I* am here"]);
}

/// C16: files come from where they are kept; a page reads its messages itself.
#[tokio::test]
async fn c16_files_go_along() {
    let org = ConnectedOrg::new(SILENT).await;
    let sms = org.sms([Reply::json(200, &json!({}))]).await;
    let media_type = "image/png".parse().unwrap();
    let new = NewBlob { id: BlobId::from_u128(1), media_type, name: None, bytes: b"hi".to_vec() };
    let picture = MessagePart::from_attachment(org.scenario.org().put_blob(new).await.unwrap());
    let id = org.queue_message("+39", SMS, Author::Agent, vec![MessagePart::text("look"), picture]).await;
    let page = org.queue_message("rosa", WEBCHAT, Author::Agent, hello()).await;
    org.deliver().await;
    assert_eq!(org.state(id).await, OutboxState::Sent);
    assert_eq!(org.state(page).await, OutboxState::Sent);
    assert_eq!(sms.seen()[1].json()["attachments"][0]["content"], "aGk=");
}

/// Several couriers share the work, send each message once, and finish what they
/// have begun when they are stopped.
#[tokio::test]
async fn couriers_share_the_work() {
    let org = ConnectedOrg::new(SILENT).await;
    let sms = org.sms([Reply::json(200, &json!({}))]).await;
    let mut all = Vec::new();
    for n in 0..30 {
        for text in ["one", "two"] {
            let to = format!("+39{n}");
            all.push(org.queue_message(&to, SMS, Author::Agent, vec![MessagePart::text(text)]).await);
        }
    }
    let (stop, stopped) = tokio::sync::watch::channel(false);
    let delivery = org.delivery.clone();
    let running = tokio::spawn(async move { delivery.run(8, stopped).await });
    for id in &all {
        for _ in 0..600 {
            if org.state(*id).await == OutboxState::Sent {
                break;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
    stop.send(true).unwrap();
    tokio::time::timeout(Duration::from_secs(30), running).await.unwrap().unwrap();
    let mut heard = std::collections::BTreeMap::<String, Vec<String>>::new();
    for seen in sms.seen() {
        let body = seen.json();
        let word = |name: &str| body[name].as_str().unwrap().to_owned();
        heard.entry(word("to")).or_default().push(word("text"));
    }
    assert_eq!(heard.len(), 30);
    for (to, texts) in heard {
        assert_eq!(texts, ["one", "two"], "{to}");
    }
}

/// While a turn runs, the chat shows that somebody is writing.
#[tokio::test]
async fn a_turn_that_takes_its_time_is_shown() {
    let org = ConnectedOrg::new("delay: 3s\ndefault: I see.").await;
    let bot = org.bot([sent_message(1)]).await;
    org.update(BOT, &telegram_message(1, 7, "hi")).await;
    let typing = Typing::new(org.scenario.worker.running_turns().clone(), org.channels.clone());
    let (stop, stopped) = tokio::sync::watch::channel(false);
    let showing = tokio::spawn(async move { typing.run(stopped).await });
    org.work().await;
    stop.send(true).unwrap();
    showing.await.unwrap();
    let seen = bot.seen();
    let called = |n: usize| seen[n].path().rsplit('/').next().unwrap();
    assert_eq!((called(0), called(seen.len() - 1)), ("sendChatAction", "sendMessage"));
}
