//! `ostler serve` and `ostler worker`: an installation at work.

use std::net::SocketAddr;

use anyhow::Context as _;
use tokio::net::TcpListener;
#[cfg(unix)]
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

use crate::cli::talk::{Serve, Work};
use crate::home::Home;
use crate::kit::Kit;
use crate::screen::QUIET;

/// Answers, sends, and serves the HTTP API.
pub(crate) async fn serve(command: &Serve) -> anyhow::Result<()> {
    let home = Home::find(&command.work.at)?;
    let usual =
        || home.config.listen.clone().unwrap_or_else(|| ostler_server::server::ADDRESS.into());
    let wanted = command.listen.clone().unwrap_or_else(usual);
    let listener = TcpListener::bind(&wanted)
        .await
        .with_context(|| format!("cannot listen at {wanted}; name another place with --listen"))?;
    let address = listener.local_addr()?;
    run(&home, command.work.at_once, Some((listener, address))).await
}

/// Answers and sends.
pub(crate) async fn work(command: &Work) -> anyhow::Result<()> {
    run(&Home::find(&command.at)?, command.at_once, None).await
}

async fn run(
    home: &Home,
    at_once: usize,
    listener: Option<(TcpListener, SocketAddr)>,
) -> anyhow::Result<()> {
    crate::log::begin()?;
    let kit = Kit::open(home).await?;
    match &listener {
        Some((_, address)) => anstream::println!("serving at http://{address}; Ctrl-C stops"),
        None => anstream::println!("working; Ctrl-C stops"),
    }
    let (stop, stopped) = watch::channel(false);
    let signal = async {
        told_to_stop().await;
        anstream::eprintln!("{QUIET}finishing what was begun …{QUIET:#}");
        stop.send_replace(true);
        std::future::pending::<()>().await;
    };
    tokio::select! {
        ended = kit.run(at_once, listener.map(|(listener, _)| listener), stopped) => ended,
        () = signal => Ok(()),
    }
}

/// Returns when somebody presses Ctrl-C, or when the system ends the program.
async fn told_to_stop() {
    #[cfg(unix)]
    if let Ok(mut ended) = signal(SignalKind::terminate()) {
        tokio::select! {
            _ = tokio::signal::ctrl_c() => {}
            _ = ended.recv() => {}
        }
        return;
    }
    let _ = tokio::signal::ctrl_c().await;
}
