//! Audit entries about refused requests, as many as the hour has room for: nobody fills the
//! log by asking often.

use ostler_domain::audit::{REFUSALS_PER_ORG, REFUSALS_PER_SOURCE, REFUSALS_UNLISTED};
use ostler_domain::id::{AuditId, OrgId};
use ostler_domain::time::Window;

use crate::OrgStore;
use crate::backend::Tx;
use crate::backend::job::StoreFuture;
use crate::error::Result;
use crate::ledger::rate::{self, CountOutcome};
use crate::tenancy::audit::{self, NewAuditEntry};

/// A refused request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefusedRequest {
    pub entry: NewAuditEntry,
    /// The conversation or key that it came from, by which refusals are limited.
    pub source: String,
    /// The id of the entry that says that further ones of the hour are not listed.
    pub limit_entry: AuditId,
}

/// The counter of all refusals of an org.
const ALL_SOURCES: &str = "refusals";

impl OrgStore<'_> {
    /// Appends the entry of a refused request, unless the hour has had too many.
    pub fn audit_refusal(&self, refused: RefusedRequest) -> StoreFuture<()> {
        let org = self.org;
        self.write(move |tx| append(tx, org, &refused))
    }
}

/// Appends an entry within the limits, in the transaction of the caller.
pub(crate) fn append(tx: &Tx, org: OrgId, refused: &RefusedRequest) -> Result<()> {
    let RefusedRequest { entry, source, limit_entry } = refused;
    let counter = format!("{ALL_SOURCES}/{source}");
    let (of_source, of_org) = (REFUSALS_PER_SOURCE, REFUSALS_PER_ORG);
    // Counting locks the counter until the caller commits; a full one is only read.
    let is_full = |counter: &str, limit| {
        rate::current(tx, org, counter, Window::Hour).map(|usage| usage.used >= limit)
    };
    if is_full(&counter, of_source)? || is_full(ALL_SOURCES, of_org)? {
        return Ok(());
    }
    let CountOutcome::Within(usage) = rate::count(tx, org, &counter, Window::Hour, 1, of_source)?
    else {
        return Ok(());
    };
    let CountOutcome::Within(all) = rate::count(tx, org, ALL_SOURCES, Window::Hour, 1, of_org)?
    else {
        return Ok(());
    };
    let mut statements = vec![audit::append(org, entry)?];
    if usage.used == of_source || all.used == of_org {
        let last = NewAuditEntry {
            id: *limit_entry,
            action: REFUSALS_UNLISTED.to_owned(),
            data: "{}".to_owned(),
            ..entry.clone()
        };
        statements.push(audit::append(org, &last)?);
    }
    tx.batch(&statements).map(drop)
}
