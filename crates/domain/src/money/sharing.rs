//! What a parent org pays for its children, and the caps on it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Credits, percent_of};
use crate::id::OrgId;
use crate::time::UtcDay;

/// The caps a parent sets on what its children may draw in one UTC day.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SharingPolicy {
    /// The most for one child.
    pub max_per_child: Credits,
    /// The most for particular children, instead of the general cap.
    pub overrides: BTreeMap<OrgId, Credits>,
    /// The most for all children together.
    pub max_total: Credits,
    /// The share of a cap at which the parent gets a notice, in percent.
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
    /// The cap of one child.
    pub fn cap_of(&self, child: OrgId) -> Credits {
        self.overrides.get(&child).copied().unwrap_or(self.max_per_child)
    }
}

/// Which cap stands in the way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CapReached {
    /// The child's own.
    #[error("the parent pays at most {cap} a day for this org, and {used} are used")]
    Child {
        /// The cap.
        cap: Credits,
        /// What the child has used or holds today.
        used: Credits,
    },
    /// The one for all children together.
    #[error("the parent pays at most {cap} a day for all its orgs, and {used} are used")]
    Total {
        /// The cap.
        cap: Credits,
        /// What all children have used or hold today.
        used: Credits,
    },
}

/// What a parent has paid, or holds, for its children: today, and the day
/// before for nodes whose clocks are behind and holds that come back late.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct SharedDays {
    days: BTreeMap<UtcDay, BTreeMap<OrgId, Credits>>,
}

impl SharedDays {
    /// The day that something is counted on: days before those that are kept
    /// count on the oldest kept one, so that no clock can open a cap again.
    fn counted_on(&self, day: UtcDay) -> UtcDay {
        match self.days.first_key_value() {
            Some((oldest, _)) if self.days.len() > 1 => day.max(*oldest),
            _ => day,
        }
    }

    /// What this child has used or holds on `day`.
    pub fn used_by(&self, child: OrgId, day: UtcDay) -> Credits {
        self.days
            .get(&self.counted_on(day))
            .and_then(|used| used.get(&child))
            .copied()
            .unwrap_or_default()
    }

    /// What all children have used or hold on `day`.
    pub fn total(&self, day: UtcDay) -> Credits {
        self.days
            .get(&self.counted_on(day))
            .map_or(Credits::ZERO, |used| used.values().copied().sum())
    }

    /// What the caps still leave to a child.
    pub fn headroom(&self, policy: &SharingPolicy, child: OrgId, day: UtcDay) -> Credits {
        let own = policy.cap_of(child).saturating_sub(self.used_by(child, day));
        own.min(policy.max_total.saturating_sub(self.total(day)))
    }

    /// Whether the caps leave `amount` to a child.
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
        let (cap, used) = (policy.max_total, self.total(day));
        if used + amount > cap {
            return Err(CapReached::Total { cap, used });
        }
        Ok(())
    }

    /// Counts `amount` against a child; a new day starts from nothing.
    pub fn take(&mut self, child: OrgId, amount: Credits, day: UtcDay) {
        let day = self.counted_on(day);
        let used = self.days.entry(day).or_default().entry(child).or_default();
        *used = *used + amount;
        while self.days.len() > 2 {
            self.days.pop_first();
        }
    }

    /// Returns what was held on `day` and not spent.
    pub fn give_back(&mut self, child: OrgId, amount: Credits, day: UtcDay) {
        if let Some(used) = self.days.get_mut(&day).and_then(|used| used.get_mut(&child)) {
            *used = used.saturating_sub(amount);
        }
    }

    /// The notices that are due when a child takes `amount` more.
    pub fn notices_due(
        &self,
        policy: &SharingPolicy,
        child: OrgId,
        amount: Credits,
        day: UtcDay,
    ) -> Vec<SharingNotice> {
        let crosses = |cap: Credits, used: Credits| {
            let threshold = percent_of(cap, policy.notice_percent);
            used < threshold && used + amount >= threshold
        };
        let child_nears = crosses(policy.cap_of(child), self.used_by(child, day));
        let all_near = crosses(policy.max_total, self.total(day));
        let of_child = child_nears.then_some(SharingNotice::ChildNearsCap(child));
        of_child.into_iter().chain(all_near.then_some(SharingNotice::AllNearCap)).collect()
    }
}

/// What a parent is told before a cap is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SharingNotice {
    /// This child has used most of its cap.
    ChildNearsCap(OrgId),
    /// All children together have used most of theirs.
    AllNearCap,
}

#[cfg(test)]
mod tests {
    use super::{CapReached, SharedDays, SharingNotice, SharingPolicy};
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
        let mut shared = SharedDays::default();
        shared.take(ROSE, Credits::new(95), day());
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
        let mut shared = SharedDays::default();
        shared.take(ROSE, Credits::new(300), day());
        let (cap, used) = (Credits::new(500), Credits::new(300));
        assert_eq!(
            shared.check(&policy, IVY, Credits::new(201), day()),
            Err(CapReached::Total { cap, used })
        );
        assert_eq!(shared.headroom(&policy, IVY, day()), Credits::new(200));
        shared.give_back(ROSE, Credits::new(100), day());
        assert_eq!(shared.check(&policy, IVY, Credits::new(201), day()), Ok(()));
    }

    /// E05, E06: the parent is told once, when 80 % of a cap is used.
    #[test]
    fn e05_the_parent_is_told_at_80_percent() {
        let policy = SharingPolicy { max_total: Credits::new(200), ..Default::default() };
        let mut shared = SharedDays::default();
        shared.take(ROSE, Credits::new(79), day());
        let one = Credits::new(1);
        let due = shared.notices_due(&policy, ROSE, one, day());
        assert_eq!(due, [SharingNotice::ChildNearsCap(ROSE)]);
        shared.take(ROSE, one, day());
        assert_eq!(shared.notices_due(&policy, ROSE, one, day()), []);
        shared.take(IVY, Credits::new(79), day());
        let due = shared.notices_due(&policy, ROSE, one, day());
        assert_eq!(due, [SharingNotice::AllNearCap]);
    }

    /// E05: a node whose clock is behind cannot reopen a cap.
    #[test]
    fn e05_a_late_clock_does_not_reset_the_day() {
        let policy = SharingPolicy::default();
        let mut shared = SharedDays::default();
        shared.take(ROSE, Credits::new(100), day().next());
        shared.take(ROSE, Credits::new(100), day());
        let before = UtcDay::default();
        shared.take(ROSE, Credits::new(100), day().next().next());
        for day in [before, day().next(), day().next().next()] {
            assert!(shared.check(&policy, ROSE, Credits::new(1), day).is_err());
        }
    }
}
