//! The workflow suite: checkpointed steps of workflows, each stored before the steps after it
//! start. The steps render a text, so that only the workflow engine and the store work.

mod bare;

use std::time::{Duration, Instant};

use ostler_domain::channel::Channel;
use ostler_domain::id::{AgentId, BindingId, OrgId};
use ostler_domain::workflow::WorkflowDefinition;
use ostler_runtime::operations::{Actor, Operations};
use ostler_runtime::workflow::WorkflowRunner;
use ostler_store::{OrgBinding, Store};
use ostler_testkit as testkit;
use serde_json::{Value, json};

use crate::pipeline::setup::{PipelineSetup, create_org};
use crate::report::{Measurement, cpu_time};
use crate::{BenchError, Options};

const ORG: OrgId = OrgId::from_u128(1);
const AGENT: AgentId = AgentId::from_u128(2);
const BINDING: BindingId = BindingId::from_u128(3);
/// Steps of a chain, and items of a fan-out.
const STEPS: usize = 100;
/// Items of the longest list; ten of them are a run of 10,000 steps.
const LONG_LIST: usize = 1000;
/// The time that the whole suite needs; with less, runs are shorter.
const FULL_TIME: Duration = Duration::from_secs(20);

pub(crate) async fn run(
    options: &Options,
    mut progress: impl FnMut(&str),
) -> Result<Vec<Measurement>, BenchError> {
    let share = options.time / 8;
    let folder = tempfile::tempdir()?;
    progress("workflow.bare");
    let limit = bare::steps_per_second(&folder.path().join("bare.db"), share).await?;
    let mut results = Vec::new();
    let mut runs = vec![
        ("workflow.chain.10", chain(10), 10),
        ("workflow.chain.100", chain(STEPS), STEPS),
        ("workflow.fan_out.100", fan_out(&[STEPS]), STEPS + 1),
    ];
    if options.time >= FULL_TIME {
        runs.push(("workflow.fan_out.1000", fan_out(&[LONG_LIST]), LONG_LIST + 1));
    }
    for (name, steps, count) in runs {
        progress(name);
        let setup = Setup::new(&folder.path().join(format!("{name}.db"))).await?;
        results.push(setup.sequential(name, &steps, count, limit, share).await?);
    }
    let is_full = options.time >= FULL_TIME;
    let (count, lists) = if is_full { (64, vec![LONG_LIST; 10]) } else { (4, vec![STEPS]) };
    progress("workflow.runs");
    let setup = Setup::new(&folder.path().join("runs.db")).await?;
    results.push(setup.parallel(count, limit).await?);
    progress("workflow.resume");
    let setup = Setup::new(&folder.path().join("resume.db")).await?;
    results.push(setup.resume(&lists).await?);
    Ok(results)
}

/// Steps that come one after another.
fn chain(count: usize) -> Value {
    let steps = (0..count).map(|number| {
        let before = number.checked_sub(1).map(|before| format!("s{before}"));
        json!({"id": format!("s{number}"), "after": before.as_slice(), "value": "done"})
    });
    steps.collect()
}

/// Lists of these lengths, one after another, and a last step.
fn fan_out(lists: &[usize]) -> Value {
    let mut steps: Vec<Value> = Vec::new();
    for (number, length) in lists.iter().enumerate() {
        let before = number.checked_sub(1).map(|before| format!("l{before}"));
        let list = serde_json::to_string(&vec![1; *length]).unwrap_or_default();
        steps.push(json!({"id": format!("l{number}"), "after": before.as_slice(),
            "for_each": list, "concurrency": 16, "value": "done"}));
    }
    let last = lists.len().checked_sub(1).map(|last| format!("l{last}"));
    steps.push(json!({"id": "end", "after": last.as_slice(), "value": "end"}));
    Value::Array(steps)
}

/// An org on a SQLite file, and a runner.
struct Setup {
    operations: Operations,
    runner: WorkflowRunner,
}

