//! A test of a channel: whether it can be opened, whether its provider takes its secret, and,
//! if asked for, whether a message arrives.

use ostler_channels::Channels;
use ostler_channels::error::OpenError;
use ostler_channels::outbound::{FileContents, OutboundMessage, SendContext, TextFormat};
use ostler_channels::outcome::SendOutcome;
use ostler_domain::id::{AuditId, BindingId};
use ostler_domain::message::MessagePart;
use ostler_domain::org::permission::OrgPermission;
use ostler_domain::time::Timestamp;
use ostler_store::{BindingFailure, OrgBinding, StoreError};
use serde_json::json;

use super::{OrgOperations, Result};
use crate::ids::fresh;
use crate::shared_bot::{connection_config, shared_bot};

/// The text of the message.
const TEST_MESSAGE: &str = "This is a test message. If you can read it, the channel works.";

const NO_BOT: &str = "the platform's bot that it uses is gone or switched off";

/// What a test of a channel found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChannelTest {
    /// What the provider said, or why the channel cannot be used.
    pub connection: std::result::Result<String, String>,
    /// Why messages cannot be received at the moment, as the process that receives them
    /// reported it.
    pub receive_failure: Option<String>,
    /// How a test message ended, if one was sent.
    pub message: Option<std::result::Result<(), String>>,
}

/// Where a channel is reached, and what is wrong with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChannelStatus {
    pub binding: OrgBinding,
    /// The binding that the provider or the visitors reach: the platform's, if it uses that.
    pub reached: BindingId,
    /// Why it cannot be opened.
    pub open_failure: Option<String>,
    /// Whether the reason is that its secret cannot be read.
    pub lacks_secret: bool,
    /// Why messages cannot be received at the moment.
    pub receive_failure: Option<String>,
    pub failing_since: Option<Timestamp>,
}

impl OrgOperations<'_> {
    /// Returns where a channel, named by its name or id, is reached, and what is wrong with it.
    /// No provider is contacted.
    pub async fn channel_status(&self, name: &str, channels: &Channels) -> Result<ChannelStatus> {
        let binding = self.find_channel(name).await?;
        let failures = self.binding_failures().await?;
        self.status_of(binding, channels, &failures).await
    }

    /// Returns where each channel is reached, and what is wrong with it.
    pub async fn channel_statuses(&self, channels: &Channels) -> Result<Vec<ChannelStatus>> {
        let failures = self.binding_failures().await?;
        let mut statuses = Vec::new();
        for binding in self.bindings().await? {
            statuses.push(self.status_of(binding, channels, &failures).await?);
        }
        Ok(statuses)
    }

    async fn status_of(
        &self,
        binding: OrgBinding,
        channels: &Channels,
        failures: &[BindingFailure],
    ) -> Result<ChannelStatus> {
        let config = connection_config(&self.inner().store, self.org, &binding).await?;
        let (open_failure, lacks_secret) = match config.map(|config| channels.open(&config)) {
            Some(Ok(_)) => (None, false),
            Some(Err(error)) => {
                (Some(error.to_string()), matches!(error, OpenError::UnreadableSecret { .. }))
            }
            None => (Some(NO_BOT.to_owned()), false),
        };
        let failure = failures.iter().find(|one| one.binding == binding.binding.id);
        Ok(ChannelStatus {
            reached: shared_bot(&binding).unwrap_or(binding.binding.id),
            open_failure,
            lacks_secret,
            receive_failure: failure.map(|one| one.reason.clone()),
            failing_since: failure.map(|one| one.since),
            binding,
        })
    }

    /// Returns the channel with a name or an id.
    async fn find_channel(&self, name: &str) -> Result<OrgBinding> {
        let known = self.bindings().await?;
        let is_named =
            |one: &OrgBinding| one.binding.id.to_string() == name || one.binding.name() == name;
        let found = known.into_iter().find(is_named);
        Ok(found.ok_or(StoreError::NotFound("channel"))?)
    }

    /// Tests a channel, named by its name or id. With `to`, the address of a person on the
    /// channel, a test message is sent there; it belongs to no conversation.
    pub async fn test_channel(
        &self,
        name: &str,
        to: Option<&str>,
        channels: &Channels,
    ) -> Result<ChannelTest> {
        let store = self.authorize(OrgPermission::Configure).await?;
        let bound = self.find_channel(name).await?;
        let to = to.map(str::trim).filter(|to| !to.is_empty());
        let data = json!({"channel": bound.binding.name(), "message": to.is_some()});
        let audit = self.audit_entry("test_channel", &bound.binding.id, &data);
        store.append_audit(audit).await?;
        let failures = store.binding_failures().await?;
        let failure = failures.into_iter().find(|one| one.binding == bound.binding.id);
        let mut test = ChannelTest {
            connection: Err(NO_BOT.to_owned()),
            receive_failure: failure.map(|one| one.reason),
            message: None,
        };
        let Some(config) = connection_config(&self.inner().store, self.org, &bound).await? else {
            return Ok(test);
        };
        let connection = match channels.open(&config) {
            Ok(connection) => connection,
            Err(error) => {
                test.connection = Err(error.to_string());
                return Ok(test);
            }
        };
        test.connection = connection.check().await;
        let Some(to) = to.filter(|_| test.connection.is_ok()) else { return Ok(test) };
        let message = OutboundMessage {
            to: to.to_owned(),
            parts: vec![MessagePart::text(TEST_MESSAGE)],
            text_format: TextFormat::Verbatim,
            buttons: Vec::new(),
            reply_to: None,
            email_thread: None,
        };
        let key = format!("test-{}", fresh(AuditId::from_u128));
        let context = SendContext {
            idempotency_key: &key,
            plain_text: false,
            possible_duplicate: false,
            by_person: true,
        };
        let (files, now) = (FileContents::new(), self.inner().clock.now());
        let mut sent = Ok(());
        for piece in connection.pieces(&message) {
            let outcome = connection.send(&piece, context, &files, now).await;
            if !matches!(outcome, SendOutcome::Delivered { .. }) {
                sent = Err(outcome.reason().to_owned());
                break;
            }
        }
        test.message = Some(sent);
        Ok(test)
    }
}
