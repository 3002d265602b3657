//! Which user of the installation sent a message, and which orgs are theirs. What a message
//! claims plays no part: the channel proves the account, and the account is linked, or its
//! address was signed.

use ostler_channels::inbound::InboundMessage;
use ostler_domain::channel::Channel;
use ostler_domain::contact::{SenderProof, is_email_address};
use ostler_domain::id::{BindingId, OrgId};
use ostler_domain::org::account_link::{ChannelAccount, owned_relation};
use ostler_domain::org::{OrgPlace, Relation};
use ostler_domain::session::key::{ConversationKey, EntryPath, Peer, conversation_entry};
use ostler_store::{OrgBinding, OrgStore, StoreError, UserAccount};

use super::{BindingContext, InboundReceiver, entry_point};
use crate::account_links::linked_user;
use crate::org_view::OrgView;
use crate::shared_bot::shared_binding;

impl InboundReceiver {
    /// Returns the conversation of a visitor of a web chat, whose token proves the address. On
    /// the platform's web chat it may be one with another org that the visitor owns: the one
    /// they switched to, else their own.
    pub async fn visitor_conversation(
        &self,
        org: OrgId,
        binding: BindingId,
        visitor: &str,
    ) -> Result<ConversationKey, StoreError> {
        let view = self.view(org).await?;
        let bound = view.bindings.iter().find(|one| one.binding.id == binding);
        let bound = bound.ok_or(StoreError::NotFound("binding"))?;
        let account = self.account_of(&view, bound, visitor).await?;
        let peer = Peer::Person(visitor.to_owned());
        if let Some(account) = &account
            && view.org.place == OrgPlace::Platform
            && let stored = entry_point::load(self.store().org(org), binding, visitor).await?
            && let Some(home) = self.home_org(account, stored.and_then(|one| one.org)).await?
            && let Some(shared) =
                shared_binding(self.store().org(home), &*self.view(home).await?, &bound.binding)
                    .await?
        {
            let owned = self.relation_to_other(home, Some(account)).await?;
            let entry = conversation_entry(owned, EntryPath::OrgSwitch);
            return Ok(ConversationKey { org: home, binding: shared.binding.id, peer, entry });
        }
        let owned = self.relation_to(&view, bound, visitor, account.as_ref()).await?;
        let entry = conversation_entry(owned, EntryPath::OrgSwitch);
        Ok(ConversationKey { org, binding, peer, entry })
    }

    /// Returns whether visitors of an org's web chat may reach other orgs there.
    pub async fn shares_its_chat(&self, org: OrgId) -> Result<bool, StoreError> {
        Ok(self.view(org).await?.org.place == OrgPlace::Platform)
    }

    /// Returns the account of the user who sent a message, if the channel proves it: a linked
    /// Telegram account, the signed address of a web chat, or a visitor of the platform's web
    /// chat who signed up there.
    pub(super) async fn sender_account(
        &self,
        context: &BindingContext<'_>,
        inbound: &InboundMessage,
    ) -> Result<Option<UserAccount>, StoreError> {
        match inbound.from.proof {
            SenderProof::Unproven => Ok(None),
            SenderProof::Proven => {
                self.account_of(&context.view, context.bound, &inbound.from.identifier).await
            }
        }
    }

    /// Returns the account of a proven sender.
    async fn account_of(
        &self,
        view: &OrgView,
        bound: &OrgBinding,
        sender: &str,
    ) -> Result<Option<UserAccount>, StoreError> {
        let found = match &bound.binding.channel {
            // The id of a visitor whose address nobody proved is no address.
            Channel::Webchat if is_email_address(sender) => {
                self.store().user_account_by_email(sender).await
            }
            // The platform gave the visitor the token that proves the id.
            Channel::Webchat if view.org.place != OrgPlace::Platform => return Ok(None),
            channel @ (Channel::Telegram | Channel::Webchat) => {
                let Some(platform) = self.platform(view) else { return Ok(None) };
                let (channel, identifier) = (channel.clone(), sender.to_owned());
                let account = ChannelAccount { channel, identifier };
                let Some(user) = linked_user(platform, &account).await? else { return Ok(None) };
                self.store().user_account(user).await
            }
            _ => return Ok(None),
        };
        match found {
            Ok(account) => Ok(Some(account)),
            Err(StoreError::NotFound(_)) => Ok(None),
            Err(other) => Err(other),
        }
    }

    /// Returns how an org is related to one that a proven sender owns, if any: by the roles of
    /// the user, or by the owner's chat in the settings.
    pub(super) async fn relation_to(
        &self,
        view: &OrgView,
        bound: &OrgBinding,
        sender: &str,
        account: Option<&UserAccount>,
    ) -> Result<Option<Relation>, StoreError> {
        let parent = view.parent.as_ref().map(|parent| parent.id);
        let by_role = account.and_then(|account| {
            let roles = account.memberships.iter().map(|one| (one.org, one.role));
            owned_relation(roles, view.org.id, parent)
        });
        if by_role.is_some() {
            return Ok(by_role);
        }
        if is_owner(view, bound, sender) {
            return Ok(Some(Relation::Own));
        }
        let Some(parent) = parent else { return Ok(None) };
        let parent = self.view(parent).await?;
        Ok(is_owner(&parent, bound, sender).then_some(Relation::Child))
    }

    /// Returns the platform's part of the store, if there is a platform.
    pub(super) fn platform(&self, view: &OrgView) -> Option<OrgStore<'_>> {
        view.platform_org.map(|platform| self.store().org(platform))
    }
}

/// Returns whether the sender is the owner of an org by its settings. A mail never proves that,
/// because its sender can be forged.
fn is_owner(view: &OrgView, bound: &OrgBinding, sender: &str) -> bool {
    let (binding, channel) = (bound.binding.id, &bound.binding.channel);
    let Some(owner) = &view.settings.people.owner else { return false };
    if owner.identifier != sender || *channel == Channel::Email {
        return false;
    }
    // A person has the same Telegram id with every bot.
    let owner_binding = view.bindings.iter().find(|one| one.binding.id == owner.binding);
    owner.binding == binding
        || (*channel == Channel::Telegram
            && owner_binding.is_some_and(|one| one.binding.channel == Channel::Telegram))
}

/// Returns the sender's account on the channel.
pub(super) fn channel_account(
    context: &BindingContext<'_>,
    inbound: &InboundMessage,
) -> ChannelAccount {
    ChannelAccount {
        channel: context.bound.binding.channel.clone(),
        identifier: inbound.from.identifier.clone(),
    }
}
