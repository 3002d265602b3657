//! Delivery of replies through providers that fail, limit the rate or do not answer.

use std::time::Duration;

use ostler_domain::id::BlobId;
use ostler_domain::message::MessagePart;
use ostler_domain::notice::{NoticeKind, NoticeRecipient};
use ostler_domain::retry::RetryPolicy;
use ostler_runtime::delivery::{DeliveryOptions, Typing};
use ostler_store::{Author, DeadLetterId, NewBlob, OutboxState};
use ostler_testkit::eventually;
use serde_json::json;

use crate::fake_server::{Reply, SeenRequest, Server};
use crate::support::{
    BOT, ConnectedOrg, SMS, Scenario, WEBCHAT, delivery_options, sent_message, telegram_message,
};

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

/// C17: a send to Telegram is tried three times; the third succeeds.
#[tokio::test]
async fn c17_a_failing_telegram_send_succeeds_on_the_third_attempt() {
    let org = ConnectedOrg::new(SILENT).await;
    let bot = org.bot([status(500), status(502), sent_message(1)]).await;
    let id = org.queue_message("7", BOT, Author::Agent, hello()).await;
    org.deliver_until(id, OutboxState::Sent).await;
    assert_eq!(texts(&bot), ["hello", "hello", "hello"]);
}

/// C17, C18: an SMS is tried twice and then a dead letter, with its reason and its
/// attempts; an operator can replay it.
#[tokio::test]
async fn c17_c18_an_sms_that_fails_twice_is_a_dead_letter_and_can_be_replayed() {
    // Dead letters wait as long as in production.
    let letters = RetryPolicy::DEAD_LETTER;
    let scenario = Scenario::new(SILENT).await;
    let org = ConnectedOrg::of(
        scenario,
        DeliveryOptions { dead_letter_retries: letters, ..delivery_options() },
    );
    let sms = org.sms([status(500), status(503), Reply::json(200, &json!({}))]).await;
    let id = org.queue_message("+39061234", SMS, Author::Agent, hello()).await;
    org.deliver_until(id, OutboxState::Dead).await;
    assert_eq!(sms.seen().len(), 2);
    let dead_letter = org.scenario.org().dead_letter(DeadLetterId::Outbox(id)).await.unwrap();
    assert_eq!(dead_letter.attempts, 2);
    assert!(dead_letter.reason.contains("503"), "{dead_letter:?}");
    assert!(dead_letter.payload.contains("+39061234") && dead_letter.payload.contains("hello"));
    assert_eq!(org.delivery.sweep().await.unwrap().revived, 0, "it is not time yet");
    org.scenario.org().replay_dead_letter(dead_letter.id).await.unwrap();
    org.deliver_until(id, OutboxState::Sent).await;
    let last = sms.seen().pop().unwrap().json();
    assert_eq!((&last["text"], &last["possible_duplicate"]), (&json!("hello"), &json!(false)));
}

/// C18: the owner is notified of a dead letter; it is tried ten times in all, then it is
/// abandoned and the owner is notified again.
#[tokio::test]
async fn c18_a_dead_letter_is_abandoned_after_ten_attempts() {
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
    assert_eq!(told.len(), 2, "{told:?}");
    assert_eq!(told[0].notice.kind, NoticeKind::DeadLetter);
    assert_eq!(told[1].notice.kind, NoticeKind::DeadLetterAbandoned);
    assert!(told[1].notice.data.contains("blocked by the user"), "{told:?}");
}

/// C17: a message with formatting that the provider rejects is sent once as plain text.
#[tokio::test]
async fn c17_rejected_formatting_is_sent_as_plain_text() {
    let org = ConnectedOrg::new(SILENT).await;
    let bad = Reply::json(
        400,
        &json!({"ok": false, "error_code": 400,
            "description": "Bad Request: can't parse entities: unexpected end"}),
    );
    let bot = org.bot([bad.clone(), sent_message(1), bad]).await;
    let first =
        org.queue_message("7", BOT, Author::Agent, vec![MessagePart::text("**hello**")]).await;
    org.deliver().await;
    assert_eq!(org.state(first).await, OutboxState::Sent);
    assert_eq!(texts(&bot), ["<b>hello</b>", "hello"]);
    let second =
        org.queue_message("7", BOT, Author::Agent, vec![MessagePart::text("**again**")]).await;
    org.deliver().await;
    assert_eq!(org.state(second).await, OutboxState::Dead);
    assert_eq!(texts(&bot)[2..], ["<b>again</b>", "again"]);
}

