//! What is chosen and written while the list changes, and how the inbox ends.

use super::world::{
    action, at, conversations, draw, empty, live, open, press, session_id, type_text,
};
use crate::inbox::InboxEffect;
use crate::inbox::protocol::{InboxAction, InboxRequest, InboxResult, InboxUpdate, UnreadableOrg};

/// M43: a reply goes to the conversation in which it was begun, whatever the list does.
#[test]
fn m43_a_reply_stays_with_its_customer() {
    let mut inbox = live(None);
    press(&mut inbox, "r");
    type_text(&mut inbox, "hello Rosa");
    let mut others = conversations();
    others.retain(|one| one.listed.session.id != session_id(1));
    inbox.opened = None;
    inbox.update(InboxUpdate::Conversations(others));
    assert_eq!(inbox.selected, Some(session_id(1)));
    let sent = press(&mut inbox, "enter");
    let Some(InboxEffect::Request(InboxRequest::Act { session, org, .. })) = sent.first() else {
        panic!("{sent:?}");
    };
    assert_eq!((*session, org.as_str()), (session_id(1), "bella"));
}

/// M43: nothing is written about a conversation that is not on the screen yet.
#[test]
fn m43_nothing_is_written_unseen() {
    let mut inbox = live(None);
    press(&mut inbox, "j");
    for key in ["r", "i", "h"] {
        press(&mut inbox, key);
        assert!(inbox.composing.is_none(), "{key}");
    }
    open(&mut inbox, 5, "Dana", "8");
    press(&mut inbox, "i");
    assert!(inbox.composing.is_some());
}

/// M43: the inbox ends when what was begun has its answer; what was refused keeps it open.
#[test]
fn m43_quitting_waits_for_what_was_begun() {
    let mut inbox = live(None);
    press(&mut inbox, "r");
    type_text(&mut inbox, "hello");
    let (number, _) = action(press(&mut inbox, "enter"));
    assert_eq!(press(&mut inbox, "q"), []);
    let result = InboxResult::Sent;
    assert_eq!(inbox.update(InboxUpdate::Done { number, result }), [InboxEffect::Quit]);

    let mut inbox = live(None);
    press(&mut inbox, "r");
    type_text(&mut inbox, "hello");
    let (number, _) = action(press(&mut inbox, "enter"));
    assert_eq!(press(&mut inbox, "q"), []);
    let why = "no connection".to_owned();
    assert_eq!(inbox.update(InboxUpdate::Refused { number, why }), []);
    assert!(draw(&mut inbox, at(0)).contains("Not done: no connection"));

    let (_, sent) = action(press(&mut inbox, "enter"));
    assert_eq!(sent, InboxAction::Reply { text: "hello".to_owned() });
    assert_eq!(press(&mut inbox, "q"), []);
    assert_eq!(press(&mut inbox, "q"), [InboxEffect::Quit]);
}

/// M43: a list that cannot be read is no empty list; the others are shown.
#[test]
fn m43_the_inbox_says_what_cannot_be_read() {
    let unreadable = || {
        let org = |name: &str| UnreadableOrg {
            org_name: name.to_owned(),
            why: "500: the database is full".to_owned(),
        };
        InboxUpdate::Unreadable(vec![org("Bella Pizza")])
    };
    let mut inbox = empty(None);
    inbox.update(unreadable());
    let screen = draw(&mut inbox, at(0));
    assert!(screen.contains("The conversations of Bella"), "{screen}");
    let mut inbox = live(None);
    inbox.update(unreadable());
    let screen = draw(&mut inbox, at(0));
    assert!(screen.contains("cannot be read") && screen.contains("Lena Vogt"), "{screen}");
    inbox.update(InboxUpdate::Unreadable(Vec::new()));
    assert!(draw(&mut inbox, at(0)).contains("● live"));
}
