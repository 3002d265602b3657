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
mod tests {
    use super::read;
    use crate::inbound::{
        Change, Content, Ignored, Inbound, InboundPart, Member, Received, RemoteFile, Source,
        Writer,
    };
    use ostler_domain::session::key::Peer;
    use proptest::prelude::{Just, Strategy, any, prop, prop_oneof, proptest};
    use serde_json::{Value, json};

    fn rosa() -> Writer {
        let (name, locale) = (Some("Rosa Bianchi".into()), Some("it".into()));
        Writer { identifier: "7".into(), name, locale }
    }

    fn from() -> Value {
        json!({"id": 7, "is_bot": false, "first_name": "Rosa", "last_name": "Bianchi",
            "username": "rosa", "language_code": "it"})
    }

    /// A message in a private chat with these fields.
    fn message(fields: Value) -> Value {
        let mut message = json!({"message_id": 3, "date": 1, "from": from(),
            "chat": {"id": 7, "type": "private", "first_name": "Rosa"}});
        let Value::Object(fields) = fields else { panic!("{fields}") };
        message.as_object_mut().unwrap().extend(fields);
        json!({"update_id": 11, "message": message})
    }

    fn content(update: &Value) -> Result<Content, Ignored> {
        match read(update, Some("pizzabot")) {
            Received::Inbound(inbound) => Ok(inbound.content),
            Received::Ignored(why) => Err(why),
        }
    }

    #[test]
    fn a_message_says_who_where_and_what() {
        let update = message(json!({"text": " Ciao ", "reply_to_message": {"message_id": 2}}));
        let expected = Inbound {
            id: "11".into(),
            from: rosa(),
            peer: Peer::Person("7".into()),
            message: Some("3".into()),
            reply_to: Some("2".into()),
            thread: None,
            content: Content::Message(vec![InboundPart::Text("Ciao".into())]),
        };
        assert_eq!(read(&update, None), Received::Inbound(Box::new(expected)));
        let group = json!({"id": -100, "type": "supergroup", "title": "Team"});
        let Received::Inbound(read) = read(&message(json!({"chat": group, "text": "x"})), None)
        else {
            panic!()
        };
        assert_eq!((read.peer, read.from), (Peer::Group("-100".into()), rosa()));
    }

    #[test]
    fn files_are_named_and_large_ones_refused_with_a_notice() {
        let file = |id: &str, media: &str, name: Option<&str>, size| {
            InboundPart::File(RemoteFile {
                source: Source::Telegram(id.into()),
                media_type: media.parse().unwrap(),
                name: name.map(str::to_owned),
                size,
            })
        };
        let text = |text: &str| InboundPart::Text(text.into());
        let check = |fields: Value, expected: Vec<InboundPart>| {
            assert_eq!(content(&message(fields)), Ok(Content::Message(expected)));
        };
        check(
            json!({"caption": "look", "photo": [{"file_id": "s", "file_size": 1},
                {"file_id": "l", "file_size": 9}]}),
            vec![text("look"), file("l", "image/jpeg", None, Some(9))],
        );
        check(
            json!({"voice": {"file_id": "v", "mime_type": "audio/ogg; codecs=opus"}}),
            vec![file("v", "audio/ogg", None, None)],
        );
        check(
            json!({"document": {"file_id": "d", "file_name": "menu.pdf", "mime_type": "nonsense"}}),
            vec![file("d", "application/octet-stream", Some("menu.pdf"), None)],
        );
        let notice = "(The file film.mp4 was larger than 20 MiB and was not taken.)";
        check(
            json!({"video": {"file_id": "f", "file_name": "film.mp4", "file_size": 99_000_000}}),
            vec![InboundPart::Notice(notice.into())],
        );
        check(json!({"sticker": {"file_id": "s", "emoji": "🍕"}}), vec![text("🍕")]);
        check(
            json!({"location": {"latitude": 41.9, "longitude": 12.5}}),
            vec![text("(A location: 41.9, 12.5)")],
        );
        check(
            json!({"contact": {"phone_number": "+39 06", "first_name": "Gia"}}),
            vec![text("(A contact: Gia +39 06)")],
        );
    }

