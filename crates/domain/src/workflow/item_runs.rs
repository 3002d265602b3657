//! The stored form of the items of a step: equal neighbours are one entry, so that what each
//! commit of a long list writes does not grow with the list. Entries without a number, which
//! earlier versions wrote, stand for one item.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::ItemProgress;
use super::definition::MAX_ITEMS;

/// Neighbouring items with the same progress.
#[derive(Serialize, Deserialize)]
struct ItemRun {
    #[serde(flatten)]
    item: ItemProgress,
    #[serde(default = "one", skip_serializing_if = "is_one")]
    times: usize,
}

const fn one() -> usize {
    1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
const fn is_one(times: &usize) -> bool {
    *times == 1
}

pub(super) fn serialize<S: Serializer>(items: &[ItemProgress], to: S) -> Result<S::Ok, S::Error> {
    let runs = items.chunk_by(|a, b| a == b);
    to.collect_seq(runs.filter_map(|run| {
        let item = run.first()?.clone();
        Some(ItemRun { item, times: run.len() })
    }))
}

pub(super) fn deserialize<'de, D: Deserializer<'de>>(
    from: D,
) -> Result<Vec<ItemProgress>, D::Error> {
    let runs = Vec::<ItemRun>::deserialize(from)?;
    let count: usize = runs.iter().map(|run| run.times).fold(0, usize::saturating_add);
    if count > MAX_ITEMS {
        return Err(serde::de::Error::custom(format!("{count} items; the limit is {MAX_ITEMS}")));
    }
    let items = runs.into_iter().flat_map(|run| std::iter::repeat_n(run.item, run.times));
    Ok(items.collect())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::time::Timestamp;
    use crate::workflow::{
        Condition, StepOutcome, StepStatus, Task, Template, Values, WorkflowDefinition,
        WorkflowProgress, WorkflowStatus,
    };

    const NOW: Timestamp = Timestamp::from_millis(0);

    /// Every list has this many items.
    struct Lists(usize);

    impl Values for Lists {
        fn holds(&self, _: &Condition, _: &Task) -> Result<bool, String> {
            Ok(true)
        }

        fn count(&self, _: &Template, _: &Task) -> Result<usize, String> {
            Ok(self.0)
        }
    }

    /// Returns the most bytes that a commit stores of the progress of a list.
    fn largest_progress(count: usize) -> usize {
        let json = json!({"name": "list", "step": [
            {"id": "each", "for_each": "list", "value": "", "concurrency": 4}]});
        let definition: WorkflowDefinition = serde_json::from_value(json).expect("a definition");
        let (mut progress, lists) = (WorkflowProgress::new(&definition), Lists(count));
        let (mut largest, mut steps) = (0, 0);
        let mut running = progress.advance(&definition, &lists, 16, NOW);
        while let Some(task) = running.pop() {
            assert!(progress.complete(&definition, &lists, &task, StepOutcome::Done, NOW));
            running.extend(progress.advance(&definition, &lists, 16, NOW));
            let text = serde_json::to_string(&progress).expect("JSON");
            let read: WorkflowProgress = serde_json::from_str(&text).expect("its own form");
            assert_eq!(read, progress);
            (largest, steps) = (largest.max(text.len()), steps + 1);
        }
        assert_eq!((steps, progress.status()), (count, WorkflowStatus::Done));
        largest
    }

    /// O30: what a commit stores of a long list is hardly more than of a short one.
    #[test]
    fn o30_the_stored_progress_of_a_list_does_not_grow_with_it() {
        let (short, long) = (largest_progress(20), largest_progress(1000));
        assert!(long < 2 * short, "{long} bytes for 1,000 items, {short} for 20");
    }

    #[test]
    fn progress_of_earlier_versions_is_read() {
        let earlier = json!({"is": "working", "has_list": true, "items": [
            {"at": "done", "round": 0, "attempt": 0}, {"at": "done", "round": 0, "attempt": 0},
            {"at": "queued", "round": 0, "attempt": 1}]});
        let read: StepStatus = serde_json::from_value(earlier).expect("an earlier form");
        let StepStatus::Working { items, .. } = &read else { unreachable!("{read:?}") };
        assert_eq!(items.len(), 3);
        let again = serde_json::to_value(&read).expect("JSON");
        assert_eq!(again["items"][0]["times"], 2, "{again}");
        assert_eq!(serde_json::from_value::<StepStatus>(again).expect("its own form"), read);
        let many = json!({"is": "working", "has_list": true, "items": [
            {"at": "done", "times": 1_000_000_000}]});
        assert!(serde_json::from_value::<StepStatus>(many).is_err());
    }
}
