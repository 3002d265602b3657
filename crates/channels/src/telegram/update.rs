//! An update of Telegram in the words that all channels share. Pure.

use ostler_domain::message::MediaType;
use ostler_domain::session::key::Peer;
use serde_json::Value;

use super::types::{CallbackQuery, Chat, ChatMemberUpdated, Entity, File, Message, Update, User};
use crate::inbound::{
    Change, Content, Ignored, Inbound, InboundPart, Member, Received, RemoteFile, Source, Writer,
    text_part,
};

/// Reads an update. One that cannot be read is ignored and not refused: Telegram
/// would send it again and again.
pub(super) fn read(update: &Value, username: Option<&str>) -> Received {
    match serde_json::from_value::<Update>(update.clone()) {
        Ok(known) => read_known(known, update, username),
        Err(error) => {
            let kind = format!("{} ({error})", kind(update));
            Received::Ignored(Ignored::Kind(kind.chars().take(200).collect()))
        }
    }
}

fn read_known(known: Update, update: &Value, username: Option<&str>) -> Received {
    let id = known.update_id.to_string();
    let read = if let Some(message) = known.message {
        read_message(id, &message, username)
    } else if let Some(query) = known.callback_query {
        read_press(id, query)
    } else if let Some(change) = known.my_chat_member {
        Ok(read_membership(id, &change))
    } else if known.edited_message.is_some() {
        Err(Ignored::Edited)
    } else {
        Err(Ignored::Kind(kind(update)))
    };
    read.map_or_else(Received::Ignored, |inbound| Received::Inbound(Box::new(inbound)))
}

/// The name of what an update carries.
fn kind(update: &Value) -> String {
    let names = update.as_object().into_iter().flatten().map(|(name, _)| name.as_str());
    names.filter(|name| *name != "update_id").collect::<Vec<_>>().join(", ")
}

fn read_message(id: String, message: &Message, bot: Option<&str>) -> Result<Inbound, Ignored> {
    let from = message.from.as_ref().ok_or(Ignored::Empty)?;
    let content = match membership(message) {
        Some(content) => content,
        None if from.is_bot => return Err(Ignored::FromBot),
        None => match command(message, bot)? {
            Some(command) => command,
            None => Content::Message(parts(message).ok_or(Ignored::Empty)?),
        },
    };
    Ok(Inbound {
        id,
        from: writer(from),
        peer: peer(&message.chat),
        message: message.message_id.map(|id| id.to_string()),
        reply_to: message.reply_to_message.as_ref().map(|replied| replied.message_id.to_string()),
        thread: None,
        content,
    })
}

fn read_press(id: String, query: CallbackQuery) -> Result<Inbound, Ignored> {
    let data = query.data.ok_or_else(|| Ignored::Kind("callback_query without data".into()))?;
    let person = || Peer::Person(query.from.id.to_string());
    Ok(Inbound {
        id,
        from: writer(&query.from),
        peer: query.message.as_ref().map_or_else(person, |message| peer(&message.chat)),
        message: None,
        // The message below which the button is.
        reply_to: query.message.and_then(|message| message.message_id).map(|id| id.to_string()),
        thread: None,
        content: Content::Press { data, callback: Some(query.id) },
    })
}

fn read_membership(id: String, change: &ChatMemberUpdated) -> Inbound {
    let gone = ["left", "kicked"].contains(&change.new_chat_member.status.as_str());
    let change_of = if gone { Change::Left } else { Change::Joined };
    Inbound {
        id,
        from: writer(&change.from),
        peer: peer(&change.chat),
        message: None,
        reply_to: None,
        thread: None,
        content: Content::Membership { who: Member::Bot, change: change_of },
    }
}

/// People who joined or left; what the bot itself did comes as an update of its
/// own.
fn membership(message: &Message) -> Option<Content> {
    let joined = message.new_chat_members.iter().map(|who| (who, Change::Joined));
    let left = message.left_chat_member.iter().map(|who| (who, Change::Left));
    let (who, change) = joined.chain(left).find(|(who, _)| !who.is_bot)?;
    Some(Content::Membership { who: Member::Person(writer(who)), change })
}

fn writer(user: &User) -> Writer {
    let full = match &user.last_name {
        Some(last) => format!("{} {last}", user.first_name),
        None => user.first_name.clone(),
    };
    let name = Some(full.trim().to_owned()).filter(|name| !name.is_empty());
    Writer {
        identifier: user.id.to_string(),
        name: name.or_else(|| user.username.clone()),
        locale: user.language_code.clone(),
    }
}

fn peer(chat: &Chat) -> Peer {
    match chat.kind.as_str() {
        "private" => Peer::Person(chat.id.to_string()),
        _ => Peer::Group(chat.id.to_string()),
    }
}

/// The command that a message begins with. In a group it may name another bot.
fn command(message: &Message, bot: Option<&str>) -> Result<Option<Content>, Ignored> {
    let first = |entity: &&Entity| entity.kind == "bot_command" && entity.offset == 0;
    let (Some(text), Some(entity)) = (&message.text, message.entities.iter().find(first)) else {
        return Ok(None);
    };
    // A command is ASCII, so a unit of UTF-16 is a byte.
    let Some((command, rest)) = text.split_at_checked(entity.length) else { return Ok(None) };
    let Some(command) = command.strip_prefix('/') else { return Ok(None) };
    let (name, to) = command.split_once('@').map_or((command, None), |(name, to)| (name, Some(to)));
    if let (Some(to), Some(bot)) = (to, bot)
        && !to.eq_ignore_ascii_case(bot)
    {
        return Err(Ignored::ForAnotherBot);
    }
    let payload = Some(rest.trim().to_owned()).filter(|rest| !rest.is_empty());
    Ok(Some(Content::Command { name: name.to_lowercase(), payload }))
}

fn parts(message: &Message) -> Option<Vec<InboundPart>> {
    let words = message.text.as_deref().or(message.caption.as_deref());
    let mut parts: Vec<InboundPart> = words.and_then(text_part).into_iter().collect();
    // The last size of a photo is the largest.
    let files = [
        (message.photo.last(), "image/jpeg"),
        (message.voice.as_ref(), "audio/ogg"),
        (message.audio.as_ref(), "audio/mpeg"),
        // An animation comes as a document too.
        (message.animation.as_ref().or(message.document.as_ref()), "application/octet-stream"),
        (message.video.as_ref(), "video/mp4"),
        (message.video_note.as_ref(), "video/mp4"),
    ];
    parts.extend(files.into_iter().filter_map(|(found, usual)| file(found?, usual)));
    if let Some(emoji) = message.sticker.as_ref().and_then(|sticker| sticker.emoji.as_ref()) {
        parts.push(InboundPart::Text(emoji.clone()));
    }
    if let Some(place) = &message.location {
        let said = format!("(A location: {}, {})", place.latitude, place.longitude);
        parts.push(InboundPart::Text(said));
    }
    if let Some(card) = &message.contact {
        let said = format!("(A contact: {} {})", card.first_name, card.phone_number);
        parts.push(InboundPart::Text(said));
    }
    (!parts.is_empty()).then_some(parts)
}

fn file(file: &File, usual: &str) -> Option<InboundPart> {
    let said = file.mime_type.as_deref().and_then(|said| said.parse().ok());
    let media_type: MediaType = said.or_else(|| usual.parse().ok())?;
    Some(InboundPart::file(RemoteFile {
        source: Source::Telegram(file.file_id.clone()),
        media_type,
        name: file.file_name.clone(),
        size: file.file_size,
    }))
}

#[cfg(test)]
mod tests;
