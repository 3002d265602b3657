//! A proxy in front of the broker whose connections can be cut, stalled and
//! refused, without disturbing other tests.

use std::sync::Arc;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Open,
    /// Connections stay open, but nothing passes.
    Stalled,
    /// New connections are refused.
    Shut,
}

#[derive(Clone, Copy)]
struct State {
    mode: Mode,
    /// How often all connections were cut.
    cuts: u64,
}

pub(crate) struct Proxy {
    /// The broker's address through this proxy.
    pub(crate) url: String,
    state: Arc<watch::Sender<State>>,
}

impl Proxy {
    pub(crate) async fn start(url: &str) -> Self {
        let (credentials, target) = url.rsplit_once('@').expect("an address with a user");
        let (broker, vhost) = target.split_once('/').expect("an address with a vhost");
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("{credentials}@{}/{vhost}", listener.local_addr().unwrap());
        let state = Arc::new(watch::Sender::new(State { mode: Mode::Open, cuts: 0 }));
        tokio::spawn(accept(listener, broker.to_owned(), state.subscribe()));
        Self { url, state }
    }

    fn set(&self, mode: Mode, cut: bool) {
        self.state.send_modify(|state| {
            *state = State { mode, cuts: state.cuts + u64::from(cut) };
        });
    }

    /// Closes all connections; new ones are accepted.
    pub(crate) fn cut(&self) {
        self.set(Mode::Open, true);
    }

    /// Closes all connections and refuses new ones.
    pub(crate) fn shut(&self) {
        self.set(Mode::Shut, true);
    }

    pub(crate) fn stall(&self) {
        self.set(Mode::Stalled, false);
    }

    pub(crate) fn open(&self) {
        self.set(Mode::Open, false);
    }
}

async fn accept(listener: TcpListener, broker: String, state: watch::Receiver<State>) {
    loop {
        let (client, _) = listener.accept().await.unwrap();
        if state.borrow().mode == Mode::Shut {
            continue;
        }
        let (broker, state) = (broker.clone(), state.clone());
        tokio::spawn(async move {
            let Ok(server) = TcpStream::connect(&broker).await else { return };
            let (client_in, client_out) = client.into_split();
            let (server_in, server_out) = server.into_split();
            let cuts = state.borrow().cuts;
            let mut cut = state.clone();
            tokio::select! {
                () = pump(client_in, server_out, state.clone()) => {}
                () = pump(server_in, client_out, state) => {}
                _ = cut.wait_for(|state| state.cuts > cuts) => {}
            }
        });
    }
}

async fn pump(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, mut state: watch::Receiver<State>) {
    let mut buffer = [0; 16 * 1024];
    loop {
        let Ok(count @ 1..) = from.read(&mut buffer).await else { return };
        let passes = state.wait_for(|state| state.mode != Mode::Stalled).await.is_ok();
        if !passes || to.write_all(&buffer[..count]).await.is_err() {
            return;
        }
    }
}
