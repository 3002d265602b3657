//! The user's permissions. They may change at any time: the next call is decided by the
//! new ones, also within a turn.

use std::sync::{RwLock, RwLockReadGuard, RwLockWriteGuard};

use ostler_domain::gate::permission::{
    PermissionFacts, PermissionPolicy, PermissionQuery, PermissionRules, PermissionSource,
    Permissions, SessionGrants,
};

/// The permissions of a harness.
#[derive(Debug, Default)]
pub(crate) struct HarnessPermissions(RwLock<Current>);

#[derive(Debug, Default)]
pub(crate) struct Current {
    /// Whether the user has switched all questions off.
    pub(crate) yolo: bool,
    /// Stored rules.
    pub(crate) rules: PermissionRules,
    /// Grants until the harness ends.
    pub(crate) grants: SessionGrants,
}

impl HarnessPermissions {
    pub(crate) fn new(yolo: bool, rules: PermissionRules) -> Self {
        Self(RwLock::new(Current { yolo, rules, grants: SessionGrants::default() }))
    }

    pub(crate) fn read(&self) -> RwLockReadGuard<'_, Current> {
        self.0.read().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    pub(crate) fn write(&self) -> RwLockWriteGuard<'_, Current> {
        self.0.write().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

impl Permissions for HarnessPermissions {
    fn resolve(&self, query: PermissionQuery<'_>) -> (PermissionPolicy, PermissionSource) {
        let current = self.read();
        let Current { yolo, rules, grants } = &*current;
        PermissionFacts { yolo: *yolo, rules, grants }.resolve(query)
    }
}
