//! The configuration of a harness, and its builder.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use ostler_domain::gate::permission::PermissionRules;
use ostler_domain::id::OrgId;
use ostler_domain::memory::MemorySettings;
use ostler_domain::money::Credits;
use ostler_domain::scope::ToolScope;
use ostler_domain::tool::{ToolSpec, Trust};
use ostler_engine::model::Model;
use ostler_engine::tool::Tool;
use ostler_engine::turn::{Models, TurnLimits};
use ostler_store::Store;
use serde_json::{Map, Value};

use crate::error::ConfigError;
use crate::harness::Harness;
use crate::heartbeat::HeartbeatHandler;
use crate::mode::{HarnessAgent, HarnessMode, ModeAgent};
use crate::models::{ModelAuthChecker, ModelUseCountProvider};
use crate::permission_files::PermissionFiles;
use crate::state::{HarnessStateSchema, StateSchema};
use crate::subagent::HarnessSubagent;
use crate::workspace::WorkspaceSource;

/// How long a process keeps a thread that it no longer renews.
const LEASE: Duration = Duration::from_secs(30);
/// The time limit of a turn, without the time in which it waits for a person.
const TURN_TIMEOUT: Duration = Duration::from_secs(60 * 60);

/// Removes tools from the scope of every agent.
pub type ScopeFilter = Arc<dyn Fn(Vec<ToolSpec>) -> ToolScope + Send + Sync>;

/// The configuration of a harness.
pub struct HarnessConfig {
    pub id: String,
    pub storage: Store,
    /// The org that threads belong to.
    pub org: OrgId,
    /// The user or project that threads belong to.
    pub resource_id: String,
    pub modes: Vec<HarnessMode>,
    pub models: Arc<dyn Models>,
    /// Tools of every agent.
    pub tools: Vec<Arc<dyn Tool>>,
    pub subagents: Vec<HarnessSubagent>,
    pub heartbeat_handlers: Vec<HeartbeatHandler>,
    pub auth_checker: Option<Arc<dyn ModelAuthChecker>>,
    pub use_counts: Option<Arc<dyn ModelUseCountProvider>>,
    /// How threads remember what no longer fits the prompt; `None` means that all messages
    /// stay in it.
    pub memory: Option<HarnessOMConfig>,
    /// The directory that agents work in.
    pub workspace: Option<WorkspaceSource>,
    /// Whether the files of the workspace may be followed as if the user had written them.
    pub workspace_trust: Trust,
    /// Rules that hold until the user sets others.
    pub permission_rules: PermissionRules,
    /// Files with the permission rules of the user and the project.
    pub permission_files: PermissionFiles,
    /// The policy layers above the user's permissions.
    pub scope: Option<ScopeFilter>,
    /// What pays for turns.
    pub budget: Budget,
    pub limits: TurnLimits,
    pub turn_timeout: Duration,
    /// How long another process has to wait for a thread of a process that died.
    pub lease: Duration,
    pub(crate) initial_state: Map<String, Value>,
    pub(crate) state_schema: Arc<StateSchema>,
}

impl fmt::Debug for HarnessConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HarnessConfig")
            .field("id", &self.id)
            .field("resource_id", &self.resource_id)
            .field("modes", &self.modes)
            .field("subagents", &self.subagents)
            .finish_non_exhaustive()
    }
}

impl HarnessConfig {
    /// Returns a mode.
    pub(crate) fn mode(&self, id: &str) -> Option<&HarnessMode> {
        self.modes.iter().find(|mode| mode.id == id)
    }

    /// Returns the mode that a harness begins with.
    pub(crate) fn default_mode(&self) -> Option<&HarnessMode> {
        self.modes.iter().find(|mode| mode.is_default).or(self.modes.first())
    }
}

/// What pays for the turns of a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Budget {
    Unlimited,
    /// Credits that the thread may spend in all.
    Thread(Credits),
    /// The ledger of the org: credits are reserved before a model is called, and charged in
    /// the commit that ends the turn.
    Ledger,
}

/// The observational memory of threads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HarnessOMConfig {
    /// `None` means the thread's own model.
    pub default_observer_model_id: Option<String>,
    /// `None` means the thread's own model.
    pub default_reflector_model_id: Option<String>,
    /// Tokens of messages at which observations take their place.
    pub default_observation_threshold: u64,
    /// Tokens of observations at which they are merged.
    pub default_reflection_threshold: u64,
}

