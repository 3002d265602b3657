//! The fields of updates that are used.

use serde::Deserialize;

#[derive(Debug, Deserialize)]
pub(super) struct Update {
    pub(super) update_id: i64,
    pub(super) message: Option<Message>,
    pub(super) edited_message: Option<serde::de::IgnoredAny>,
    pub(super) callback_query: Option<CallbackQuery>,
    pub(super) my_chat_member: Option<ChatMemberUpdated>,
}

#[derive(Debug, Deserialize)]
pub(super) struct User {
    pub(super) id: i64,
    #[serde(default)]
    pub(super) is_bot: bool,
    #[serde(default)]
    pub(super) first_name: String,
    pub(super) last_name: Option<String>,
    pub(super) username: Option<String>,
    pub(super) language_code: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Chat {
    pub(super) id: i64,
    #[serde(rename = "type")]
    pub(super) kind: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct Message {
    pub(super) message_id: Option<i64>,
    pub(super) from: Option<User>,
    pub(super) chat: Chat,
    pub(super) reply_to_message: Option<MessageRef>,
    pub(super) text: Option<String>,
    pub(super) caption: Option<String>,
    #[serde(default)]
    pub(super) entities: Vec<Entity>,
    #[serde(default)]
    pub(super) photo: Vec<File>,
    pub(super) voice: Option<File>,
    pub(super) audio: Option<File>,
    pub(super) document: Option<File>,
    pub(super) video: Option<File>,
    pub(super) video_note: Option<File>,
    pub(super) animation: Option<File>,
    pub(super) sticker: Option<Sticker>,
    pub(super) location: Option<Location>,
    pub(super) contact: Option<Contact>,
    #[serde(default)]
    pub(super) new_chat_members: Vec<User>,
    pub(super) left_chat_member: Option<User>,
}

#[derive(Debug, Deserialize)]
pub(super) struct MessageRef {
    pub(super) message_id: i64,
}

#[derive(Debug, Deserialize)]
pub(super) struct Entity {
    #[serde(rename = "type")]
    pub(super) kind: String,
    /// In UTF-16 code units, as `length`.
    pub(super) offset: usize,
    pub(super) length: usize,
}

#[derive(Debug, Deserialize)]
pub(super) struct File {
    pub(super) file_id: String,
    pub(super) file_name: Option<String>,
    pub(super) mime_type: Option<String>,
    pub(super) file_size: Option<u64>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Sticker {
    pub(super) emoji: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Location {
    pub(super) latitude: f64,
    pub(super) longitude: f64,
}

#[derive(Debug, Deserialize)]
pub(super) struct Contact {
    pub(super) phone_number: String,
    #[serde(default)]
    pub(super) first_name: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct CallbackQuery {
    pub(super) id: String,
    pub(super) from: User,
    pub(super) message: Option<Message>,
    pub(super) data: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct ChatMemberUpdated {
    pub(super) chat: Chat,
    pub(super) from: User,
    pub(super) new_chat_member: ChatMember,
}

#[derive(Debug, Deserialize)]
pub(super) struct ChatMember {
    pub(super) status: String,
}
