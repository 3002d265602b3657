//! A request of the OpenAI API as a request to an agent: the messages after the last one of
//! the assistant are the message, those before are the conversation.

use ostler_api::completion::{
    CompletionContent, CompletionMessage, CompletionPart, CompletionRequest, CompletionRole,
};
use ostler_domain::message::MessagePart;
use ostler_runtime::operations::{AgentRequest, RequestContext};
use ostler_runtime::records::api_request::{TranscriptAuthor, TranscriptMessage};

use super::error::ChatError;
use super::images::Images;
use super::options;

const MAX_MESSAGES: usize = 1000;
/// Longest name of a conversation and of a user, in characters.
const MAX_NAME: usize = 128;
/// Introduces what a `system` message says. The agent's own instructions stand above it.
const INSTRUCTIONS: &str = "[The application adds]";

/// Returns the request to the agent.
pub(super) fn parse(request: CompletionRequest) -> Result<AgentRequest, ChatError> {
    options::check(&request.options)?;
    let max_tokens = [request.max_completion_tokens, request.max_tokens];
    let max_tokens = max_tokens.into_iter().flatten().min();
    if max_tokens == Some(0) {
        return Err(ChatError::invalid("max_completion_tokens", "an answer needs a token"));
    }
    if request.messages.len() > MAX_MESSAGES {
        let why = format!("a request has at most {MAX_MESSAGES} messages");
        return Err(ChatError::invalid("messages", why));
    }
    let name = request.metadata.unwrap_or_default().conversation;
    for (param, name) in [("metadata.conversation", &name), ("user", &request.user)] {
        check_name(param, name.as_deref())?;
    }
    let mut images = Images::default();
    let (history, message) = conversation(&request.messages, name.is_some(), &mut images)?;
    Ok(AgentRequest {
        is_test: false,
        message,
        context: name.map_or(RequestContext::Transcript(history), RequestContext::Conversation),
        files: images.0,
        sender: request.user.filter(|user| !user.is_empty()),
        max_tokens,
    })
}

fn check_name(param: &str, name: Option<&str>) -> Result<(), ChatError> {
    let Some(name) = name else { return Ok(()) };
    let too_long = name.chars().count() > MAX_NAME;
    let is_conversation = param != "user";
    let is_word = !name.is_empty() && !name.contains(|c: char| c.is_whitespace() || c.is_control());
    if too_long || (is_conversation && !is_word) {
        let why = format!("1 to {MAX_NAME} characters without white space");
        return Err(ChatError::invalid(param, why));
    }
    Ok(())
}

/// Returns the conversation before the message, and the message. Of a conversation that the
/// server keeps, only the message is read.
fn conversation(
    messages: &[CompletionMessage],
    is_kept: bool,
    images: &mut Images,
) -> Result<(Vec<TranscriptMessage>, Vec<MessagePart>), ChatError> {
    let answered = messages.iter().rposition(|one| one.role == CompletionRole::Assistant);
    let first_new = answered.map_or(0, |last| last + 1);
    let (mut history, mut message) = (Vec::new(), Vec::new());
    for (index, one) in messages.iter().enumerate() {
        check_role(index, one)?;
        let is_new = index >= first_new;
        if is_kept && !is_new {
            continue;
        }
        let mut parts = parts(index, one, images)?;
        let is_instruction = matches!(one.role, CompletionRole::System | CompletionRole::Developer);
        if is_instruction {
            parts.insert(0, MessagePart::text(INSTRUCTIONS));
        }
        let author = match one.role {
            CompletionRole::Assistant => TranscriptAuthor::Agent,
            _ => TranscriptAuthor::Customer,
        };
        if is_new && (is_kept || !is_instruction) {
            message.append(&mut parts);
        } else if !parts.is_empty() {
            history.push(TranscriptMessage { author, parts });
        }
    }
    let is_text =
        |part: &MessagePart| matches!(part, MessagePart::Text { text } if text.trim().is_empty());
    if message.iter().all(is_text) {
        let why = "the last message has to be one of the user, with text or an image";
        return Err(ChatError::invalid("messages", why));
    }
    Ok((history, message))
}

fn check_role(index: usize, message: &CompletionMessage) -> Result<(), ChatError> {
    let has_calls = message.tool_calls.as_ref().is_some_and(|calls| {
        !calls.is_null() && calls.as_array().is_none_or(|calls| !calls.is_empty())
    });
    let is_tool = matches!(message.role, CompletionRole::Tool | CompletionRole::Function);
    if has_calls || is_tool {
        let why = "the agent's tools run on the server; send only what people and the agent said";
        return Err(ChatError::unsupported(format!("messages.{index}"), why));
    }
    Ok(())
}

