//! Encodes a request for the Messages API. It requires that roles alternate and the
//! first is the user, that results come first in the message after their calls, and
//! that no text is empty.

use std::collections::BTreeSet;

use ostler_engine::history::{CallResult, Content, Item, Media};
use ostler_engine::model::Request;
use ostler_engine::outcome::OutcomeStatus;

use super::Options;
use super::wire::{
    Block, BlockContent, Body, CacheControl, Message, Role, Source, Tool, ToolChoice,
};
use crate::modalities::UNAVAILABLE;
use crate::sanitize;

/// The first message of a conversation that the assistant started.
const EMPTY_START: &str = "[the conversation begins with your words]";

pub(super) fn body<'a>(options: &'a Options, request: &'a Request) -> Body<'a> {
    let mut messages: Vec<Message<'a>> = Vec::with_capacity(request.history.len());
    for item in request.history.iter() {
        let (role, content) = message_content(item);
        push_message(role, content, &mut messages);
    }
    if messages.first().is_none_or(|first| first.role == Role::Assistant) {
        messages.insert(0, Message { role: Role::User, content: vec![text(EMPTY_START)] });
    }
    // Cache markers here and after the system prompt let the provider reuse everything
    // that has not changed, including the tools.
    let last = messages.last_mut().and_then(|message| message.content.last_mut());
    if let Some(last) = last {
        last.cache_control = Some(CacheControl::Ephemeral);
    }
    let (tools, tool_choice) = tools(request);
    Body {
        model: &options.model,
        max_tokens: request.max_tokens,
        stream: true,
        system: system(&request.system),
        tools,
        tool_choice,
        messages,
    }
}

fn system(prompt: &str) -> Vec<Block<'_>> {
    if prompt.trim().is_empty() {
        return Vec::new();
    }
    vec![Block { cache_control: Some(CacheControl::Ephemeral), ..text(prompt) }]
}

/// Returns the offered tools. If none is offered but some were called before, those
/// are listed and may not be chosen, because the API rejects calls without tools.
fn tools(request: &Request) -> (Vec<Tool<'_>>, Option<ToolChoice>) {
    let offered: Vec<_> =
        request.offered.iter().filter_map(|name| tool_definition(request, name)).collect();
    if !offered.is_empty() {
        return (offered, None);
    }
    let calls = request.history.iter().flat_map(|item| match item {
        Item::Assistant { calls, .. } => calls.as_slice(),
        _ => &[],
    });
    let names: BTreeSet<&str> = calls.map(|call| call.name.as_str()).collect();
    let called: Vec<_> =
        names.into_iter().filter_map(|name| tool_definition(request, name)).collect();
    let none = (!called.is_empty()).then_some(ToolChoice::None);
    (called, none)
}

fn tool_definition<'a>(request: &'a Request, name: &str) -> Option<Tool<'a>> {
    let tool = request.tools.definition(name)?;
    let (name, description) = (tool.spec.name.as_str(), tool.description.as_str());
    Some(Tool { name, description, input_schema: &tool.schema })
}

/// Appends content to the last message if it has the same role; adds a message
/// otherwise.
fn push_message<'a>(role: Role, content: Vec<Block<'a>>, messages: &mut Vec<Message<'a>>) {
    if content.is_empty() {
        return;
    }
    match messages.last_mut().filter(|last| last.role == role) {
        Some(last) => last.content.extend(content),
        None => messages.push(Message { role, content }),
    }
}

fn message_content(item: &Item) -> (Role, Vec<Block<'_>>) {
    match item {
        Item::User { content } => {
            (Role::User, content.iter().filter_map(user).map(block).collect())
        }
        Item::Assistant { text, calls, .. } => {
            // A partial answer may end in a space, which the API rejects.
            let text = Some(text.trim_end()).filter(|text| !text.is_empty());
            let text_block = text.map(|text| BlockContent::Text { text });
            let calls = calls.iter().map(|call| BlockContent::ToolUse {
                id: sanitize::call_id(&call.id.0),
                name: sanitize::tool_name(&call.name),
                input: &call.arguments,
            });
            (Role::Assistant, text_block.into_iter().chain(calls).map(block).collect())
        }
        Item::Results { results } => (Role::User, results.iter().map(result).map(block).collect()),
    }
}

fn user(content: &Content) -> Option<BlockContent<'_>> {
    match content {
        Content::Text { text } if text.trim().is_empty() => None,
        Content::Text { text } => Some(BlockContent::Text { text }),
        Content::Image(media) => Some(match source(media) {
            Some(source) => BlockContent::Image { source },
            None => BlockContent::Text { text: UNAVAILABLE },
        }),
        Content::Audio(media) | Content::File(media) => Some(match source(media) {
            Some(source) => BlockContent::Document { source, title: media.name.as_deref() },
            None => BlockContent::Text { text: UNAVAILABLE },
        }),
    }
}

fn source(media: &Media) -> Option<Source<'_>> {
    let data = media.data.as_deref()?;
    Some(Source::Base64 { media_type: &media.media_type, data })
}

fn result(result: &CallResult) -> BlockContent<'_> {
    let fine = matches!(result.outcome.status, OutcomeStatus::Ok | OutcomeStatus::PendingApproval);
    BlockContent::ToolResult {
        tool_use_id: sanitize::call_id(&result.call.0),
        content: &result.outcome.content,
        is_error: !fine,
    }
}

const fn text(text: &str) -> Block<'_> {
    block(BlockContent::Text { text })
}

const fn block(kind: BlockContent<'_>) -> Block<'_> {
    Block { kind, cache_control: None }
}
