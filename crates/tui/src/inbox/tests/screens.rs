//! Snapshots of the screen at three sizes, in every theme, and linear.

use super::world::{NOW, empty, live, open, session_id};
use crate::inbox::Inbox;
use crate::inbox::protocol::{ConnectionState, InboxUpdate};
use crate::run::{inbox_frame, linear_text};
use crate::tests::terminal_text;
use crate::text::line::Row;
use crate::text::theme::Theme;

const SIZES: [(usize, usize); 3] = [(80, 24), (120, 40), (40, 20)];

fn now() -> u64 {
    u64::try_from(NOW).expect("a time")
}

/// Returns the screens of an inbox at three sizes, as a terminal shows them.
fn screens(inbox: &mut Inbox) -> String {
    let screens = SIZES.map(|size| {
        let frame = inbox_frame(inbox, size, Theme::Dark, now());
        terminal_text(&frame, size)
    });
    screens.concat()
}

fn press(inbox: &mut Inbox, keys: &[&str]) {
    for key in keys {
        inbox.key(key.parse().expect("a key"), now() + 1000);
    }
}

/// M43: the screens of the inbox at 80×24, 120×40 and 40×20.
#[test]
fn m43_inbox_screens_look_as_they_did() {
    let snapshot = |name: &str, inbox: &mut Inbox| {
        insta::assert_snapshot!(format!("inbox_{name}"), screens(inbox));
    };
    snapshot("start", &mut empty(None));
    snapshot("waiting", &mut live(None));

    let mut inbox = live(None);
    press(&mut inbox, &["enter"]);
    snapshot("conversation", &mut inbox);

    press(&mut inbox, &["r"]);
    inbox.pasted("Hello Rosa, this is Anna.\nI look into it.");
    snapshot("reply", &mut inbox);

    let mut inbox = live(None);
    press(&mut inbox, &["j", "j", "j"]);
    open(&mut inbox, 3, "Omar Haddad", "agent");
    press(&mut inbox, &["enter"]);
    snapshot("approval", &mut inbox);
    press(&mut inbox, &["x"]);
    snapshot("reason", &mut inbox);

    let mut inbox = live(None);
    let delta = serde_json::json!({
        "session": session_id(1).to_string(),
        "run": ostler_domain::id::RunId::from_u128(1).to_string(),
        "agent": ostler_domain::id::AgentId::from_u128(1).to_string(),
        "attempt": 0, "delta": "text", "offset": 0, "text": "I have looked at your ord",
    });
    let delta = serde_json::from_value(delta).expect("a delta");
    inbox.update(InboxUpdate::Writing(delta));
    snapshot("writing", &mut inbox);

    let mut inbox = live(None);
    press(&mut inbox, &["?"]);
    snapshot("help", &mut inbox);

    let mut inbox = live(None);
    let why = "http://127.0.0.1:7470 cannot be reached: Connection refused".to_owned();
    let retry_at = now() + 4000;
    inbox.update(InboxUpdate::Connection(ConnectionState::Lost { why, retry_at }));
    snapshot("lost", &mut inbox);
}

/// M43: colours for dark and light backgrounds, none, and lines.
#[test]
fn m43_inbox_themes_look_as_they_did() {
    let mut inbox = live(None);
    press(&mut inbox, &["enter"]);
    let themes = [(Theme::Dark, "dark"), (Theme::Light, "light"), (Theme::NoColour, "no_colour")];
    for (theme, name) in themes {
        let frame = inbox_frame(&mut inbox, (80, 24), theme, now());
        let frame = frame.replace('\x1b', "␛").replace("\r\n", "\n");
        insta::assert_snapshot!(format!("inbox_theme_{name}"), frame);
    }
    let mut lines = linear_text(&inbox.list_text());
    lines.push_str(&linear_text(&inbox.news(now())));
    insta::assert_snapshot!("inbox_linear", lines);
    assert_eq!(inbox.news(now()), []);
}

/// Whatever the size, the screen has its rows and nothing of a customer's escape sequences.
#[test]
fn m43_the_inbox_fits_every_terminal() {
    let mut inbox = live(None);
    press(&mut inbox, &["r"]);
    inbox.pasted(&"a long text ".repeat(50));
    for columns in [1, 8, 20, 39, 75, 76, 77, 300] {
        for rows in [1, 5, 6, 7, 12, 100] {
            for shows_help in [false, true] {
                let screen = inbox.screen((columns, rows), now());
                assert_eq!(screen.rows.len(), rows.max(6), "{columns}×{rows}");
                let widest = screen.rows.iter().map(|row| row.width).max();
                assert!(widest <= Some(columns.max(20)), "{columns}×{rows}: {widest:?}");
                let text: String = screen.rows.iter().map(Row::text).collect();
                assert!(!text.chars().any(char::is_control), "{text}");
                inbox.show_help = shows_help;
            }
        }
    }
}