impl Default for HarnessOMConfig {
    fn default() -> Self {
        let MemorySettings { observation_threshold, reflection_threshold, .. } =
            MemorySettings::default();
        Self {
            default_observer_model_id: None,
            default_reflector_model_id: None,
            default_observation_threshold: observation_threshold,
            default_reflection_threshold: reflection_threshold,
        }
    }
}

impl HarnessOMConfig {
    /// Returns the settings of a thread that has none of its own.
    pub(crate) fn settings(&self) -> MemorySettings {
        MemorySettings {
            observation_threshold: self.default_observation_threshold,
            reflection_threshold: self.default_reflection_threshold,
            observer_model: self.default_observer_model_id.clone(),
            reflector_model: self.default_reflector_model_id.clone(),
        }
    }
}

/// Builds a harness with state `S`.
pub struct HarnessBuilder<S> {
    config: Result<HarnessConfig, ConfigError>,
    models: bool,
    initial_state: Value,
    state: PhantomData<fn() -> S>,
}

/// One model for every name.
struct OneModel(Arc<dyn Model>);

impl Models for OneModel {
    fn model(&self, _: Option<&str>) -> Option<Arc<dyn Model>> {
        Some(self.0.clone())
    }
}

struct NoModels;

impl Models for NoModels {
    fn model(&self, _: Option<&str>) -> Option<Arc<dyn Model>> {
        None
    }
}

impl<S: HarnessStateSchema> HarnessBuilder<S> {
    pub(crate) fn new(id: String, storage: Store) -> Self {
        let config = StateSchema::of::<S>().map(|state_schema| HarnessConfig {
            resource_id: id.clone(),
            id,
            storage,
            org: OrgId::from_u128(0),
            modes: Vec::new(),
            models: Arc::new(NoModels),
            tools: Vec::new(),
            subagents: Vec::new(),
            heartbeat_handlers: Vec::new(),
            auth_checker: None,
            use_counts: None,
            memory: None,
            workspace: None,
            workspace_trust: Trust::Trusted,
            permission_rules: PermissionRules::default(),
            permission_files: PermissionFiles::default(),
            scope: None,
            budget: Budget::Unlimited,
            limits: TurnLimits::default(),
            turn_timeout: TURN_TIMEOUT,
            lease: LEASE,
            initial_state: Map::new(),
            state_schema,
        });
        Self { config, models: false, initial_state: Value::Null, state: PhantomData }
    }

    fn set(mut self, change: impl FnOnce(&mut HarnessConfig)) -> Self {
        if let Ok(config) = &mut self.config {
            change(config);
        }
        self
    }

    /// Sets the org that threads belong to.
    #[must_use]
    pub fn org(self, org: OrgId) -> Self {
        self.set(|config| config.org = org)
    }

    /// Sets the user or project that threads belong to; otherwise the id of the harness.
    #[must_use]
    pub fn resource_id(self, id: impl Into<String>) -> Self {
        self.set(|config| config.resource_id = id.into())
    }

    /// Adds a mode. If there are several, one is marked as the default.
    #[must_use]
    pub fn mode(self, mode: HarnessMode) -> Self {
        self.set(|config| config.modes.push(mode))
    }

    /// Adds a mode whose agent depends on the state.
    #[must_use]
    pub fn mode_of_state(
        self,
        id: impl Into<String>,
        name: impl Into<String>,
        agent: impl Fn(&S) -> Arc<HarnessAgent> + Send + Sync + 'static,
    ) -> Self {
        let choose = move |state: &Value| agent(&S::deserialize(state).unwrap_or_default());
        let agent = ModeAgent::OfState(Arc::new(choose));
        self.mode(HarnessMode::with_agent(id, name, agent))
    }

    /// Sets the models by name.
    #[must_use]
    pub fn models(mut self, models: Arc<dyn Models>) -> Self {
        self.models = true;
        self.set(|config| config.models = models)
    }

    /// Sets one model that answers under every name.
    #[must_use]
    pub fn model(self, model: Arc<dyn Model>) -> Self {
        self.models(Arc::new(OneModel(model)))
    }

    /// Adds a tool that every agent has.
    #[must_use]
    pub fn tool(self, tool: Arc<dyn Tool>) -> Self {
        self.set(|config| config.tools.push(tool))
    }

    /// Adds a subagent.
    #[must_use]
    pub fn subagent(self, subagent: HarnessSubagent) -> Self {
        self.set(|config| config.subagents.push(subagent))
    }

    /// Sets fields of the initial state. The others have the defaults of `S`.
    #[must_use]
    pub fn initial_state(self, state: Value) -> Self {
        Self { initial_state: state, ..self }
    }

