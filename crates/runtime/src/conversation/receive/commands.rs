//! Commands that the runtime carries out itself, so that no agent reads them: `/link` with a
//! code, `/exit` from a test or a deep link, and `/org` to switch to another org.

use ostler_channels::inbound::{InboundContent, InboundMessage};
use ostler_domain::contact::SenderProof;
use ostler_domain::id::OrgId;
use ostler_domain::org::account_link::{LinkCode, owned_relation};
use ostler_domain::org::{Org, OrgPlace};
use ostler_store::{StoreError, UserAccount};

use super::entry_point::{self, StoredEntryPoint};
use super::identity::channel_account;
use super::reply::reply;
use super::{BindingContext, InboundOutcome, InboundReceiver};
use crate::account_links::redeem;
use crate::shared_bot::is_shareable;

/// The reply to a text that is no code.
const NO_CODE: &str = "Send /link and the code that you got. `ostler link create` makes a new one.";

impl InboundReceiver {
    /// Carries out a command and replies. Returns `None` if it is meant for an agent.
    pub(super) async fn receive_command(
        &self,
        context: &BindingContext<'_>,
        inbound: &InboundMessage,
    ) -> Result<Option<InboundOutcome>, StoreError> {
        let InboundContent::Command { name, payload } = &inbound.content else { return Ok(None) };
        if inbound.from.proof == SenderProof::Unproven {
            return Ok(None);
        }
        let payload = payload.as_deref().unwrap_or_default().trim();
        let is_code = payload.starts_with(LinkCode::PREFIX);
        let text = match name.as_str() {
            "link" => Some(self.link_account(context, inbound, payload).await?),
            "start" if is_code => Some(self.link_account(context, inbound, payload).await?),
            "exit" => self.leave(context, inbound).await?,
            "org" => self.switch_org(context, inbound, payload).await?,
            _ => None,
        };
        let Some(text) = text else { return Ok(None) };
        Ok(Some(reply(context, inbound, &text, self.shared.clock.now()).await))
    }

    /// Links the sender's account to the user of a code, and returns the reply.
    async fn link_account(
        &self,
        context: &BindingContext<'_>,
        inbound: &InboundMessage,
        code: &str,
    ) -> Result<String, StoreError> {
        let Ok(code) = code.parse::<LinkCode>() else { return Ok(NO_CODE.to_owned()) };
        let Some(platform) = self.platform(&context.view) else { return Ok(NO_CODE.to_owned()) };
        let (account, now) = (channel_account(context, inbound), self.shared.clock.now());
        let name = inbound.from.name.as_deref();
        match redeem(platform, &code, &account, name, now).await? {
            Ok(user) => {
                let user = self.store().user_account(user).await?.user;
                Ok(format!("This account now belongs to {} ({}).", user.name, user.email))
            }
            Err(refused) => Ok(refused.to_string()),
        }
    }

    /// Switches an owner on the platform's bot or web chat to one of their orgs, or lists them.
    /// Returns `None` for everybody else.
    async fn switch_org(
        &self,
        context: &BindingContext<'_>,
        inbound: &InboundMessage,
        wanted: &str,
    ) -> Result<Option<String>, StoreError> {
        let is_platform = context.view.org.place == OrgPlace::Platform;
        if !is_platform || !is_shareable(&context.bound.binding.channel) {
            return Ok(None);
        }
        let Some(account) = self.sender_account(context, inbound).await? else { return Ok(None) };
        let orgs = self.owned_orgs(&account).await?;
        if orgs.is_empty() {
            return Ok(None);
        }
        let Some(org) = orgs.iter().find(|org| org.slug == wanted) else {
            let slugs: Vec<&str> = orgs.iter().map(|org| org.slug.as_str()).collect();
            return Ok(Some(format!("Send /org and one of: {}.", slugs.join(", "))));
        };
        let entry = StoredEntryPoint { org: Some(org.id), ..StoredEntryPoint::default() };
        entry_point::save(context, &inbound.from.identifier, &entry).await?;
        Ok(Some(format!("You are talking to the PM of {}.", org.name)))
    }

    /// Leaves a test or a deep link. Returns `None` if the sender is in neither.
    async fn leave(
        &self,
        context: &BindingContext<'_>,
        inbound: &InboundMessage,
    ) -> Result<Option<String>, StoreError> {
        let sender = &inbound.from.identifier;
        let stored = entry_point::load(context.store, context.bound.binding.id, sender).await?;
        let stored = stored.unwrap_or_default();
        let left = match stored.exit.filter(|(message, _)| *message == inbound.id) {
            Some((_, left)) => left,
            None if stored.testing => {
                let left = stored.org.unwrap_or(context.org);
                let exit = Some((inbound.id.clone(), left));
                let entry = StoredEntryPoint { exit, ..StoredEntryPoint::default() };
                entry_point::save(context, sender, &entry).await?;
                left
            }
            None => return Ok(None),
        };
        let left = Some(left).filter(|org| *org != context.org);
        Ok(Some(match left {
            Some(org) => format!("You left {}.", self.store().org(org).org().await?.name),
            None => {
                let name = &context.view.org.name;
                format!("You left testing mode for {name}. You are talking to its PM again.")
            }
        }))
    }

    /// Returns the orgs that a user owns and the clients of these, ordered by name.
    pub(super) async fn owned_orgs(&self, account: &UserAccount) -> Result<Vec<Org>, StoreError> {
        let roles = || account.memberships.iter().map(|one| (one.org, one.role));
        if !roles().any(|(_, role)| role.must_be_held()) {
            return Ok(Vec::new());
        }
        let mut orgs = self.store().orgs().await?;
        orgs.retain(|org| {
            org.place != OrgPlace::Platform
                && !org.archived
                && owned_relation(roles(), org.id, org.parent()).is_some()
        });
        orgs.sort_by(|one, other| one.slug.cmp(&other.slug));
        Ok(orgs)
    }

    /// Returns the org that an owner talks to on the platform's bot or web chat: the one they
    /// switched to, else their first top-level org, else their first org.
    pub(super) async fn home_org(
        &self,
        account: &UserAccount,
        switched: Option<OrgId>,
    ) -> Result<Option<OrgId>, StoreError> {
        let orgs = self.owned_orgs(account).await?;
        let chosen = orgs.iter().find(|org| Some(org.id) == switched);
        let top_level = || orgs.iter().find(|org| org.place == OrgPlace::TopLevel);
        Ok(chosen.or_else(top_level).or(orgs.first()).map(|org| org.id))
    }
}
