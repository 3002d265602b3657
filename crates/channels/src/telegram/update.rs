//! Converting an update to an inbound message. Pure functions only.

use ostler_domain::contact::SenderProof;
use ostler_domain::message::MediaType;
use ostler_domain::session::key::Peer;
use serde_json::Value;

use super::types::{CallbackQuery, Chat, ChatMemberUpdated, Entity, File, Message, Update, User};
use crate::inbound::{
    FileSource, GroupMember, IgnoreReason, InboundContent, InboundMessage, InboundPart,
    MembershipChange, ReceiveOutcome, RemoteFile, Sender, text_part,
};

/// Parses an update. One that cannot be parsed is ignored instead of rejected,
/// because Telegram would repeat it forever.
pub(super) fn parse(update: &Value, username: Option<&str>) -> ReceiveOutcome {
    match serde_json::from_value::<Update>(update.clone()) {
        Ok(parsed) => convert(parsed, update, username),
        Err(error) => {
            let kind = format!("{} ({error})", kind(update));
            ReceiveOutcome::Ignored(IgnoreReason::UnsupportedKind(kind.chars().take(200).collect()))
        }
    }
}

fn convert(parsed: Update, update: &Value, username: Option<&str>) -> ReceiveOutcome {
    let id = parsed.update_id.to_string();
    let inbound = if let Some(message) = parsed.message {
        convert_message(id, &message, username)
    } else if let Some(query) = parsed.callback_query {
        convert_press(id, query)
    } else if let Some(change) = parsed.my_chat_member {
        Ok(convert_bot_membership(id, &change))
    } else if parsed.edited_message.is_some() {
        Err(IgnoreReason::Edited)
    } else {
        Err(IgnoreReason::UnsupportedKind(kind(update)))
    };
    inbound
        .map_or_else(ReceiveOutcome::Ignored, |inbound| ReceiveOutcome::Message(Box::new(inbound)))
}

/// Returns the names of the fields of an update, which tell its kind.
fn kind(update: &Value) -> String {
    let names = update.as_object().into_iter().flatten().map(|(name, _)| name.as_str());
    names.filter(|name| *name != "update_id").collect::<Vec<_>>().join(", ")
}

fn convert_message(
    id: String,
    message: &Message,
    bot: Option<&str>,
) -> Result<InboundMessage, IgnoreReason> {
    let from = message.from.as_ref().ok_or(IgnoreReason::Empty)?;
    let content = match membership(message) {
        Some(content) => content,
        None if from.is_bot => return Err(IgnoreReason::FromBot),
        None => match command(message, bot)? {
            Some(command) => command,
            None => InboundContent::Message(parts(message).ok_or(IgnoreReason::Empty)?),
        },
    };
    Ok(InboundMessage {
        id,
        from: sender(from),
        peer: peer(&message.chat),
        message_id: message.message_id.map(|id| id.to_string()),
        reply_to: message.reply_to_message.as_ref().map(|reply| reply.message_id.to_string()),
        email_thread: None,
        content,
    })
}

fn convert_press(id: String, query: CallbackQuery) -> Result<InboundMessage, IgnoreReason> {
    let data = query
        .data
        .ok_or_else(|| IgnoreReason::UnsupportedKind("callback_query without data".into()))?;
    let person = || Peer::Person(query.from.id.to_string());
    Ok(InboundMessage {
        id,
        from: sender(&query.from),
        peer: query.message.as_ref().map_or_else(person, |message| peer(&message.chat)),
        message_id: None,
        // The message to which the button belongs.
        reply_to: query.message.and_then(|message| message.message_id).map(|id| id.to_string()),
        email_thread: None,
        content: InboundContent::Press { data, callback_id: Some(query.id) },
    })
}

fn convert_bot_membership(id: String, change: &ChatMemberUpdated) -> InboundMessage {
    let left = ["left", "kicked"].contains(&change.new_chat_member.status.as_str());
    let membership = if left { MembershipChange::Left } else { MembershipChange::Joined };
    InboundMessage {
        id,
        from: sender(&change.from),
        peer: peer(&change.chat),
        message_id: None,
        reply_to: None,
        email_thread: None,
        content: InboundContent::Membership { member: GroupMember::Bot, change: membership },
    }
}

