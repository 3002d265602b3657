//! Publishing with confirms: a message that is not confirmed is published
//! again, on another connection if needed, until the timeout.

use std::time::Duration;

use lapin::options::BasicPublishOptions;
use lapin::{BasicProperties, Confirmation};
use ostler_domain::queue_agent::name::TeamName;
use tokio::time::Instant;

use super::connection::BrokerConnection;
use super::topology::{BrokerReply, Declaration, RETRY_DELAY};
use super::{Inner, wire};
use crate::bus::OverflowPolicy;
use crate::envelope::Envelope;
use crate::error::{BusError, Result};
use crate::queue::QueueName;

/// The delay before a full queue is tried again.
const FULL_QUEUE_DELAY: Duration = Duration::from_millis(20);

/// A message with its destination.
pub(super) struct OutgoingMessage<'a> {
    pub(super) exchange: String,
    pub(super) routing_key: String,
    /// Whether the broker must route it to a queue.
    pub(super) mandatory: bool,
    pub(super) declaration: Declaration,
    pub(super) properties: BasicProperties,
    pub(super) body: &'a [u8],
}

impl OutgoingMessage<'_> {
    /// Returns whether the destination was declared on this connection. The
    /// common case is checked without building names.
    fn is_ready(&self, connection: &BrokerConnection) -> bool {
        match self.declaration {
            Declaration::Nothing => true,
            Declaration::Class(..) => connection.has_declared(&self.routing_key),
            _ => false,
        }
    }
}

/// The broker's answer to a published message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PublishOutcome {
    Confirmed,
    QueueFull,
    /// No queue is bound for it.
    Unroutable,
}

impl Inner {
    pub(super) async fn publish(&self, queue: &QueueName, envelope: &Envelope) -> Result<()> {
        let replies = queue.is_reply_queue();
        let routing_key = if replies {
            self.topology.replies(queue)
        } else {
            self.topology.queue(queue, envelope.priority)
        };
        let body = self.encode(envelope)?;
        let message = OutgoingMessage {
            exchange: String::new(),
            routing_key,
            mandatory: true,
            declaration: if replies {
                Declaration::Nothing
            } else {
                Declaration::Class(queue.clone(), envelope.priority)
            },
            properties: wire::properties(envelope),
            body: &body,
        };
        self.publish_message(&message, queue).await
    }

    pub(super) async fn broadcast(&self, team: &TeamName, envelope: &Envelope) -> Result<()> {
        let body = self.encode(envelope)?;
        let message = OutgoingMessage {
            exchange: self.topology.team(team, envelope.priority),
            routing_key: String::new(),
            mandatory: false,
            declaration: Declaration::Team(team.clone()),
            properties: wire::properties(envelope),
            body: &body,
        };
        // The error names the team's work queue because the broker does not say
        // which queue is full.
        self.publish_message(&message, &QueueName::team_work(team)).await
    }

    fn encode(&self, envelope: &Envelope) -> Result<Vec<u8>> {
        let body = envelope.encode().map_err(|error| BusError::Encode(error.to_string()))?;
        let (size, limit) = (body.len(), self.options.limits.message_bytes);
        if size > limit { Err(BusError::MessageTooLarge { size, limit }) } else { Ok(body) }
    }

    /// Publishes until the message is confirmed or the overflow policy gives
    /// up.
    async fn publish_message(
        &self,
        message: &OutgoingMessage<'_>,
        queue: &QueueName,
    ) -> Result<()> {
        self.check_open()?;
        let deadline = self.deadline();
        let mut was_full = false;
        loop {
            match self.publish_confirmed(message, deadline).await {
                Ok(PublishOutcome::Confirmed) => return Ok(()),
                Ok(PublishOutcome::Unroutable) => {
                    return Err(BusError::NoPendingRequest(queue.clone()));
                }
                // The timeout ended while a full queue was tried again.
                Err(BusError::Unavailable { .. }) if was_full => {
                    return Err(BusError::QueueFull(queue.clone()));
                }
                Err(error) => return Err(error),
                Ok(PublishOutcome::QueueFull) => {
                    was_full = true;
                    let waits = self.options.limits.on_full == OverflowPolicy::Wait;
                    if !waits || Instant::now() + FULL_QUEUE_DELAY >= deadline {
                        return Err(BusError::QueueFull(queue.clone()));
                    }
                    tokio::time::sleep(FULL_QUEUE_DELAY).await;
                }
            }
        }
    }

    /// Publishes until the broker answers.
    pub(super) async fn publish_confirmed(
        &self,
        message: &OutgoingMessage<'_>,
        deadline: Instant,
    ) -> Result<PublishOutcome> {
        let publishing = async {
            let _permit = self.in_flight.acquire().await.map_err(|_| BusError::Closed)?;
            let mut generation = 0;
            loop {
                let connection = self.connector.newer_than(generation).await?;
                match self.publish_once(&connection, message).await {
                    BrokerReply::Answered(PublishOutcome::Unroutable)
                        if message.declaration != Declaration::Nothing =>
                    {
                        // The queue was deleted.
                        self.forget_declared(&connection, &message.declaration);
                    }
                    BrokerReply::Answered(outcome) => return Ok(outcome),
                    BrokerReply::Refused(reason) => {
                        let name = format!("{}{}", message.exchange, message.routing_key);
                        return Err(BusError::TopologyRefused { name, reason });
                    }
                    BrokerReply::TimedOut => tokio::time::sleep(RETRY_DELAY).await,
                    BrokerReply::ConnectionLost => generation = connection.generation,
                }
            }
        };
        match tokio::time::timeout_at(deadline, publishing).await {
            Ok(result) => result,
            Err(_) => {
                let waited = self.options.limits.publish_timeout;
                Err(BusError::Unavailable { waited, reason: self.connector.down_reason() })
            }
        }
    }

    async fn publish_once(
        &self,
        connection: &BrokerConnection,
        message: &OutgoingMessage<'_>,
    ) -> BrokerReply<PublishOutcome> {
        if !message.is_ready(connection) {
            let declared = self.ensure_declared(connection, &message.declaration).await;
            if let Err(failed) = declared.answered() {
                return failed;
            }
        }
        let options = BasicPublishOptions { mandatory: message.mandatory, immediate: false };
        let confirming = async {
            let (exchange, key) =
                (message.exchange.as_str().into(), message.routing_key.as_str().into());
            let properties = message.properties.clone();
            connection
                .publisher
                .basic_publish(exchange, key, options, message.body, properties)
                .await?
                .await
        };
        match tokio::time::timeout(self.options.broker_timeout, confirming).await {
            Ok(Ok(Confirmation::Ack(None))) => BrokerReply::Answered(PublishOutcome::Confirmed),
            Ok(Ok(Confirmation::Ack(Some(_)))) => BrokerReply::Answered(PublishOutcome::Unroutable),
            Ok(Ok(Confirmation::Nack(_))) => BrokerReply::Answered(PublishOutcome::QueueFull),
            Ok(Ok(Confirmation::NotRequested) | Err(_)) => {
                connection.mark_lost();
                BrokerReply::ConnectionLost
            }
            Err(_) => connection.probe(self.options.broker_timeout).await,
        }
    }
}
