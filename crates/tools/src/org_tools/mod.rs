//! The HTTP tools and MCP servers of orgs, as engine tools.
//!
//! [`OrgToolRegistry`] is one for a process. It makes the tools of an org from their
//! definitions when they are first asked for, starts its MCP servers then, and keeps both
//! until the definitions change or nobody asks for a while. An org's tools read the secrets
//! of that org only, and reach the addresses that the installation allows.

mod http_request;
mod http_response;
mod http_tool;
mod mcp_config;

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ostler_domain::id::OrgId;
use ostler_domain::identity_check::VERIFY_IDENTITY;
use ostler_domain::tool::http::HttpTool;
use ostler_domain::tool::mcp::McpServer;
use ostler_domain::tool::org_tools::OrgToolDefinitions;
use ostler_engine::secret::{OrgSecrets, SecretScope};
use ostler_engine::tool::{OrgToolList, Tool, UnavailableTool};
use ostler_http::{HttpSetupError, client_builder};
use ostler_store::Store;
use reqwest::Client;
use tokio::time::{Instant, timeout};

use crate::mcp::{McpProblem, McpServers};
use crate::orders::{refund_through, verify_identity};
use crate::web::{FetchPolicy, HostResolver, SystemResolver};
use http_tool::OrgHttpTool;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(8);
/// How long the first turn of an org waits for MCP servers that are starting.
const START_WAIT: Duration = Duration::from_secs(5);
/// How long the tools of an org are kept after their last use.
const IDLE_LIMIT: Duration = Duration::from_secs(15 * 60);

/// What the tools of orgs may reach.
#[derive(Debug, Clone)]
pub struct OrgToolOptions {
    pub secrets: OrgSecrets,
    pub network: FetchPolicy,
}

/// The tools of all orgs that this process works for.
pub struct OrgToolRegistry {
    options: OrgToolOptions,
    client: Client,
    /// The tool that records refunds.
    refunds: Option<Arc<dyn Tool>>,
    /// Where the contacts are that HTTP tools name.
    contacts: Option<Store>,
    orgs: Mutex<HashMap<OrgId, Arc<OrgEntry>>>,
}

impl fmt::Debug for OrgToolRegistry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.lock().keys()).finish()
    }
}

/// The tools of one org.
struct OrgEntry {
    definitions: Arc<OrgToolDefinitions>,
    http: Vec<Arc<dyn Tool>>,
    /// The check by which customers prove who they are.
    identity_check: Option<Arc<dyn Tool>>,
    servers: Arc<McpServers>,
    /// The tool that records refunds.
    refunds: Option<Arc<dyn Tool>>,
    /// Whether the servers have been waited for.
    waited: AtomicBool,
    /// The current list, with the version of the servers that it was made for.
    list: Mutex<(u64, Arc<OrgToolList>)>,
    last_used: Mutex<Instant>,
}

impl OrgToolRegistry {
    /// Creates a registry without any org. Fails if HTTP cannot be set up.
    pub fn new(options: OrgToolOptions) -> Result<Self, HttpSetupError> {
        Self::with_resolver(options, Arc::new(SystemResolver))
    }

    /// Creates a registry whose HTTP tools look host names up with `resolver`.
    pub fn with_resolver(
        options: OrgToolOptions,
        resolver: Arc<dyn HostResolver>,
    ) -> Result<Self, HttpSetupError> {
        let client = options
            .network
            .apply(client_builder()?, resolver)
            .connect_timeout(CONNECT_TIMEOUT)
            // A second answer on a connection must not be taken for that of the next call.
            .pool_max_idle_per_host(0)
            .build()?;
        Ok(Self { options, client, refunds: None, contacts: None, orgs: Mutex::default() })
    }

    /// Lets the payment providers of orgs make the refunds of this tool, `refund_payment`.
    #[must_use]
    pub fn with_refunds(self, refunds: Arc<dyn Tool>) -> Self {
        Self { refunds: Some(refunds), ..self }
    }

    /// Lets HTTP tools send values of the conversation's contact, such as `{contact.email}`.
    #[must_use]
    pub fn with_contacts(self, store: Store) -> Self {
        Self { contacts: Some(store), ..self }
    }

    /// Returns the tools of an org, the same list until something changes. The first call
    /// starts its MCP servers and waits for them, but not long.
    pub async fn tools(
        &self,
        org: OrgId,
        definitions: &Arc<OrgToolDefinitions>,
    ) -> Arc<OrgToolList> {
        let entry = self.entry(org, definitions);
        if !entry.waited.load(Ordering::Relaxed) {
            let _ = timeout(START_WAIT, entry.servers.ready()).await;
            entry.waited.store(true, Ordering::Relaxed);
        }
        entry.current_list()
    }

    /// Makes the tool of a definition, without keeping it.
    pub fn http_tool(&self, org: OrgId, tool: HttpTool) -> Arc<dyn Tool> {
        let (client, network) = (self.client.clone(), self.options.network.clone());
        let (secrets, contacts) = (self.secret_scope(org), self.contacts.clone());
        Arc::new(OrgHttpTool::new(tool, client, network, secrets, contacts))
    }

