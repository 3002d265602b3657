//! Effects on contacts: create, update field by field, delete.

use std::collections::BTreeSet;

use ostler_domain::contact::Contact;
use ostler_domain::id::ContactId;
use serde::{Deserialize, Serialize};

use super::EffectError;
use crate::overlay::StoreOverlay;

/// Changes of a contact. Fields that are `None` or empty stay as they are.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ContactPatch {
    pub name: Option<String>,
    pub phone: Option<String>,
    pub email: Option<String>,
    pub locale: Option<String>,
    pub add_tags: BTreeSet<String>,
    pub remove_tags: BTreeSet<String>,
    pub add_notes: Vec<String>,
}

impl ContactPatch {
    fn apply_to(&self, mut contact: Contact) -> Contact {
        if let Some(name) = &self.name {
            contact.name.clone_from(name);
        }
        let details = &mut contact.details;
        for (new, field) in [
            (&self.phone, &mut details.phone),
            (&self.email, &mut details.email),
            (&self.locale, &mut contact.locale),
        ] {
            if new.is_some() {
                field.clone_from(new);
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

pub(super) async fn create(
    overlay: &mut StoreOverlay<'_>,
    contact: &Contact,
) -> Result<(), EffectError> {
    if overlay.contact(contact.id).await?.is_none() {
        overlay.create_contact(contact.clone());
    }
    Ok(())
}

pub(super) async fn update(
    overlay: &mut StoreOverlay<'_>,
    id: ContactId,
    patch: &ContactPatch,
) -> Result<(), EffectError> {
    let (version, stored) = overlay.contact(id).await?.ok_or(EffectError::ContactNotFound(id))?;
    let changed = patch.apply_to(stored.clone());
    if changed != stored {
        overlay.update_contact(version, changed);
    }
    Ok(())
}

pub(super) async fn delete(
    overlay: &mut StoreOverlay<'_>,
    id: ContactId,
) -> Result<(), EffectError> {
    if let Some((version, _)) = overlay.contact(id).await? {
        overlay.delete_contact(version, id);
    }
    Ok(())
}
