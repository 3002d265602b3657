//! Contacts: created, changed field by field, forgotten.

use std::collections::BTreeSet;

use ostler_domain::contact::Contact;
use ostler_domain::id::ContactId;
use serde::{Deserialize, Serialize};

use super::EffectError;
use crate::view::View;

/// What is new about a contact. What it does not name stays as it is.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ContactPatch {
    /// Another name.
    pub name: Option<String>,
    /// Another telephone number.
    pub phone: Option<String>,
    /// Another address.
    pub email: Option<String>,
    /// Another language.
    pub locale: Option<String>,
    /// Tags to add.
    pub add_tags: BTreeSet<String>,
    /// Tags to take away.
    pub remove_tags: BTreeSet<String>,
    /// Notes to add.
    pub add_notes: Vec<String>,
}

impl ContactPatch {
    fn on(&self, mut contact: Contact) -> Contact {
        if let Some(name) = &self.name {
            contact.name.clone_from(name);
        }
        let details = &mut contact.details;
        for (new, known) in [
            (&self.phone, &mut details.phone),
            (&self.email, &mut details.email),
            (&self.locale, &mut contact.locale),
        ] {
            if new.is_some() {
                known.clone_from(new);
            }
        }
        contact.tags.extend(self.add_tags.iter().cloned());
        contact.tags.retain(|tag| !self.remove_tags.contains(tag));
        for note in &self.add_notes {
            if !contact.notes.contains(note) {
                contact.notes.push(note.clone());
            }
        }
        contact
    }
}

pub(super) async fn create(view: &mut View<'_>, contact: &Contact) -> Result<(), EffectError> {
    if view.contact(contact.id).await?.is_none() {
        view.create_contact(contact.clone());
    }
    Ok(())
}

pub(super) async fn update(
    view: &mut View<'_>,
    id: ContactId,
    patch: &ContactPatch,
) -> Result<(), EffectError> {
    let (version, known) = view.contact(id).await?.ok_or(EffectError::NoContact(id))?;
    let changed = patch.on(known.clone());
    if changed != known {
        view.update_contact(version, changed);
    }
    Ok(())
}

pub(super) async fn delete(view: &mut View<'_>, id: ContactId) -> Result<(), EffectError> {
    if let Some((version, _)) = view.contact(id).await? {
        view.delete_contact(version, id);
    }
    Ok(())
}
