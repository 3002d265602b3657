//! Keys: approvals count only if they were meant, nothing that was written is lost.

use ostler_api::thread::{ApprovalDecision, AskAnswer, PlanDecision};
use ostler_api::thread_event::ThreadEventKind as Kind;
use serde_json::json;

use super::recordings::{app, events, played};
use crate::app::{App, Effect, last_rows};
use crate::protocol::{ChatFigures, ChatRequest, ChatUpdate, ComposedMessage, ImageFile};
use crate::text::line::Row;

fn press(app: &mut App, keys: &[&str], now: u64) -> Vec<Effect> {
    keys.iter().flat_map(|key| app.key(key.parse().expect("a key"), now)).collect()
}

fn asked() -> App {
    played("approved", |kind| matches!(kind, Kind::ToolApprovalRequired { .. }))
}

fn call() -> String {
    events("approved")
        .into_iter()
        .find_map(|event| match event.kind {
            Kind::ToolApprovalRequired { tool_call_id, .. } => Some(tool_call_id),
            _ => None,
        })
        .expect("a question")
}

fn approval(
    decision: ApprovalDecision,
    arguments: Option<serde_json::Value>,
    reason: Option<&str>,
) -> Vec<Effect> {
    let reason = reason.map(str::to_owned);
    vec![Effect::Request(ChatRequest::Answer(AskAnswer::Approval {
        id: call(),
        decision,
        arguments,
        reason,
    }))]
}

#[test]
fn m43_an_approval_key_counts_only_after_the_card_was_drawn() {
    let mut app = asked();
    assert_eq!(press(&mut app, &["y"], 1000), []);
    assert_eq!(app.composer.whole_text(), "y");
    press(&mut app, &["backspace"], 1000);
    app.drawn(1000);
    assert_eq!(press(&mut app, &["y"], 1100), [], "pressed before anybody could have read it");
    press(&mut app, &["backspace"], 1100);
    assert_eq!(press(&mut app, &["y"], 2000), approval(ApprovalDecision::Approve, None, None));
}

#[test]
fn m43_an_approval_key_does_not_count_while_something_is_written() {
    let mut app = app();
    press(&mut app, &["h", "e"], 0);
    for event in events("approved") {
        let last = matches!(event.kind, Kind::ToolApprovalRequired { .. });
        app.update(ChatUpdate::Event(Box::new(event)));
        if last {
            break;
        }
    }
    app.drawn(0);
    assert_eq!(press(&mut app, &["y", "n", "a"], 5000), []);
    assert_eq!(app.composer.whole_text(), "heyna");
    // With the focus on the card it does, and what was written comes back.
    assert_eq!(
        press(&mut app, &["tab", "n"], 6000),
        approval(ApprovalDecision::Decline, None, None)
    );
    assert_eq!(app.composer.whole_text(), "heyna");
}