    /// Adds a heartbeat, which `init` starts.
    #[must_use]
    pub fn heartbeat(self, handler: HeartbeatHandler) -> Self {
        self.set(|config| config.heartbeat_handlers.push(handler))
    }

    /// Sets what lists models and knows whether their keys are present.
    #[must_use]
    pub fn auth_checker(self, checker: Arc<dyn ModelAuthChecker>) -> Self {
        self.set(|config| config.auth_checker = Some(checker))
    }

    /// Sets what knows how often models were used.
    #[must_use]
    pub fn use_counts(self, counts: Arc<dyn ModelUseCountProvider>) -> Self {
        self.set(|config| config.use_counts = Some(counts))
    }

    /// Gives threads an observational memory.
    #[must_use]
    pub fn memory(self, memory: HarnessOMConfig) -> Self {
        self.set(|config| config.memory = Some(memory))
    }

    /// Gives agents a workspace and the tools for it.
    #[must_use]
    pub fn workspace(self, workspace: WorkspaceSource) -> Self {
        self.set(|config| config.workspace = Some(workspace))
    }

    /// Sets whether the files of the workspace may be followed as if the user had written
    /// them. In a workspace that is not trusted, instructions are only information, and
    /// destructive calls ask under all permissions.
    #[must_use]
    pub fn workspace_trust(self, trust: Trust) -> Self {
        self.set(|config| config.workspace_trust = trust)
    }

    /// Sets the permission rules that hold until the user sets others.
    #[must_use]
    pub fn permission_rules(self, rules: PermissionRules) -> Self {
        self.set(|config| config.permission_rules = rules)
    }

    /// Sets the files with the permission rules of the user and the project. `init` reads
    /// them, and every turn reads them again if they have changed.
    #[must_use]
    pub fn permission_files(self, files: PermissionFiles) -> Self {
        self.set(|config| config.permission_files = files)
    }

    /// Sets the policy layers, which bound all permissions.
    #[must_use]
    pub fn scope(self, scope: ScopeFilter) -> Self {
        self.set(|config| config.scope = Some(scope))
    }

    /// Sets what pays for turns. Without it, nothing limits them.
    #[must_use]
    pub fn budget(self, budget: Budget) -> Self {
        self.set(|config| config.budget = budget)
    }

    /// Sets the limits of a turn.
    #[must_use]
    pub fn limits(self, limits: TurnLimits) -> Self {
        self.set(|config| config.limits = limits)
    }

    /// Sets the time limit of a turn.
    #[must_use]
    pub fn turn_timeout(self, timeout: Duration) -> Self {
        self.set(|config| config.turn_timeout = timeout)
    }

    /// Sets how long another process has to wait for a thread of a process that died.
    #[must_use]
    pub fn lease(self, lease: Duration) -> Self {
        self.set(|config| config.lease = lease)
    }

    /// Checks the configuration and builds the harness. Nothing runs before
    /// [`Harness::init`].
    pub fn build(self) -> Result<Harness<S>, ConfigError> {
        let mut config = self.config?;
        if config.modes.is_empty() {
            return Err(ConfigError::NoMode);
        }
        if !self.models {
            return Err(ConfigError::NoModels);
        }
        for (at, mode) in config.modes.iter().enumerate() {
            if config.modes.iter().take(at).any(|other| other.id == mode.id) {
                return Err(ConfigError::DuplicateMode(mode.id.clone()));
            }
        }
        let defaults = config.modes.iter().filter(|mode| mode.is_default).count();
        if defaults > 1 || (defaults == 0 && config.modes.len() > 1) {
            return Err(ConfigError::DefaultMode(defaults));
        }
        for (at, handler) in config.heartbeat_handlers.iter().enumerate() {
            if config.heartbeat_handlers.iter().take(at).any(|other| other.id == handler.id) {
                return Err(ConfigError::DuplicateHeartbeat(handler.id.clone()));
            }
        }
        let of_agents = config.modes.iter().filter_map(|mode| match &mode.agent {
            ModeAgent::Fixed(agent) => agent.memory.as_ref(),
            ModeAgent::OfState(_) => None,
        });
        for memory in config.memory.iter().chain(of_agents) {
            memory.settings().check()?;
        }
        let defaults = serde_json::to_value(S::default())
            .map_err(|error| ConfigError::StateSchema(error.to_string()))?;
        config.initial_state = config.state_schema.initial(&defaults, &self.initial_state)?;
        Harness::new(config)
    }
}

impl<S> fmt::Debug for HarnessBuilder<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("HarnessBuilder").field(&self.config).finish()
    }
}
