//! Calls that wait for a decision: a key answers only what a person has seen.

use serde_json::json;

use super::world::{action, at, draw, draw_at, live, open, opened_with_calls, press, session_id};
use crate::inbox::protocol::{InboxAction, InboxRequest, InboxUpdate};
use crate::inbox::{Inbox, InboxEffect};

const NARROW: (usize, usize) = (40, 20);

fn hint(inbox: &Inbox) -> &str {
    inbox.hint.as_ref().map_or("", |(_, text)| text.as_str())
}

/// Chooses the conversation with the call in a narrow terminal, which shows the list.
fn narrow_list() -> Inbox {
    let mut inbox = live(None);
    draw_at(&mut inbox, NARROW, at(0));
    for _ in 0..3 {
        press(&mut inbox, "j");
    }
    open(&mut inbox, 3, "Omar Haddad", "agent");
    inbox
}

/// M43: in a narrow terminal, where the list is shown, no key decides about a call that is not
/// on the screen.
#[test]
fn m43_a_call_that_is_not_on_the_screen_is_not_answered() {
    let mut inbox = narrow_list();
    let screen = draw_at(&mut inbox, NARROW, at(0));
    assert!(!screen.contains("Allow?"), "{screen}");
    for key in ["y", "Y", "x"] {
        draw_at(&mut inbox, NARROW, at(500));
        assert_eq!(press(&mut inbox, key), [], "{key}");
        assert!(hint(&inbox).contains("enter, right shows it"), "{}", hint(&inbox));
        assert!(inbox.composing.is_none(), "{key}");
    }
    press(&mut inbox, "enter");
    let screen = draw_at(&mut inbox, NARROW, at(600));
    assert!(screen.contains("Allow? refund_payment"), "{screen}");
    assert!(matches!(action(press(&mut inbox, "y")).1, InboxAction::Approve { .. }));
}

/// M43: the help covers a call; what was pressed right after it closes does not count.
#[test]
fn m43_a_call_behind_the_help_is_not_answered() {
    let mut inbox = live(None);
    inbox.selected = Some(session_id(3));
    open(&mut inbox, 3, "Omar Haddad", "agent");
    draw(&mut inbox, at(0));
    press(&mut inbox, "?");
    draw(&mut inbox, at(500));
    press(&mut inbox, "esc");
    draw(&mut inbox, at(900));
    assert_eq!(press(&mut inbox, "y"), []);
    assert!(hint(&inbox).contains("just appeared"), "{}", hint(&inbox));
}

/// M43: what does not fit of a call is counted, a key shows it, and only then it is approved.
#[test]
fn m43_a_long_call_is_approved_after_its_end_was_shown() {
    let mut inbox = live(None);
    inbox.selected = Some(session_id(3));
    let mut opened = opened_with_calls(3, &[1]);
    let lines: Vec<String> = (0..60).map(|number| format!("recipient {number}")).collect();
    opened.approvals[0].approval.arguments = json!({"to": lines});
    inbox.update(InboxUpdate::Opened(Box::new(opened)));
    let screen = draw(&mut inbox, at(0));
    assert!(screen.contains("… 55 more rows; o shows them"), "{screen}");
    assert!(screen.contains("why: on the agent's approval list"), "{screen}");
    assert_eq!(press(&mut inbox, "y"), []);
    assert!(hint(&inbox).contains("o, ctrl-o shows it"), "{}", hint(&inbox));

    press(&mut inbox, "o");
    let mut seen = String::new();
    for page in 0..4 {
        let screen = draw(&mut inbox, at(0));
        assert_eq!(press(&mut inbox, "y"), [], "page {page}: {screen}");
        seen.push_str(&screen);
        press(&mut inbox, "pagedown");
    }
    seen.push_str(&draw(&mut inbox, at(0)));
    for line in lines {
        assert!(seen.contains(&format!("\"{line}\"")), "{line}");
    }
    let approved = action(press(&mut inbox, "y")).1;
    assert!(matches!(approved, InboxAction::Approve { .. }), "{approved:?}");
    // A second key answers nothing while the first is on its way.
    for key in ["y", "Y", "x"] {
        assert_eq!(press(&mut inbox, key), [], "{key}");
    }
    press(&mut inbox, "esc");
    assert!(draw(&mut inbox, at(0)).contains("more rows"));
}

/// M43: a message is marked as read only while its conversation is on the screen.
#[test]
fn m43_what_a_narrow_list_covers_is_not_read() {
    let is_seen = |effects: Vec<InboxEffect>| match effects.as_slice() {
        [InboxEffect::Request(InboxRequest::Open { is_seen, .. })] => Some(*is_seen),
        _ => None,
    };
    let mut inbox = narrow_list();
    assert_eq!(is_seen(press(&mut inbox, "enter")), Some(true));
    assert_eq!(is_seen(press(&mut inbox, "esc")), Some(false));
    draw(&mut inbox, at(0));
    assert_eq!(is_seen(inbox.request_shown().into_iter().collect()), Some(true));
    draw_at(&mut inbox, NARROW, at(0));
    assert_eq!(is_seen(inbox.request_shown().into_iter().collect()), Some(false));
    assert_eq!(inbox.request_shown(), None);
}
