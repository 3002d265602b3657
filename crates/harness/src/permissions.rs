//! The user's permissions. They may change at any time: the next call is decided by the
//! new ones, also within a turn.

use std::sync::{RwLock, RwLockReadGuard, RwLockWriteGuard};

use ostler_domain::gate::permission::rule::{PlacedRule, RuleScope};
use ostler_domain::gate::permission::{
    OrderedPermissions, PermissionFacts, PermissionPolicy, PermissionQuery, PermissionRules,
    PermissionSource, Permissions, SessionGrants,
};
use ostler_domain::scope::ToolScope;
use ostler_domain::time::Timestamp;

use crate::clock;
use crate::error::HarnessError;
use crate::event::SessionEvent;
use crate::permission_files::{FileStamp, LoadedPermissions};
use crate::session::Core;

/// The permissions of a harness.
#[derive(Debug, Default)]
pub(crate) struct HarnessPermissions(RwLock<Current>);

#[derive(Debug, Clone, Default)]
pub(crate) struct Current {
    /// Whether the user has switched all questions off.
    pub(crate) yolo: bool,
    /// Policies that a program has set.
    pub(crate) rules: PermissionRules,
    /// Grants until the harness ends.
    pub(crate) grants: SessionGrants,
    /// The rules of this session, then those of the user, then those of the project.
    pub(crate) ordered: Vec<PlacedRule>,
    /// Whether the project's file may allow calls.
    pub(crate) project_trusted: bool,
    /// What the files looked like when they were read.
    stamps: Option<[FileStamp; 2]>,
}

impl HarnessPermissions {
    pub(crate) fn new(yolo: bool, rules: PermissionRules) -> Self {
        Self(RwLock::new(Current { yolo, rules, ..Current::default() }))
    }

    pub(crate) fn read(&self) -> RwLockReadGuard<'_, Current> {
        self.0.read().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    pub(crate) fn write(&self) -> RwLockWriteGuard<'_, Current> {
        self.0.write().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

impl Current {
    /// Decides about a call.
    pub(crate) fn decide(
        &self,
        query: PermissionQuery<'_>,
        now: Timestamp,
    ) -> (PermissionPolicy, PermissionSource) {
        let facts = PermissionFacts { yolo: self.yolo, rules: &self.rules, grants: &self.grants };
        OrderedPermissions { facts, rules: &self.ordered, now }.resolve(query)
    }

    /// Takes the rules of the files. Those of a project that is not trusted stay as they were
    /// read first, because agents can change its file. Returns what people should know.
    fn take(&mut self, loaded: LoadedPermissions, stamps: [FileStamp; 2]) -> Vec<String> {
        let LoadedPermissions { rules, failures, notes, project_trusted, .. } = loaded;
        let mut notes = [failures, notes].concat();
        let changed = self.stamps.as_ref().is_some_and(|known| known[1] != stamps[1]);
        let keeps_project = changed && (!project_trusted || stamps[1] == FileStamp::default());
        let of_project = |rule: &PlacedRule| rule.scope == RuleScope::Project;
        let mut ordered: Vec<PlacedRule> =
            self.ordered.iter().filter(|rule| rule.scope == RuleScope::Session).cloned().collect();
        ordered.extend(rules.iter().filter(|rule| !of_project(rule)).cloned());
        if keeps_project {
            notes.push(
                "the permissions file of the project has changed and is not trusted: the rules \
                 that were read first stay in force"
                    .to_owned(),
            );
            ordered.extend(self.ordered.iter().filter(|rule| of_project(rule)).cloned());
        } else {
            ordered.extend(rules.into_iter().filter(of_project));
            self.project_trusted = project_trusted;
        }
        self.ordered = ordered;
        self.stamps = Some(stamps);
        notes
    }
}

impl Permissions for HarnessPermissions {
    fn resolve(&self, query: PermissionQuery<'_>) -> (PermissionPolicy, PermissionSource) {
        self.read().decide(query, clock::now())
    }
}

impl Core {
    /// Reads the permissions files if they have changed. A file that cannot be used leaves
    /// the rules that were read before in force; the first time, it is an error.
    pub(crate) fn load_permission_files(&self, scope: &ToolScope) -> Result<(), HarnessError> {
        let files = &self.config.permission_files;
        if files.user.is_none() && files.project.is_none() {
            return Ok(());
        }
        let stamps = files.stamps();
        let known = self.permissions.read().stamps.clone();
        if known.as_ref() == Some(&stamps) {
            return Ok(());
        }
        let category_of = |name: &str| scope.find(name).map(|tool| tool.spec.category);
        let notes = match files.load(&category_of) {
            Ok(loaded) => self.permissions.write().take(loaded, stamps),
            Err(error) if known.is_some() => {
                self.permissions.write().stamps = Some(stamps);
                vec![format!("{error}\nThe rules that were read before stay in force.")]
            }
            Err(error) => return Err(error.into()),
        };
        let rules = self.permissions.read().ordered.len();
        self.publish(None, SessionEvent::PermissionRulesLoaded { rules, notes });
        Ok(())
    }
}
