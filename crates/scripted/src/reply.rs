//! Replies: answers with their templates filled, split into chunks, with their
//! faults.

use ostler_engine::history::{CallId, Item};
use ostler_engine::model::{Chunk, ModelError, ModelErrorKind, StopReason, Usage};
use ostler_engine::tokens;

use super::request::{ModelRequest, Situation};
use super::script::{Answer, Arguments, Fault, Timing, WireQuirks};
use super::template::Values;

/// How many bytes of a message are quoted if no rule matches it.
const QUOTED: usize = 80;

/// A reply, ready to be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ScriptedReply {
    /// The content, then the usage and the end.
    pub(crate) chunks: Vec<Chunk>,
    pub(crate) usage: Usage,
    pub(crate) stop: StopReason,
    pub(crate) timing: Timing,
    pub(crate) fault: Option<Fault>,
    pub(crate) wire: WireQuirks,
}

impl ScriptedReply {
    /// Returns the reply with this answer. Fails if a template cannot be filled.
    pub(super) fn new(
        answer: &Answer,
        values: &Values<'_>,
        request: &ModelRequest<'_>,
        situation: &Situation<'_>,
    ) -> Result<Self, minijinja::Error> {
        let mut chunks = Vec::with_capacity(3);
        let mut output = 0;
        if let Some(template) = &answer.text {
            let text = template.fill(values)?;
            output += tokens::of_text(&text);
            pieces(text, answer.timing.chunk, |text| chunks.push(Chunk::Text(text)));
        }
        for (call, index) in answer.calls.iter().zip(0..) {
            let name = call.tool.fill(values)?;
            let id = match &call.id {
                Some(id) => id.fill(values)?,
                None => call_id(request, situation, index),
            };
            let json = match &call.arguments {
                Arguments::Json(json) => json.fill(values)?.to_string(),
                Arguments::Raw(text) => text.fill(values)?,
            };
            output += tokens::of_text(&name) + tokens::of_text(&json);
            chunks.push(Chunk::Call { index, id, name });
            let argue = |json| chunks.push(Chunk::Arguments { index, json });
            pieces(json, answer.timing.chunk, argue);
        }
        let default_stop =
            if answer.calls.is_empty() { StopReason::End } else { StopReason::ToolCalls };
        let usage = answer.usage.unwrap_or_else(|| Usage {
            input: request.tokens(),
            output,
            cached: 0,
            written: 0,
        });
        let (timing, fault, wire) = (answer.timing, answer.fault.clone(), answer.wire);
        Ok(Self::of(chunks, usage, answer.stop.unwrap_or(default_stop), timing, fault, wire))
    }

    fn of(
        mut chunks: Vec<Chunk>,
        usage: Usage,
        stop: StopReason,
        timing: Timing,
        fault: Option<Fault>,
        wire: WireQuirks,
    ) -> Self {
        match &fault {
            Some(fault) => chunks.truncate(fault.after),
            None => chunks.extend([Chunk::Usage(usage), Chunk::Done(stop)]),
        }
        Self { chunks, usage, stop, timing, fault, wire }
    }

    /// Returns a reply that tells the author of the script that no rule matches.
    pub(super) fn no_rule_matches(
        request: &ModelRequest<'_>,
        situation: &Situation<'_>,
        strict: bool,
    ) -> Self {
        let Situation { user, step, .. } = situation;
        let quoted = user.get(..user.floor_char_boundary(QUOTED)).unwrap_or(user);
        let turn = request.turn();
        let text = format!(
            "No rule of the script matches: turn {turn}, step {step}, and the last message is \
             \"{quoted}\". Add a rule for it, or a `default`."
        );
        Self::notice(text, request, strict)
    }

    /// Returns a reply, or a failure, that explains what is wrong with the script.
    pub(super) fn notice(text: String, request: &ModelRequest<'_>, fails: bool) -> Self {
        let usage = Usage {
            input: request.tokens(),
            output: tokens::of_text(&text),
            cached: 0,
            written: 0,
        };
        let fault = fails.then(|| Fault {
            kind: ModelErrorKind::Status(400),
            after: 0,
            message: Some(text.clone()),
            retry_after: None,
        });
        let chunks = vec![Chunk::Text(text)];
        Self::of(chunks, usage, StopReason::End, Timing::default(), fault, WireQuirks::default())
    }
}

impl Fault {
    /// Returns the error message.
    pub(crate) fn message(&self) -> String {
        self.message.clone().unwrap_or_else(|| match self.kind {
            ModelErrorKind::Status(status) => format!("the script answers with status {status}"),
            ModelErrorKind::Incomplete => "the answer ended before it was complete".to_owned(),
            ModelErrorKind::TimedOut => "the provider did not answer in time".to_owned(),
            ModelErrorKind::Malformed => "the response is not a valid answer".to_owned(),
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

/// Passes a text on in pieces of `size` characters.
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

/// Returns the id of a call: the same for the same conversation, and different from
/// the ids of earlier calls. A counter would not do, because a conversation may
/// have lost its beginning.
fn call_id(request: &ModelRequest<'_>, situation: &Situation<'_>, index: u32) -> String {
    let before = request.history.iter().rev().find_map(|item| match item {
        Item::Assistant { calls, .. } => calls.last().map(|call| &call.id),
        _ => None,
    });
    let before = before.map_or("", |CallId(id)| id);
    let parts = [before.as_bytes(), situation.user.as_bytes(), &index.to_be_bytes()];
    format!("call_{:016x}", parts.iter().fold(0xcbf2_9ce4_8422_2325, fold))
}

/// FNV-1a, which is stable across compiler versions.
fn fold(hash: u64, part: &&[u8]) -> u64 {
    part.iter()
        .chain(&[0xff])
        .fold(hash, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3))
}