    #[test]
    fn a_command_carries_the_payload_of_its_deep_link() {
        let check = |text: &str, length: usize, name: &str, payload: Option<&str>| {
            let entity = json!({"type": "bot_command", "offset": 0, "length": length});
            let (name, payload) = (name.to_owned(), payload.map(str::to_owned));
            let read = content(&message(json!({"text": text, "entities": [entity]})));
            assert_eq!(read, Ok(Content::Command { name, payload }), "{text}");
        };
        check("/start org_1", 6, "start", Some("org_1"));
        check("/start", 6, "start", None);
        check("/Help@PizzaBot me", 14, "help", Some("me"));
        let entity = json!({"type": "bot_command", "offset": 0, "length": 11});
        let other = message(json!({"text": "/help@other", "entities": [entity]}));
        assert_eq!(content(&other), Err(Ignored::ForAnotherBot));
        let cut = json!({"type": "bot_command", "offset": 0, "length": 99});
        let said = message(json!({"text": "/é", "entities": [cut]}));
        assert_eq!(content(&said), Ok(Content::Message(vec![InboundPart::Text("/é".into())])));
    }

    /// G36: what a pressed button carries is read, and which message it is below.
    #[test]
    fn g36_a_press_says_which_button() {
        let query = json!({"id": "99", "from": from(), "data": "take:esc_1", "chat_instance": "x",
            "message": {"message_id": 5, "date": 1, "chat": {"id": -100, "type": "group"}}});
        let Received::Inbound(read) =
            read(&json!({"update_id": 12, "callback_query": query}), None)
        else {
            panic!()
        };
        assert_eq!(read.peer, Peer::Group("-100".into()));
        assert_eq!(read.reply_to.as_deref(), Some("5"));
        let callback = Some("99".into());
        assert_eq!(read.content, Content::Press { data: "take:esc_1".into(), callback });
    }

    #[test]
    fn members_come_and_go() {
        let joined = message(json!({"new_chat_members": [from()]}));
        let (who, change) = (Member::Person(rosa()), Change::Joined);
        assert_eq!(content(&joined), Ok(Content::Membership { who: who.clone(), change }));
        let left = message(json!({"left_chat_member": from()}));
        assert_eq!(content(&left), Ok(Content::Membership { who, change: Change::Left }));
        let check = |status: &str, change| {
            let update = json!({"update_id": 1, "my_chat_member": {"date": 1, "from": from(),
                "chat": {"id": -1, "type": "group"}, "new_chat_member": {"status": status}}});
            let who = Member::Bot;
            assert_eq!(content(&update), Ok(Content::Membership { who, change }), "{status}");
        };
        check("member", Change::Joined);
        check("administrator", Change::Joined);
        check("left", Change::Left);
        check("kicked", Change::Left);
    }

    #[test]
    fn what_is_not_read_says_why() {
        let check = |update: Value, expected| assert_eq!(content(&update), Err(expected));
        check(json!({"update_id": 1, "edited_message": {"anything": 1}}), Ignored::Edited);
        check(json!({"update_id": 1, "poll": {}}), Ignored::Kind("poll".into()));
        check(json!({"update_id": 1}), Ignored::Kind(String::new()));
        check(message(json!({"pinned_message": {}})), Ignored::Empty);
        check(message(json!({"from": {"id": 1, "is_bot": true}, "text": "x"})), Ignored::FromBot);
        let broken = json!({"update_id": 1, "message": {"chat": 3}});
        assert!(
            matches!(content(&broken), Err(Ignored::Kind(kind)) if kind.starts_with("message"))
        );
        assert!(matches!(content(&json!([])), Err(Ignored::Kind(_))));
    }

    /// Anything that JSON can be, in the words of Telegram.
    fn anything() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            "\\PC{0,8}".prop_map(Value::from),
            Just(json!("private")),
            Just(json!("bot_command")),
            Just(json!("/start")),
        ];
        let names = prop::sample::select(vec![
            "update_id",
            "message",
            "callback_query",
            "my_chat_member",
            "from",
            "chat",
            "id",
            "type",
            "text",
            "entities",
            "offset",
            "length",
            "photo",
            "file_id",
            "data",
            "new_chat_member",
            "status",
            "message_id",
            "document",
            "file_size",
        ]);
        leaf.prop_recursive(5, 64, 8, move |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
                prop::collection::hash_map(names.clone(), inner, 0..8)
                    .prop_map(|map| map.into_iter().collect()),
            ]
        })
    }

    proptest! {
        /// Whatever comes is read or ignored.
        #[test]
        fn no_update_is_a_surprise(update in anything()) {
            if let Received::Inbound(read) = read(&update, Some("pizzabot")) {
                assert_eq!(Some(read.id), update["update_id"].as_i64().map(|id| id.to_string()));
            }
        }
    }
}
