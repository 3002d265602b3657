//! Plans as wire types.

use ostler_api::data::{DataPlan, RowOutcome, RowPlan};
use ostler_api::resource::{
    CallReplay, FieldChange, RecordedCall, ResourceAction, ResourceChange, ResourceDrift,
    ResourcePlan, RuleViolation, VerdictChange,
};
use ostler_runtime::operations::definitions::{Action, Violation};
use ostler_runtime::operations::world::{self, CheckedPlan, PolicyReplay, ReplayWindow};
use ostler_runtime::operations::{self, version_of};
use serde_json::json;

/// Returns a plan without the calls that it would have decided differently.
pub(super) fn plan(plan: &CheckedPlan) -> ResourcePlan {
    let changes = plan.plan.changes.iter().map(|change| ResourceChange {
        resource: change.address.to_string(),
        action: match change.action {
            Action::Create => ResourceAction::Create,
            Action::Change => ResourceAction::Change,
            Action::Remove => ResourceAction::Remove,
        },
        fields: change
            .fields
            .iter()
            .map(|field| FieldChange {
                path: field.path.clone(),
                old: field.old.clone(),
                new: field.new.clone(),
            })
            .collect(),
    });
    let drift = plan.plan.drift.iter().map(|drift| ResourceDrift {
        resource: drift.address.to_string(),
        path: drift.path.clone(),
        applied: drift.applied.clone(),
        live: drift.live.clone(),
        file: drift.file.clone(),
    });
    versioned(ResourcePlan {
        changes: changes.collect(),
        drift: drift.collect(),
        data: plan.data.iter().map(data_plan).collect(),
        ..ResourcePlan::default()
    })
}

/// Returns a plan that breaks rules.
pub(super) fn refused(broken: &[Violation]) -> ResourcePlan {
    let violations = broken.iter().map(|one| RuleViolation {
        resource: one.address.to_string(),
        path: one.path.clone(),
        message: one.message.clone(),
    });
    versioned(ResourcePlan { violations: violations.collect(), ..ResourcePlan::default() })
}

fn versioned(plan: ResourcePlan) -> ResourcePlan {
    let version = version_of(&json!(plan));
    ResourcePlan { version, ..plan }
}

/// Returns the rules that a plan breaks in sentences.
pub(super) fn sentences(broken: &[Violation]) -> String {
    let lines = broken.iter().map(|one| match one.path.as_str() {
        "" => format!("{}: {}", one.address, one.message),
        path => format!("{}: {path}: {}", one.address, one.message),
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn data_plan(plan: &world::DataPlan) -> DataPlan {
    let rows: Vec<RowPlan> = plan.import.rows.iter().map(row_plan).collect();
    let count = |outcome| rows.iter().filter(|row| row.outcome == outcome).count();
    DataPlan {
        org: plan.org.clone(),
        kind: plan.kind,
        source: plan.source.clone(),
        created: count(RowOutcome::Create),
        changed: count(RowOutcome::Change),
        unchanged: count(RowOutcome::Unchanged) + plan.kept,
        refused: count(RowOutcome::Refused),
        rows: rows.into_iter().filter(|row| row.outcome != RowOutcome::Unchanged).collect(),
    }
}

/// Returns what an import does with a row.
pub(crate) fn row_plan(plan: &operations::RowPlan) -> RowPlan {
    let (row, key) = (plan.number, plan.key.clone());
    let row =
        RowPlan { row, key, outcome: RowOutcome::Create, fields: None, column: None, reason: None };
    match &plan.outcome {
        operations::RowOutcome::Create => row,
        operations::RowOutcome::Unchanged => RowPlan { outcome: RowOutcome::Unchanged, ..row },
        operations::RowOutcome::Change(fields) => {
            RowPlan { outcome: RowOutcome::Change, fields: Some(fields.clone()), ..row }
        }
        operations::RowOutcome::Refused { column, reason } => RowPlan {
            outcome: RowOutcome::Refused,
            column: Some(column.clone()),
            reason: Some(reason.clone()),
            ..row
        },
    }
}

/// Returns the calls that other rules would have decided differently.
pub(super) fn replay(replay: &PolicyReplay, window: ReplayWindow) -> CallReplay {
    let changes = replay.changes.iter().map(|change| VerdictChange {
        org: change.org.clone(),
        agent: change.agent.clone(),
        tool: change.tool.clone(),
        from: json!(change.from),
        to: json!(change.to),
        calls: change.calls,
        example: RecordedCall {
            session: change.example.session,
            run: change.example.run,
            at: change.example.at,
        },
    });
    CallReplay {
        days: window.days,
        calls: replay.calls,
        truncated: replay.truncated,
        changes: changes.collect(),
    }
}
