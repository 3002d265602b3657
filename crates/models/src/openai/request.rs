//! Encodes a request for chat completions.

use std::borrow::Cow;

use ostler_engine::history::{self, Item, Media};
use ostler_engine::model::Request;

use super::wire::{
    Body, Content, File, Function, FunctionCall, ImageUrl, InputAudio, Message, Part,
    StreamOptions, Tool, ToolCall,
};
use super::{LimitField, Options};
use crate::modalities::{UNAVAILABLE, audio_format};
use crate::sanitize;

pub(super) fn body<'a>(options: &'a Options, request: &'a Request) -> Body<'a> {
    let mut messages = Vec::with_capacity(request.history.len() + 1);
    if !request.system.is_empty() {
        messages.push(Message::System { content: &request.system });
    }
    request.history.iter().for_each(|item| push_message(item, &mut messages));
    let limit = |field| (options.limit == field).then_some(request.max_tokens);
    Body {
        model: &options.model,
        messages,
        tools: tools(request),
        stream: true,
        stream_options: StreamOptions { include_usage: true },
        max_tokens: limit(LimitField::MaxTokens),
        max_completion_tokens: limit(LimitField::MaxCompletionTokens),
    }
}

fn tools(request: &Request) -> Vec<Tool<'_>> {
    let definitions = request.offered.iter().filter_map(|name| request.tools.definition(name));
    let tools = definitions.map(|tool| Tool {
        kind: "function",
        function: Function {
            name: tool.spec.name.as_str(),
            description: &tool.description,
            parameters: &tool.schema,
        },
    });
    tools.collect()
}

fn push_message<'a>(item: &'a Item, messages: &mut Vec<Message<'a>>) {
    match item {
        Item::User { content } if content.is_empty() => {}
        Item::User { content } => messages.push(Message::User { content: user(content) }),
        // The answer was stopped before it said anything.
        Item::Assistant { text, calls, .. } if text.is_empty() && calls.is_empty() => {}
        Item::Assistant { text, calls, .. } => {
            let content = (!text.is_empty()).then_some(text.as_str());
            let tool_calls = calls.iter().map(call).collect();
            messages.push(Message::Assistant { content, tool_calls });
        }
        Item::Results { results } => messages.extend(results.iter().map(|result| Message::Tool {
            tool_call_id: sanitize::call_id(&result.call.0),
            content: &result.outcome.content,
        })),
    }
}

/// Text alone is sent as a string, because not every server accepts parts.
fn user(content: &[history::Content]) -> Content<'_> {
    let texts = content.iter().map(|piece| match piece {
        history::Content::Text { text } => Some(text.as_str()),
        _ => None,
    });
    if let Some(texts) = texts.collect::<Option<Vec<&str>>>() {
        return Content::Text(match texts.as_slice() {
            [text] => Cow::Borrowed(text),
            texts => Cow::Owned(texts.join("\n")),
        });
    }
    Content::Parts(content.iter().map(part).collect())
}

fn part(content: &history::Content) -> Part<'_> {
    match content {
        history::Content::Text { text } => Part::Text { text },
        history::Content::Image(media) => media_part(media, |data| {
            let url = format!("data:{};base64,{data}", media.media_type);
            Part::ImageUrl { image_url: ImageUrl { url } }
        }),
        history::Content::Audio(media) => media_part(media, |data| {
            let format = audio_format(&media.media_type).unwrap_or("mp3");
            Part::InputAudio { input_audio: InputAudio { data, format } }
        }),
        history::Content::File(media) => media_part(media, |data| {
            let file_data = format!("data:{};base64,{data}", media.media_type);
            Part::File { file: File { filename: media.label(), file_data } }
        }),
    }
}

fn media_part<'a>(media: &'a Media, part: impl FnOnce(&'a str) -> Part<'a>) -> Part<'a> {
    media.data.as_deref().map_or(Part::Text { text: UNAVAILABLE }, part)
}

/// Arguments that are no JSON object are not sent back, because some servers would
/// fail to parse them. The result tells the model what was wrong.
fn call(call: &history::ToolCall) -> ToolCall<'_> {
    ToolCall {
        id: sanitize::call_id(&call.id.0),
        kind: "function",
        function: FunctionCall {
            name: sanitize::tool_name(&call.name),
            arguments: call.arguments.to_string(),
        },
    }
}