/// C17: while a provider limits the rate, nothing is sent through its binding; other
/// bindings continue.
#[tokio::test]
async fn c17_a_rate_limited_binding_pauses_and_others_continue() {
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

/// Z09: an interrupted send has an unknown outcome and is not repeated. Later messages
/// are sent.
#[tokio::test]
async fn z09_an_interrupted_send_is_unknown_and_not_repeated() {
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

/// Z09: where the binding says so, an interrupted send is repeated and marked as possible
/// duplicate.
#[tokio::test]
async fn z09_an_interrupted_send_is_repeated_where_the_binding_says_so() {
    let org = ConnectedOrg::new(SILENT).await;
    let server = Server::start([Reply::Cut, Reply::json(200, &json!({}))]).await;
    let settings = json!({"url": server.url, "when_unknown": "resend"});
    org.bind(SMS, "webhook", crate::support::GIA, 1, &settings).await;
    let id = org.queue_message("rosa", SMS, Author::Agent, hello()).await;
    org.deliver_until(id, OutboxState::Sent).await;
    let marked: Vec<bool> = server
        .seen()
        .iter()
        .map(|seen| seen.json()["possible_duplicate"].as_bool().unwrap())
        .collect();
    assert_eq!(marked, [false, true]);
}

/// C16: a long message is sent in pieces; a retry does not repeat the sent ones.
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

/// C15: while the binding is disabled the message waits and the owner is notified once;
/// when it is enabled, the message is sent.
#[tokio::test]
async fn c15_a_message_waits_while_its_binding_is_disabled() {
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
    let dead_letter = org.scenario.org().dead_letter(DeadLetterId::Outbox(disabled)).await.unwrap();
    assert_eq!(dead_letter.reason, "the binding is disabled");
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

/// Z08: after a takeover no message of an agent is sent, neither a waiting one nor a dead
/// letter; messages of a person are sent unchanged.
#[tokio::test]
async fn z08_after_a_takeover_no_message_of_an_agent_is_sent() {
    let org = ConnectedOrg::new(SILENT).await;
    let bot = org.bot([status(403), sent_message(1)]).await;
    let dead = org.queue_message("7", BOT, Author::Agent, vec![MessagePart::text("dead")]).await;
    org.deliver().await;
    let waits = org.queue_message("7", BOT, Author::Agent, vec![MessagePart::text("waits")]).await;
    let dead_letter = org.scenario.org().dead_letter(DeadLetterId::Outbox(dead)).await.unwrap();
    org.scenario.org().withdraw_agent_messages(dead_letter.conversation).await.unwrap();
    let person =
        org.queue_message("7", BOT, Author::Human, vec![MessagePart::text("*I* am here")]).await;
    tokio::time::sleep(Duration::from_millis(5)).await;
    org.delivery.sweep().await.unwrap();
    org.deliver().await;
    let states = [org.state(dead).await, org.state(waits).await, org.state(person).await];
    let expected = [OutboxState::Withdrawn, OutboxState::Withdrawn, OutboxState::Sent];
    assert_eq!(states, expected);
    assert_eq!(texts(&bot), ["dead", "*I* am here"]);
}

/// C16: files are sent from the blob store; the web chat reads its messages itself.
#[tokio::test]
async fn c16_files_are_sent_as_attachments() {
    let org = ConnectedOrg::new(SILENT).await;
    let sms = org.sms([Reply::json(200, &json!({}))]).await;
    let media_type = "image/png".parse().unwrap();
    let new = NewBlob { id: BlobId::from_u128(1), media_type, name: None, bytes: b"hi".to_vec() };
    let picture = MessagePart::from_attachment(org.scenario.org().put_blob(new).await.unwrap());
    let id = org
        .queue_message("+39", SMS, Author::Agent, vec![MessagePart::text("look"), picture])
        .await;
    let page = org.queue_message("rosa", WEBCHAT, Author::Agent, hello()).await;
    org.deliver().await;
    assert_eq!(org.state(id).await, OutboxState::Sent);
    assert_eq!(org.state(page).await, OutboxState::Sent);
    assert_eq!(sms.seen()[1].json()["attachments"][0]["content"], "aGk=");
}

/// Several delivery workers send each message once, and finish their sends when they are
/// stopped.
#[tokio::test]
async fn delivery_workers_send_each_message_once_and_finish_on_stop() {
    let org = ConnectedOrg::new(SILENT).await;
    let sms = org.sms([Reply::json(200, &json!({}))]).await;
    let mut all = Vec::new();
    for n in 0..30 {
        for text in ["one", "two"] {
            let to = format!("+39{n}");
            all.push(
                org.queue_message(&to, SMS, Author::Agent, vec![MessagePart::text(text)]).await,
            );
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

/// A worker that is told to stop sends what is due first: replies of turns that have just
/// ended.
#[tokio::test]
async fn a_stopping_delivery_worker_sends_what_is_due() {
    let org = ConnectedOrg::new(SILENT).await;
    let sms = org.sms([Reply::json(200, &json!({}))]).await;
    for text in ["one", "two"] {
        org.queue_message("+39", SMS, Author::Agent, vec![MessagePart::text(text)]).await;
    }
    let (_stop, stopped) = tokio::sync::watch::channel(true);
    tokio::time::timeout(Duration::from_secs(30), org.delivery.run(8, stopped)).await.unwrap();
    assert_eq!(texts(&sms), ["one", "two"]);
}

/// While a turn runs, the chat shows a typing indicator.
#[tokio::test]
async fn a_typing_indicator_is_shown_during_a_turn() {
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

/// A gateway that does not answer delays its own messages only, and gets no more of
/// them at a time than its binding allows.
#[tokio::test(flavor = "multi_thread")]
async fn a_hanging_gateway_delays_its_own_messages_only() {
    const MESSAGES: usize = 12;
    let scenario = Scenario::new(SILENT).await;
    let org = ConnectedOrg::within(scenario, delivery_options(), Duration::from_secs(60));
    let hanging = org.sms([Reply::Hang]).await;
    let bot = org.bot([sent_message(1)]).await;
    let mut quick = Vec::new();
    for number in 0..MESSAGES {
        org.queue_message(&format!("+39{number}"), SMS, Author::Agent, hello()).await;
        quick.push(org.queue_message(&format!("{number}"), BOT, Author::Agent, hello()).await);
    }
    let (stop, stopped) = tokio::sync::watch::channel(false);
    let worker = org.delivery.clone();
    let task = tokio::spawn(async move { worker.run(32, stopped).await });
    for id in quick {
        eventually("the other binding's messages", async || {
            org.state(id).await == OutboxState::Sent
        })
        .await;
    }
    assert_eq!(bot.seen().len(), MESSAGES);
    let waiting = hanging.seen().len();
    assert!(waiting <= delivery_options().max_per_binding as usize, "{waiting} at the same time");
    stop.send_replace(true);
    task.abort();
}
