//! The connection to the broker, and its replacement when it is lost.
//!
//! lapin can recover a connection by itself. Here a lost connection is replaced
//! instead, so that everything on it visibly ends with it: publishers publish
//! again, under the same message id, what was not confirmed, and consumers know
//! that the broker redelivers what they only prefetched.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::StreamExt;
use lapin::options::ConfirmSelectOptions;
use lapin::{Channel, Connection, ConnectionProperties, Event};
use tokio::sync::{Notify, watch};

use super::RabbitOptions;
use super::address::BrokerAddress;
use super::topology::BrokerReply;
use crate::error::{BusError, Result};

/// An open connection to the broker.
pub(super) struct BrokerConnection {
    pub(super) amqp: Connection,
    /// The channel for publishing, with publisher confirms.
    pub(super) publisher: Channel,
    pub(super) generation: u64,
    declared: Mutex<HashSet<String>>,
    lost: Notify,
}

impl BrokerConnection {
    fn declared(&self) -> MutexGuard<'_, HashSet<String>> {
        self.declared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns whether this queue or exchange was declared on this connection.
    pub(super) fn has_declared(&self, name: &str) -> bool {
        self.declared().contains(name)
    }

    pub(super) fn set_declared(&self, names: impl IntoIterator<Item = String>) {
        self.declared().extend(names);
    }

    pub(super) fn forget_declared(&self, name: &str) {
        self.declared().remove(name);
    }

    /// Marks the connection as lost: it does not answer, or its channel was
    /// closed.
    pub(super) fn mark_lost(&self) {
        self.lost.notify_one();
    }

    /// Finds out what a missing answer means: only that request timed out, or
    /// the whole connection is lost, which is then marked so.
    pub(super) async fn probe<T>(&self, timeout: Duration) -> BrokerReply<T> {
        let opening_channel = async {
            let channel = self.amqp.create_channel().await?;
            channel.close(200, "done".into()).await
        };
        match tokio::time::timeout(timeout, opening_channel).await {
            Ok(Ok(())) => BrokerReply::TimedOut,
            Ok(Err(_)) | Err(_) => {
                self.mark_lost();
                BrokerReply::ConnectionLost
            }
        }
    }

    /// Waits until the connection is lost and returns the reason.
    async fn wait_until_lost(&self) -> String {
        let mut events = std::pin::pin!(self.amqp.events_listener());
        let mut status_check = tokio::time::interval(Duration::from_millis(500));
        loop {
            tokio::select! {
                event = events.next() => match event {
                    Some(Event::Error(error)) => return error.to_string(),
                    Some(_) => {}
                    None => return "the connection ended".to_owned(),
                },
                () = self.lost.notified() => return "the broker did not answer".to_owned(),
                _ = status_check.tick() => {
                    if !self.amqp.status().connected() {
                        return "the connection is closed".to_owned();
                    }
                }
            }
        }
    }
}

#[derive(Clone)]
enum State {
    Up(Arc<BrokerConnection>),
    Down(Arc<str>),
    Closed,
}

/// Keeps a bus connected. There is at most one connection at a time; each has a
/// higher generation than the one before.
pub(super) struct Connector {
    state: watch::Receiver<State>,
    closing: watch::Sender<bool>,
}

impl Connector {
    pub(super) fn open(address: &str, options: &RabbitOptions) -> Result<Self> {
        let mut address = BrokerAddress::parse(address)?;
        address.uri.query.heartbeat = Some(options.heartbeat_secs);
        let (closing, closed) = watch::channel(false);
        let (state_sender, state) = watch::channel(State::Down("not connected yet".into()));
        tokio::spawn(keep_connected(address, options.clone(), state_sender, closed));
        Ok(Self { state, closing })
    }

    /// Waits for a connection.
    pub(super) async fn current(&self) -> Result<Arc<BrokerConnection>> {
        self.newer_than(0).await
    }

