//! What a member wants to be notified of, where and when, as they choose it themselves. The
//! choices of others are settings of the org.

use ostler_domain::contact::normalize_email;
use ostler_domain::org::permission::OrgPermission;
use ostler_store::StoreError;
use ostler_world::Address;
use serde_json::{Map, Value, json};

use super::settings::merge;
use super::world::LiveWorld;
use super::{Actor, OperationError, OrgOperations, Result};

/// The setting with the choices of all people, and the field with whose they are.
const SETTING: &str = "notices";
const PERSON: &str = "person";

impl OrgOperations<'_> {
    /// Returns the choices of the actor; what is at its default may be missing.
    pub async fn own_notice_choices(&self) -> Result<Value> {
        let email = self.own_email().await?;
        let (live, address) = self.live_org().await?;
        let mut all = all_choices(&live, &address);
        let own = take_own(&mut all, &email);
        Ok(own.unwrap_or_else(|| json!({PERSON: email})))
    }

    /// Changes the choices of the actor and returns them. The change is a JSON merge patch:
    /// `null` resets a choice to its default.
    pub async fn change_own_notice_choices(&self, patch: &Map<String, Value>) -> Result<Value> {
        let email = self.own_email().await?;
        let (live, address) = self.live_org().await?;
        let mut all = all_choices(&live, &address);
        let mut own = take_own(&mut all, &email).unwrap_or_else(|| json!({}));
        merge(&mut own, &Value::Object(patch.clone()));
        // Whatever the patch says, the choices are the actor's own.
        own[PERSON] = email.into();
        all.push(own);
        self.change_fields_authorized(live, address, &json!({"settings": {SETTING: all}})).await?;
        self.own_notice_choices().await
    }

    /// Returns the e-mail address of the actor, who has to be a member of the org.
    async fn own_email(&self) -> Result<String> {
        let store = self.authorize(OrgPermission::View).await?;
        let refused = || OperationError::Forbidden {
            who: "you".to_owned(),
            what: "choose notices in this organization",
            holders: "a logged-in member",
        };
        let Actor::User(user) = self.actor else { return Err(refused()) };
        match store.member(user).await {
            Ok(member) => Ok(member.user.email),
            Err(StoreError::NotFound(_)) => Err(refused()),
            Err(other) => Err(other.into()),
        }
    }
}

/// Returns the choices of all people of an org.
fn all_choices(live: &LiveWorld, org: &Address) -> Vec<Value> {
    let setting = live.resources.get(org).map(|org| org.value()["settings"][SETTING].clone());
    setting.and_then(|all| all.as_array().cloned()).unwrap_or_default()
}

/// Takes the choices of a person out of all.
fn take_own(all: &mut Vec<Value>, email: &str) -> Option<Value> {
    let key = normalize_email(email);
    let is_own = |one: &Value| one[PERSON].as_str().and_then(normalize_email) == key;
    let at = all.iter().position(is_own)?;
    Some(all.remove(at))
}
