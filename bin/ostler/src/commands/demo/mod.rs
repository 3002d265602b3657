//! `ostler demo`: a small world, a short story in it, and time to look around.

mod chat;
mod crew;
mod invite;
mod story;

use std::io::Write as _;
use std::sync::Arc;

use anyhow::Context as _;
use ostler_store::Store;
use tokio::net::TcpListener;
use tokio::sync::watch;

use self::invite::Around;
use super::layer;
use crate::cli::talk::Demo;
use crate::home::{Config, Home};
use crate::kit::Kit;
use crate::screen::{HEADER, QUIET};
use crate::world::{SAMPLE, World};

/// The script that plays the agents.
const SCRIPT: &str = include_str!("../../../../../examples/scripts/harbour.yaml");
/// How many conversations are answered at once.
const AT_ONCE: usize = 4;

pub(crate) async fn run(command: &Demo) -> anyhow::Result<()> {
    let folder = &command.home;
    if command.reset && folder.exists() {
        std::fs::remove_dir_all(folder)
            .with_context(|| format!("cannot remove {}", folder.display()))?;
    }
    let config = Config {
        database: "sqlite:ostler.db".into(),
        script: Some("script.yaml".into()),
        ..Config::default()
    };
    let home = Home::write(folder, config)?;
    std::fs::File::create(folder.join("script.yaml"))?.write_all(SCRIPT.as_bytes())?;

    let store = Store::connect(&home.database())?;
    store.migrate().await?;
    let world = World::parse("examples/harbour.toml", SAMPLE)?;
    let new = store.orgs().await?.is_empty();
    if new {
        world.plant(&store).await?;
    }
    anstream::println!(
        "{HEADER}ostler {}{HEADER:#} · demo world in {} (SQLite, in-process bus, scripted model, \
         nothing leaves this machine)\n",
        env!("CARGO_PKG_VERSION"),
        folder.display()
    );
    anstream::println!(
        "  Organizations, each below its parent, with their agents; who may do what follows from\n  the business layer.\n"
    );
    layer::print_tree(&world);
    let org = story::client(&store).await?;
    let chat = chat::open(&home, &store, org).await?;

    let kit = Kit::of(&home, store)?;
    let (stop, stopped) = watch::channel(false);
    let listener = listen().await;
    let address = listener.as_ref().and_then(|one| one.local_addr().ok());
    let kit = Arc::new(kit);
    let running = kit.clone();
    let working = tokio::spawn(async move { running.run(AT_ONCE, listener, stopped).await });
    if new {
        story::play(&kit, org, chat).await?;
        story::explain();
        crew::play().await?;
    } else {
        anstream::println!("\n  {QUIET}The story was played before; all of it is kept.{QUIET:#}");
    }
    let around = Around { home: &home, store: &kit.store, org, chat, address };
    invite::print(&around).await?;
    if !command.once {
        tokio::signal::ctrl_c().await?;
        anstream::println!("\n{QUIET}stopped; everything is kept{QUIET:#}");
    }
    stop.send_replace(true);
    working.await?
}

/// Where the demonstration can be reached: the usual place, or any free one of
/// this machine.
async fn listen() -> Option<TcpListener> {
    match TcpListener::bind(ostler_server::server::ADDRESS).await {
        Ok(listener) => Some(listener),
        Err(_) => TcpListener::bind("127.0.0.1:0").await.ok(),
    }
}
