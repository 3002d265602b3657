//! The content of a prompt, and how a turn ended.

use agent_client_protocol::Result;
use agent_client_protocol::v1::schema::{
    ContentBlock, EmbeddedResourceResource, StopReason as AcpStopReason,
};
use ostler_engine::history::{Content, Media};
use ostler_engine::model::StopReason;
use ostler_harness::{MessageInput, TurnEnd};

use super::connection::{failed, refused};

/// Returns the message that a prompt stands for: what the person has written, then what
/// comes with it.
pub(super) fn message(blocks: Vec<ContentBlock>) -> Result<MessageInput> {
    let (mut text, mut attachments) = (String::new(), Vec::new());
    for block in blocks {
        match block {
            ContentBlock::Text(block) => text.push_str(&block.text),
            // Editors write a mention of a file as a link in the middle of the text.
            ContentBlock::ResourceLink(link) => {
                text.push_str(&format!("[{}]({})", link.name, link.uri));
            }
            ContentBlock::Resource(resource) => attachments.push(match resource.resource {
                EmbeddedResourceResource::TextResourceContents(file) => Content::text(format!(
                    "<resource uri=\"{}\">\n{}\n</resource>",
                    file.uri, file.text
                )),
                EmbeddedResourceResource::BlobResourceContents(file) => {
                    media(file.mime_type.unwrap_or_default(), Some(file.uri), file.blob)
                }
                _ => return Err(refused("this kind of resource is not supported")),
            }),
            ContentBlock::Image(image) => {
                attachments.push(media(image.mime_type, image.uri, image.data));
            }
            _ => return Err(refused("prompts have text, images and resources")),
        }
    }
    Ok(MessageInput::with_attachments(text, attachments))
}

fn media(media_type: String, name: Option<String>, data: String) -> Content {
    let size = (data.len() / 4 * 3) as u64;
    let is_image = media_type.starts_with("image/");
    let media = Media { media_type, name, size, data: Some(data.into()), ..Media::default() };
    if is_image { Content::Image(media) } else { Content::File(media) }
}

/// Returns why a turn stopped; an error if no model answered.
pub(super) fn stop_reason(end: &TurnEnd) -> Result<AcpStopReason> {
    Ok(match end {
        TurnEnd::Answer { stop: StopReason::MaxTokens, .. } => AcpStopReason::MaxTokens,
        TurnEnd::Answer { stop: StopReason::Filtered, .. } => AcpStopReason::Refusal,
        TurnEnd::Answer { .. } => AcpStopReason::EndTurn,
        TurnEnd::Aborted => AcpStopReason::Cancelled,
        TurnEnd::TimedOut | TurnEnd::StepLimit { .. } | TurnEnd::Loop { .. } => {
            AcpStopReason::MaxTurnRequests
        }
        TurnEnd::CreditsExhausted(short) => {
            return Err(failed(format!("{short}; raise the limit with --credits")));
        }
        TurnEnd::ModelFailed(error) => return Err(failed(error)),
    })
}