    /// Starts one MCP server, apart from those of the org, and waits until it is connected or
    /// has failed.
    pub async fn start_server(&self, org: OrgId, server: &McpServer) -> McpServers {
        let config = mcp_config::config(server, self.secret_scope(org), &self.options.network);
        let servers = McpServers::start(vec![config]);
        servers.ready().await;
        servers
    }

    /// Returns the entry of an org for these definitions. Drops entries that nobody used for
    /// a while.
    fn entry(&self, org: OrgId, definitions: &Arc<OrgToolDefinitions>) -> Arc<OrgEntry> {
        let now = Instant::now();
        let mut orgs = self.lock();
        orgs.retain(|_, entry| now.duration_since(*entry.last_used()) < IDLE_LIMIT);
        let known = orgs.get(&org);
        if let Some(entry) = known.filter(|entry| entry.definitions == *definitions) {
            *entry.last_used() = now;
            return entry.clone();
        }
        let running = known.filter(|entry| entry.definitions.mcp == definitions.mcp);
        let (servers, waited) = match running {
            Some(entry) => (entry.servers.clone(), entry.waited.load(Ordering::Relaxed)),
            None => (Arc::new(self.start_servers(org, &definitions.mcp)), false),
        };
        let entry = Arc::new(OrgEntry {
            definitions: definitions.clone(),
            http: definitions.http.iter().map(|tool| self.http_tool(org, tool.clone())).collect(),
            identity_check: self.identity_check(definitions),
            servers,
            refunds: self.refunds.clone(),
            waited: AtomicBool::new(waited),
            list: Mutex::new((u64::MAX, Arc::default())),
            last_used: Mutex::new(now),
        });
        orgs.insert(org, entry.clone());
        entry
    }

    fn identity_check(&self, definitions: &OrgToolDefinitions) -> Option<Arc<dyn Tool>> {
        let store = self.contacts.as_ref()?;
        Some(verify_identity(store, definitions.identity_check.clone()?))
    }

    fn start_servers(&self, org: OrgId, servers: &[McpServer]) -> McpServers {
        let config =
            |server| mcp_config::config(server, self.secret_scope(org), &self.options.network);
        McpServers::start(servers.iter().map(config).collect())
    }

    fn secret_scope(&self, org: OrgId) -> SecretScope {
        SecretScope::Org(org, self.options.secrets.clone())
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<OrgId, Arc<OrgEntry>>> {
        self.orgs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl OrgEntry {
    /// Returns the current tools. The list is the same until a server changes.
    fn current_list(&self) -> Arc<OrgToolList> {
        let version = *self.servers.changes().borrow();
        let mut known = self.list.lock().unwrap_or_else(PoisonError::into_inner);
        if known.0 != version {
            *known = (version, Arc::new(self.list()));
        }
        known.1.clone()
    }

    fn list(&self) -> OrgToolList {
        let mut tools = self.http.clone();
        tools.extend(self.servers.tools());
        tools.retain(|tool| tool.definition().spec.name != VERIFY_IDENTITY);
        tools.extend(self.identity_check.clone());
        let starting = self.servers.starting().into_iter().map(|server| UnavailableTool {
            name: format!("mcp__{server}__*"),
            reason: "the MCP server is being started".to_owned(),
        });
        let problems = self.servers.problems();
        let mut unavailable: Vec<UnavailableTool> =
            problems.iter().map(unavailable_tool).chain(starting).collect();
        let replacements = self.take_provider(&mut tools, &mut unavailable);
        OrgToolList { tools, replacements: replacements.into_iter().collect(), unavailable }
    }

    /// Returns the tool that refunds through the org's payment provider, if it has one. Agents
    /// do not call the provider itself, because the records would not know of the refund.
    fn take_provider(
        &self,
        tools: &mut Vec<Arc<dyn Tool>>,
        unavailable: &mut Vec<UnavailableTool>,
    ) -> Option<Arc<dyn Tool>> {
        let name = self.definitions.payment_provider.as_ref()?;
        let refunds = self.refunds.as_ref()?;
        let at = tools.iter().position(|tool| tool.definition().spec.name == *name);
        let provider = at.map(|at| tools.remove(at));
        let reason = match &provider {
            Some(_) => "it makes the refunds of refund_payment, and is not called by itself",
            None => "it is the payment provider of the settings, and there is no such tool",
        };
        unavailable.push(UnavailableTool { name: name.to_string(), reason: reason.to_owned() });
        Some(refund_through(refunds, provider))
    }

    fn last_used(&self) -> MutexGuard<'_, Instant> {
        self.last_used.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn unavailable_tool(problem: &McpProblem) -> UnavailableTool {
    let tool = problem.tool.as_deref().unwrap_or("*");
    let name = format!("mcp__{}__{tool}", problem.server);
    UnavailableTool { name, reason: problem.error.to_string() }
}
