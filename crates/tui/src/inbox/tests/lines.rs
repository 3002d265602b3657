//! The linear inbox: commands mean what was printed.

use ostler_domain::id::ApprovalId;

use super::world::{action, at, conversations, live, opened_with_calls, session_id};
use crate::inbox::protocol::{InboxAction, InboxRequest, InboxResult, InboxUpdate};
use crate::inbox::{Inbox, InboxEffect};
use crate::run::linear_text;

/// A linear inbox whose list was printed.
fn linear() -> Inbox {
    let mut inbox = live(None);
    inbox.begin_linear();
    (inbox.selected, inbox.opened) = (None, None);
    inbox.list_text();
    inbox
}

/// Prints what is new.
fn news(inbox: &mut Inbox) -> String {
    linear_text(&inbox.news(at(0)))
}

fn show(inbox: &mut Inbox, calls: &[u128]) -> String {
    inbox.update(InboxUpdate::Opened(Box::new(opened_with_calls(3, calls))));
    news(inbox)
}

/// M43: the commands of the linear inbox are those of the keys.
#[test]
fn m43_the_linear_inbox_takes_commands() {
    let mut inbox = linear();
    assert_eq!(inbox.command("t"), []);
    assert_eq!(inbox.refused_commands(), 1, "nothing is open");
    let open =
        InboxRequest::Open { org: "bella".to_owned(), session: session_id(3), is_seen: true };
    assert_eq!(inbox.command("4"), [InboxEffect::Request(open)]);
    show(&mut inbox, &[]);
    assert_eq!(action(inbox.command("t")).1, InboxAction::TakeOver);
    let reply = InboxAction::Reply { text: "hello you".to_owned() };
    assert_eq!(action(inbox.command("r hello you")).1, reply);
    let back = InboxAction::HandBack { resolution: Some("it is paid".to_owned()) };
    assert_eq!(action(inbox.command("h it is paid")).1, back);
    assert_eq!(inbox.command("q"), [InboxEffect::Quit]);
    for refused in ["y", "9", "fly", "r"] {
        assert_eq!(inbox.command(refused), [], "{refused}");
    }
    assert_eq!(inbox.refused_commands(), 5);
}

/// M43: a decision in a line is about the call that was printed, and each call is printed.
#[test]
fn m43_lines_decide_about_printed_calls() {
    let mut inbox = linear();
    inbox.command("4");
    let text = show(&mut inbox, &[1, 2]);
    assert_eq!(text.matches("Allow? refund_payment").count(), 1, "{text}");
    let approve =
        |number| InboxAction::Approve { approval: ApprovalId::from_u128(number), at_once: false };
    let (number, approved) = action(inbox.command("y"));
    assert_eq!(approved, approve(1));
    let result = InboxResult::Approved(ostler_api::approval::CallTiming::Now);
    inbox.update(InboxUpdate::Done { number, result });
    assert!(inbox.is_reading(), "the next command waits for what the decision has changed");

    // The next call comes, and is not printed yet.
    inbox.update(InboxUpdate::Opened(Box::new(opened_with_calls(3, &[2]))));
    assert_eq!(inbox.command("y"), []);
    let text = news(&mut inbox);
    assert_eq!(text.matches("Allow? refund_payment").count(), 1, "{text}");
    assert_eq!(action(inbox.command("y")).1, approve(2));
}

/// M43: a number is that of the printed list, whatever has happened since.
#[test]
fn m43_a_number_opens_what_was_printed_with_it() {
    let mut inbox = linear();
    let mut all = conversations();
    all.retain(|one| one.listed.session.id != session_id(1));
    inbox.update(InboxUpdate::Conversations(all));
    inbox.command("1");
    assert_eq!(inbox.selected, None);
    let hint = inbox.take_hint().map(|line| linear_text(&[line])).unwrap_or_default();
    assert!(hint.contains("Conversation 1 is closed"), "{hint}");
    inbox.command("4");
    assert_eq!(inbox.selected, Some(session_id(3)));
}

/// M43: what changes is printed again and what is inserted is printed, nothing else.
#[test]
fn m43_lines_tell_every_change_once() {
    let mut inbox = linear();
    inbox.command("4");
    show(&mut inbox, &[]);
    assert_eq!(show(&mut inbox, &[]), "");
    let mut opened = opened_with_calls(3, &[]);
    let mut lines = serde_json::to_value(&opened.transcript.lines).expect("lines");
    lines[1]["status"] = "ok".into();
    opened.transcript.lines = serde_json::from_value(lines).expect("lines");
    let mut note = opened.work.notes[0].clone();
    note.text = "An earlier note.".to_owned();
    opened.work.notes.insert(0, note);
    inbox.update(InboxUpdate::Opened(Box::new(opened)));
    let text = news(&mut inbox);
    assert!(text.contains("✓ refund_payment") && text.contains("An earlier note."), "{text}");
    assert!(!text.contains("I paid 50") && !text.contains("She called"), "{text}");

    let session = session_id(3);
    inbox.update(InboxUpdate::NotOpened { session, why: "403: forbidden".to_owned() });
    assert!(news(&mut inbox).contains("It cannot be shown: 403: forbidden"));
    assert_eq!(news(&mut inbox), "");
}
