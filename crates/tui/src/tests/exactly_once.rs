//! Z16: random sessions with random sizes through two emulators; every finished line is on the
//! screen or in the scrollback exactly once.

use ostler_api::thread_event::ThreadEvent;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::emulator::{Emulator, Vt100, Xterm};
use super::recordings::app;
use crate::app::last_rows;
use crate::protocol::ChatUpdate;
use crate::run::Screen;
use crate::run::ScreenKind;
use crate::text::theme::Theme;

/// What happens in a session.
#[derive(Debug, Clone)]
enum Step {
    Say(usize, usize),
    Stream(usize),
    Call(usize),
    Output(usize),
    Resize(usize, usize),
    Type(usize),
    Expand,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => (1_usize..6, 0_usize..90).prop_map(|(lines, width)| Step::Say(lines, width)),
        4 => (1_usize..200).prop_map(Step::Stream),
        2 => (1_usize..4).prop_map(Step::Call),
        1 => (1_usize..12).prop_map(Step::Output),
        3 => (20_usize..130, 6_usize..45).prop_map(|(columns, rows)| Step::Resize(columns, rows)),
        1 => (1_usize..120).prop_map(Step::Type),
        1 => Just(Step::Expand),
    ]
}

/// Makes events with a mark in each line.
#[derive(Default)]
struct Session {
    marks: usize,
    message: usize,
    text: String,
}

impl Session {
    fn event(kind: Value) -> ChatUpdate {
        let mut kind = kind;
        kind["ext"] = json!({"at": 0});
        ChatUpdate::Event(Box::new(serde_json::from_value::<ThreadEvent>(kind).expect("an event")))
    }

    fn mark(&mut self) -> String {
        self.marks += 1;
        format!("<{}>", self.marks)
    }

    fn message(&self, kind: &str, text: &str) -> ChatUpdate {
        let message = json!({"id": format!("m{}", self.message), "role": "assistant", "content": [{"type": "text", "text": text}]});
        Self::event(json!({"type": kind, "message": message}))
    }

    fn lines(&mut self, lines: usize, width: usize) -> String {
        (0..lines).map(|_| format!("{} {}\n", self.mark(), "x y".repeat(width / 3))).collect()
    }

    fn updates(&mut self, step: &Step) -> Vec<ChatUpdate> {
        match step {
            Step::Say(lines, width) => {
                self.message += 1;
                let text = self.lines(*lines, *width);
                let ended = self.message("message_end", &text);
                vec![ended]
            }
            Step::Stream(width) => {
                self.message += 1;
                self.text = self.lines(3, *width) + "```\n" + &self.lines(2, *width) + "```\n";
                let mut updates: Vec<ChatUpdate> = (1..8)
                    .map(|part| {
                        self.message("message_update", &self.text[..self.text.len() * part / 8])
                    })
                    .collect();
                updates.push(self.message("message_end", &self.text));
                updates
            }
            Step::Call(count) => {
                let ids: Vec<String> = (0..*count).map(|_| self.mark()).collect();
                let start = |id: &String| {
                    Self::event(
                        json!({"type": "tool_start", "toolCallId": id, "toolName": "look", "args": {"at": id}}),
                    )
                };
                let end = |id: &String| {
                    Self::event(
                        json!({"type": "tool_end", "toolCallId": id, "result": "seen", "isError": false}),
                    )
                };
                // The last one that starts is the first that ends.
                ids.iter().map(start).chain(ids.iter().rev().map(end)).collect()
            }
            Step::Output(lines) => {
                let id = self.mark();
                let mut updates = vec![Self::event(
                    json!({"type": "tool_start", "toolCallId": id, "toolName": "run_command", "args": {"command": id}}),
                )];
                updates.extend((0..*lines).map(|line| Self::event(json!({"type": "tool_output", "toolCallId": id, "text": format!("line {line}\n")}))));
                updates.push(Self::event(json!({"type": "tool_end", "toolCallId": id, "result": "done", "isError": false})));
                updates
            }
            Step::Resize(..) | Step::Type(_) | Step::Expand => Vec::new(),
        }
    }
}

fn check(steps: &[Step], terminal: &mut impl Emulator) {
    let mut size = (80, 24);
    let (mut app, mut session) = (app(), Session::default());
    let mut screen = Screen::new(ScreenKind::Inline, Theme::Dark, size);
    terminal.open(size);
    // What was in the terminal before the program.
    terminal.write("$ ostler chat\r\n");
    for step in steps {
        match step {
            Step::Resize(columns, rows) => {
                size = (*columns, *rows);
                terminal.resize(size);
                screen.resized(size);
            }
            Step::Type(length) => app.pasted(&"z".repeat(*length)),
            Step::Expand => {
                app.key("ctrl-o".parse().expect("a key"), 0);
                screen.resized(size);
            }
            _ => {}
        }
        for update in session.updates(step) {
            app.update(update);
            terminal.write(&screen.frame(&app, 0));
        }
        terminal.write(&screen.frame(&app, 0));
        let shown = terminal.text();
        let finished: String = last_rows(&app.transcript, app.detail, size.0, usize::MAX)
            .iter()
            .flat_map(|row| row.text().chars().collect::<Vec<_>>())
            .filter(|c| !c.is_whitespace())
            .collect();
        assert_eq!(
            shown.matches(&finished).count(),
            1,
            "after {step:?}:\n{finished}\nshown:\n{shown}"
        );
        for mark in 1..=session.marks {
            let mark = format!("<{mark}>");
            let expected = finished.matches(&mark).count();
            assert_eq!(shown.matches(&mark).count(), expected, "{mark} after {step:?}:\n{shown}");
        }
    }
}

/// Each session is long: of the cases of other properties, a twentieth.
fn cases() -> u32 {
    let all = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse::<u32>().ok());
    all.map_or(40, |all| (all / 20).max(1))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), ..ProptestConfig::default() })]

    #[test]
    fn z16_generated_sessions_show_every_finished_line_exactly_once(steps in proptest::collection::vec(step(), 1..14)) {
        check(&steps, &mut Vt100::new());
    }
}

/// Z16: the same sessions through a terminal that reflows lines when its size changes.
#[test]
fn z16_generated_sessions_are_shown_exactly_once_by_a_terminal_that_reflows() {
    use proptest::test_runner::TestRunner;
    let mut runner =
        TestRunner::new(ProptestConfig { cases: cases(), ..ProptestConfig::default() });
    let terminal = std::cell::RefCell::new(Xterm::start());
    let steps = proptest::collection::vec(step(), 1..14);
    let result = runner.run(&steps, |steps| {
        check(&steps, &mut *terminal.borrow_mut());
        Ok(())
    });
    result.unwrap();
}
