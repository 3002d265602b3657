//! `ostler demo`: a small world, a short story in it, and time to look around.

mod crew;
mod story;

use std::io::Write as _;

use anyhow::Context as _;
use ostler_store::Store;
use tokio::sync::watch;

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
        bus: None,
        script: Some("script.yaml".into()),
        model: None,
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
    layer::print_tree(&world);

    let kit = Kit::of(&home, store)?;
    let (stop, stopped) = watch::channel(false);
    let worker = kit.worker.clone();
    let working = tokio::spawn(async move { worker.run(AT_ONCE, stopped).await });
    if new {
        story::play(&kit).await?;
        crew::play().await?;
    } else {
        anstream::println!("\n  {QUIET}The story was played before; all of it is kept.{QUIET:#}");
    }
    story::invite(&kit).await?;
    if !command.once {
        tokio::signal::ctrl_c().await?;
        anstream::println!("\n{QUIET}stopped; everything is kept{QUIET:#}");
    }
    stop.send_replace(true);
    working.await?;
    Ok(())
}