impl Setup {
    async fn new(path: &std::path::Path) -> Result<Self, BenchError> {
        let store = Store::connect(&format!("sqlite:{}", path.display()))?;
        store.migrate().await?;
        let binding = testkit::binding(BINDING, Channel::Webchat);
        let bound = OrgBinding { binding, agent: AGENT, settings: "{}".to_owned(), secret: None };
        create_org(&store, ORG, AGENT, bound).await?;
        let worker = PipelineSetup::in_store(store)?.worker;
        let runner = WorkflowRunner::new(worker.services())?;
        Ok(Self { operations: Operations::for_worker(&worker), runner })
    }

    async fn start(&self, steps: &Value) -> Result<(), BenchError> {
        let whole = json!({"name": "bench", "step": steps});
        let definition: WorkflowDefinition = serde_json::from_value(whole)?;
        let operator = self.operations.as_actor(Actor::Terminal, ORG);
        operator.start_workflow(&definition, &json!({})).await?;
        Ok(())
    }

    /// Runs one workflow after another until the time is over.
    async fn sequential(
        &self,
        name: &str,
        steps: &Value,
        count: usize,
        limit: f64,
        time: Duration,
    ) -> Result<Measurement, BenchError> {
        let (start, cpu, mut each) = (Instant::now(), cpu_time(), Vec::new());
        while each.is_empty() || start.elapsed() < time {
            let began = Instant::now();
            self.start(steps).await?;
            self.runner.run_next().await?;
            each.push(began.elapsed());
        }
        let (all, cpu) = (start.elapsed(), cpu_time().saturating_sub(cpu));
        let done = each.len() * count;
        Ok(Measurement::sampled(name.to_owned(), done, each, all, Some(limit)).with_cpu(all, cpu))
    }

    /// Runs many workflows of 100 steps at the same time.
    async fn parallel(&self, count: usize, limit: f64) -> Result<Measurement, BenchError> {
        let steps = chain(STEPS);
        for _ in 0..count {
            self.start(&steps).await?;
        }
        let (start, cpu) = (Instant::now(), cpu_time());
        let runs: Vec<_> = (0..count)
            .map(|_| {
                let runner = self.runner.clone();
                tokio::spawn(async move {
                    let began = Instant::now();
                    while runner.run_next().await? {}
                    Ok::<_, BenchError>(began.elapsed())
                })
            })
            .collect();
        let mut each = Vec::new();
        for run in runs {
            each.push(run.await??);
        }
        let (all, cpu) = (start.elapsed(), cpu_time().saturating_sub(cpu));
        let name = format!("workflow.runs.{count}");
        let measured = Measurement::sampled(name, count * STEPS, each, all, Some(limit));
        Ok(measured.with_cpu(all, cpu))
    }

    /// Continues a workflow that has finished lists of these lengths, and reports the
    /// milliseconds until its next step is done.
    async fn resume(&self, lists: &[usize]) -> Result<Measurement, BenchError> {
        let mut steps = fan_out(lists);
        if let Some(steps) = steps.as_array_mut() {
            steps.push(json!({"id": "wait", "after": ["end"], "wait": "go"}));
        }
        self.start(&steps).await?;
        self.runner.run_next().await?;
        let operator = self.operations.as_actor(Actor::Terminal, ORG);
        let name = "go".parse()?;
        operator.publish_event(None, name, &Value::Null).await?;
        let (start, cpu) = (Instant::now(), cpu_time());
        self.runner.run_next().await?;
        let (all, cpu) = (start.elapsed(), cpu_time().saturating_sub(cpu));
        let name = format!("workflow.resume.{}", lists.iter().sum::<usize>());
        let measured = Measurement::new(name, vec![all], all, None).with_cpu(all, cpu);
        Ok(measured.with_value(all.as_secs_f64() * 1000.0))
    }
}
