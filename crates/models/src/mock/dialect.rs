//! The two ways in which providers are spoken to.

use ostler_engine::history::Item;
use ostler_engine::model::Chunk;
use ostler_engine::tokens;
use serde_json::Value;

use super::{anthropic, openai};
use crate::scripted::Reply;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialect {
    OpenAi,
    Anthropic,
}

/// A request, whichever way it came.
#[derive(Debug, Default)]
pub(super) struct Wanted {
    pub(super) model: String,
    pub(super) system: String,
    pub(super) history: Vec<Item>,
    pub(super) offered: Vec<String>,
    /// About how many tokens the offered tools have.
    pub(super) tool_tokens: u64,
    pub(super) stream: bool,
    /// Whether a stream says what was used.
    pub(super) include_usage: bool,
}

impl Wanted {
    /// Notes a tool that is offered.
    pub(super) fn offer(&mut self, tool: &Value, schema: &str) -> Result<(), String> {
        let name = text(tool, "name")?;
        let description = tool["description"].as_str().unwrap_or_default();
        self.offered.push(name.to_owned());
        self.tool_tokens += tokens::of_text(description) + tokens::of_json(&tool[schema]);
        Ok(())
    }
}

/// A text that has to be there.
pub(super) fn text<'v>(json: &'v Value, key: &str) -> Result<&'v str, String> {
    json[key].as_str().ok_or_else(|| format!("`{key}` has to be a text"))
}

impl Dialect {
    pub(super) fn read(self, body: &Value) -> Result<Wanted, String> {
        match self {
            Self::OpenAi => openai::read(body),
            Self::Anthropic => anthropic::read(body),
        }
    }

    /// What a stream begins with.
    pub(super) fn head(self, wanted: &Wanted, reply: &Reply) -> String {
        match self {
            Self::OpenAi => openai::head(wanted),
            Self::Anthropic => anthropic::head(wanted, reply),
        }
    }

    /// A piece of a stream, and how it begins if it is the first of its kind.
    pub(super) fn piece(self, wanted: &Wanted, blocks: &mut Blocks, chunk: &Chunk) -> String {
        match self {
            Self::OpenAi => openai::piece(wanted, chunk),
            Self::Anthropic => anthropic::piece(blocks, chunk),
        }
    }

    /// What a stream ends with.
    pub(super) fn tail(self, wanted: &Wanted, blocks: &mut Blocks, reply: &Reply) -> String {
        match self {
            Self::OpenAi => openai::tail(wanted, reply),
            Self::Anthropic => anthropic::tail(blocks, reply),
        }
    }

    /// What comes when nothing is to be said.
    pub(super) const fn keep_alive(self) -> &'static str {
        match self {
            Self::OpenAi => ": keep-alive\n\n",
            Self::Anthropic => ": keep-alive\n\nevent: ping\ndata: {\"type\": \"ping\"}\n\n",
        }
    }

    /// An event that is cut off in its JSON.
    pub(super) const fn malformed(self) -> &'static str {
        match self {
            Self::OpenAi => "data: {\"choices\":[{\"index\":0,\"delta\":{\n\n",
            Self::Anthropic => {
                "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"delta\":{\n\n"
            }
        }
    }

    /// An answer that is not streamed.
    pub(super) fn whole(self, wanted: &Wanted, reply: &Reply) -> Value {
        match self {
            Self::OpenAi => openai::whole(wanted, reply),
            Self::Anthropic => anthropic::whole(wanted, reply),
        }
    }

    pub(super) fn error(self, status: u16, message: &str) -> Value {
        match self {
            Self::OpenAi => openai::error(status, message),
            Self::Anthropic => anthropic::error(status, message),
        }
    }

    /// An error in the middle of a stream.
    pub(super) fn error_event(self, status: u16, message: &str) -> String {
        let json = self.error(status, message);
        match self {
            Self::OpenAi => format!("data: {json}\n\n"),
            Self::Anthropic => format!("event: error\ndata: {json}\n\n"),
        }
    }
}

/// Where a stream of Anthropic's is: its blocks have numbers, and one is open at
/// a time.
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

/// An answer put together again: its text, and its calls with their arguments.
pub(super) fn whole(chunks: &[Chunk]) -> (String, Vec<(&str, &str, String)>) {
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
