//! `send_bulk_email`: writes the same e-mail to many contacts.

use std::collections::BTreeMap;

use ostler_domain::channel::Channel;
use ostler_domain::contact::Contact;
use ostler_domain::id::ContactId;
use ostler_domain::org::guardrail::{GuardedAction, check};
use ostler_domain::tool::catalogue::{DEFAULT_BULK_RECIPIENTS, MAX_BULK_RECIPIENTS};
use ostler_engine::outcome::{OutcomeStatus, ToolOutcome};
use ostler_engine::tool::ToolReply;
use schemars::JsonSchema;
use serde::Deserialize;

use super::recipients::{Draft, find_contact};
use crate::turn_tool::{TurnCall, TurnTool, refused, unavailable};

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
    /// The most contacts that may have the tag; 20 if it is left out. Nothing is sent if there
    /// are more. Each mail costs, so do not name more than you need.
    #[serde(default)]
    limit: Option<u32>,
    subject: String,
    /// The message, in Markdown.
    text: String,
}

impl TurnTool for SendBulkEmail {
    const DESCRIPTION: &'static str = "Send the same e-mail to many contacts of your organization, \
        each in a mail of its own. Those without an e-mail address are left out and cost nothing.";
    type Arguments = Arguments;

    async fn run(
        &self,
        Arguments { to, tag, limit, subject, text }: Arguments,
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
        let limit = limit.unwrap_or(DEFAULT_BULK_RECIPIENTS) as usize;
        if tag.is_some() && contacts.len() > limit {
            let why = format!(
                "Nothing was sent: {} contacts have this tag, more than the `limit` of {limit}.",
                contacts.len()
            );
            return Err(refused(&why));
        }
        let (mut outcome, mut sent) = (ToolOutcome::ok(""), 0_u32);
        for message in contacts.values().filter_map(|one| draft.message_to(one).ok()) {
            outcome = outcome.with_effect(message.into());
            sent += 1;
        }
        if sent == 0 {
            return Err(refused("Nothing was sent: none of them has an e-mail address."));
        }
        let without = contacts.len() - sent as usize;
        outcome.content = match without {
            0 => format!("{sent} e-mails are on their way."),
            _ => format!("{sent} e-mails are on their way; {without} contacts have no address."),
        };
        Ok(ToolReply::Done(outcome.using(sent)))
    }
}

/// Checks how many contacts the agent may write to in one call.
fn check_count(call: &TurnCall<'_>, count: usize) -> Result<(), ToolOutcome> {
    let records = u32::try_from(count).unwrap_or(u32::MAX);
    check(&call.agent.position, GuardedAction::Bulk { records })
        .map_err(|why| refused(&format!("Nothing was sent: {why}.")))?;
    if records > MAX_BULK_RECIPIENTS {
        let why =
            format!("Nothing was sent: write to at most {MAX_BULK_RECIPIENTS} contacts at once.");
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
        if is_last || found.len() > MAX_BULK_RECIPIENTS as usize {
            return Ok(found);
        }
    }
}
