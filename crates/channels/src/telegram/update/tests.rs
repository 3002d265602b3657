//! Updates of every kind, and of none.

use super::read;
use crate::inbound::{
    Change, Content, Ignored, Inbound, InboundPart, Member, Received, RemoteFile, Source, Writer,
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
    let Received::Inbound(read) = read(&message(json!({"chat": group, "text": "x"})), None) else {
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
    let Received::Inbound(read) = read(&json!({"update_id": 12, "callback_query": query}), None)
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
    assert!(matches!(content(&broken), Err(Ignored::Kind(kind)) if kind.starts_with("message")));
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
