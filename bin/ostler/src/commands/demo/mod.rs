//! `ostler demo`: a sample installation, a short story in it, and a server to try it.

pub(crate) mod folder;
mod log_in;
mod next_steps;
mod queue_agents;
mod seed;
mod story;

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context as _;
use clap::Args;
use ostler_store::Store;
use tokio::net::TcpListener;
use tokio::sync::watch;

use self::next_steps::Demo;
use super::org::tree;
use crate::app::App;
use crate::commands::operator::Operator;
use crate::config::keys;
use crate::database_watch::wait_until_replaced;
use crate::home_lock::HomeLock;
use crate::screen::{DIM, HEADER, print_paragraph, print_prose};
use crate::world::{SAMPLE, SAMPLE_NAME, World};

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ostler demo
  ostler demo --reset
  ostler demo --once --home /tmp/demo")]
pub(crate) struct DemoArgs {
    /// Folder of the demo
    #[arg(long, value_name = "FOLDER", default_value = "target/demo")]
    home: PathBuf,
    /// Delete what the demo made in the folder and start over
    #[arg(long)]
    reset: bool,
    /// Play the story and exit
    #[arg(long)]
    once: bool,
    /// Address to listen on [default: 127.0.0.1:7470, or a free port if it is taken]
    #[arg(long, value_name = "ADDRESS", env = keys::LISTEN)]
    listen: Option<String>,
}

/// How many conversations are answered at the same time.
const CONCURRENCY: usize = 4;

pub(crate) async fn run(args: &DemoArgs) -> anyhow::Result<()> {
    let folder = &args.home;
    if args.reset {
        folder::reset(folder)?;
    }
    let installation = folder::open(folder)?;
    let _lock = HomeLock::of_running(&installation)?;

    let store = Store::connect(&installation.database())?;
    store.migrate().await?;
    let world = World::parse([(SAMPLE_NAME, SAMPLE)])?;
    let new = store.orgs().await?.is_empty();
    if new {
        seed::plant(&Operator::new(installation.clone(), store.clone())?).await?;
    }
    let (version, home) = (env!("CARGO_PKG_VERSION"), folder.display());
    anstream::println!("{HEADER}ostler {version}{HEADER:#} · demo world in {home}");
    let stack = "SQLite, in-process bus, scripted model; nothing leaves this machine";
    print_paragraph(stack, DIM);
    anstream::println!();
    print_prose(
        "Organizations, each below its parent, with their agents. The business layer limits what \
         an agent may do.",
        2,
    );
    anstream::println!();
    tree::print_tree(&world);
    let org = story::find_bella(&store).await?;
    let webchat = seed::find_webchat(&store, org).await?;

    let app = Arc::new(App::new(&installation, store)?);
    let (stop, stopped) = watch::channel(false);
    let listener = if args.once { None } else { Some(listen(args.listen.as_deref()).await?) };
    let address = listener.as_ref().and_then(|listener| listener.local_addr().ok());
    let running = app.clone();
    let task = tokio::spawn(async move { running.run(CONCURRENCY, listener, stopped).await });
    if new {
        story::play(&app, org, webchat).await?;
        story::explain();
        queue_agents::play().await?;
    } else {
        anstream::println!(
            "\n  {DIM}The story was played before; its conversations are still here.{DIM:#}"
        );
    }
    let demo = Demo { installation: &installation, store: &app.store, org, webchat, address };
    next_steps::print(&demo).await?;
    if let Some(address) = address {
        let operator = Operator::new(installation.clone(), app.store.clone())?;
        log_in::print(&operator, address).await?;
    }
    next_steps::print_end(&demo)?;
    if !args.once {
        tokio::select! {
            stopped = tokio::signal::ctrl_c() => stopped?,
            why = wait_until_replaced(&installation) => return Err(why),
        }
        anstream::println!("\n{DIM}stopped; nothing is lost{DIM:#}");
    }
    stop.send_replace(true);
    task.await?
}

/// Listens on an address; by default on the usual one, or on any free port of this machine
/// if that is taken.
async fn listen(address: Option<&str>) -> anyhow::Result<TcpListener> {
    if let Some(address) = address {
        return TcpListener::bind(address).await.with_context(|| {
            format!("cannot listen on {address}; choose another address with --listen")
        });
    }
    let usual = ostler_server::server::ADDRESS;
    match TcpListener::bind(usual).await {
        Ok(listener) => Ok(listener),
        Err(_) => {
            let listener = TcpListener::bind("127.0.0.1:0").await?;
            let address = listener.local_addr()?;
            anstream::println!("\n  {DIM}{usual} is taken; this demo listens on {address}.{DIM:#}");
            Ok(listener)
        }
    }
}
