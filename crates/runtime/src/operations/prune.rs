//! Deleting finished records that are older than their org keeps them.

use ostler_domain::id::AuditId;
use ostler_domain::org::OrgPlace;
use ostler_domain::org::permission::OrgPermission;
use ostler_store::{NewAuditEntry, PruneMode, PruneOptions, PruneProgress, PruneReport};
use serde_json::json;

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
                store.org(report.org).append_audit(audit_entry(actor, report)).await?;
            }
        }
        Ok(reports)
    }
}

fn audit_entry(actor: Actor, report: &PruneReport) -> NewAuditEntry {
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
    });
    NewAuditEntry {
        id: fresh(AuditId::from_u128),
        actor: actor.audit_actor(),
        action: "prune".to_owned(),
        subject: report.org.to_string(),
        data: data.to_string(),
    }
}
