//! A server and its keeper: started, listed, started again when it ends, given up
//! when that happens too often.

use std::convert::Infallible;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ostler_engine::tool::Tool;
use tokio::sync::{Notify, watch};
use tokio::time::{Instant, sleep};

use super::config::{McpServerConfig, ServerName};
use super::offer::{self, LeftOut};
use super::problem::{Problem, Trouble};
use super::tool::McpTool;
use super::wire::{Caller, Connection};

/// A server, as its tools and its keeper see it.
pub(super) struct Server {
    config: McpServerConfig,
    state: Mutex<State>,
    /// Rises with every change of the tools or the problems of any server.
    version: watch::Sender<u64>,
    /// Whether the first try to start it is over.
    tried: watch::Sender<bool>,
}

/// What there is of a server now.
struct State {
    link: Link,
    tools: Vec<Arc<dyn Tool>>,
    left_out: Vec<LeftOut>,
    trouble: Option<Trouble>,
}

/// Whether a server can be called.
enum Link {
    Starting,
    Up(Caller),
    Waiting,
    GivenUp,
    Stopped,
}

/// How a server's life ended.
enum Ended {
    /// By itself.
    Failed(Trouble),
    /// We stopped it.
    Stopped,
}

impl Server {
    pub(super) fn new(config: McpServerConfig, version: watch::Sender<u64>) -> Self {
        let state =
            State { link: Link::Starting, tools: Vec::new(), left_out: Vec::new(), trouble: None };
        Self { config, state: Mutex::new(state), version, tried: watch::Sender::new(false) }
    }

    pub(super) const fn name(&self) -> &ServerName {
        &self.config.name
    }

    pub(super) fn tools(&self) -> Vec<Arc<dyn Tool>> {
        self.state().tools.clone()
    }

    /// What is wrong with it and with its tools.
    pub(super) fn problems(&self) -> Vec<Problem> {
        let state = self.state();
        let server = || self.config.name.clone();
        let own = state.trouble.iter().map(|trouble| Problem {
            server: server(),
            tool: None,
            trouble: trouble.clone(),
        });
        let of_tools = state.left_out.iter().map(|left| Problem {
            server: server(),
            tool: left.tool.clone(),
            trouble: left.why.clone(),
        });
        own.chain(of_tools).collect()
    }

    /// Waits until the first try to start it is over.
    pub(super) async fn tried(&self) {
        // The sender is here, so this ends with a yes.
        let _ = self.tried.subscribe().wait_for(|tried| *tried).await;
    }

    /// What calls its tools, or why that is not possible now.
    pub(super) fn caller(&self) -> Result<Caller, String> {
        let name = self.name();
        match &self.state().link {
            Link::Up(caller) => Ok(caller.clone()),
            Link::Starting | Link::Waiting => Err(format!(
                "The MCP server {name} is being started again. Try it later, or go on without it."
            )),
            Link::GivenUp => Err(format!(
                "The MCP server {name} has failed too often and is not available. Go on without it."
            )),
            Link::Stopped => Err(format!("The MCP server {name} was stopped.")),
        }
    }

    /// Keeps it running until `stop` changes.
    pub(super) async fn keep(self: Arc<Self>, mut stop: watch::Receiver<bool>) {
        let limits = &self.config.limits;
        let mut failures = 0;
        loop {
            let began = Instant::now();
            let ended = self.live(&mut stop).await;
            let Ended::Failed(trouble) = ended else { break };
            if began.elapsed() >= limits.steady {
                failures = 0;
            }
            failures += 1;
            if failures > limits.restarts {
                self.give_up(failures, trouble);
                return;
            }
            self.change(|state| {
                state.link = Link::Waiting;
                state.trouble = Some(trouble);
            });
            self.tried.send_replace(true);
            tokio::select! {
                () = sleep(limits.wait_after(failures)) => {}
                () = stopped(&mut stop) => break,
            }
        }
        self.change(|state| {
            (state.link, state.trouble) = (Link::Stopped, None);
            state.tools.clear();
        });
        self.tried.send_replace(true);
    }

    /// One life: from its start to its end.
    async fn live(self: &Arc<Self>, stop: &mut watch::Receiver<bool>) -> Ended {
        let opened = tokio::select! {
            opened = Connection::open(&self.config) => opened,
            () = stopped(stop) => return Ended::Stopped,
        };
        let mut connection = match opened {
            Ok(connection) => connection,
            Err(trouble) => return Ended::Failed(trouble),
        };
        let (caller, changed) = (connection.caller(), connection.changed());
        let listed = tokio::select! {
            listed = self.list(&caller) => listed,
            () = stopped(stop) => {
                connection.close().await;
                return Ended::Stopped;
            }
        };
        if let Err(trouble) = listed {
            connection.close().await;
            return Ended::Failed(trouble);
        }
        self.change(|state| (state.link, state.trouble) = (Link::Up(caller.clone()), None));
        self.tried.send_replace(true);
        tokio::select! {
            () = connection.ended() => {}
            () = stopped(stop) => {
                self.change(|state| state.link = Link::Stopped);
                connection.close().await;
                return Ended::Stopped;
            }
            never = self.follow(&caller, &changed) => match never {},
        }
        self.change(|state| state.link = Link::Waiting);
        Ended::Failed(connection.bury().await)
    }

    /// Looks at the list again whenever the server says that it has changed, but
    /// not all the time.
    async fn follow(self: &Arc<Self>, caller: &Caller, changed: &Notify) -> Infallible {
        loop {
            changed.notified().await;
            let listed = self.list(caller).await;
            self.change(|state| state.trouble = listed.err());
            sleep(self.config.limits.relist).await;
        }
    }

    /// Takes the list of tools over.
    async fn list(self: &Arc<Self>, caller: &Caller) -> Result<(), Trouble> {
        let list = caller.list(&self.config.limits).await?;
        let offers = offer::read(list.tools, list.more, &self.config);
        let tool = |offer| Arc::new(McpTool::new(self.clone(), offer)) as Arc<dyn Tool>;
        let tools = offers.tools.into_iter().map(tool).collect();
        self.change(|state| (state.tools, state.left_out) = (tools, offers.left_out));
        Ok(())
    }

    fn give_up(&self, failures: u32, last: Trouble) {
        self.change(|state| {
            state.link = Link::GivenUp;
            state.tools.clear();
            state.left_out.clear();
            state.trouble = Some(Trouble::GaveUp { failures, last: Box::new(last) });
        });
        self.tried.send_replace(true);
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.state());
        self.version.send_modify(|version| *version += 1);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Waits until everything is to stop. Whoever could say so being gone says it too.
async fn stopped(stop: &mut watch::Receiver<bool>) {
    let _ = stop.wait_for(|stop| *stop).await;
}
