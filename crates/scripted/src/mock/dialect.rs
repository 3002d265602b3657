//! The two wire formats of providers.

use ostler_engine::history::Item;
use ostler_engine::model::Chunk;
use ostler_engine::tokens;
use serde_json::Value;

use super::{anthropic, openai};
use crate::ScriptedReply;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialect {
    OpenAi,
    Anthropic,
}

/// A request in either wire format.
#[derive(Debug, Default)]
pub(super) struct WireRequest {
    pub(super) model: String,
    pub(super) system: String,
    pub(super) history: Vec<Item>,
    pub(super) offered: Vec<String>,
    /// An estimate for the offered tools.
    pub(super) tool_tokens: u64,
    pub(super) stream: bool,
    /// Whether a stream reports token usage.
    pub(super) include_usage: bool,
}

impl WireRequest {
    /// Adds an offered tool.
    pub(super) fn offer(&mut self, tool: &Value, schema: &str) -> Result<(), String> {
        let name = text(tool, "name")?;
        let description = tool["description"].as_str().unwrap_or_default();
        self.offered.push(name.to_owned());
        self.tool_tokens += tokens::of_text(description) + tokens::of_json(&tool[schema]);
        Ok(())
    }
}

/// Returns a required string.
pub(super) fn text<'v>(json: &'v Value, key: &str) -> Result<&'v str, String> {
    json[key].as_str().ok_or_else(|| format!("`{key}` must be a string"))
}

impl Dialect {
    pub(super) fn read(self, body: &Value) -> Result<WireRequest, String> {
        match self {
            Self::OpenAi => openai::read(body),
            Self::Anthropic => anthropic::read(body),
        }
    }

    /// Returns the first events of a stream.
    pub(super) fn stream_start(self, request: &WireRequest, reply: &ScriptedReply) -> String {
        match self {
            Self::OpenAi => openai::stream_start(request),
            Self::Anthropic => anthropic::stream_start(request, reply),
        }
    }

    /// Returns the events of a chunk, including the start of a new block.
    pub(super) fn stream_chunk(
        self,
        request: &WireRequest,
        blocks: &mut Blocks,
        chunk: &Chunk,
    ) -> String {
        match self {
            Self::OpenAi => openai::stream_chunk(request, chunk),
            Self::Anthropic => anthropic::stream_chunk(blocks, chunk),
        }
    }

    /// Returns the last events of a stream.
    pub(super) fn stream_end(
        self,
        request: &WireRequest,
        blocks: &mut Blocks,
        reply: &ScriptedReply,
    ) -> String {
        match self {
            Self::OpenAi => openai::stream_end(request, reply),
            Self::Anthropic => anthropic::stream_end(blocks, reply),
        }
    }

    /// Returns an event without content.
    pub(super) const fn keep_alive(self) -> &'static str {
        match self {
            Self::OpenAi => ": keep-alive\n\n",
            Self::Anthropic => ": keep-alive\n\nevent: ping\ndata: {\"type\": \"ping\"}\n\n",
        }
    }

    /// Returns an event whose JSON is cut off.
    pub(super) const fn malformed(self) -> &'static str {
        match self {
            Self::OpenAi => "data: {\"choices\":[{\"index\":0,\"delta\":{\n\n",
            Self::Anthropic => {
                "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"delta\":{\n\n"
            }
        }
    }

    /// Returns an answer that is not streamed.
    pub(super) fn complete(self, request: &WireRequest, reply: &ScriptedReply) -> Value {
        match self {
            Self::OpenAi => openai::complete(request, reply),
            Self::Anthropic => anthropic::complete(request, reply),
        }
    }

    pub(super) fn error(self, status: u16, message: &str) -> Value {
        match self {
            Self::OpenAi => openai::error(status, message),
            Self::Anthropic => anthropic::error(status, message),
        }
    }

    /// Returns an error in the middle of a stream.
    pub(super) fn error_event(self, status: u16, message: &str) -> String {
        let json = self.error(status, message);
        match self {
            Self::OpenAi => format!("data: {json}\n\n"),
            Self::Anthropic => format!("event: error\ndata: {json}\n\n"),
        }
    }
}

/// The position in an Anthropic stream: blocks are numbered, and one is open at a
/// time.
#[derive(Debug, Default)]
pub(super) struct Blocks {
    pub(super) next: u64,
    pub(super) open: Option<Block>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Block {
    Text,
    Call(u32),
}

/// Joins chunks to a text, and calls with their arguments.
pub(super) fn complete(chunks: &[Chunk]) -> (String, Vec<(&str, &str, String)>) {
    let mut text = String::new();
    let mut calls: Vec<(&str, &str, String)> = Vec::new();
    for chunk in chunks {
        match chunk {
            Chunk::Text(piece) => text.push_str(piece),
            Chunk::Call { id, name, .. } => calls.push((id, name, String::new())),
            Chunk::Arguments { json, .. } => {
                if let Some((_, _, arguments)) = calls.last_mut() {
                    arguments.push_str(json);
                }
            }
            Chunk::Usage(_) | Chunk::Restart(_) | Chunk::Done(_) => {}
        }
    }
    (text, calls)
}
