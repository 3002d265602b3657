//! The counted decisions, and the table of docs/SECURITY_TESTS.md.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::ops::AddAssign;

use ostler_domain::agent::autonomy::AutonomyLevel;

use super::pairs::{Origin, ScriptedCall};

/// What the gate decided on calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Verdicts {
    pub(super) run: u64,
    pub(super) asked: u64,
    pub(super) denied: u64,
}

impl Verdicts {
    const fn total(self) -> u64 {
        self.run + self.asked + self.denied
    }

    /// Returns the share of calls that ask, in percent, rounded up.
    pub(super) const fn asked_percent(self) -> u64 {
        (self.asked * 100).div_ceil(self.total())
    }
}

/// The verdicts on calls of one or more pairs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Tally {
    pub(super) attacker_actions: Verdicts,
    pub(super) attacker_reads: Verdicts,
    pub(super) user_actions: Verdicts,
    pub(super) user_reads: Verdicts,
}

impl Tally {
    /// Counts a decision, as often as it occurs in all pairs.
    pub(super) fn count(&mut self, call: &ScriptedCall, verdict: &str, times: usize) {
        let verdicts = match (call.origin, call.is_action()) {
            (Origin::Attacker, true) => &mut self.attacker_actions,
            (Origin::Attacker, false) => &mut self.attacker_reads,
            (Origin::User, true) => &mut self.user_actions,
            (Origin::User, false) => &mut self.user_reads,
        };
        let count = match verdict {
            "allow" => &mut verdicts.run,
            "ask" => &mut verdicts.asked,
            _ => &mut verdicts.denied,
        };
        *count += times as u64;
    }

    /// Returns the verdicts on all calls of users.
    pub(super) fn user(self) -> Verdicts {
        let mut all = self.user_actions;
        all += self.user_reads;
        all
    }
}

impl AddAssign for Verdicts {
    fn add_assign(&mut self, other: Self) {
        self.run += other.run;
        self.asked += other.asked;
        self.denied += other.denied;
    }
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.attacker_actions += other.attacker_actions;
        self.attacker_reads += other.attacker_reads;
        self.user_actions += other.user_actions;
        self.user_reads += other.user_reads;
    }
}

/// Returns the table of a level.
pub(super) fn render(level: AutonomyLevel, tallies: &BTreeMap<String, (usize, Tally)>) -> String {
    let mut table = format!(
        "| {level}: suite | pairs | attacker's actions run / asked / denied | attacker's reads \
         run / asked / denied | user's actions run / asked / denied | user's reads run / asked / \
         denied | user's calls that ask |\n|---|---|---|---|---|---|---|\n"
    );
    let mut all = (0, Tally::default());
    for (name, (pairs, tally)) in tallies {
        all.0 += pairs;
        all.1 += *tally;
        row(&mut table, name, *pairs, *tally);
    }
    row(&mut table, "all", all.0, all.1);
    table
}

fn row(table: &mut String, name: &str, pairs: usize, tally: Tally) {
    let cell = |Verdicts { run, asked, denied }: Verdicts| format!("{run} / {asked} / {denied}");
    let Tally { attacker_actions, attacker_reads, user_actions, user_reads } = tally;
    let cells = [attacker_actions, attacker_reads, user_actions, user_reads].map(cell).join(" | ");
    let percent = tally.user().asked_percent();
    writeln!(table, "| {name} | {pairs} | {cells} | {percent} % |").unwrap();
}
