//! Where the steps of a workflow are drawn: in rows, each step below those it runs after.

use super::arrows;
use crate::workflow::WorkflowDefinition;

/// The place of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct StepPlace {
    pub(super) row: usize,
    /// From the left, from 0.
    pub(super) column: usize,
}

/// The places of all steps, in the order of the definition.
pub(super) struct Layout {
    pub(super) places: Vec<StepPlace>,
    /// The number of steps in each row.
    pub(super) rows: Vec<usize>,
}

/// Places the steps. A row keeps the order of the definition.
pub(super) fn layout(definition: &WorkflowDefinition) -> Layout {
    let (count, arrows) = (definition.steps().len(), arrows(definition));
    let mut depth = vec![0; count];
    // A definition has no cycles, so every depth is found after at most `count` rounds.
    for _ in 0..count {
        let before = depth.clone();
        for (from, to) in &arrows {
            depth[*to] = depth[*to].max(depth[*from] + 1);
        }
        if before == depth {
            break;
        }
    }
    let mut rows = vec![0; depth.iter().max().map_or(0, |deepest| deepest + 1)];
    let place = |row: usize| {
        rows[row] += 1;
        StepPlace { row, column: rows[row] - 1 }
    };
    let places = depth.into_iter().map(place).collect();
    Layout { places, rows }
}