    /// Waits for a connection with a higher generation.
    pub(super) async fn newer_than(&self, generation: u64) -> Result<Arc<BrokerConnection>> {
        let mut state = self.state.clone();
        let fits = |state: &State| match state {
            State::Up(connection) => connection.generation > generation,
            State::Down(_) => false,
            State::Closed => true,
        };
        match state.wait_for(fits).await.as_deref() {
            Ok(State::Up(connection)) => Ok(Arc::clone(connection)),
            _ => Err(BusError::Closed),
        }
    }

    /// Returns why there is no connection, for error messages.
    pub(super) fn down_reason(&self) -> String {
        match &*self.state.borrow() {
            State::Up(_) => "the broker did not answer".to_owned(),
            State::Down(reason) => reason.to_string(),
            State::Closed => "the bus is closed".to_owned(),
        }
    }

    /// Closes the connection for good.
    pub(super) async fn close(&self) {
        self.closing.send_replace(true);
        let mut state = self.state.clone();
        let _ended = state.wait_for(|state| matches!(state, State::Closed)).await;
    }
}

/// Reconnects until the bus is closed or dropped.
async fn keep_connected(
    address: BrokerAddress,
    options: RabbitOptions,
    state_sender: watch::Sender<State>,
    mut closing: watch::Receiver<bool>,
) {
    let (mut delay, mut warned) = (options.reconnect_min_delay, false);
    for generation in 1.. {
        let attempt = connect(&address, &options, generation);
        let connection = tokio::select! {
            _ = closing.wait_for(|closing| *closing) => break,
            connection = attempt => connection,
        };
        let reason = match connection {
            Ok(connection) => {
                (delay, warned) = (options.reconnect_min_delay, false);
                tracing::info!(generation, "connected to the broker");
                state_sender.send_replace(State::Up(Arc::clone(&connection)));
                let lost_reason = tokio::select! {
                    _ = closing.wait_for(|closing| *closing) => None,
                    reason = connection.wait_until_lost() => Some(reason),
                };
                let Some(reason) = lost_reason else {
                    close_connection(connection, options.broker_timeout).await;
                    break;
                };
                tokio::spawn(close_connection(connection, options.broker_timeout));
                reason
            }
            Err(reason) => reason,
        };
        // One warning per outage.
        if !warned {
            warned = true;
            tracing::warn!(reason, "not connected to the broker, will retry");
        }
        state_sender.send_replace(State::Down(reason.into()));
        tokio::select! {
            _ = closing.wait_for(|closing| *closing) => break,
            () = tokio::time::sleep(delay) => {}
        }
        delay = (delay * 2).min(options.reconnect_max_delay);
    }
    state_sender.send_replace(State::Closed);
}

async fn connect(
    address: &BrokerAddress,
    options: &RabbitOptions,
    generation: u64,
) -> Result<Arc<BrokerConnection>, String> {
    let connecting = async {
        let properties = ConnectionProperties::default().with_connection_name("ostler".into());
        let BrokerAddress { uri, tls } = address.clone();
        let runtime = lapin::runtime::default_runtime()?;
        let amqp = Connection::connect_uri_with_config(uri, properties, tls, runtime).await?;
        let publisher = amqp.create_channel().await?;
        publisher.confirm_select(ConfirmSelectOptions::default()).await?;
        let (declared, lost) = (Mutex::default(), Notify::new());
        Ok(Arc::new(BrokerConnection { amqp, publisher, generation, declared, lost }))
    };
    match tokio::time::timeout(options.broker_timeout, connecting).await {
        Ok(result) => result.map_err(|error: lapin::Error| error.to_string()),
        Err(_) => Err("the broker did not answer".to_owned()),
    }
}

/// Closes a connection if it still answers.
async fn close_connection(connection: Arc<BrokerConnection>, timeout: Duration) {
    let closing = connection.amqp.close(200, "bye".into());
    let _already_gone = tokio::time::timeout(timeout, closing).await;
}
