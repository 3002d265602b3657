//! A request in the words of Messages. The rules of the house there: turns
//! alternate and the first is the user's, results come first in the message
//! after their calls, and no text is empty.

use std::collections::BTreeSet;

use ostler_engine::history::{CallResult, Content, Item, Media};
use ostler_engine::model::Request;
use ostler_engine::outcome::Status;

use super::Options;
use super::wire::{Block, Body, CacheControl, Kind, Message, Role, Source, Tool, ToolChoice};
use crate::safe;
use crate::senses::GONE;

/// What stands before a conversation that we began.
const NOTHING_YET: &str = "[the conversation begins with your words]";

pub(super) fn body<'a>(options: &'a Options, request: &'a Request) -> Body<'a> {
    let mut messages: Vec<Message<'a>> = Vec::with_capacity(request.history.len());
    for item in request.history.iter() {
        let (role, content) = said(item);
        add(role, content, &mut messages);
    }
    if messages.first().is_none_or(|first| first.role == Role::Assistant) {
        messages.insert(0, Message { role: Role::User, content: vec![text(NOTHING_YET)] });
    }
    // Marked here and after the system prompt, all that stays the same is read
    // from the cache the next time, tools included.
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

/// The tools that are offered. Where none is and some were called before, those
/// are shown and none may be chosen: calls without tools are refused there.
fn tools(request: &Request) -> (Vec<Tool<'_>>, Option<ToolChoice>) {
    let offered: Vec<_> = request.offered.iter().filter_map(|name| shown(request, name)).collect();
    if !offered.is_empty() {
        return (offered, None);
    }
    let calls = request.history.iter().flat_map(|item| match item {
        Item::Assistant { calls, .. } => calls.as_slice(),
        _ => &[],
    });
    let names: BTreeSet<&str> = calls.map(|call| call.name.as_str()).collect();
    let called: Vec<_> = names.into_iter().filter_map(|name| shown(request, name)).collect();
    let none = (!called.is_empty()).then_some(ToolChoice::None);
    (called, none)
}

fn shown<'a>(request: &'a Request, name: &str) -> Option<Tool<'a>> {
    let tool = request.tools.definition(name)?;
    let (name, description) = (tool.spec.name.as_str(), tool.description.as_str());
    Some(Tool { name, description, input_schema: &tool.schema })
}

/// Adds what somebody said to what they said just before.
fn add<'a>(role: Role, content: Vec<Block<'a>>, messages: &mut Vec<Message<'a>>) {
    if content.is_empty() {
        return;
    }
    match messages.last_mut().filter(|last| last.role == role) {
        Some(last) => last.content.extend(content),
        None => messages.push(Message { role, content }),
    }
}

fn said(item: &Item) -> (Role, Vec<Block<'_>>) {
    match item {
        Item::User { content } => {
            (Role::User, content.iter().filter_map(user).map(block).collect())
        }
        Item::Assistant { text, calls, .. } => {
            // An answer that was stopped may end in a space, which is refused.
            let text = Some(text.trim_end()).filter(|text| !text.is_empty());
            let words = text.map(|text| Kind::Text { text });
            let calls = calls.iter().map(|call| Kind::ToolUse {
                id: safe::call_id(&call.id.0),
                name: safe::tool_name(&call.name),
                input: &call.arguments,
            });
            (Role::Assistant, words.into_iter().chain(calls).map(block).collect())
        }
        Item::Results { results } => (Role::User, results.iter().map(result).map(block).collect()),
    }
}

fn user(content: &Content) -> Option<Kind<'_>> {
    match content {
        Content::Text { text } if text.trim().is_empty() => None,
        Content::Text { text } => Some(Kind::Text { text }),
        Content::Image(media) => Some(match source(media) {
            Some(source) => Kind::Image { source },
            None => Kind::Text { text: GONE },
        }),
        Content::Audio(media) | Content::File(media) => Some(match source(media) {
            Some(source) => Kind::Document { source, title: media.name.as_deref() },
            None => Kind::Text { text: GONE },
        }),
    }
}

fn source(media: &Media) -> Option<Source<'_>> {
    let data = media.data.as_deref()?;
    Some(Source::Base64 { media_type: &media.media_type, data })
}

fn result(result: &CallResult) -> Kind<'_> {
    let fine = matches!(result.outcome.status, Status::Ok | Status::PendingApproval);
    Kind::ToolResult {
        tool_use_id: safe::call_id(&result.call.0),
        content: &result.outcome.content,
        is_error: !fine,
    }
}

const fn text(text: &str) -> Block<'_> {
    block(Kind::Text { text })
}

const fn block(kind: Kind<'_>) -> Block<'_> {
    Block { kind, cache_control: None }
}
