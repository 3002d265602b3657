//! The API of agents on queues. On a server its agents are those of the server. On a local
//! installation the command itself is on the bus: without a broker nobody else is, so it starts
//! the agents that it needs and stops them at its end.

use ostler_api::org::OrgSummary;
use ostler_domain::queue_agent::name::AgentName;
use ostler_runtime::agents::AgentRuntimes;

use crate::agent_client::AgentClient;
use crate::api_client::{ApiClient, NetworkApi, OrgApi, Target};
use crate::app::App;
use crate::commands::args::BusArgs;

/// The API of an org's agents on queues.
pub(crate) struct QueueApi {
    pub(crate) org: OrgApi,
    /// The connection of this process to the bus; `None` on a server.
    local: Option<AgentClient>,
}

/// Runs a command with the API, which is closed at its end.
pub(crate) async fn with_queues<T>(
    args: &BusArgs,
    command: impl AsyncFnOnce(&QueueApi) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let queues = QueueApi::open(args).await?;
    let result = command(&queues).await;
    queues.close().await?;
    result
}

impl QueueApi {
    /// Opens the queue agents of the org that the arguments name, or of the platform.
    pub(crate) async fn open(args: &BusArgs) -> anyhow::Result<Self> {
        match Target::find(&args.installation)? {
            Target::Server(context) => {
                let api = ApiClient::over(NetworkApi::new(&context)?);
                Ok(Self { org: find(&api, args.org.as_deref()).await?, local: None })
            }
            Target::Local => Self::on_bus(AgentClient::open(args).await?).await,
        }
    }

    /// Opens the queue agents of an org of a local installation.
    pub(crate) async fn open_for(args: &BusArgs, org: &OrgSummary) -> anyhow::Result<Self> {
        Self::on_bus(AgentClient::open_for(args, org.id).await?).await
    }

    async fn on_bus(client: AgentClient) -> anyhow::Result<Self> {
        let runtimes = AgentRuntimes::default();
        runtimes.insert(client.org(), client.runtime.clone());
        let installation = client.installation();
        let app = App::new(installation, client.store().clone())?;
        let app = app.on_bus(client.bus_url(), runtimes);
        let api = ApiClient::of_app(&app, installation)?;
        let org = api.find_org(&client.org().to_string()).await?;
        Ok(Self { org, local: Some(client) })
    }

    /// Returns whether the bus exists in this process only.
    pub(crate) fn is_in_process(&self) -> bool {
        self.local.as_ref().is_some_and(AgentClient::is_in_process)
    }

    /// Starts the agents that have to run in this process. Fails if one of them cannot.
    pub(crate) async fn start<'a>(
        &self,
        names: impl IntoIterator<Item = &'a AgentName>,
    ) -> anyhow::Result<()> {
        let Some(client) = &self.local else { return Ok(()) };
        match client.start(names).await?.pop() {
            Some(error) => Err(error.into()),
            None => Ok(()),
        }
    }

    /// Starts those of the agents that can run in this process.
    pub(crate) async fn start_available<'a>(
        &self,
        names: impl IntoIterator<Item = &'a AgentName>,
    ) -> anyhow::Result<()> {
        if let Some(client) = &self.local {
            client.start(names).await?;
        }
        Ok(())
    }

    /// Waits until agents of this process have handled the messages to them.
    pub(crate) async fn wait_until_handled<'a>(
        &self,
        names: impl IntoIterator<Item = &'a AgentName>,
    ) -> anyhow::Result<()> {
        match &self.local {
            Some(client) => client.wait_until_handled(names).await,
            None => Ok(()),
        }
    }

    /// Stops the agents that were started here, after they have finished their work.
    pub(crate) async fn close(self) -> anyhow::Result<()> {
        match self.local {
            Some(client) => client.close().await,
            None => Ok(()),
        }
    }
}

/// Finds an org by name, or the platform.
async fn find(api: &ApiClient, name: Option<&str>) -> anyhow::Result<OrgApi> {
    if let Some(name) = name {
        return api.find_org(name).await;
    }
    let platform = |org: &OrgSummary| org.platform;
    match api.orgs().await?.into_iter().find(platform) {
        Some(org) => Ok(api.org(org)),
        None => anyhow::bail!("there is no platform org here; name an org with --org"),
    }
}
