//! Confirmed publishing: what is not confirmed is sent again, on another link
//! if need be, until the publisher's patience ends.

use std::time::Duration;

use lapin::options::BasicPublishOptions;
use lapin::{BasicProperties, Confirmation};
use ostler_domain::dispatch::name::TeamName;
use tokio::time::Instant;

use super::link::Link;
use super::topology::{ASK_AGAIN, Asked, Need};
use super::{Inner, letter};
use crate::bus::OnFull;
use crate::envelope::Envelope;
use crate::error::{BusError, Result};
use crate::queue::QueueName;

/// How long a full queue is left alone before the next attempt.
const FULL_WAIT: Duration = Duration::from_millis(20);

/// A message on its way out.
pub(super) struct Outgoing<'a> {
    pub(super) exchange: String,
    pub(super) routing_key: String,
    /// Whether there must be a queue that gets it.
    pub(super) mandatory: bool,
    pub(super) need: Need,
    pub(super) properties: BasicProperties,
    pub(super) body: &'a [u8],
}

impl Outgoing<'_> {
    /// Whether all it needs was seen to through this link; the usual case, told
    /// without making names anew.
    fn is_ready(&self, link: &Link) -> bool {
        match self.need {
            Need::Nothing => true,
            Need::Class(..) => link.has_declared(&self.routing_key),
            _ => false,
        }
    }
}

/// What the broker did with a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sent {
    /// It has it safe.
    Confirmed,
    /// The queue is full.
    Full,
    /// There is no queue for it.
    Nowhere,
}

impl Inner {
    pub(super) async fn publish(&self, queue: &QueueName, envelope: &Envelope) -> Result<()> {
        let replies = queue.is_for_replies();
        let routing_key = if replies {
            self.topology.replies(queue)
        } else {
            self.topology.queue(queue, envelope.priority)
        };
        let body = self.encode(envelope)?;
        let out = Outgoing {
            exchange: String::new(),
            routing_key,
            mandatory: true,
            need: if replies {
                Need::Nothing
            } else {
                Need::Class(queue.clone(), envelope.priority)
            },
            properties: letter::properties(envelope),
            body: &body,
        };
        self.deliver(&out, queue).await
    }

    pub(super) async fn broadcast(&self, team: &TeamName, envelope: &Envelope) -> Result<()> {
        let body = self.encode(envelope)?;
        let out = Outgoing {
            exchange: self.topology.team(team, envelope.priority),
            routing_key: String::new(),
            mandatory: false,
            need: Need::Team(team.clone()),
            properties: letter::properties(envelope),
            body: &body,
        };
        // An error names the team's shared queue, for want of the full one.
        self.deliver(&out, &QueueName::team_work(team)).await
    }

    fn encode(&self, envelope: &Envelope) -> Result<Vec<u8>> {
        let body = envelope.encode().map_err(|error| BusError::Encode(error.to_string()))?;
        let (size, limit) = (body.len(), self.options.limits.message_bytes);
        if size > limit { Err(BusError::TooLarge { size, limit }) } else { Ok(body) }
    }

    /// Sends until the broker has it or the choice on a full queue says no.
    async fn deliver(&self, out: &Outgoing<'_>, queue: &QueueName) -> Result<()> {
        self.check_open()?;
        let deadline = self.deadline();
        let mut was_full = false;
        loop {
            match self.send(out, deadline).await {
                Ok(Sent::Confirmed) => return Ok(()),
                Ok(Sent::Nowhere) => return Err(BusError::NobodyWaits(queue.clone())),
                // The patience ended while a full queue was asked once more.
                Err(BusError::Unavailable { .. }) if was_full => {
                    return Err(BusError::Full(queue.clone()));
                }
                Err(error) => return Err(error),
                Ok(Sent::Full) => {
                    was_full = true;
                    let waits = self.options.limits.on_full == OnFull::Wait;
                    if !waits || Instant::now() + FULL_WAIT >= deadline {
                        return Err(BusError::Full(queue.clone()));
                    }
                    tokio::time::sleep(FULL_WAIT).await;
                }
            }
        }
    }

    /// Sends until the broker says something.
    pub(super) async fn send(&self, out: &Outgoing<'_>, deadline: Instant) -> Result<Sent> {
        let sending = async {
            let _place = self.in_flight.acquire().await.map_err(|_| BusError::Closed)?;
            let mut generation = 0;
            loop {
                let link = self.links.newer(generation).await?;
                match self.send_once(&link, out).await {
                    Asked::Answered(Sent::Nowhere) if out.need != Need::Nothing => {
                        // Somebody deleted the queue.
                        self.forget(&link, &out.need);
                    }
                    Asked::Answered(sent) => return Ok(sent),
                    Asked::Refused(reason) => {
                        let name = format!("{}{}", out.exchange, out.routing_key);
                        return Err(BusError::Topology { name, reason });
                    }
                    Asked::Silent => tokio::time::sleep(ASK_AGAIN).await,
                    Asked::Lost => generation = link.generation,
                }
            }
        };
        match tokio::time::timeout_at(deadline, sending).await {
            Ok(result) => result,
            Err(_) => {
                let waited = self.options.limits.publish_patience;
                Err(BusError::Unavailable { waited, reason: self.links.reason() })
            }
        }
    }

    async fn send_once(&self, link: &Link, out: &Outgoing<'_>) -> Asked<Sent> {
        if !out.is_ready(link) {
            match self.ensure(link, &out.need).await {
                Asked::Answered(()) => {}
                Asked::Refused(reason) => return Asked::Refused(reason),
                Asked::Silent => return Asked::Silent,
                Asked::Lost => return Asked::Lost,
            }
        }
        let options = BasicPublishOptions { mandatory: out.mandatory, immediate: false };
        let confirming = async {
            let (exchange, key) = (out.exchange.as_str().into(), out.routing_key.as_str().into());
            let properties = out.properties.clone();
            link.publisher.basic_publish(exchange, key, options, out.body, properties).await?.await
        };
        match tokio::time::timeout(self.options.answer_patience, confirming).await {
            Ok(Ok(Confirmation::Ack(None))) => Asked::Answered(Sent::Confirmed),
            Ok(Ok(Confirmation::Ack(Some(_)))) => Asked::Answered(Sent::Nowhere),
            Ok(Ok(Confirmation::Nack(_))) => Asked::Answered(Sent::Full),
            Ok(Ok(Confirmation::NotRequested) | Err(_)) => {
                link.suspect();
                Asked::Lost
            }
            Err(_) => link.silence(self.options.answer_patience).await,
        }
    }
}
