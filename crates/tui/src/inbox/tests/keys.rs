//! What keys do: requests, drafts, and when a key counts.

use ostler_api::approval::CallTiming;
use ostler_domain::id::ApprovalId;

use super::world::{action, at, draw, live, open, press, session_id, type_text};
use crate::inbox::Inbox;
use crate::inbox::drafts::DraftKind;
use crate::inbox::keys::{BINDINGS, InboxKeys};
use crate::inbox::protocol::{InboxAction, InboxResult, InboxUpdate};
use crate::keymap::KeyFile;

/// M43: a text is a draft until the server has it, also when that refuses it, when another
/// conversation is chosen, and when the program ends.
#[test]
fn m43_a_draft_of_the_inbox_is_never_lost() {
    let folder = tempfile::tempdir().expect("a folder");
    let drafts = folder.path().join("drafts");
    let mut inbox = live(Some(drafts.clone()));
    press(&mut inbox, "r");
    type_text(&mut inbox, "hello Rosa");
    press(&mut inbox, "esc");
    press(&mut inbox, "j");
    open(&mut inbox, 5, "Dana", "8");
    press(&mut inbox, "i");
    type_text(&mut inbox, "a note");
    press(&mut inbox, "ctrl-c");
    inbox.store_drafts();

    let mut inbox = live(Some(drafts.clone()));
    assert_eq!(inbox.drafts.get(session_id(5), DraftKind::Note), Some("a note"));
    press(&mut inbox, "r");
    let (number, sent) = action(press(&mut inbox, "enter"));
    assert_eq!(sent, InboxAction::Reply { text: "hello Rosa".to_owned() });
    // While it is sent, it is neither sent again nor changed.
    assert_eq!(press(&mut inbox, "r"), []);
    assert!(inbox.composing.is_none());
    inbox.update(InboxUpdate::Refused { number, why: "no connection".to_owned() });
    assert_eq!(inbox.composer.whole_text(), "hello Rosa");
    assert_eq!(inbox.drafts.get(session_id(1), DraftKind::Reply), Some("hello Rosa"));
    let (number, _) = action(press(&mut inbox, "enter"));
    inbox.update(InboxUpdate::Done { number, result: InboxResult::Sent });
    assert_eq!(inbox.drafts.get(session_id(1), DraftKind::Reply), None);
    inbox.store_drafts();
    let files = std::fs::read_dir(drafts).expect("the folder");
    let names: Vec<_> = files.map(|file| file.expect("a file").file_name()).collect();
    assert_eq!(names, [format!("{}.note", session_id(5)).as_str()]);
}

/// M43: keys approve only what was on the screen before they were pressed, and nothing while
/// somebody writes.
#[test]
fn m43_a_key_that_came_too_early_approves_nothing() {
    let mut inbox = live(None);
    for _ in 0..3 {
        press(&mut inbox, "j");
    }
    open(&mut inbox, 3, "Omar Haddad", "agent");
    let key = |inbox: &mut Inbox, time| inbox.key("y".parse().expect("a key"), time);
    assert_eq!(key(&mut inbox, at(5000)), []);
    draw(&mut inbox, at(0));
    assert_eq!(key(&mut inbox, at(200)), []);
    let approval = ApprovalId::from_u128(1);
    let (number, approved) = action(key(&mut inbox, at(400)));
    assert_eq!(approved, InboxAction::Approve { approval, at_once: false });
    let result = InboxResult::Approved(CallTiming::Now);
    inbox.update(InboxUpdate::Done { number, result });

    press(&mut inbox, "i");
    type_text(&mut inbox, "yyy");
    assert_eq!(inbox.composer.whole_text(), "yyy");
    press(&mut inbox, "esc");
    press(&mut inbox, "x");
    assert_eq!(press(&mut inbox, "enter"), [], "a rejection has a reason");
    type_text(&mut inbox, "no");
    let (_, rejected) = action(press(&mut inbox, "enter"));
    assert_eq!(rejected, InboxAction::Reject { approval, reason: "no".to_owned() });
}

/// M43: a conversation is answered by the one who has it.
#[test]
fn m43_only_what_a_person_has_is_answered() {
    let mut inbox = live(None);
    assert_eq!(action(press(&mut inbox, "t")).1, InboxAction::TakeOver);
    assert_eq!(action(press(&mut inbox, "f")).1, InboxAction::Dismiss);
    // A reply to one who waits takes the conversation over.
    press(&mut inbox, "r");
    assert!(inbox.composing.is_some());
    press(&mut inbox, "esc");

    open(&mut inbox, 1, "Rosa Bianchi", "agent");
    press(&mut inbox, "r");
    assert!(inbox.composing.is_none() && inbox.hint.is_some());

    open(&mut inbox, 1, "Rosa Bianchi", "7");
    press(&mut inbox, "h");
    let (_, back) = action(press(&mut inbox, "enter"));
    assert_eq!(back, InboxAction::HandBack { resolution: None });
    open(&mut inbox, 1, "Rosa Bianchi", "7");
    assert_eq!(press(&mut inbox, "t"), []);
}

/// M43: the list is sorted by holder and waiting time, and a choice survives its changes.
#[test]
fn m43_what_waits_comes_first() {
    let mut inbox = live(None);
    let order: Vec<u128> = inbox.rows().iter().map(|one| one.listed.session.id.as_u128()).collect();
    assert_eq!(order, [1, 5, 2, 3, 4]);
    press(&mut inbox, "n");
    assert_eq!(inbox.selected, Some(session_id(3)));
    press(&mut inbox, "n");
    assert_eq!(inbox.selected, Some(session_id(1)));
    let rest: Vec<_> = inbox.rows().iter().skip(1).cloned().collect();
    // The conversation that is read is shown to its end.
    assert_eq!(inbox.update(InboxUpdate::Conversations(rest)), []);
    assert_eq!(inbox.selected, Some(session_id(1)));
    assert_eq!(press(&mut inbox, "t"), []);
}

/// `docs/INBOX.md` has every action with its name and its keys, and no key has two meanings.
#[test]
fn m43_every_key_of_the_inbox_is_documented() {
    let page = include_str!("../../../../../docs/INBOX.md");
    let bound = InboxKeys::of_file(&KeyFile::default()).expect("the defaults");
    for binding in &BINDINGS {
        let keys: Vec<String> = binding.keys.iter().map(|key| format!("`{key}`")).collect();
        let row = format!("| `{}` | {} | {} |", binding.name, keys.join(", "), binding.help);
        assert!(page.contains(&row), "docs/INBOX.md lacks {row}");
        for key in binding.keys {
            assert_eq!(bound.find(key.parse().expect("a key")), Some(binding.key), "{key}");
        }
    }
    let file = KeyFile::parse("[keys]\nhelp = []\n[inbox]\nreply = [\"f5\"]\nquit = []\n");
    let bound = InboxKeys::of_file(&file.expect("a file")).expect("keys");
    assert_eq!(bound.find("r".parse().expect("a key")), None);
    assert_eq!(bound.shown(crate::inbox::keys::InboxKey::Reply), "f5");
    let file = KeyFile::parse("[inbox]\nfly = [\"f\"]\n").expect("a file");
    assert!(InboxKeys::of_file(&file).unwrap_err().contains("`fly`"));
}
