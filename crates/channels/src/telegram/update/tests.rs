//! Updates of all kinds, and invalid ones.

use super::parse;
use crate::inbound::{
    FileSource, GroupMember, IgnoreReason, InboundContent, InboundMessage, InboundPart,
    MembershipChange, ReceiveOutcome, RemoteFile, Sender,
};
use ostler_domain::contact::SenderProof;
use ostler_domain::session::key::Peer;
use proptest::prelude::{Just, Strategy, any, prop, prop_oneof, proptest};
use serde_json::{Value, json};

fn rosa() -> Sender {
    let (name, locale) = (Some("Rosa Bianchi".into()), Some("it".into()));
    Sender { identifier: "7".into(), name, locale, proof: SenderProof::Proven }
}

fn from() -> Value {
    json!({"id": 7, "is_bot": false, "first_name": "Rosa", "last_name": "Bianchi",
        "username": "rosa", "language_code": "it"})
}

/// A message in a private chat with the given fields.
fn message(fields: Value) -> Value {
    let mut message = json!({"message_id": 3, "date": 1, "from": from(),
        "chat": {"id": 7, "type": "private", "first_name": "Rosa"}});
    let Value::Object(fields) = fields else { panic!("{fields}") };
    message.as_object_mut().unwrap().extend(fields);
    json!({"update_id": 11, "message": message})
}

fn content(update: &Value) -> Result<InboundContent, IgnoreReason> {
    match parse(update, Some("pizzabot")) {
        ReceiveOutcome::Message(inbound) => Ok(inbound.content),
        ReceiveOutcome::Ignored(reason) => Err(reason),
    }
}

#[test]
fn a_message_is_converted_with_sender_peer_and_content() {
    let update = message(json!({"text": " Ciao ", "reply_to_message": {"message_id": 2}}));
    let expected = InboundMessage {
        id: "11".into(),
        from: rosa(),
        peer: Peer::Person("7".into()),
        message_id: Some("3".into()),
        reply_to: Some("2".into()),
        email_thread: None,
        content: InboundContent::Message(vec![InboundPart::Text("Ciao".into())]),
    };
    assert_eq!(parse(&update, None), ReceiveOutcome::Message(Box::new(expected)));
    let group = json!({"id": -100, "type": "supergroup", "title": "Team"});
    let ReceiveOutcome::Message(message) =
        parse(&message(json!({"chat": group, "text": "x"})), None)
    else {
        panic!()
    };
    assert_eq!((message.peer, message.from), (Peer::Group("-100".into()), rosa()));
}

#[test]
fn files_are_converted_and_large_ones_replaced_by_a_notice() {
    let file = |id: &str, media: &str, name: Option<&str>, size| {
        InboundPart::File(RemoteFile {
            source: FileSource::Telegram(id.into()),
            media_type: media.parse().unwrap(),
            name: name.map(str::to_owned),
            size,
        })
    };
    let text = |text: &str| InboundPart::Text(text.into());
    let check = |fields: Value, expected: Vec<InboundPart>| {
        assert_eq!(content(&message(fields)), Ok(InboundContent::Message(expected)));
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
    let notice = "(The file film.mp4 is larger than 20 MiB and was not accepted.)";
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
fn a_command_has_the_payload_of_its_deep_link() {
    let check = |text: &str, length: usize, name: &str, payload: Option<&str>| {
        let entity = json!({"type": "bot_command", "offset": 0, "length": length});
        let (name, payload) = (name.to_owned(), payload.map(str::to_owned));
        let read = content(&message(json!({"text": text, "entities": [entity]})));
        assert_eq!(read, Ok(InboundContent::Command { name, payload }), "{text}");
    };
    check("/start org_1", 6, "start", Some("org_1"));
    check("/start", 6, "start", None);
    check("/Help@PizzaBot me", 14, "help", Some("me"));
    let entity = json!({"type": "bot_command", "offset": 0, "length": 11});
    let other = message(json!({"text": "/help@other", "entities": [entity]}));
    assert_eq!(content(&other), Err(IgnoreReason::ForAnotherBot));
    let cut = json!({"type": "bot_command", "offset": 0, "length": 99});
    let update = message(json!({"text": "/é", "entities": [cut]}));
    assert_eq!(content(&update), Ok(InboundContent::Message(vec![InboundPart::Text("/é".into())])));
}

#[test]
fn g36_a_button_press_has_the_data_and_message_of_the_button() {
    let query = json!({"id": "99", "from": from(), "data": "take:esc_1", "chat_instance": "x",
        "message": {"message_id": 5, "date": 1, "chat": {"id": -100, "type": "group"}}});
    let ReceiveOutcome::Message(message) =
        parse(&json!({"update_id": 12, "callback_query": query}), None)
    else {
        panic!()
    };
    assert_eq!(message.peer, Peer::Group("-100".into()));
    assert_eq!(message.reply_to.as_deref(), Some("5"));
    let callback_id = Some("99".into());
    assert_eq!(message.content, InboundContent::Press { data: "take:esc_1".into(), callback_id });
}

#[test]
fn membership_changes_of_people_and_of_the_bot_are_converted() {
    let joined = message(json!({"new_chat_members": [from()]}));
    let (member, change) = (GroupMember::Person(rosa()), MembershipChange::Joined);
    assert_eq!(content(&joined), Ok(InboundContent::Membership { member: member.clone(), change }));
    let left = message(json!({"left_chat_member": from()}));
    assert_eq!(
        content(&left),
        Ok(InboundContent::Membership { member, change: MembershipChange::Left })
    );
    let check = |status: &str, change| {
        let update = json!({"update_id": 1, "my_chat_member": {"date": 1, "from": from(),
            "chat": {"id": -1, "type": "group"}, "new_chat_member": {"status": status}}});
        let member = GroupMember::Bot;
        assert_eq!(content(&update), Ok(InboundContent::Membership { member, change }), "{status}");
    };
    check("member", MembershipChange::Joined);
    check("administrator", MembershipChange::Joined);
    check("left", MembershipChange::Left);
    check("kicked", MembershipChange::Left);
}

#[test]
fn ignored_updates_have_a_reason() {
    let check = |update: Value, expected| assert_eq!(content(&update), Err(expected));
    check(json!({"update_id": 1, "edited_message": {"anything": 1}}), IgnoreReason::Edited);
    check(json!({"update_id": 1, "poll": {}}), IgnoreReason::UnsupportedKind("poll".into()));
    check(json!({"update_id": 1}), IgnoreReason::UnsupportedKind(String::new()));
    check(message(json!({"pinned_message": {}})), IgnoreReason::Empty);
    check(message(json!({"from": {"id": 1, "is_bot": true}, "text": "x"})), IgnoreReason::FromBot);
    let broken = json!({"update_id": 1, "message": {"chat": 3}});
    assert!(
        matches!(content(&broken), Err(IgnoreReason::UnsupportedKind(kind)) if kind.starts_with("message"))
    );
    assert!(matches!(content(&json!([])), Err(IgnoreReason::UnsupportedKind(_))));
}

/// Any JSON, with names of Telegram's fields.
fn any_json() -> impl Strategy<Value = Value> {
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
    #[test]
    fn any_update_is_converted_or_ignored(update in any_json()) {
        if let ReceiveOutcome::Message(message) = parse(&update, Some("pizzabot")) {
            assert_eq!(Some(message.id), update["update_id"].as_i64().map(|id| id.to_string()));
        }
    }
}
