//! Every recording as cells at three widths, in every theme and linear; and the screens with
//! cards, lists and help.

use ostler_api::thread_event::ThreadEventKind as Kind;

use super::emulator::cells;
use super::recordings::{NAMES, app, played};
use crate::app::{App, last_rows};
use crate::render::Detail;
use crate::run::screen_of;
use crate::sinks::{ansi, linear};
use crate::text::line::Row;
use crate::text::theme::Theme;

fn texts(rows: &[Row]) -> String {
    rows.iter().map(|row| row.text() + if row.joined { "⏎\n" } else { "\n" }).collect()
}

fn styled(rows: &[Row], theme: Theme) -> String {
    let mut out = String::new();
    for row in rows {
        ansi::push_row(row, theme, &mut out);
        out.push('\n');
    }
    out.replace('\x1b', "␛")
}

/// M43: every cell at 80, 120 and 40 columns, dark, light, without colour, and linear.
#[test]
fn m43_cells_look_as_they_did() {
    for name in NAMES {
        let app = played(name, |_| false);
        let rows = |columns| last_rows(&app.transcript, Detail::Folded, columns, usize::MAX);
        let mut shown = String::new();
        for columns in [80, 120, 40] {
            shown.push_str(&format!("== {columns} columns\n{}", texts(&rows(columns))));
        }
        for (theme, title) in
            [(Theme::Dark, "dark"), (Theme::Light, "light"), (Theme::NoColour, "no colour")]
        {
            shown.push_str(&format!("== {title}\n{}", styled(&rows(80), theme)));
        }
        let expanded = last_rows(&app.transcript, Detail::Expanded, 80, usize::MAX);
        shown.push_str(&format!("== expanded\n{}", texts(&expanded)));
        let mut appended = String::new();
        linear::write(&rows(10_000), &mut appended);
        shown.push_str(&format!("== linear\n{appended}"));
        insta::assert_snapshot!(format!("cells_{name}"), shown);
    }
}

/// Returns the screens of an app at three sizes, as a terminal shows them.
fn screens(app: &App) -> String {
    let mut shown = String::new();
    for (columns, height) in [(80, 24), (120, 40), (40, 20)] {
        let screen = screen_of(app, (columns, height), Theme::Dark);
        shown.push_str(&terminal_text(&screen, (columns, height)));
    }
    shown
}

/// Returns what a terminal of a size shows of a frame.
pub(crate) fn terminal_text(frame: &str, (columns, height): (usize, usize)) -> String {
    let mut terminal = vt100::Parser::new(cells(height), cells(columns), 0);
    terminal.process(frame.as_bytes());
    let (row, column) = terminal.screen().cursor_position();
    let contents = terminal.screen().contents();
    format!("== {columns}x{height}, cursor at {row}, {column}\n{contents}\n")
}

#[test]
fn m43_screens_look_as_they_did() {
    let snapshot =
        |name: &str, app: &App| insta::assert_snapshot!(format!("screen_{name}"), screens(app));
    snapshot("start", &app());
    snapshot(
        "approval",
        &played("approved", |kind| matches!(kind, Kind::ToolApprovalRequired { .. })),
    );
    snapshot("question", &played("question", |kind| matches!(kind, Kind::AskQuestion { .. })));
    snapshot("plan", &played("plan", |kind| matches!(kind, Kind::PlanApprovalRequired { .. })));
    snapshot("tasks", &played("tasks", |kind| matches!(kind, Kind::ToolEnd { .. })));
    snapshot("command", &played("live_output", |kind| matches!(kind, Kind::ToolOutput { .. })));
    snapshot("subagent", &played("subagent", |kind| matches!(kind, Kind::SubagentText { .. })));
    let typed = |keys: &[&str]| {
        let mut app = app();
        for key in keys {
            app.key(key.parse().expect("a key"), 0);
        }
        app
    };
    snapshot("help", &typed(&["?"]));
    snapshot("models", &typed(&["alt-m"]));
    snapshot("modes", &typed(&["alt-o"]));
    snapshot("commands", &typed(&["/", "m"]));
    let mut app = app();
    app.pasted(&"a line\n".repeat(3000));
    snapshot("paste", &app);
}

/// What the recordings do to a terminal is what the program does: nothing of a model's
/// escape sequences is left.
#[test]
fn m43_escape_sequences_of_a_model_reach_no_screen() {
    let app = played("escapes", |_| false);
    let rows = last_rows(&app.transcript, Detail::Folded, 80, usize::MAX);
    assert!(texts(&rows).chars().all(|c| c == '\n' || !c.is_control()));
    assert!(texts(&rows).contains("before after"), "{}", texts(&rows));
}
