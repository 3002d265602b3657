//! The models of an org's agents.

use ostler_domain::org::permission::OrgPermission;
use ostler_domain::org::settings::OrgSettings;
use ostler_store::StoreError;
use serde_json::json;

use super::{OrgOperations, Result};
use crate::org_view::{SETTINGS, settings_record};
use crate::records::{decode, encode};

impl OrgOperations<'_> {
    /// Sets the models of the org's agents that name none, in order of preference; an empty
    /// list means the default of the installation. Returns the ones before. If nothing changes,
    /// nothing is written.
    pub async fn set_models(&self, models: Vec<String>) -> Result<Vec<String>> {
        let store = self.authorize(OrgPermission::Configure).await?;
        let id = settings_record(self.org);
        let read = match store.record(SETTINGS, id).await {
            Ok(record) => Some(record),
            Err(StoreError::NotFound(_)) => None,
            Err(other) => return Err(other.into()),
        };
        let mut settings: OrgSettings = match &read {
            Some(record) => decode("settings", &record.data)?,
            None => OrgSettings::default(),
        };
        if settings.models == models {
            return Ok(models);
        }
        let before = std::mem::replace(&mut settings.models, models);
        let audit = self.audit_change(
            "set_models",
            &self.org,
            &json!({"models": before}),
            &json!({"models": settings.models}),
        );
        store.audited(audit).save_record(SETTINGS, id, read.as_ref(), encode(&settings)).await?;
        Ok(before)
    }
}
