//! The path suite: messages of customers from the webhook to the reply at the gateway, over
//! real HTTP, with an instant model. Everything runs in this process: the senders, the server
//! with its workers on SQLite, and the gateways that take the replies.

pub(crate) mod gateway;
pub(crate) mod http;
pub(crate) mod installation;

use std::time::{Duration, Instant};

use tokio::task::JoinSet;

use crate::report::{Measurement, cpu_time};
use crate::{BenchError, Options};
use gateway::GatewayMode;
use installation::{Installation, PathOrg, Work};

/// Customers who wait for a reply at the same time.
const CUSTOMERS: [usize; 3] = [1, 64, 256];
/// Customers of the org that is measured beside another one.
const BESIDE: usize = 16;
/// Senders of the org that disturbs.
const DISTURBING: usize = 64;

/// What another org does meanwhile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Neighbour {
    Quiet,
    /// Its gateway takes replies and never answers.
    Hanging,
    /// Its customers write without waiting.
    Flooding,
}

impl Neighbour {
    const ALL: [Self; 3] = [Self::Quiet, Self::Hanging, Self::Flooding];

    const fn name(self) -> &'static str {
        match self {
            Self::Quiet => "quiet",
            Self::Hanging => "hanging",
            Self::Flooding => "flooding",
        }
    }
}

pub(crate) async fn run(
    options: &Options,
    mut progress: impl FnMut(&str),
) -> Result<Vec<Measurement>, BenchError> {
    let share = options.time / (CUSTOMERS.len() + Neighbour::ALL.len()) as u32;
    let mut results = Vec::new();
    for customers in CUSTOMERS {
        let name = format!("path.sqlite.{customers}");
        progress(&name);
        let installation = Installation::start(GatewayMode::Answering, Work::Answered).await?;
        installation.orgs[0].exchange("warm").await?;
        let before = installation.database_bytes().await?;
        let measured = exchanges(name, &installation.orgs[0], customers, share).await?;
        let turns = (measured.per_sec * share.as_secs_f64()).max(1.0);
        let grown = installation.database_bytes().await?.saturating_sub(before);
        results.push(measured);
        if customers == CUSTOMERS[1] {
            let name = "path.sqlite.bytes_per_turn".to_owned();
            let bytes = Measurement::new(name, Vec::new(), share, None);
            results.push(bytes.with_value(grown as f64 / turns));
        }
        installation.stop().await;
    }
    for neighbour in Neighbour::ALL {
        let name = format!("path.beside.{}", neighbour.name());
        progress(&name);
        results.push(beside(name, neighbour, share).await?);
    }
    Ok(results)
}

/// Exchanges messages and replies of many customers until the time is over.
async fn exchanges(
    name: String,
    org: &PathOrg,
    customers: usize,
    time: Duration,
) -> Result<Measurement, BenchError> {
    let (start, cpu) = (Instant::now(), cpu_time());
    let mut running = JoinSet::new();
    for number in 0..customers {
        let (org, who) = (org.clone(), format!("customer-{number}"));
        running.spawn(async move {
            let mut each = Vec::new();
            let mut sender = org.connect().await?;
            while start.elapsed() < time {
                let began = Instant::now();
                org.exchange_on(&mut sender, &who).await?;
                each.push(began.elapsed());
            }
            Ok::<_, BenchError>(each)
        });
    }
    let mut each = Vec::new();
    while let Some(customer) = running.join_next().await {
        each.extend(customer??);
    }
    let (all, cpu) = (start.elapsed(), cpu_time().saturating_sub(cpu));
    Ok(Measurement::new(name, each, all, None).with_cpu(all, cpu))
}

/// Measures one org while another one disturbs.
async fn beside(
    name: String,
    neighbour: Neighbour,
    time: Duration,
) -> Result<Measurement, BenchError> {
    let mode = match neighbour {
        Neighbour::Hanging => GatewayMode::Hanging,
        Neighbour::Quiet | Neighbour::Flooding => GatewayMode::Answering,
    };
    let installation = Installation::start(mode, Work::Answered).await?;
    let [org, other] = &installation.orgs;
    org.exchange("warm").await?;
    let mut senders = JoinSet::new();
    if neighbour != Neighbour::Quiet {
        for number in 0..DISTURBING {
            let (other, who) = (other.clone(), format!("sender-{number}"));
            senders.spawn(async move { disturb(&other, &who, neighbour).await });
        }
    }
    let measured = exchanges(name, org, BESIDE, time).await;
    senders.shutdown().await;
    installation.stop().await;
    measured
}

/// Writes without waiting for replies, until it is stopped.
async fn disturb(org: &PathOrg, who: &str, neighbour: Neighbour) -> Result<(), BenchError> {
    let mut sender = org.connect().await?;
    loop {
        org.post(&mut sender, who).await?;
        if neighbour == Neighbour::Hanging {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }
}
