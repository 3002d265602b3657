//! Finds the contacts that an agent writes to, and the channel by which it does.

use ostler_domain::channel::Channel;
use ostler_domain::channel::binding::choose_binding;
use ostler_domain::contact::Contact;
use ostler_domain::id::{BindingId, ContactId};
use ostler_domain::org::guardrail::{GuardedAction, check};
use ostler_domain::tool::Audience;
use ostler_engine::outcome::{OutcomeStatus, ToolOutcome};
use ostler_engine::tool::ToolReply;
use ostler_store::StoreError;

use super::effect::OutreachMessage;
use crate::turn_tool::{TurnCall, refused, unavailable};

/// The most characters of a message.
const MAX_TEXT: usize = 20_000;
/// The most characters of a subject.
const MAX_SUBJECT: usize = 200;

/// A message before it has a recipient.
pub(super) struct Draft {
    channel: Channel,
    binding: BindingId,
    subject: Option<String>,
    text: String,
}

impl Draft {
    /// Checks a message and chooses the channel of the org by which it is sent.
    pub(super) fn new(
        call: &TurnCall<'_>,
        channel: Channel,
        subject: Option<&str>,
        text: &str,
    ) -> Result<Self, ToolOutcome> {
        let invalid = |why: String| ToolOutcome::new(OutcomeStatus::Invalid, why);
        if call.context.audience == Audience::Customer {
            return Err(refused("Not in a conversation with a customer."));
        }
        check(&call.agent.position, GuardedAction::SendToContact).map_err(|why| refused(&why))?;
        let (subject, text) = (subject.map(str::trim), text.trim());
        if text.is_empty() || subject.is_some_and(str::is_empty) {
            return Err(invalid("Nothing was sent: the message is empty.".to_owned()));
        }
        if text.chars().count() > MAX_TEXT {
            return Err(invalid(format!("Write at most {MAX_TEXT} characters.")));
        }
        if subject.is_some_and(|one| one.chars().count() > MAX_SUBJECT) {
            return Err(invalid(format!("Write a subject of at most {MAX_SUBJECT} characters.")));
        }
        let bindings = call.turn.view.bindings.iter().map(|one| &one.binding);
        let binding = choose_binding(bindings, &channel).map_err(|_| {
            refused(&format!(
                "Nothing was sent: your organization has no {channel} channel. A person connects \
                 one with `ostler channel add {channel}`."
            ))
        })?;
        let (binding, text) = (binding.id, text.to_owned());
        Ok(Self { channel, binding, subject: subject.map(str::to_owned), text })
    }

    /// Returns the message to a contact, or why the contact cannot be reached.
    pub(super) fn message_to(&self, contact: &Contact) -> Result<OutreachMessage, String> {
        let (address, what) = match self.channel {
            Channel::Email => (&contact.details.email, "e-mail address"),
            _ => (&contact.details.phone, "telephone number"),
        };
        let to = address.clone().ok_or_else(|| format!("{} has no {what}", contact.name))?;
        Ok(OutreachMessage {
            binding: self.binding,
            channel: self.channel.clone(),
            contact: contact.id,
            to,
            subject: self.subject.clone(),
            text: self.text.clone(),
        })
    }

    /// Returns the reply of a tool that writes to one contact.
    pub(super) async fn send_to(
        &self,
        call: &TurnCall<'_>,
        name: &str,
    ) -> Result<ToolReply, ToolOutcome> {
        let contact = find_contact(call, name).await?;
        let message = self
            .message_to(&contact)
            .map_err(|why| refused(&format!("Nothing was sent: {why}.")))?;
        let text = format!("The message to {} is on its way.", contact.name);
        Ok(ToolReply::Done(ToolOutcome::ok(text).with_effect(message.into())))
    }
}

/// Finds a contact of the org by id, e-mail address or telephone number.
pub(super) async fn find_contact(call: &TurnCall<'_>, name: &str) -> Result<Contact, ToolOutcome> {
    let (store, name) = (call.store(), name.trim());
    let found = match name.parse::<ContactId>() {
        Ok(id) => match store.contact(id).await {
            Err(StoreError::NotFound(_)) => Ok(None),
            found => found.map(Some),
        },
        Err(_) if name.contains('@') => store.contact_by_email(name).await,
        Err(_) => store.contact_by_phone(name).await,
    };
    let found = found.map_err(|error| unavailable(&error))?;
    found.map(|stored| stored.contact).ok_or_else(|| {
        let why = format!(
            "No contact `{name}`. You can write to contacts of your organization only; save the \
             person with create_contact first."
        );
        ToolOutcome::new(OutcomeStatus::NotFound, why)
    })
}
