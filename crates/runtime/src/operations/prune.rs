//! Deleting finished records that are older than their org keeps them: when an operator asks
//! for it, and by itself in every process that answers conversations.

use std::time::Duration;

use ostler_domain::audit::AuditActor;
use ostler_domain::id::AuditId;
use ostler_domain::org::OrgPlace;
use ostler_domain::org::permission::OrgPermission;
use ostler_store::{
    NewAuditEntry, PruneMode, PruneOptions, PruneProgress, PruneReport, Store, StoreError,
};
use serde_json::json;
use tokio::sync::watch;

use super::{Actor, Operations, Result};
use crate::ids::fresh;

impl Operations {
    /// Prunes every org that has retention days, and records in its audit log how much was
    /// deleted. Rows are deleted in many transactions; the entry follows the last one.
    pub async fn prune(
        &self,
        actor: Actor,
        options: PruneOptions,
        progress: impl FnMut(PruneProgress),
    ) -> Result<Vec<PruneReport>> {
        let store = &self.0.store;
        for org in store.orgs().await?.iter().filter(|org| org.place == OrgPlace::Platform) {
            actor.authorize(store, org.id, OrgPermission::Configure).await?;
        }
        let reports = store.prune(options, progress).await?;
        if options.mode == PruneMode::Delete {
            for report in reports.iter().filter(|report| report.total() > 0) {
                store
                    .org(report.org)
                    .append_audit(audit_entry(actor.audit_actor(), report))
                    .await?;
            }
        }
        Ok(reports)
    }
}

/// How long after its start a process prunes for the first time, and how often.
const FIRST_PRUNE: Duration = Duration::from_secs(60);
const PRUNE_INTERVAL: Duration = Duration::from_secs(3600);
/// Rows per transaction, few enough to keep locks short.
const BATCH: u32 = 500;

/// Prunes every hour.
#[derive(Debug, Clone)]
pub struct RetentionWorker(Store);

impl RetentionWorker {
    /// Creates a worker for a store.
    pub const fn new(store: Store) -> Self {
        Self(store)
    }

    /// Prunes until it is stopped. A failure is repeated at the next time.
    pub async fn run(&self, mut stop: watch::Receiver<bool>) {
        let mut wait = FIRST_PRUNE;
        while !*stop.borrow() {
            tokio::select! {
                () = tokio::time::sleep(wait) => {
                    wait = PRUNE_INTERVAL;
                    if let Err(error) = self.prune().await {
                        tracing::warn!(%error, "old data not pruned, will retry");
                    }
                }
                changed = stop.changed() => if changed.is_err() { return },
            }
        }
    }

    /// Prunes every org that has retention days, once.
    pub async fn prune(&self) -> std::result::Result<Vec<PruneReport>, StoreError> {
        let options = PruneOptions { batch_size: BATCH, mode: PruneMode::Delete };
        let reports = self.0.prune(options, |_| {}).await?;
        for report in reports.iter().filter(|report| report.total() > 0) {
            self.0.org(report.org).append_audit(audit_entry(AuditActor::System, report)).await?;
        }
        Ok(reports)
    }
}

fn audit_entry(actor: AuditActor, report: &PruneReport) -> NewAuditEntry {
    let data = json!({
        "retention_days": report.days,
        "inbox": report.inbox,
        "outbox": report.outbox,
        "calls": report.calls,
        "sessions": report.sessions,
        "messages": report.messages,
        "runs": report.runs,
        "events": report.events,
        "workflows": report.workflows,
        "signals": report.signals,
        "threads": report.threads,
        "files": report.files,
        "records": report.records,
    });
    NewAuditEntry {
        id: fresh(AuditId::from_u128),
        actor,
        action: "prune".to_owned(),
        subject: report.org.to_string(),
        data: data.to_string(),
    }
}