/// Returns a person who joined or left. Telegram reports the bot's own membership
/// in a separate update.
fn membership(message: &Message) -> Option<InboundContent> {
    let joined = message.new_chat_members.iter().map(|user| (user, MembershipChange::Joined));
    let left = message.left_chat_member.iter().map(|user| (user, MembershipChange::Left));
    let (user, change) = joined.chain(left).find(|(user, _)| !user.is_bot)?;
    Some(InboundContent::Membership { member: GroupMember::Person(sender(user)), change })
}

fn sender(user: &User) -> Sender {
    let full_name = match &user.last_name {
        Some(last) => format!("{} {last}", user.first_name),
        None => user.first_name.clone(),
    };
    let name = Some(full_name.trim().to_owned()).filter(|name| !name.is_empty());
    Sender {
        identifier: user.id.to_string(),
        name: name.or_else(|| user.username.clone()),
        locale: user.language_code.clone(),
        proof: SenderProof::Proven,
    }
}

fn peer(chat: &Chat) -> Peer {
    match chat.kind.as_str() {
        "private" => Peer::Person(chat.id.to_string()),
        _ => Peer::Group(chat.id.to_string()),
    }
}

/// Returns the command at the beginning of a message, if there is one. A command
/// in a group may be for another bot.
fn command(message: &Message, bot: Option<&str>) -> Result<Option<InboundContent>, IgnoreReason> {
    let first = |entity: &&Entity| entity.kind == "bot_command" && entity.offset == 0;
    let (Some(text), Some(entity)) = (&message.text, message.entities.iter().find(first)) else {
        return Ok(None);
    };
    // A command is ASCII, so a UTF-16 code unit is a byte.
    let Some((command, rest)) = text.split_at_checked(entity.length) else { return Ok(None) };
    let Some(command) = command.strip_prefix('/') else { return Ok(None) };
    let (name, to) = command.split_once('@').map_or((command, None), |(name, to)| (name, Some(to)));
    if let (Some(to), Some(bot)) = (to, bot)
        && !to.eq_ignore_ascii_case(bot)
    {
        return Err(IgnoreReason::ForAnotherBot);
    }
    let payload = Some(rest.trim().to_owned()).filter(|rest| !rest.is_empty());
    Ok(Some(InboundContent::Command { name: name.to_lowercase(), payload }))
}

fn parts(message: &Message) -> Option<Vec<InboundPart>> {
    let text = message.text.as_deref().or(message.caption.as_deref());
    let mut parts: Vec<InboundPart> = text.and_then(text_part).into_iter().collect();
    // The last size of a photo is the largest one.
    let files = [
        (message.photo.last(), "image/jpeg"),
        (message.voice.as_ref(), "audio/ogg"),
        (message.audio.as_ref(), "audio/mpeg"),
        // An animation is also included as a document.
        (message.animation.as_ref().or(message.document.as_ref()), "application/octet-stream"),
        (message.video.as_ref(), "video/mp4"),
        (message.video_note.as_ref(), "video/mp4"),
    ];
    parts.extend(files.into_iter().filter_map(|(file, media_type)| file_part(file?, media_type)));
    if let Some(emoji) = message.sticker.as_ref().and_then(|sticker| sticker.emoji.as_ref()) {
        parts.push(InboundPart::Text(emoji.clone()));
    }
    if let Some(place) = &message.location {
        let text = format!("(A location: {}, {})", place.latitude, place.longitude);
        parts.push(InboundPart::Text(text));
    }
    if let Some(card) = &message.contact {
        let text = format!("(A contact: {} {})", card.first_name, card.phone_number);
        parts.push(InboundPart::Text(text));
    }
    (!parts.is_empty()).then_some(parts)
}

fn file_part(file: &File, default_media_type: &str) -> Option<InboundPart> {
    let declared = file.mime_type.as_deref().and_then(|media_type| media_type.parse().ok());
    let media_type: MediaType = declared.or_else(|| default_media_type.parse().ok())?;
    Some(InboundPart::file(RemoteFile {
        source: FileSource::Telegram(file.file_id.clone()),
        media_type,
        name: file.file_name.clone(),
        size: file.file_size,
    }))
}

#[cfg(test)]
mod tests;
