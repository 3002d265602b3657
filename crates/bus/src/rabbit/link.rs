//! The connection to the broker, and getting another when it is lost.
//!
//! lapin can recover a connection by itself; here a lost one is replaced
//! instead, because then everything that lived on it visibly ends with it: a
//! publisher knows what was not confirmed, and a consumer knows that what it
//! holds will come again.

use std::collections::HashSet;
use std::str::FromStr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::StreamExt;
use lapin::options::ConfirmSelectOptions;
use lapin::uri::AMQPUri;
use lapin::{Channel, Connection, ConnectionProperties, Event};
use tokio::sync::{Notify, watch};

use super::RabbitOptions;
use super::topology::Asked;
use crate::error::{BusError, Result};

/// A connection that works, as far as one knows.
pub(super) struct Link {
    pub(super) connection: Connection,
    /// The channel for publishing, with confirms.
    pub(super) publisher: Channel,
    pub(super) generation: u64,
    declared: Mutex<HashSet<String>>,
    suspected: Notify,
}

impl Link {
    fn declared(&self) -> MutexGuard<'_, HashSet<String>> {
        self.declared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether this was declared through this link.
    pub(super) fn has_declared(&self, name: &str) -> bool {
        self.declared().contains(name)
    }

    pub(super) fn remember(&self, names: impl IntoIterator<Item = String>) {
        self.declared().extend(names);
    }

    pub(super) fn forget(&self, name: &str) {
        self.declared().remove(name);
    }

    /// Gives the link up: it does not answer, or its channel was closed.
    pub(super) fn suspect(&self) {
        self.suspected.notify_one();
    }

    /// What it means that something was not answered: that one thing is silent,
    /// or the whole link, which is then given up.
    pub(super) async fn silence<T>(&self, patience: Duration) -> Asked<T> {
        let asking = async {
            let channel = self.connection.create_channel().await?;
            channel.close(200, "done".into()).await
        };
        match tokio::time::timeout(patience, asking).await {
            Ok(Ok(())) => Asked::Silent,
            Ok(Err(_)) | Err(_) => {
                self.suspect();
                Asked::Lost
            }
        }
    }

    /// Returns when the link is lost, with the reason.
    async fn lost(&self) -> String {
        let mut events = std::pin::pin!(self.connection.events_listener());
        let mut look = tokio::time::interval(Duration::from_millis(500));
        loop {
            tokio::select! {
                event = events.next() => match event {
                    Some(Event::Error(error)) => return error.to_string(),
                    Some(_) => {}
                    None => return "the connection ended".to_owned(),
                },
                () = self.suspected.notified() => return "the broker did not answer".to_owned(),
                _ = look.tick() => {
                    if !self.connection.status().connected() {
                        return "the connection is closed".to_owned();
                    }
                }
            }
        }
    }
}

#[derive(Clone)]
enum State {
    Up(Arc<Link>),
    Down(Arc<str>),
    Closed,
}

/// The links of a bus, one after the other.
pub(super) struct Links {
    state: watch::Receiver<State>,
    closing: watch::Sender<bool>,
}

impl Links {
    pub(super) fn open(address: &str, options: &RabbitOptions) -> Result<Self> {
        // What is wrong with an address is not repeated: it has a password.
        let mut uri = AMQPUri::from_str(address).map_err(|_| BusError::Address)?;
        uri.query.heartbeat = Some(options.heartbeat_secs);
        let (closing, closed) = watch::channel(false);
        let (tell, state) = watch::channel(State::Down("not connected yet".into()));
        tokio::spawn(keep(uri, options.clone(), tell, closed));
        Ok(Self { state, closing })
    }

    /// The link, as soon as there is one.
    pub(super) async fn up(&self) -> Result<Arc<Link>> {
        self.newer(0).await
    }

    /// A link newer than this, as soon as there is one.
    pub(super) async fn newer(&self, than: u64) -> Result<Arc<Link>> {
        let mut state = self.state.clone();
        let fits = |state: &State| match state {
            State::Up(link) => link.generation > than,
            State::Down(_) => false,
            State::Closed => true,
        };
        match state.wait_for(fits).await.as_deref() {
            Ok(State::Up(link)) => Ok(Arc::clone(link)),
            _ => Err(BusError::Closed),
        }
    }

    /// Why there is no link, for an error.
    pub(super) fn reason(&self) -> String {
        match &*self.state.borrow() {
            State::Up(_) => "the broker did not answer".to_owned(),
            State::Down(reason) => reason.to_string(),
            State::Closed => "the bus is closed".to_owned(),
        }
    }

    /// Ends the link for good.
    pub(super) async fn close(&self) {
        self.closing.send_replace(true);
        let mut state = self.state.clone();
        let _ended = state.wait_for(|state| matches!(state, State::Closed)).await;
    }
}

/// Keeps a link up until the bus is closed or dropped.
async fn keep(
    uri: AMQPUri,
    options: RabbitOptions,
    tell: watch::Sender<State>,
    mut closing: watch::Receiver<bool>,
) {
    let (mut wait, mut said) = (options.first_wait, false);
    for generation in 1.. {
        let attempt = connect(&uri, &options, generation);
        let link = tokio::select! {
            _ = closing.wait_for(|closing| *closing) => break,
            link = attempt => link,
        };
        let reason = match link {
            Ok(link) => {
                (wait, said) = (options.first_wait, false);
                tracing::info!(generation, "connected to the broker");
                tell.send_replace(State::Up(Arc::clone(&link)));
                let lost = tokio::select! {
                    _ = closing.wait_for(|closing| *closing) => None,
                    reason = link.lost() => Some(reason),
                };
                let Some(reason) = lost else {
                    hang_up(link, options.answer_patience).await;
                    break;
                };
                tokio::spawn(hang_up(link, options.answer_patience));
                reason
            }
            Err(reason) => reason,
        };
        // Once is enough, however long it lasts.
        if !said {
            said = true;
            tracing::warn!(reason, "there is no connection to the broker; it is tried again");
        }
        tell.send_replace(State::Down(reason.into()));
        tokio::select! {
            _ = closing.wait_for(|closing| *closing) => break,
            () = tokio::time::sleep(wait) => {}
        }
        wait = (wait * 2).min(options.longest_wait);
    }
    tell.send_replace(State::Closed);
}

async fn connect(
    uri: &AMQPUri,
    options: &RabbitOptions,
    generation: u64,
) -> Result<Arc<Link>, String> {
    let connecting = async {
        let properties = ConnectionProperties::default().with_connection_name("ostler".into());
        let connection = Connection::connect_uri(uri.clone(), properties).await?;
        let publisher = connection.create_channel().await?;
        publisher.confirm_select(ConfirmSelectOptions::default()).await?;
        let (declared, suspected) = (Mutex::default(), Notify::new());
        Ok(Arc::new(Link { connection, publisher, generation, declared, suspected }))
    };
    match tokio::time::timeout(options.answer_patience, connecting).await {
        Ok(result) => result.map_err(|error: lapin::Error| error.to_string()),
        Err(_) => Err("the broker did not answer".to_owned()),
    }
}

/// Closes a connection if that is still possible.
async fn hang_up(link: Arc<Link>, patience: Duration) {
    let closing = link.connection.close(200, "bye".into());
    let _gone_anyway = tokio::time::timeout(patience, closing).await;
}
