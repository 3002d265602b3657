//! Sharing: what a parent org pays for its children, and the caps on it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Credits, percent_of};
use crate::id::OrgId;
use crate::time::UtcDay;

/// The daily caps a parent sets on what its children may draw, per UTC day.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SharingPolicy {
    /// Cap for each child.
    pub max_per_child: Credits,
    /// Caps for particular children, instead of the general one.
    pub overrides: BTreeMap<OrgId, Credits>,
    /// Cap for all children together.
    pub max_total: Credits,
    /// The percentage of a cap at which the parent is notified.
    pub notice_percent: u64,
}

impl Default for SharingPolicy {
    fn default() -> Self {
        Self {
            max_per_child: Credits::new(100),
            overrides: BTreeMap::new(),
            max_total: Credits::new(500),
            notice_percent: 80,
        }
    }
}

impl SharingPolicy {
    /// Returns the cap of a child.
    pub fn cap_of(&self, child: OrgId) -> Credits {
        self.overrides.get(&child).copied().unwrap_or(self.max_per_child)
    }
}

/// The cap that is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CapReached {
    #[error("the parent pays at most {cap} a day for this org, and {used} are used")]
    Child {
        cap: Credits,
        /// Spent or held today.
        used: Credits,
    },
    #[error("the parent pays at most {cap} a day for all its orgs, and {used} are used")]
    Total {
        cap: Credits,
        /// Spent or held today by all children.
        used: Credits,
    },
}

/// What a parent has paid or holds for its children. It keeps two days: today, and
/// the day before for nodes whose clocks are behind and for late releases.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct SharedSpending {
    days: BTreeMap<UtcDay, BTreeMap<OrgId, Credits>>,
}

impl SharedSpending {
    /// Returns the day that spending on `day` is recorded on. Days before the two kept
    /// ones count on the older of these, so that no clock can reopen a cap.
    fn recorded_day(&self, day: UtcDay) -> UtcDay {
        match self.days.first_key_value() {
            Some((oldest, _)) if self.days.len() > 1 => day.max(*oldest),
            _ => day,
        }
    }

    /// Returns what a child has spent or holds on `day`.
    pub fn used_by(&self, child: OrgId, day: UtcDay) -> Credits {
        self.days
            .get(&self.recorded_day(day))
            .and_then(|used| used.get(&child))
            .copied()
            .unwrap_or_default()
    }

    /// Returns what all children have spent or hold on `day`.
    pub fn total_used(&self, day: UtcDay) -> Credits {
        self.days
            .get(&self.recorded_day(day))
            .map_or(Credits::ZERO, |used| used.values().copied().sum())
    }

    /// Returns what the caps still leave to a child.
    pub fn headroom(&self, policy: &SharingPolicy, child: OrgId, day: UtcDay) -> Credits {
        let own = policy.cap_of(child).saturating_sub(self.used_by(child, day));
        own.min(policy.max_total.saturating_sub(self.total_used(day)))
    }

    /// Checks that the caps leave `amount` to a child.
    pub fn check(
        &self,
        policy: &SharingPolicy,
        child: OrgId,
        amount: Credits,
        day: UtcDay,
    ) -> Result<(), CapReached> {
        let (cap, used) = (policy.cap_of(child), self.used_by(child, day));
        if used + amount > cap {
            return Err(CapReached::Child { cap, used });
        }
        let (cap, used) = (policy.max_total, self.total_used(day));
        if used + amount > cap {
            return Err(CapReached::Total { cap, used });
        }
        Ok(())
    }

    /// Records `amount` for a child.
    pub fn record(&mut self, child: OrgId, amount: Credits, day: UtcDay) {
        let day = self.recorded_day(day);
        let used = self.days.entry(day).or_default().entry(child).or_default();
        *used = *used + amount;
        while self.days.len() > 2 {
            self.days.pop_first();
        }
    }

    /// Releases what was held on `day` and not spent.
    pub fn release(&mut self, child: OrgId, amount: Credits, day: UtcDay) {
        if let Some(used) = self.days.get_mut(&day).and_then(|used| used.get_mut(&child)) {
            *used = used.saturating_sub(amount);
        }
    }

