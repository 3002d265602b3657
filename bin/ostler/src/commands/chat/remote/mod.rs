//! `ostler chat --connect`: the agent behind the UI is a thread on a server. Requests of the
//! person go to the routes of threads, their events to the UI.
//!
//! | module | holds |
//! |---|---|
//! | `stream` | the events of the thread that is open, with their reconnection |
//! | `requests` | what the person wants, as requests to the API |
//! | `urgent` | what waits for no other request: stopping, and answers |
//! | `unsent` | the idempotency keys of messages |

mod requests;
mod stream;
mod unsent;
mod urgent;

use std::time::Duration;

use anyhow::{Context as _, Result};
use ostler_api::thread::{CreateThreadRequest, ModeChange, ThreadChoices, ThreadModel};
use ostler_api::thread_event::ThreadInfo;
use ostler_domain::id::ThreadId;
use ostler_tui::protocol::{
    ChatFigures, ChatModel, ChatRequest, ChatSetting, ChatUpdate, OpenedThread,
};
use ostler_tui::{ChatChannels, ChatOptions};
use reqwest::Url;
use tokio::sync::{mpsc, watch};
use tokio::task::{AbortHandle, JoinSet};

use self::stream::{StreamStart, ThreadStream};
use self::unsent::UnsentMessage;
use self::urgent::UrgentRequests;
use super::{ChatArgs, UPDATES, options};
use crate::api_client::contexts::Contexts;
use crate::api_client::{ApiClient, NetworkApi, Nothing, OrgApi};

/// How many threads are listed.
const MAX_THREADS: usize = 200;
/// How long what was sent may take after the person has quit.
const FINISH: Duration = Duration::from_secs(20);
/// After this time, the person learns what is waited for.
const SILENT_FINISH: Duration = Duration::from_millis(700);

/// Shows a thread of a server until the person quits.
pub(super) async fn run(args: &ChatArgs, url: &str) -> Result<()> {
    let context = Contexts::load()?.of_server(url)?;
    let host = Url::parse(&context.url)?.host_str().unwrap_or_default().to_owned();
    let api = ApiClient::over(NetworkApi::new(&context)?);
    let org = api.find_org(&args.org).await?;
    let choices: ThreadChoices = org.get(&["thread-choices"]).await?;
    check_mode(args.mode.as_deref(), &choices)?;
    let first = first_thread(&org, args.resume.as_deref()).await?;
    if let (Some(id), Some(mode)) = (first, &args.mode) {
        let change = ModeChange { mode_id: mode.clone() };
        let _: Nothing = org.put(&["threads", &id.to_string(), "mode"], &change).await?;
    }
    let file = args.agent.threads_file()?;
    let setting = ChatSetting {
        folder: Some(format!("{} at {host}", org.org.slug)),
        modes: choices.modes.clone(),
        models: choices.models.iter().map(describe_model).collect(),
        greeting: vec![format!("You are connected to {} at {}.", org.org.name, context.url)],
        ..ChatSetting::default()
    };
    let options = ChatOptions { setting, ..options(args, &file) };
    let (requests, received) = mpsc::unbounded_channel();
    let (updates, shown) = mpsc::channel(UPDATES);
    let mode = args.mode.clone();
    let thread = watch::Sender::new(None);
    let agent = RemoteAgent { org, updates, choices, mode, thread, stream: None, unsent: None };
    let agent = tokio::spawn(agent.run(first, received));
    let result = ostler_tui::run(options, ChatChannels { requests, updates: shown }).await;
    finish(agent).await;
    Ok(result?)
}

/// Waits for what was sent before the person quit.
async fn finish(mut agent: tokio::task::JoinHandle<()>) {
    if tokio::time::timeout(SILENT_FINISH, &mut agent).await.is_ok() {
        return;
    }
    anstream::eprintln!("Finishing what was sent …");
    if tokio::time::timeout(FINISH, &mut agent).await.is_err() {
        agent.abort();
        anstream::eprintln!("The server does not answer; look whether the last message is there.");
    }
}

fn check_mode(mode: Option<&str>, choices: &ThreadChoices) -> Result<()> {
    let known: Vec<&str> = choices.modes.iter().map(|mode| mode.id.as_str()).collect();
    match mode {
        Some(mode) if !known.contains(&mode) => {
            anyhow::bail!("there is no mode `{mode}` there; there are: {}", known.join(", "))
        }
        _ => Ok(()),
    }
}

