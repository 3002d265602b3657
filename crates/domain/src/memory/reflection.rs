//! Applying a reflection, and the guard: a reflection may merge and supersede only, and
//! what it loses it has to name.

use std::collections::BTreeSet;

use super::answer::{Merge, Reflection, Supersession};
use super::facts::{Fact, TextFacts};
use super::observation::{Observation, ObservationLog, TaskCompletion};

/// The reason why a reflection is rejected. Nothing of it is applied.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReflectionRejected {
    #[error("it changes #{0}, which is not an observation it was shown")]
    Unknown(u64),
    #[error("it changes #{0} twice")]
    Repeated(u64),
    #[error("it merges fewer than two observations")]
    TooFew,
    /// Speaker, kind or completion differ.
    #[error(
        "it merges #{0} and #{1}, which were not said by the same speaker, or are of different kinds"
    )]
    Different(u64, u64),
    #[error("it merges #{0} and #{1}, and only one of them is trusted")]
    MixedTrust(u64, u64),
    #[error("it replaces #{0} by #{1}, which is not later")]
    NotLater(u64, u64),
    #[error("it replaces #{0}, which is trusted or completed, by #{1}, which is not")]
    Weaker(u64, u64),
    #[error("it loses `{fact}` of #{id} without saying so")]
    Lost { id: u64, fact: Fact },
    #[error("it adds `{0}`, which nobody said")]
    Invented(Fact),
    /// Applying it would not make the prompt shorter.
    #[error("it makes nothing shorter")]
    NotShorter,
}

/// The changes of an accepted reflection.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ReflectionChanges {
    /// The merged observations.
    pub added: Vec<Observation>,
    /// Pairs of an observation and the one that replaced it.
    pub superseded: Vec<(u64, u64)>,
}

impl ReflectionChanges {
    /// Returns the numbers of the observations that leave the prompt.
    pub fn removed(&self) -> Vec<u64> {
        self.superseded.iter().map(|(old, _)| *old).collect()
    }
}

/// Checks a reflection of these observations and returns its changes. Merged observations
/// are numbered from `next_id` on.
pub fn check_reflection(
    log: &ObservationLog,
    reflection: &Reflection,
    next_id: u64,
) -> Result<ReflectionChanges, ReflectionRejected> {
    let mut touched = BTreeSet::new();
    let mut changes = ReflectionChanges::default();
    for (merge, id) in reflection.merge.iter().zip(next_id..) {
        for source in &merge.ids {
            if !touched.insert(*source) {
                return Err(ReflectionRejected::Repeated(*source));
            }
            changes.superseded.push((*source, id));
        }
        changes.added.push(check_merge(log, merge, id)?);
    }
    for supersession in &reflection.supersede {
        if !touched.insert(supersession.id) {
            return Err(ReflectionRejected::Repeated(supersession.id));
        }
        check_supersession(log, supersession)?;
        changes.superseded.push((supersession.id, supersession.by));
    }
    // A replacement has to stay in the prompt itself.
    if let Some(by) = reflection.supersede.iter().map(|one| one.by).find(|by| touched.contains(by))
    {
        return Err(ReflectionRejected::Repeated(by));
    }
    Ok(changes)
}

fn find(log: &ObservationLog, id: u64) -> Result<&Observation, ReflectionRejected> {
    log.get(id).ok_or(ReflectionRejected::Unknown(id))
}

fn check_merge(
    log: &ObservationLog,
    merge: &Merge,
    id: u64,
) -> Result<Observation, ReflectionRejected> {
    let sources: Vec<&Observation> =
        merge.ids.iter().map(|id| find(log, *id)).collect::<Result<_, _>>()?;
    let [first, _, ..] = sources[..] else { return Err(ReflectionRejected::TooFew) };
    let nature = |one: &Observation| (one.speaker, one.kind, one.completion);
    let after = TextFacts::of(&merge.text);
    let mut before = TextFacts::default();
    for source in &sources {
        if nature(source) != nature(first) {
            return Err(ReflectionRejected::Different(first.id, source.id));
        }
        if source.trust != first.trust {
            return Err(ReflectionRejected::MixedTrust(first.id, source.id));
        }
        let facts = TextFacts::of(&source.text);
        check_nothing_lost(source.id, &facts, &after, &merge.omits)?;
        before = before.and(facts);
    }
    if let Some(fact) = before.invented_in(&after).into_iter().next() {
        return Err(ReflectionRejected::Invented(fact));
    }
    let rest = sources.iter().skip(1);
    let span = rest.clone().fold(first.span, |span, source| span.hull(source.span));
    let from = |one: &&Observation| one.valid_from;
    let until = sources.iter().map(|one| one.valid_until).collect::<Option<Vec<_>>>();
    Ok(Observation {
        id,
        text: merge.text.clone(),
        span,
        valid_from: sources.iter().filter_map(from).min(),
        valid_until: until.and_then(|days| days.into_iter().max()),
        supersedes: merge.ids.clone(),
        superseded_by: None,
        ..first.clone()
    })
}

fn check_supersession(log: &ObservationLog, one: &Supersession) -> Result<(), ReflectionRejected> {
    let Supersession { id, by, omits } = one;
    let (old, new) = (find(log, *id)?, find(log, *by)?);
    if new.id <= old.id {
        return Err(ReflectionRejected::NotLater(old.id, new.id));
    }
    let is_done = |one: &Observation| one.completion == Some(TaskCompletion::Completed);
    if new.trust > old.trust || (is_done(old) && !is_done(new)) {
        return Err(ReflectionRejected::Weaker(old.id, new.id));
    }
    check_nothing_lost(old.id, &TextFacts::of(&old.text), &TextFacts::of(&new.text), omits)
}

/// Checks that a text has all facts of another one, apart from those that are named.
fn check_nothing_lost(
    id: u64,
    before: &TextFacts,
    after: &TextFacts,
    omits: &[String],
) -> Result<(), ReflectionRejected> {
    // A completion is never left out: what was done stays done.
    let named =
        omits.iter().map(|text| TextFacts::of(text)).reduce(TextFacts::and).unwrap_or_default();
    let lost = before.lost_in(after).into_iter().find(|fact| {
        *fact == Fact::Completion || !TextFacts::single(fact.clone()).lost_in(&named).is_empty()
    });
    lost.map_or(Ok(()), |fact| Err(ReflectionRejected::Lost { id, fact }))
}

#[cfg(test)]
mod tests;
