//! The people of an org who are notified: their addresses, preferences and time zones.

use std::collections::BTreeMap;

use jiff::tz::TimeZone;
use ostler_domain::contact::normalize_email;
use ostler_domain::id::{OrgId, UserId};
use ostler_domain::notice::NoticeRecipient;
use ostler_domain::notice::preferences::{NoticeDestination, NoticePreferences};
use ostler_domain::org::Org;
use ostler_domain::org::settings::{ChannelAddress, OWNER, OrgSettings};
use ostler_domain::time::Timestamp;
use ostler_store::{Store, StoreError};

use crate::org_view::{SETTINGS, settings_record};
use crate::records::decode;

/// The most members among whom people with preferences are searched.
const MAX_MEMBERS: u32 = 10_000;

/// An org with the people who are notified.
pub(super) struct OrgPeople {
    pub(super) org: Org,
    pub(super) settings: OrgSettings,
    /// The members with preferences of their own, by their name in the settings.
    members: BTreeMap<String, UserId>,
}

impl OrgPeople {
    pub(super) async fn load(store: &Store, id: OrgId) -> Result<Self, StoreError> {
        let org_store = store.org(id);
        let org = org_store.org().await?;
        let settings = match org_store.record(SETTINGS, settings_record(id)).await {
            Ok(record) => decode("settings", &record.data)
                .map_err(|unreadable| StoreError::Backend(unreadable.to_string()))?,
            Err(StoreError::NotFound(_)) => OrgSettings::default(),
            Err(other) => return Err(other),
        };
        let mut members = BTreeMap::new();
        if settings.notices.keys().any(|person| person != OWNER) {
            for member in org_store.members(None, MAX_MEMBERS).await? {
                let email = normalize_email(&member.user.email);
                let named = settings.notices.keys().find(|name| normalize_email(name) == email);
                members.extend(named.map(|name| (name.clone(), member.user.id)));
            }
        }
        Ok(Self { org, settings, members })
    }

    /// Returns the people that a notice goes to, by their names in the settings. A notice to
    /// a person without preferences goes to the owner's addresses.
    pub(super) fn recipients(&self, recipient: NoticeRecipient) -> Vec<String> {
        let owner = || OWNER.to_owned();
        match recipient {
            _ if self.org.archived => Vec::new(),
            NoticeRecipient::Owner => {
                std::iter::once(owner()).chain(self.members.keys().cloned()).collect()
            }
            NoticeRecipient::User(id) => {
                let own = self.members.iter().find(|(_, user)| **user == id);
                vec![own.map_or_else(owner, |(name, _)| name.clone())]
            }
            NoticeRecipient::Customer | NoticeRecipient::Agent(_) => Vec::new(),
        }
    }

    pub(super) fn preferences(&self, person: &str) -> NoticePreferences {
        let own = self.settings.notices.get(person);
        own.map(|own| own.preferences.clone()).unwrap_or_default()
    }

    /// Returns the address of a person, or why there is none.
    pub(super) fn address(
        &self,
        person: &str,
        destination: NoticeDestination,
    ) -> Result<ChannelAddress, &'static str> {
        if person != OWNER && !self.members.contains_key(person) {
            return Err("the person is not a member any more");
        }
        self.settings.notice_address(person, destination).ok_or("the person has no address there")
    }

    /// Returns the time zone of a person. One that does not exist is UTC.
    pub(super) fn time_zone(&self, preferences: &NoticePreferences) -> TimeZone {
        let name = preferences.time_zone.as_ref().unwrap_or(&self.org.time_zone);
        TimeZone::get(name).unwrap_or(TimeZone::UTC)
    }
}

/// Returns the UTC offset of a time zone in seconds.
pub(super) fn utc_offset(zone: &TimeZone, at: Timestamp) -> i32 {
    let at = jiff::Timestamp::from_millisecond(at.as_millis()).unwrap_or_default();
    zone.to_offset(at).seconds()
}
