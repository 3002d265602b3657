//! `ostler worker`: answers conversations and sends replies, without the HTTP API.

use std::io::Write as _;
use std::net::SocketAddr;
use std::num::NonZeroUsize;

use anyhow::{Context as _, bail};
use clap::Args;
use ostler_server::metrics::serve_metrics;
use ostler_store::{RowSecurity, Store};
use tokio::net::TcpListener;
use tokio::sync::watch;

use super::args::InstallationArgs;
use crate::agent_models;
use crate::app::App;
use crate::database_watch::wait_until_replaced;
use crate::home_lock::HomeLock;
use crate::installation::Installation;
use crate::private_files;
use crate::screen::DIM;
use crate::stop_signals::StopSignals;
use crate::telemetry::TraceExporter;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ostler worker --home target/demo
  OSTLER_DATABASE_URL=postgres://ostler@localhost/ostler \\
      ostler worker --at-once 64")]
pub(crate) struct WorkerArgs {
    /// How many conversations to answer at the same time
    #[arg(long, value_name = "N", default_value = "16", value_parser = parse_positive)]
    pub(super) at_once: NonZeroUsize,
    #[command(flatten)]
    pub(super) installation: InstallationArgs,
}

fn parse_positive(text: &str) -> Result<NonZeroUsize, String> {
    text.parse().map_err(|_| "write a number from 1 on".to_owned())
}

pub(crate) async fn run(args: &WorkerArgs) -> anyhow::Result<()> {
    run_app(&Installation::find(&args.installation)?, args.at_once.get(), None).await
}

/// Runs the installation until Ctrl-C or SIGTERM, and serves the HTTP API if there is
/// a listener.
pub(super) async fn run_app(
    installation: &Installation,
    at_once: usize,
    listener: Option<(TcpListener, SocketAddr)>,
) -> anyhow::Result<()> {
    let traces = TraceExporter::of(&installation.config)?;
    crate::log::init(installation.config.log.as_deref(), traces.as_ref())?;
    let _lock = HomeLock::of_running(installation)?;
    private_files::make_private(installation);
    let app = App::open(installation).await?;
    let metrics = bind_metrics(installation).await?;
    check_row_security(&app.store).await?;
    agent_models::warn(&app.store, &app.catalogue).await?;
    // Before it is said that the server runs, so that no signal ends the process at once.
    let mut signals = StopSignals::listen()?;
    match &listener {
        Some((_, address)) => {
            announce(format_args!("serving on http://{address}; press Ctrl-C to stop"));
        }
        None => announce(format_args!("working; press Ctrl-C to stop")),
    }
    let (stop, stopped) = watch::channel(false);
    if let Some(listener) = metrics {
        announce(format_args!("metrics on http://{}/metrics", listener.local_addr()?));
        tokio::spawn(serve_metrics(listener, app.read_metrics(), until(stopped.clone())));
    }
    let signal = async {
        signals.next().await;
        tell(format_args!("{DIM}finishing work in progress; once more stops at once …{DIM:#}"));
        stop.send_replace(true);
        signals.next().await;
    };
    let result = tokio::select! {
        result = app.run(at_once, listener.map(|(listener, _)| listener), stopped) => result,
        // What is cut off is repeated by the next process.
        () = signal => Err(anyhow::anyhow!("stopped before all work in progress was finished")),
        why = wait_until_replaced(installation) => Err(why),
    };
    if let Some(traces) = traces {
        traces.finish().await;
    }
    result
}

/// Listens on the address for metrics, if there is one.
async fn bind_metrics(installation: &Installation) -> anyhow::Result<Option<TcpListener>> {
    let Some(address) = &installation.config.metrics_listen else { return Ok(None) };
    let listener = TcpListener::bind(address).await.with_context(|| {
        format!("cannot listen on {address}; correct `metrics_listen` in ostler.toml")
    })?;
    Ok(Some(listener))
}

async fn until(mut stopped: watch::Receiver<bool>) {
    while !*stopped.borrow() && stopped.changed().await.is_ok() {}
}

/// Prints a line on standard output. The work goes on if nobody can read it, for example
/// because the disk is full.
fn announce(line: std::fmt::Arguments<'_>) {
    let _unread = writeln!(anstream::stdout(), "{line}");
}

/// Prints a line on standard error, like [`announce`].
fn tell(line: std::fmt::Arguments<'_>) {
    let _unread = writeln!(anstream::stderr(), "{line}");
}

/// Refuses a PostgreSQL role that sees the rows of all organizations whatever a query says.
async fn check_row_security(store: &Store) -> anyhow::Result<()> {
    if store.row_security().await? == RowSecurity::Bypassed {
        bail!(
            "the PostgreSQL role bypasses row-level security: it is a superuser, has BYPASSRLS, or \
             owns tables without FORCE ROW LEVEL SECURITY. Connect as a role of its own that owns \
             the database:\n  CREATE ROLE ostler LOGIN PASSWORD '…';\n  CREATE DATABASE ostler \
             OWNER ostler;\nand run `ostler migrate` as this role"
        );
    }
    Ok(())
}
