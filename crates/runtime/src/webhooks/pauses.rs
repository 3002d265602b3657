//! Webhooks that cannot be read or written wait a little, so that they neither hold up others
//! nor fill the log.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use ostler_domain::id::{OrgId, WebhookId};

/// How long a webhook waits after a failure of the store.
const PAUSE: Duration = Duration::from_secs(10);

/// When the pauses of webhooks end. Clones share them.
#[derive(Debug, Clone, Default)]
pub(super) struct FailurePauses(Arc<Mutex<HashMap<(OrgId, WebhookId), Instant>>>);

impl FailurePauses {
    /// Begins the pause of a webhook.
    pub(super) fn pause(&self, org: OrgId, id: WebhookId) {
        let now = Instant::now();
        let mut pauses = self.lock();
        pauses.retain(|_, end| *end > now);
        pauses.insert((org, id), now + PAUSE);
    }

    /// Returns whether a webhook waits.
    pub(super) fn is_paused(&self, org: OrgId, id: WebhookId) -> bool {
        self.lock().get(&(org, id)).is_some_and(|end| *end > Instant::now())
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<(OrgId, WebhookId), Instant>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
