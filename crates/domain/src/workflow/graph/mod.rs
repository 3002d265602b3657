//! Pictures of a workflow: its steps, their order and, for one that was started, their
//! states; as Mermaid for documents and as SVG for a browser.

mod layout;
mod mermaid;
mod svg;

use super::{
    ItemStatus, Step, StepName, StepStatus, StepWork, WorkflowDefinition, WorkflowProgress,
};

pub use mermaid::mermaid;
pub use svg::svg;

/// What a step does, in a word or two.
fn work_name(step: &Step) -> String {
    let work = match &step.work {
        StepWork::Agent { agent, .. } => agent.clone().unwrap_or_else(|| "prompt".to_owned()),
        StepWork::Tool { tool, .. } => tool.as_str().to_owned(),
        StepWork::Workflow { workflow, .. } => format!("workflow {workflow}"),
        StepWork::Ask { .. } => "ask".to_owned(),
        StepWork::Wait { event } => format!("wait for {event}"),
        StepWork::Value { .. } => "text".to_owned(),
    };
    let often = if step.each.is_some() {
        ", for each"
    } else if step.repeat.is_some() {
        ", repeated"
    } else {
        ""
    };
    format!("{work}{often}")
}

/// How a step is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StepLook {
    /// Not begun, or no progress is known.
    Open,
    Running,
    Waiting,
    Done,
    Failed,
    /// Skipped, stopped or undone.
    Skipped,
}

impl StepLook {
    const ALL: [Self; 6] =
        [Self::Open, Self::Running, Self::Waiting, Self::Done, Self::Failed, Self::Skipped];

    fn of(step: &Step, progress: Option<&WorkflowProgress>) -> Self {
        match progress.and_then(|progress| progress.step_status(&step.id)) {
            None | Some(StepStatus::Waiting) => Self::Open,
            Some(StepStatus::Working { items, .. }) => {
                let waits = |status: &ItemStatus| matches!(status, ItemStatus::Suspended { .. });
                let is_waiting = items.iter().any(|item| waits(&item.status));
                if is_waiting { Self::Waiting } else { Self::Running }
            }
            Some(StepStatus::Undoing { .. }) => Self::Running,
            Some(StepStatus::Done { .. }) => Self::Done,
            Some(StepStatus::Failed { .. } | StepStatus::NotUndone { .. }) => Self::Failed,
            Some(StepStatus::Skipped | StepStatus::Stopped | StepStatus::Undone) => Self::Skipped,
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Running => "running",
            Self::Waiting => "waiting",
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Skipped => "skipped",
        }
    }

    /// The colours of the box and of its border.
    const fn colors(self) -> (&'static str, &'static str) {
        match self {
            Self::Open => ("#ffffff", "#6b7280"),
            Self::Running => ("#dbeafe", "#1d4ed8"),
            Self::Waiting => ("#fef3c7", "#b45309"),
            Self::Done => ("#dcfce7", "#15803d"),
            Self::Failed => ("#fee2e2", "#b91c1c"),
            Self::Skipped => ("#f3f4f6", "#9ca3af"),
        }
    }
}

/// The arrows of a workflow, as positions of steps: from a step to one that runs after it.
fn arrows(definition: &WorkflowDefinition) -> Vec<(usize, usize)> {
    let steps = definition.steps();
    let position = |id: &StepName| steps.iter().position(|step| step.id == *id);
    let to = |(to, step): (usize, &Step)| {
        step.after.iter().filter_map(position).map(|from| (from, to)).collect::<Vec<_>>()
    };
    steps.iter().enumerate().flat_map(to).collect()
}

#[cfg(test)]
mod tests {
    use super::{WorkflowDefinition, WorkflowProgress, mermaid, svg};

    fn definition() -> WorkflowDefinition {
        let json = serde_json::json!({"name": "a <b>", "step": [
            {"id": "look", "value": "x"},
            {"id": "ask", "after": ["look"], "ask": "May \"it\" go on?", "when": "input.a < 3"},
            {"id": "wait", "after": ["look"], "wait": "paid"},
            {"id": "end", "after": ["ask", "wait"], "value": "y"},
        ]});
        serde_json::from_value(json).expect("a definition")
    }

    /// O30: the graph as Mermaid, with states of a workflow that was started.
    #[test]
    fn o30_a_graph_as_mermaid_has_steps_arrows_conditions_and_states() {
        let definition = definition();
        let text = mermaid(&definition, None);
        let lines: Vec<&str> = text.lines().map(str::trim).collect();
        assert_eq!(
            lines,
            [
                "flowchart TD",
                "s0[\"<b>look</b><br/>text\"]",
                "s1[\"<b>ask</b><br/>ask\"]",
                "s2[\"<b>wait</b><br/>wait for paid\"]",
                "s3[\"<b>end</b><br/>text\"]",
                "s0 -->|\"input.a #lt; 3\"| s1",
                "s0 --> s2",
                "s1 --> s3",
                "s2 --> s3",
            ]
        );
        let progress = WorkflowProgress::new(&definition);
        assert!(mermaid(&definition, Some(&progress)).contains("class s0,s1,s2,s3 open"));
    }

    /// O30: the graph as SVG, with every text escaped.
    #[test]
    fn o30_a_graph_as_svg_has_a_box_for_each_step_and_escapes_texts() {
        let text = svg(&definition(), None);
        assert_eq!(text.matches("<rect").count(), 4);
        assert_eq!(text.matches("<path class=\"arrow\"").count(), 4);
        assert!(text.contains("<title>a &lt;b&gt;</title>"), "{text}");
        assert!(text.starts_with("<svg ") && text.trim_end().ends_with("</svg>"), "{text}");
    }
}
