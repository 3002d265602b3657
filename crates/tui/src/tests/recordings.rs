//! Recorded events of threads, from `crates/api/fixtures/threads`.

use std::path::Path;

use ostler_api::thread::ThreadMode;
use ostler_api::thread_event::{ThreadEvent, ThreadEventKind};

use crate::app::App;
use crate::keymap::Keymap;
use crate::protocol::{ChatModel, ChatSetting, ChatUpdate, OpenedThread};

/// The names of all recordings.
pub(super) const NAMES: [&str; 13] = [
    "approved",
    "broken",
    "declined",
    "edit",
    "escapes",
    "failure",
    "live_output",
    "markdown",
    "plan",
    "question",
    "reads",
    "subagent",
    "tasks",
];

/// Returns the events of a recording.
pub(super) fn events(name: &str) -> Vec<ThreadEvent> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../api/fixtures/threads");
    let text = std::fs::read_to_string(folder.join(format!("{name}.jsonl"))).expect("a recording");
    text.lines().map(|line| serde_json::from_str(line).expect("an event")).collect()
}

/// Returns an app with an empty thread.
pub(super) fn app() -> App {
    let mode = |id: &str| ThreadMode { id: id.to_owned(), name: id.to_owned() };
    let setting = ChatSetting {
        folder: Some("~/shop".to_owned()),
        modes: vec![mode("build"), mode("plan"), mode("chat")],
        models: vec![ChatModel { id: "scripted".to_owned(), detail: "free".to_owned() }],
        credit_limit: Some(100),
        greeting: vec!["A script answers.".to_owned()],
        ..ChatSetting::default()
    };
    let mut app = App::new(setting, Keymap::parse("").expect("the defaults"), None);
    app.update(ChatUpdate::Opened(Box::new(OpenedThread {
        id: ostler_domain::id::ThreadId::from_u128(1),
        title: None,
        messages: Vec::new(),
        mode: "build".to_owned(),
        model: "scripted".to_owned(),
    })));
    app
}

/// Returns an app that has seen a recording up to an event, which is included.
pub(super) fn played(name: &str, until: impl Fn(&ThreadEventKind) -> bool) -> App {
    let mut app = app();
    for event in events(name) {
        let last = until(&event.kind);
        app.update(ChatUpdate::Event(Box::new(event)));
        if last {
            break;
        }
    }
    app
}
