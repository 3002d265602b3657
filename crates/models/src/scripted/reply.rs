//! An answer with all its holes filled, in pieces, and what goes wrong with it.

use ostler_engine::history::{CallId, Item};
use ostler_engine::model::{Chunk, ModelError, ModelErrorKind, StopReason, Usage};
use ostler_engine::tokens;

use super::asked::{Asked, Situation};
use super::script::{Answer, Arguments, Fault, Pace, Wire};
use super::template::Values;

/// How much of a message is quoted to say that nothing answers it.
const QUOTED: usize = 80;

/// An answer, ready to be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Reply {
    /// The pieces, then what was used, and the end.
    pub(crate) chunks: Vec<Chunk>,
    pub(crate) usage: Usage,
    pub(crate) stop: StopReason,
    pub(crate) pace: Pace,
    pub(crate) fault: Option<Fault>,
    pub(crate) wire: Wire,
}

impl Reply {
    pub(super) fn new(
        answer: &Answer,
        values: &Values<'_>,
        asked: &Asked<'_>,
        situation: &Situation<'_>,
    ) -> Self {
        let mut chunks = Vec::with_capacity(3);
        let mut output = 0;
        if let Some(template) = &answer.text {
            let text = template.fill(values);
            output += tokens::of_text(&text);
            pieces(text, answer.pace.chunk, |text| chunks.push(Chunk::Text(text)));
        }
        for (call, index) in answer.calls.iter().zip(0..) {
            let name = call.tool.fill(values);
            let id = match &call.id {
                Some(id) => id.fill(values),
                None => call_id(asked, situation, index),
            };
            let json = match &call.arguments {
                Arguments::Json(json) => json.fill(values).to_string(),
                Arguments::Raw(text) => text.fill(values),
            };
            output += tokens::of_text(&name) + tokens::of_text(&json);
            chunks.push(Chunk::Call { index, id, name });
            let argue = |json| chunks.push(Chunk::Arguments { index, json });
            pieces(json, answer.pace.chunk, argue);
        }
        let usual = if answer.calls.is_empty() { StopReason::End } else { StopReason::ToolCalls };
        let usage = answer.usage.unwrap_or_else(|| Usage {
            input: asked.tokens(),
            output,
            cached: 0,
            written: 0,
        });
        let (pace, fault, wire) = (answer.pace, answer.fault.clone(), answer.wire);
        Self::of(chunks, usage, answer.stop.unwrap_or(usual), pace, fault, wire)
    }

    fn of(
        mut chunks: Vec<Chunk>,
        usage: Usage,
        stop: StopReason,
        pace: Pace,
        fault: Option<Fault>,
        wire: Wire,
    ) -> Self {
        match &fault {
            Some(fault) => chunks.truncate(fault.after),
            None => chunks.extend([Chunk::Usage(usage), Chunk::Done(stop)]),
        }
        Self { chunks, usage, stop, pace, fault, wire }
    }

    /// Says that no rule fits, so that whoever writes the script knows.
    pub(super) fn nothing_fits(asked: &Asked<'_>, situation: &Situation<'_>, strict: bool) -> Self {
        let Situation { user, step, .. } = situation;
        let quoted = user.get(..user.floor_char_boundary(QUOTED)).unwrap_or(user);
        let turn = asked.turn();
        let text = format!(
            "No rule of the script fits: turn {turn}, step {step}, and the last message is \
             \"{quoted}\". Add a rule for it, or a `default`."
        );
        let usage =
            Usage { input: asked.tokens(), output: tokens::of_text(&text), cached: 0, written: 0 };
        let fault = strict.then(|| Fault {
            kind: ModelErrorKind::Status(400),
            after: 0,
            message: Some(text.clone()),
            retry_after: None,
        });
        let chunks = vec![Chunk::Text(text)];
        Self::of(chunks, usage, StopReason::End, Pace::default(), fault, Wire::default())
    }
}

impl Fault {
    /// What people are told of it.
    pub(crate) fn message(&self) -> String {
        self.message.clone().unwrap_or_else(|| match self.kind {
            ModelErrorKind::Status(status) => format!("the script answers with status {status}"),
            ModelErrorKind::Cut => "the answer ended in the middle".to_owned(),
            ModelErrorKind::TimedOut => "nothing came in time".to_owned(),
            ModelErrorKind::Malformed => "what came is not an answer".to_owned(),
            _ => "the provider could not be reached".to_owned(),
        })
    }

    pub(super) fn error(&self, model: &str) -> ModelError {
        ModelError {
            model: model.to_owned(),
            kind: self.kind,
            message: self.message(),
            retry_after: self.retry_after,
        }
    }
}

/// Gives a text away in pieces of so many characters.
fn pieces(text: String, size: Option<usize>, mut give: impl FnMut(String)) {
    let Some(size) = size else {
        if !text.is_empty() {
            give(text);
        }
        return;
    };
    let mut rest = text.as_str();
    while !rest.is_empty() {
        let end = rest.char_indices().nth(size).map_or(rest.len(), |(at, _)| at);
        let (piece, after) = rest.split_at(end);
        give(piece.to_owned());
        rest = after;
    }
}

/// The name of a call: the same for the same conversation, and another one than
/// that of any call before it. Counting would not do, since a conversation may
/// have lost its beginning.
fn call_id(asked: &Asked<'_>, situation: &Situation<'_>, index: u32) -> String {
    let before = asked.history.iter().rev().find_map(|item| match item {
        Item::Assistant { calls, .. } => calls.last().map(|call| &call.id),
        _ => None,
    });
    let before = before.map_or("", |CallId(id)| id);
    let parts = [before.as_bytes(), situation.user.as_bytes(), &index.to_be_bytes()];
    format!("call_{:016x}", parts.iter().fold(0xcbf2_9ce4_8422_2325, fold))
}

/// FNV-1a, which does not change between versions of a compiler.
fn fold(hash: u64, part: &&[u8]) -> u64 {
    part.iter()
        .chain(&[0xff])
        .fold(hash, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3))
}