/// Returns the thread that is continued: the newest one, or the one that is named.
async fn first_thread(org: &OrgApi, name: Option<&str>) -> Result<Option<ThreadId>> {
    match name {
        None => Ok(None),
        Some("") => {
            let newest: Vec<ThreadInfo> = org.list(&["threads"], &[], 1).await?;
            let newest = newest.first().map(|thread| thread.id);
            newest.context("you have no thread there to resume; leave out --resume").map(Some)
        }
        Some(id) => id.parse().map(Some).context("threads are named by their id"),
    }
}

fn describe_model(model: &ThreadModel) -> ChatModel {
    let prices = format!("{} in, {} out", model.input_price, model.output_price);
    let detail = match &model.key_hint {
        Some(hint) => format!("{prices} · no key: {hint}"),
        None => prices,
    };
    ChatModel { id: model.id.clone(), detail }
}

/// A thread on a server.
struct RemoteAgent {
    org: OrgApi,
    updates: mpsc::Sender<ChatUpdate>,
    choices: ThreadChoices,
    /// The mode that a new thread begins with.
    mode: Option<String>,
    /// The thread that is open.
    thread: watch::Sender<Option<ThreadId>>,
    stream: Option<AbortHandle>,
    unsent: Option<UnsentMessage>,
}

impl Drop for RemoteAgent {
    fn drop(&mut self) {
        self.stop_stream();
    }
}

impl RemoteAgent {
    /// Works until the UI is gone and what it sent is done.
    async fn run(
        self,
        first: Option<ThreadId>,
        mut requests: mpsc::UnboundedReceiver<ChatRequest>,
    ) {
        let urgent = UrgentRequests {
            org: self.org.clone(),
            updates: self.updates.clone(),
            thread: self.thread.subscribe(),
        };
        let (others, received) = mpsc::unbounded_channel();
        let mut tasks = JoinSet::new();
        tasks.spawn(self.work(first, received));
        while let Some(request) = requests.recv().await {
            match request {
                ChatRequest::Abort => drop(tasks.spawn(urgent.clone().abort())),
                ChatRequest::Answer(answer) => {
                    drop(tasks.spawn(urgent.clone().send_answer(answer)));
                }
                // The worker lives as long as this channel.
                other => drop(others.send(other)),
            }
            while tasks.try_join_next().is_some() {}
        }
        drop(others);
        while tasks.join_next().await.is_some() {}
    }

    /// Carries requests out, one after another.
    async fn work(
        mut self,
        first: Option<ThreadId>,
        mut requests: mpsc::UnboundedReceiver<ChatRequest>,
    ) {
        match first {
            Some(id) => self.follow(id, StreamStart::Messages),
            None => self.show_nothing().await,
        }
        while let Some(request) = requests.recv().await {
            self.request(request).await;
        }
    }

    /// Sends an update. A UI that is gone is noticed by its requests.
    async fn send(&self, update: ChatUpdate) {
        let _ = self.updates.send(update).await;
    }

    fn stop_stream(&mut self) {
        if let Some(stream) = self.stream.take() {
            stream.abort();
        }
    }

    /// Shows a thread, and follows its events.
    fn follow(&mut self, id: ThreadId, start: StreamStart) {
        self.stop_stream();
        self.thread.send_replace(Some(id));
        let stream = ThreadStream::new(self.org.clone(), id, self.updates.clone(), start);
        self.stream = Some(tokio::spawn(stream.run()).abort_handle());
    }

    /// Shows that there is no thread yet; the first message makes one.
    async fn show_nothing(&self) {
        self.send(ChatUpdate::Opened(Box::new(self.empty(ThreadId::from_u128(0))))).await;
        self.send(ChatUpdate::Figures(ChatFigures::default())).await;
    }

    fn empty(&self, id: ThreadId) -> OpenedThread {
        let mode = self.mode.clone().or_else(|| self.choices.modes.first().map(|it| it.id.clone()));
        let model = self.choices.models.iter().find(|model| model.is_default);
        OpenedThread {
            id,
            title: None,
            messages: Vec::new(),
            mode: mode.unwrap_or_default(),
            model: model.map(|model| model.id.clone()).unwrap_or_default(),
        }
    }

    /// Returns the thread that is open, or makes one.
    async fn ensure_thread(&mut self, title: Option<String>) -> Result<ThreadId> {
        let open = *self.thread.borrow();
        match open {
            Some(id) => Ok(id),
            None => self.create(title).await,
        }
    }

    async fn create(&mut self, title: Option<String>) -> Result<ThreadId> {
        let new = CreateThreadRequest { title, mode_id: self.mode.clone() };
        let thread: ThreadInfo = self.org.post(&["threads"], &new).await?;
        self.follow(thread.id, StreamStart::FirstEvent);
        Ok(thread.id)
    }
}
