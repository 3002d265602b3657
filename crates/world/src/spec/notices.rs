//! What a person wants to be notified of.

use std::collections::{BTreeMap, BTreeSet};

use ostler_domain::notice::preferences::{
    DigestSettings, NoticeDestination, NoticePreferences, NoticeTopic, QuietHours,
    UnansweredNotices,
};
use ostler_domain::org::settings::{OWNER, PersonNotices};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use super::names::{Names, UnknownName};
use super::settings::PersonDefinition;

/// What a person wants to be notified of, where, and when.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct NoticesDefinition {
    /// The e-mail address of a member, or `owner` for the addresses in `people`.
    pub person: String,
    /// The person's chat; for the owner the one of `people` if it is left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chat: Option<PersonDefinition>,
    /// The person's e-mail address; if it is left out, the address of the account, through
    /// the channel of the owner's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub email: Option<PersonDefinition>,
    /// Where notices of a topic go, where that differs from the default: `chat`, `email`,
    /// `team_group` or `digest`. An empty list only keeps them in the list of notices.
    pub topics: BTreeMap<NoticeTopic, BTreeSet<NoticeDestination>>,
    /// When notices wait.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quiet_hours: Option<QuietHours>,
    /// When collected notices are sent, and where.
    pub digest: DigestSettings,
    /// What happens if nobody reacts to an urgent notice.
    pub unanswered: UnansweredNotices,
    /// The IANA name of the person's time zone; the organization's if it is left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_zone: Option<String>,
}

/// Reads what people want, ordered by person as it is stored, so that files in any order
/// describe the same.
pub(super) fn notices_by_person<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<NoticesDefinition>, D::Error> {
    let mut all = Vec::<NoticesDefinition>::deserialize(deserializer)?;
    all.sort_by(|one, other| one.person.cmp(&other.person));
    Ok(all)
}

impl Default for NoticesDefinition {
    fn default() -> Self {
        Self::from_notices(OWNER, &PersonNotices::default(), &Names::default())
    }
}

impl NoticesDefinition {
    pub(super) fn from_notices(person: &str, notices: &PersonNotices, names: &Names) -> Self {
        let PersonNotices { chat, email, preferences } = notices;
        let at = |address: &Option<_>| {
            address.as_ref().map(|address| PersonDefinition::from_address(address, names))
        };
        let NoticePreferences { topics, quiet_hours, digest, unanswered, time_zone } =
            preferences.clone();
        let (person, chat, email) = (person.to_owned(), at(chat), at(email));
        Self { person, chat, email, topics, quiet_hours, digest, unanswered, time_zone }
    }

    pub(super) fn to_notices(&self, names: &Names) -> Result<PersonNotices, UnknownName> {
        let address = |person: &Option<PersonDefinition>| {
            person.as_ref().map(|person| person.to_address(names)).transpose()
        };
        let Self { topics, quiet_hours, digest, unanswered, time_zone, .. } = self.clone();
        let preferences = NoticePreferences { topics, quiet_hours, digest, unanswered, time_zone };
        let (chat, email) = (address(&self.chat)?, address(&self.email)?);
        Ok(PersonNotices { chat, email, preferences })
    }
}
