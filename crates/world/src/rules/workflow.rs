//! Rules of workflow definitions and schedules. The expressions of a definition are checked
//! by the runtime, which evaluates them.

use std::collections::BTreeSet;

use ostler_domain::workflow::{Step, StepWork, WorkflowDefinition};

use super::Checker;
use crate::address::{Address, Kind};
use crate::spec::{ScheduleResource, WorkflowResource};

impl Checker<'_> {
    pub(super) fn workflow(&mut self, address: &Address, spec: &WorkflowResource) {
        let definition = &spec.definition;
        if let Some(agent) = definition.agent() {
            self.reference(address, "agent", Kind::Agent, agent);
        }
        for step in definition.steps() {
            for work in std::iter::once(&step.work).chain(&step.undo) {
                self.step_work(address, definition.agent(), step, work);
            }
        }
    }

    fn step_work(
        &mut self,
        address: &Address,
        default: Option<&str>,
        step: &Step,
        work: &StepWork,
    ) {
        let agent = match work {
            StepWork::Agent { agent, .. } => agent,
            StepWork::Tool { agent, tool, .. } => {
                self.tools(address, "step", std::iter::once(tool.as_str()));
                agent
            }
            StepWork::Workflow { workflow, with } => {
                return self.child(address, step, workflow, with.keys().map(String::as_str));
            }
            StepWork::Ask { .. } | StepWork::Wait { .. } | StepWork::Value { .. } => return,
        };
        match agent.as_deref() {
            Some(agent) => self.reference(address, "step", Kind::Agent, agent),
            None if default.is_none() => {
                let message = format!(
                    "the step `{}` has no agent; name an `agent` for the step or for the workflow",
                    step.id
                );
                self.report(address, "step", message);
            }
            None => {}
        }
    }

    /// Checks a workflow that a step starts: it exists, gets its inputs, and does not start
    /// the one that starts it.
    fn child<'n>(
        &mut self,
        address: &Address,
        step: &Step,
        name: &str,
        inputs: impl Iterator<Item = &'n str>,
    ) {
        self.reference(address, "step", Kind::Workflow, name);
        let Some(child) = self.workflow_named(&address.org, name) else { return };
        if let Err(mismatch) = child.check_input(inputs) {
            self.report(address, "step", format!("`{}`: {mismatch}", step.id));
        }
        let (mut found, mut open) = (BTreeSet::new(), vec![name.to_owned()]);
        while let Some(next) = open.pop() {
            if next == address.name {
                let message = format!(
                    "`{}` starts `{name}`, which starts this workflow again; workflows cannot \
                     start each other in a circle",
                    step.id
                );
                return self.report(address, "step", message);
            }
            if let Some(definition) = self.workflow_named(&address.org, &next) {
                let started = definition.started_workflows().map(|(_, name)| name.to_owned());
                open.extend(started.filter(|name| found.insert(name.clone())));
            }
        }
    }

    fn workflow_named(&self, org: &str, name: &str) -> Option<WorkflowDefinition> {
        let address = Address { org: org.to_owned(), kind: Kind::Workflow, name: name.to_owned() };
        let spec: Option<WorkflowResource> =
            self.after.get(&address).and_then(|one| one.spec().ok());
        spec.map(|spec| spec.definition)
    }

    pub(super) fn schedule(&mut self, address: &Address, spec: &ScheduleResource) {
        let schedule = &spec.schedule;
        self.slug(address, "name", &schedule.name);
        self.reference(address, "workflow", Kind::Workflow, &schedule.workflow);
        if let Some(zone) = &schedule.time_zone {
            self.time_zone(address, "time_zone", zone);
        }
        let workflow = self.workflow_named(&address.org, &schedule.workflow);
        let names = schedule.input.keys().map(String::as_str);
        if let Some(Err(mismatch)) = workflow.map(|one| one.check_input(names)) {
            self.report(address, "input", mismatch.to_string());
        }
    }
}