#[test]
fn m43_calls_are_declined_with_a_reason_and_edited() {
    let mut app = asked();
    app.drawn(0);
    assert_eq!(
        press(&mut app, &["d", "n", "o", "enter"], 1000),
        approval(ApprovalDecision::Decline, None, Some("no"))
    );
    let mut app = asked();
    app.drawn(0);
    press(&mut app, &["e"], 1000);
    assert!(app.composer.whole_text().contains("hello.txt"));
    press(&mut app, &["x"], 1000);
    assert_eq!(press(&mut app, &["enter"], 1000), [], "not JSON");
    app.composer.set("");
    app.pasted(r#"{"path": "other.txt"}"#);
    assert_eq!(
        press(&mut app, &["enter"], 1000),
        approval(ApprovalDecision::Approve, Some(json!({"path": "other.txt"})), None)
    );
}

#[test]
fn m43_always_shows_the_rule_and_asks_where_to_write_it() {
    let mut app = asked();
    app.drawn(0);
    assert_eq!(press(&mut app, &["a"], 1000), []);
    let always = ChatRequest::Always { id: call(), scope: "project".to_owned(), arguments: None };
    assert_eq!(press(&mut app, &["p"], 1000), [Effect::Request(always)]);
}

#[test]
fn m43_questions_and_plans_are_answered() {
    let mut app = played("question", |kind| matches!(kind, Kind::AskQuestion { .. }));
    app.drawn(0);
    let answer = |effects: Vec<Effect>| match effects.into_iter().next() {
        Some(Effect::Request(ChatRequest::Answer(AskAnswer::Question { text, .. }))) => text,
        other => panic!("{other:?}"),
    };
    assert_eq!(answer(press(&mut app, &["2"], 1000)), "blue");
    assert_eq!(answer(press(&mut app, &["down", "enter"], 1000)), "blue");
    assert_eq!(answer(press(&mut app, &["g", "r", "e", "y", "enter"], 1000)), "grey");
    let mut app = played("plan", |kind| matches!(kind, Kind::PlanApprovalRequired { .. }));
    app.drawn(0);
    let effects = press(&mut app, &["s", "h", "o", "r", "t", "enter"], 1000);
    assert!(
        matches!(
            &effects[..],
            [Effect::Request(ChatRequest::Answer(AskAnswer::Plan { decision: PlanDecision::Reject, feedback: Some(text), .. }))]
                if text == "short"
        ),
        "{effects:?}"
    );
}

#[test]
fn m43_escape_interrupts_and_does_nothing_else() {
    let mut app = app();
    press(&mut app, &["h", "i"], 0);
    assert_eq!(press(&mut app, &["esc", "esc"], 0), []);
    assert_eq!(app.composer.whole_text(), "hi");
    let mut app = asked();
    app.drawn(0);
    assert_eq!(press(&mut app, &["esc"], 1000), [Effect::Request(ChatRequest::Abort)]);
}

#[test]
fn m43_ctrl_c_clears_and_twice_quits() {
    let mut app = app();
    press(&mut app, &["h", "i", "ctrl-c"], 0);
    assert!(app.composer.is_empty());
    assert_eq!(press(&mut app, &["ctrl-c"], 0), []);
    assert_eq!(press(&mut app, &["ctrl-c"], 1000), [Effect::Quit]);
    press(&mut app, &["ctrl-c"], 2000);
    assert_eq!(press(&mut app, &["ctrl-c"], 9000), [], "too late");
    // What was cleared can be had again.
    press(&mut app, &["up"], 9000);
    assert_eq!(app.composer.whole_text(), "hi");
}

#[test]
fn m43_messages_are_sent_queued_steered_and_parked() {
    let mut app = app();
    let message = |text: &str| ComposedMessage { text: text.to_owned(), images: Vec::new() };
    let send = |text: &str| vec![Effect::Request(ChatRequest::Send(message(text)))];
    assert_eq!(press(&mut app, &["h", "i", "enter"], 0), send("hi"));
    press(&mut app, &["g", "o"], 0);
    assert_eq!(
        press(&mut app, &["ctrl-s"], 0),
        [Effect::Request(ChatRequest::Steer(message("go")))]
    );
    assert_eq!(press(&mut app, &["enter"], 0), []);
    app.update(ChatUpdate::Figures(ChatFigures { queued: 1, ..ChatFigures::default() }));
    assert_eq!(press(&mut app, &["enter"], 0), [Effect::Request(ChatRequest::Resume)]);
    assert_eq!(press(&mut app, &["a", "alt-enter", "b", "enter"], 0), send("a\nb"));
    // A message that was refused comes back.
    let text = Some("again".to_owned());
    app.update(ChatUpdate::Refused { why: "Not done.".to_owned(), text });
    assert_eq!(app.composer.whole_text(), "again");
}

/// M43: an image is part of the message where it was added, is sent with its name in its place,
/// and comes back with a text that was not taken.
#[test]
fn m43_an_image_is_sent_with_the_message() {
    let mut app = app();
    let image =
        ImageFile { path: "/tmp/a photo.png".into(), name: "a photo.png".into(), size: 2048 };
    app.pasted("what is ");
    app.attach(Ok(image.clone()));
    app.pasted(" in it?");
    let rows = app.composer.rows(70).0;
    assert_eq!(rows[0].text(), "what is [image a photo.png, 2 KiB] in it?");
    assert_eq!(app.draft(), "what is /tmp/a photo.png in it?");
    let sent = app.key("enter".parse().unwrap(), 0);
    let text = "what is [a photo.png] in it?".to_owned();
    let message = ComposedMessage { text: text.clone(), images: vec![image.clone()] };
    assert_eq!(sent, [Effect::Request(ChatRequest::Send(message.clone()))]);
    app.update(ChatUpdate::Refused { why: "no connection".into(), text: Some(text) });
    assert_eq!(app.key("enter".parse().unwrap(), 0), [Effect::Request(ChatRequest::Send(message))]);
    let shown = json!({"type": "message_end", "ext": {"at": 0}, "message": {"id": "m-1", "role": "user",
        "content": [{"type": "text", "text": "look"},
                    {"type": "image", "name": "a photo.png", "size": 2048, "media_type": "image/png"}]}});
    app.update(ChatUpdate::Event(Box::new(serde_json::from_value(shown).unwrap())));
    let rows = last_rows(&app.transcript, app.detail, 60, 3);
    let rows: Vec<String> = rows.iter().map(Row::text).collect();
    assert!(
        rows.ends_with(&["› look".to_owned(), "  ⊞ a photo.png, 2 KiB".to_owned()]),
        "{rows:?}"
    );
    app.attach(Err("no image".to_owned()));
    assert!(app.composer.is_empty());
}

/// M43: in lines, a message that was refused is no part of the next one; its images are.
#[test]
fn m43_a_refused_line_is_no_part_of_the_next_one() {
    let mut app = app();
    let path = std::path::PathBuf::from("/tmp/photo.png");
    let image = ImageFile { path, name: "photo.png".to_owned(), size: 12 };
    app.attach(Ok(image.clone()));
    let sent = |effects: Vec<Effect>| match <[Effect; 1]>::try_from(effects) {
        Ok([Effect::Request(ChatRequest::Send(message))]) => message,
        other => panic!("{other:?}"),
    };
    let ComposedMessage { text, images } = sent(app.message_line("what is this"));
    assert_eq!(images, std::slice::from_ref(&image));
    app.update_lines(ChatUpdate::Refused { why: "no connection".into(), text: Some(text) });
    let ComposedMessage { text, images } = sent(app.message_line("look at it"));
    assert_eq!((text.as_str(), images), ("[photo.png]look at it", vec![image]));
}