    /// Returns the caps of which a child, or all children together, have used the share at
    /// which the parent is notified.
    pub fn nearly_used_caps(
        &self,
        policy: &SharingPolicy,
        child: OrgId,
        day: UtcDay,
    ) -> Vec<SharingNotice> {
        let is_near = |cap: Credits, used: Credits| {
            !used.is_zero() && used >= percent_of(cap, policy.notice_percent)
        };
        let child_nears = is_near(policy.cap_of(child), self.used_by(child, day));
        let all_near = is_near(policy.max_total, self.total_used(day));
        let of_child = child_nears.then_some(SharingNotice::ChildNearsCap(child));
        of_child.into_iter().chain(all_near.then_some(SharingNotice::AllNearCap)).collect()
    }
}

/// A notice to a parent before a cap is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SharingNotice {
    ChildNearsCap(OrgId),
    AllNearCap,
}

#[cfg(test)]
mod tests {
    use super::{CapReached, SharedSpending, SharingNotice, SharingPolicy};
    use crate::id::OrgId;
    use crate::money::Credits;
    use crate::time::UtcDay;

    const ROSE: OrgId = OrgId::from_u128(7);
    const IVY: OrgId = OrgId::from_u128(8);

    fn day() -> UtcDay {
        UtcDay::default()
    }

    /// E05: 100 a day for a child, unless it has a cap of its own.
    #[test]
    fn e05_a_child_draws_up_to_its_cap() {
        let mut policy = SharingPolicy::default();
        let mut shared = SharedSpending::default();
        shared.record(ROSE, Credits::new(95), day());
        assert_eq!(shared.check(&policy, ROSE, Credits::new(5), day()), Ok(()));
        let (cap, used) = (Credits::new(100), Credits::new(95));
        assert_eq!(
            shared.check(&policy, ROSE, Credits::new(6), day()),
            Err(CapReached::Child { cap, used })
        );
        policy.overrides.insert(ROSE, Credits::new(120));
        assert_eq!(shared.check(&policy, ROSE, Credits::new(25), day()), Ok(()));
        assert_eq!(shared.headroom(&policy, ROSE, day()), Credits::new(25));
        assert_eq!(shared.check(&policy, ROSE, Credits::new(120), day().next()), Ok(()));
    }

    /// E06: 500 a day for all children together.
    #[test]
    fn e06_all_children_share_one_cap() {
        let policy = SharingPolicy { max_per_child: Credits::new(400), ..Default::default() };
        let mut shared = SharedSpending::default();
        shared.record(ROSE, Credits::new(300), day());
        let (cap, used) = (Credits::new(500), Credits::new(300));
        assert_eq!(
            shared.check(&policy, IVY, Credits::new(201), day()),
            Err(CapReached::Total { cap, used })
        );
        assert_eq!(shared.headroom(&policy, IVY, day()), Credits::new(200));
        shared.release(ROSE, Credits::new(100), day());
        assert_eq!(shared.check(&policy, IVY, Credits::new(201), day()), Ok(()));
    }

    /// E05, E06: the parent is notified when 80 % of a cap are used.
    #[test]
    fn e05_the_parent_is_notified_at_80_percent() {
        let policy = SharingPolicy { max_total: Credits::new(200), ..Default::default() };
        let mut shared = SharedSpending::default();
        let one = Credits::new(1);
        shared.record(ROSE, Credits::new(79), day());
        assert_eq!(shared.nearly_used_caps(&policy, ROSE, day()), []);
        shared.record(ROSE, one, day());
        let near = [SharingNotice::ChildNearsCap(ROSE)];
        assert_eq!(shared.nearly_used_caps(&policy, ROSE, day()), near);
        shared.record(IVY, Credits::new(79), day());
        assert_eq!(shared.nearly_used_caps(&policy, IVY, day()), []);
        shared.record(IVY, one, day());
        let near = [SharingNotice::ChildNearsCap(IVY), SharingNotice::AllNearCap];
        assert_eq!(shared.nearly_used_caps(&policy, IVY, day()), near);
        assert_eq!(shared.nearly_used_caps(&policy, IVY, day().next()), []);
    }

    /// E05: a node whose clock is behind cannot reopen a cap.
    #[test]
    fn e05_a_clock_that_is_behind_does_not_reopen_a_cap() {
        let policy = SharingPolicy::default();
        let mut shared = SharedSpending::default();
        shared.record(ROSE, Credits::new(100), day().next());
        shared.record(ROSE, Credits::new(100), day());
        let before = UtcDay::default();
        shared.record(ROSE, Credits::new(100), day().next().next());
        for day in [before, day().next(), day().next().next()] {
            assert!(shared.check(&policy, ROSE, Credits::new(1), day).is_err());
        }
    }
}
