//! Runs conversations in the notation of the guide, in process and over HTTP.

use std::collections::VecDeque;
use std::sync::Arc;

use ostler_engine::history::{CallId, CallResult, Item, ToolCall};
use ostler_engine::model::{Chunk, ModelErrorKind};
use ostler_engine::outcome::{OutcomeStatus, ToolOutcome};
use ostler_scripted::Script;
use ostler_scripted::mock::{LOOPBACK, MockServer};
use serde_json::Value;

use crate::support::{model, request};
use crate::wire::{self, Dialect};
use futures_util::StreamExt as _;
use ostler_engine::model::Model as _;

/// The offered tools.
const TOOLS: [&str; 2] = ["get_order", "refund_payment"];

/// An answer: lines in the notation of the guide, and the history entry.
pub(crate) struct ParsedAnswer {
    pub(crate) lines: Vec<String>,
    pub(crate) item: Option<Item>,
}

impl ParsedAnswer {
    pub(crate) fn new(text: String, calls: Vec<ToolCall>) -> Self {
        let said = (!text.is_empty()).then(|| format!("< {text}"));
        let called = calls.iter().map(|call| {
            let json = call.unreadable.clone().unwrap_or_else(|| call.arguments.to_string());
            format!("calls {} {json}", call.name)
        });
        let lines = said.into_iter().chain(called).collect();
        Self { lines, item: Some(Item::Assistant { text, calls, partial: false }) }
    }

    pub(crate) fn failed(how: &str) -> Self {
        Self { lines: vec![format!("fails {how}")], item: None }
    }
}

/// A model or a server.
enum Respondent {
    Model(Arc<ostler_scripted::ScriptedModel>),
    Server(MockServer, Dialect, bool),
}

impl Respondent {
    async fn ask(&self, history: &[Item]) -> ParsedAnswer {
        match self {
            Self::Server(server, dialect, stream) => {
                wire::ask(server, *dialect, *stream, history, &TOOLS).await
            }
            Self::Model(model) => {
                let answer = model.answer(request(model, "You are Gia.", history, &TOOLS));
                collect(answer.collect().await)
            }
        }
    }

    fn knows(&self, status: OutcomeStatus) -> bool {
        match self {
            Self::Model(_) => true,
            Self::Server(_, Dialect::OpenAi, _) => status == OutcomeStatus::Ok,
            Self::Server(_, Dialect::Anthropic, _) => {
                matches!(status, OutcomeStatus::Ok | OutcomeStatus::Failed)
            }
        }
    }
}

fn collect(chunks: Vec<Result<Chunk, ostler_engine::model::ModelError>>) -> ParsedAnswer {
    let (mut text, mut calls) = (String::new(), Vec::<(String, String, String)>::new());
    for chunk in chunks {
        match chunk {
            Ok(Chunk::Text(piece)) => text.push_str(&piece),
            Ok(Chunk::Call { id, name, .. }) => calls.push((id, name, String::new())),
            Ok(Chunk::Arguments { json, .. }) => {
                calls.last_mut().expect("a call").2.push_str(&json);
            }
            Ok(Chunk::Usage(_) | Chunk::Done(_)) => {}
            Ok(other) => panic!("{other:?}"),
            Err(error) => return ParsedAnswer::failed(&how(error.kind)),
        }
    }
    let call =
        |(id, name, json): (String, String, String)| ToolCall::new(CallId::new(&id), &name, &json);
    ParsedAnswer::new(text, calls.into_iter().map(call).collect())
}

fn how(kind: ModelErrorKind) -> String {
    match kind {
        ModelErrorKind::Status(status) => status.to_string(),
        ModelErrorKind::Incomplete => "cut".into(),
        ModelErrorKind::Malformed => "malformed".into(),
        ModelErrorKind::TimedOut => "timeout".into(),
        other => format!("{other:?}"),
    }
}

/// Runs a conversation with the model and with both wire formats.
pub(crate) async fn run_conversation(script: &str, conversation: &str) {
    play(&Respondent::Model(model(script)), conversation).await;
    for dialect in [Dialect::OpenAi, Dialect::Anthropic] {
        for stream in [false, true] {
            let parsed = Script::parse("test.yaml", script).expect("a script");
            let server = MockServer::start(LOOPBACK, parsed).await.expect("a server");
            play(&Respondent::Server(server, dialect, stream), conversation).await;
        }
    }
}

async fn play(respondent: &Respondent, conversation: &str) {
    let mut history = Vec::new();
    let mut lines: VecDeque<&str> = conversation.lines().collect();
    while let Some(line) = lines.pop_front() {
        match line.strip_prefix("> ") {
            Some(text) => history.push(Item::user(text)),
            None => {
                lines.push_front(line);
                let calls = match history.last() {
                    Some(Item::Assistant { calls, .. }) => calls.clone(),
                    other => panic!("a result of {other:?}: {line}"),
                };
                let Some(results) = results(respondent, &calls, &mut lines) else { return };
                history.push(Item::Results { results });
            }
        }
        let answered = respondent.ask(&history).await;
        for said in &answered.lines {
            assert_eq!(Some(said.as_str()), lines.pop_front(), "{history:?}\n{conversation}");
        }
        match answered.item {
            Some(item) => history.push(item),
            None => drop(history.pop()),
        }
    }
}

/// Parses the results of calls; `None` if the wire format cannot carry their
/// status.
fn results(
    respondent: &Respondent,
    calls: &[ToolCall],
    lines: &mut VecDeque<&str>,
) -> Option<Vec<CallResult>> {
    let result = |call: &ToolCall| {
        let line = lines.pop_front().expect("a result");
        let (status, content) = line.split_once(": ").expect("status: content");
        let status: OutcomeStatus =
            serde_json::from_value(Value::String(status.into())).expect("a status");
        let outcome = ToolOutcome::new(status, content);
        respondent.knows(status).then(|| CallResult { call: call.id.clone(), outcome })
    };
    calls.iter().map(result).collect()
}