fn parts(
    index: usize,
    message: &CompletionMessage,
    images: &mut Images,
) -> Result<Vec<MessagePart>, ChatError> {
    let param = format!("messages.{index}.content");
    let parts = match &message.content {
        None => return Ok(Vec::new()),
        Some(CompletionContent::Text(text)) => return Ok(vec![MessagePart::text(text)]),
        Some(CompletionContent::Parts(parts)) => parts,
    };
    let part = |part: &CompletionPart| match part {
        CompletionPart::Text { text } | CompletionPart::Refusal { refusal: text } => {
            Ok(MessagePart::text(text))
        }
        CompletionPart::ImageUrl { image_url } => images.add(&image_url.url, &param),
    };
    parts.iter().map(part).collect()
}

#[cfg(test)]
mod tests {
    use ostler_api::completion::CompletionRequest;
    use ostler_domain::message::MessagePart;
    use ostler_runtime::operations::{AgentRequest, RequestContext};
    use ostler_runtime::records::api_request::{TranscriptAuthor, TranscriptMessage};
    use serde_json::{Value, json};

    use super::{INSTRUCTIONS, parse};

    fn request(messages: &Value) -> CompletionRequest {
        serde_json::from_value(json!({"model": "gia", "messages": messages})).unwrap()
    }

    fn texts(parts: &[MessagePart]) -> String {
        let text = |part: &MessagePart| match part {
            MessagePart::Text { text } => text.clone(),
            other => format!("{other:?}"),
        };
        parts.iter().map(text).collect::<Vec<_>>().join("|")
    }

    fn given(request: &AgentRequest) -> Vec<(TranscriptAuthor, String)> {
        let RequestContext::Transcript(history) = &request.context else { return Vec::new() };
        let one = |TranscriptMessage { author, parts }: &TranscriptMessage| (*author, texts(parts));
        history.iter().map(one).collect()
    }

    /// K04: what follows the assistant's last message is the message, the rest the history.
    #[test]
    fn k04_the_list_of_messages_becomes_history_and_message() {
        let parsed = parse(request(&json!([
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Hi"},
            {"role": "assistant", "content": "Hello!", "refusal": null},
            {"role": "user", "content": [{"type": "text", "text": "What is"}]},
            {"role": "user", "content": "open?"},
        ])))
        .unwrap();
        assert_eq!(texts(&parsed.message), "What is|open?");
        let instructions = format!("{INSTRUCTIONS}|Be brief.");
        let expected = [
            (TranscriptAuthor::Customer, instructions),
            (TranscriptAuthor::Customer, "Hi".into()),
            (TranscriptAuthor::Agent, "Hello!".into()),
        ];
        assert_eq!(given(&parsed), expected);
    }

    /// K04: of a conversation that the server keeps, only the new messages are read.
    #[test]
    fn k04_a_kept_conversation_gets_the_new_messages_only() {
        let mut kept = request(&json!([
            {"role": "user", "content": "Hi"},
            {"role": "assistant", "content": "Hello!"},
            {"role": "user", "content": "And now?"},
        ]));
        kept.metadata = serde_json::from_value(json!({"conversation": "rosa"})).unwrap();
        let parsed = parse(kept).unwrap();
        assert_eq!(texts(&parsed.message), "And now?");
        assert!(matches!(&parsed.context, RequestContext::Conversation(name) if name == "rosa"));
    }

    /// K04: a request that cannot be answered as it is meant is refused, with the part.
    #[test]
    fn k04_wrong_messages_are_refused_with_the_part() {
        let image = |url: &str| {
            json!([{"role": "user",
                "content": [{"type": "image_url", "image_url": {"url": url}}]}])
        };
        for (messages, param) in [
            (json!([]), "messages"),
            (json!([{"role": "system", "content": "Hi"}]), "messages"),
            (
                json!([{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Ha"}]),
                "messages",
            ),
            (json!([{"role": "user", "content": "  "}]), "messages"),
            (json!([{"role": "tool", "content": "3", "tool_call_id": "1"}]), "messages.0"),
            (
                json!([{"role": "user", "content": "Hi"},
                    {"role": "assistant", "tool_calls": [{"id": "1"}]}]),
                "messages.1",
            ),
            (image("https://example.com/a.png"), "messages.0.content"),
            (image("data:image/png;base64,aGVsbG8="), "messages.0.content"),
            (image("data:image/png;base64,*"), "messages.0.content"),
        ] {
            let error = parse(request(&messages)).unwrap_err().to_wire().error;
            assert_eq!(error.param.as_deref(), Some(param), "{messages}");
            assert_eq!(error.kind, "invalid_request_error", "{messages}");
        }
    }

    #[test]
    fn k04_images_in_messages_are_taken() {
        let url = "data:image/png;base64,iVBORw0KGgoAAAAA";
        let parsed = parse(request(&json!([{"role": "user",
            "content": [{"type": "image_url", "image_url": {"url": url}}]}])));
        let parsed = parsed.unwrap();
        assert!(matches!(parsed.message.as_slice(), [MessagePart::Image(_)]));
        assert_eq!(parsed.files.len(), 1);
        assert_eq!(parsed.files[0].media_type.as_str(), "image/png");
    }
}
