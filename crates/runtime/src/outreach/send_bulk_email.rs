//! `send_bulk_email`: writes the same e-mail to many contacts.

use std::collections::BTreeMap;

use ostler_domain::channel::Channel;
use ostler_domain::contact::Contact;
use ostler_domain::id::ContactId;
use ostler_domain::org::guardrail::{GuardedAction, check};
use ostler_engine::outcome::{OutcomeStatus, ToolOutcome};
use ostler_engine::tool::ToolReply;
use schemars::JsonSchema;
use serde::Deserialize;

use super::recipients::{Draft, find_contact};
use crate::turn_tool::{TurnCall, TurnTool, refused, unavailable};

/// The most recipients of one call, at any business layer.
const MAX_RECIPIENTS: usize = 1000;
/// How many contacts are read at once.
const PAGE: u32 = 500;

pub(super) struct SendBulkEmail;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// The contacts: ids or e-mail addresses. Leave it out to write to a tag.
    #[serde(default)]
    to: Vec<String>,
    /// Write to every contact with this tag.
    #[serde(default)]
    tag: Option<String>,
    subject: String,
    /// The message, in Markdown.
    text: String,
}

impl TurnTool for SendBulkEmail {
    const DESCRIPTION: &'static str = "Send the same e-mail to many contacts of your organization, \
        each in a mail of its own. Those without an e-mail address are left out.";
    type Arguments = Arguments;

    async fn run(
        &self,
        Arguments { to, tag, subject, text }: Arguments,
        call: &TurnCall<'_>,
    ) -> Result<ToolReply, ToolOutcome> {
        let draft = Draft::new(call, Channel::Email, Some(&subject), &text)?;
        if to.is_empty() == tag.is_none() {
            let why = "Name either the contacts in `to`, or a `tag`.";
            return Err(ToolOutcome::new(OutcomeStatus::Invalid, why));
        }
        // A refusal comes before thousands of contacts are looked up.
        check_count(call, to.len())?;
        let mut contacts: BTreeMap<ContactId, Contact> = BTreeMap::new();
        for name in &to {
            let contact = find_contact(call, name).await?;
            contacts.insert(contact.id, contact);
        }
        if let Some(tag) = &tag {
            contacts = tagged(call, tag).await?;
        }
        check_count(call, contacts.len())?;
        let (mut outcome, mut sent) = (ToolOutcome::ok(""), 0_usize);
        for message in contacts.values().filter_map(|one| draft.message_to(one).ok()) {
            outcome = outcome.with_effect(message.into());
            sent += 1;
        }
        if sent == 0 {
            return Err(refused("Nothing was sent: none of them has an e-mail address."));
        }
        let without = contacts.len() - sent;
        outcome.content = match without {
            0 => format!("{sent} e-mails are on their way."),
            _ => format!("{sent} e-mails are on their way; {without} contacts have no address."),
        };
        Ok(ToolReply::Done(outcome))
    }
}

/// Checks how many contacts the agent may write to in one call.
fn check_count(call: &TurnCall<'_>, count: usize) -> Result<(), ToolOutcome> {
    let records = u32::try_from(count).unwrap_or(u32::MAX);
    check(&call.agent.position, GuardedAction::Bulk { records })
        .map_err(|why| refused(&format!("Nothing was sent: {why}.")))?;
    if count > MAX_RECIPIENTS {
        let why = format!("Nothing was sent: write to at most {MAX_RECIPIENTS} contacts at once.");
        return Err(refused(&why));
    }
    Ok(())
}

/// Returns the contacts with a tag, at most one more than may be written to.
async fn tagged(
    call: &TurnCall<'_>,
    tag: &str,
) -> Result<BTreeMap<ContactId, Contact>, ToolOutcome> {
    let tag = tag.trim().to_lowercase();
    let (mut found, mut after) = (BTreeMap::new(), None);
    loop {
        let page = call.store().contacts(after, PAGE).await;
        let page = page.map_err(|error| unavailable(&error))?;
        after = page.last().map(|one| one.contact.id);
        let is_last = page.len() < PAGE as usize;
        let tagged = page.into_iter().filter(|one| one.contact.tags.contains(&tag));
        found.extend(tagged.map(|one| (one.contact.id, one.contact)));
        if is_last || found.len() > MAX_RECIPIENTS {
            return Ok(found);
        }
    }
}
