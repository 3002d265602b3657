//! What a change of the configuration needs from this machine: secrets for new channels,
//! and a check that a channel can be opened.

use futures_util::future::BoxFuture;
use ostler_channels::Channels;
use ostler_channels::connection::ChannelConnection;
use ostler_channels::error::OpenError;
use ostler_channels::signature::SigningKeys;
use ostler_domain::channel::Channel;
use ostler_domain::id::{BindingId, OrgId};
use ostler_domain::org::Org;
use ostler_domain::secret::SecretRef;
use ostler_domain::tool::Integration;
use ostler_domain::tool::org_tools::OrgTool;
use ostler_engine::secret::SecretError;
use ostler_models::catalogue::CatalogueError;
use ostler_runtime::channel_binding::binding_config;
use ostler_runtime::operations::BotHost;
use ostler_runtime::operations::world::ApplyHost;
use ostler_store::OrgBinding;
use ostler_world::plan::Plan;

use super::notes::notes;
use crate::installation::Installation;
use crate::{app, model_catalogue, random, secrets, tool_check};

/// The services that need a key.
const SERVICES_WITH_KEY: [&str; 1] = ["unsplash"];

/// This machine, for changes of the configuration.
pub(crate) struct Host {
    installation: Installation,
    channels: Channels,
}

impl Host {
    pub(crate) fn new(installation: &Installation) -> anyhow::Result<Self> {
        Ok(Self { installation: installation.clone(), channels: app::channels(installation)? })
    }

    fn create_secret(
        &self,
        org: OrgId,
        binding: BindingId,
        channel: &Channel,
    ) -> anyhow::Result<Option<SecretRef>> {
        let secret = match channel {
            Channel::Telegram => return Ok(Some(secrets::org_variable(org, "telegram"))),
            Channel::Email => return Ok(None),
            Channel::Webchat => random::hex()?,
            _ => SigningKeys::encode_key(&random::bytes()?),
        };
        // The name of a channel may not be a valid file name; its id is.
        secrets::create(&self.installation, org, &binding.to_string(), &secret).map(Some)
    }
}

impl ApplyHost for Host {
    fn new_secret(
        &self,
        org: OrgId,
        binding: BindingId,
        channel: &Channel,
    ) -> Result<Option<SecretRef>, String> {
        self.create_secret(org, binding, channel).map_err(|error| format!("{error:#}"))
    }

    fn channel_secret(
        &self,
        org: OrgId,
        binding: BindingId,
        channel: &Channel,
    ) -> Result<Option<SecretRef>, String> {
        if *channel != Channel::Telegram {
            return self.new_secret(org, binding, channel);
        }
        let at = secrets::org_variable(org, "telegram");
        if secrets::org_secrets(&self.installation).read_key(org, &at).is_ok() {
            return Ok(Some(at));
        }
        let name = at.to_string().replacen("env:", "", 1);
        Err(format!(
            "a bot needs the token that @BotFather issued; set {name} to it, here and where \
             `ostler serve` runs, or name its place with --secret"
        ))
    }

    fn check_channel(&self, org: OrgId, binding: &OrgBinding) -> Result<(), String> {
        match self.channels.open(&binding_config(org, binding)) {
            Ok(_) => Ok(()),
            // It may be served elsewhere.
            Err(OpenError::UnreadableSecret { location, .. }) => {
                let read = secrets::org_secrets(&self.installation).read(org, &location);
                let checked =
                    secrets::missing_note(&format!("channel {}", binding.binding.name()), read);
                checked.map(drop).map_err(|error| error.to_string())
            }
            Err(refused) => Err(refused.to_string()),
        }
    }

    fn tool_notes(&self, org: OrgId, tool: &OrgTool) -> Vec<String> {
        tool_check::missing_secrets(&self.installation, org, tool)
    }

    fn check_model(&self, name: &str) -> Result<Option<String>, String> {
        let catalogue = model_catalogue::build(&self.installation);
        match catalogue.map_err(|error| format!("{error:#}"))?.check(name) {
            Ok(()) => Ok(None),
            // The key may be set where the agents run.
            Err(error @ CatalogueError::NoKey { .. }) => Ok(Some(error.to_string())),
            Err(error) => Err(error.to_string()),
        }
    }

    fn plan_notes(&self, plan: &Plan) -> Vec<String> {
        notes(&self.installation, plan).unwrap_or_else(|error| vec![format!("{error:#}")])
    }

    fn check_tool(&self, org: OrgId, tool: &OrgTool) -> Result<Vec<String>, String> {
        let readable = secrets::org_secrets(&self.installation);
        for secret in tool_check::secrets_of(tool) {
            match readable.read(org, secret) {
                Ok(_) | Err(SecretError::NotSet(_) | SecretError::FileUnreadable { .. }) => {}
                Err(foreign) => return Err(foreign.to_string()),
            }
        }
        Ok(tool_check::problems(&self.installation, org, tool))
    }

    fn check_service_key(
        &self,
        org: OrgId,
        service: &Integration,
        at: &SecretRef,
    ) -> Result<Option<String>, String> {
        let read = secrets::service_secrets(&self.installation).read_key(org, at);
        let note = secrets::missing_note(&service.to_string(), read);
        note.map_err(|error| error.to_string())
    }

    fn default_service_key(
        &self,
        org: &Org,
        service: &Integration,
    ) -> Result<Option<SecretRef>, String> {
        let name = service.to_string();
        if !SERVICES_WITH_KEY.contains(&name.as_str()) {
            return Ok(None);
        }
        let readable = secrets::service_secrets(&self.installation);
        let (own, shared) = (secrets::org_variable(org.id, &name), secrets::shared_unsplash_key());
        let found = [&own, &shared].into_iter().find(|at| readable.read_key(org.id, at).is_ok());
        found.cloned().map(Some).ok_or_else(|| {
            let variable = |at: &SecretRef| at.to_string().replacen("env:", "", 1);
            format!(
                "{name} needs a key; set {} for {} alone or {} for every org, here and where the \
                 agents run, or name its place with --secret",
                variable(&own),
                org.name,
                variable(&shared)
            )
        })
    }

    fn channel_note(&self, org: OrgId, binding: &OrgBinding) -> Option<String> {
        let opened = self.channels.open(&binding_config(org, binding));
        let Err(OpenError::UnreadableSecret { location, .. }) = opened else { return None };
        let read = secrets::org_secrets(&self.installation).read(org, &location);
        secrets::missing_note(&format!("channel {}", binding.binding.name()), read).ok()?
    }
}

impl BotHost for Host {
    fn check_bot<'a>(
        &'a self,
        org: OrgId,
        bound: &'a OrgBinding,
    ) -> BoxFuture<'a, Result<String, String>> {
        Box::pin(async move {
            match self.channels.open(&binding_config(org, bound)) {
                Ok(ChannelConnection::Telegram(bot)) => {
                    bot.fetch_username().await.map_err(|error| error.to_string())
                }
                Ok(_) => Err("this is no bot".to_owned()),
                Err(error) => Err(error.to_string()),
            }
        })
    }
}
