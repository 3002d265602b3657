//! What the person wants, as requests to the API.

use anyhow::{Result, anyhow, bail};
use ostler_api::thread::{
    CloneThreadRequest, ModeChange, ModelChange, ModelChangeScope, RenameThreadRequest,
    UploadedImage,
};
use ostler_api::thread_event::ThreadInfo;
use ostler_domain::id::ThreadId;
use ostler_tui::protocol::{ChatRequest, ChatUpdate, ComposedMessage, ImageFile};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::super::agent::title;
use super::stream::{StreamStart, send_figures};
use super::{MAX_THREADS, RemoteAgent, UnsentMessage};
use crate::api_client::{Nothing, is_answered};

impl RemoteAgent {
    pub(super) async fn request(&mut self, request: ChatRequest) {
        let text = match &request {
            ChatRequest::Send(message) | ChatRequest::Steer(message) => Some(message.text.clone()),
            _ => None,
        };
        if let Err(error) = self.carry_out(request).await {
            let why = format!("Not done: {error:#}");
            self.refused(why, text).await;
        }
        let open = *self.thread.borrow();
        if let Some(id) = open {
            // What the figures are is no reason to stop.
            let _ = send_figures(&self.org, id, &self.updates).await;
        }
    }

    /// Gives a text back; after the UI, on standard error.
    async fn refused(&self, why: String, text: Option<String>) {
        let update = ChatUpdate::Refused { why, text };
        if let Err(mpsc::error::SendError(ChatUpdate::Refused { why, text: Some(text) })) =
            self.updates.send(update).await
        {
            anstream::eprintln!("{why}\nThis was not sent:\n{text}");
        }
    }

    async fn carry_out(&mut self, request: ChatRequest) -> Result<()> {
        match request {
            ChatRequest::Send(message) => self.say("follow-ups", message).await,
            ChatRequest::Steer(message) => self.say("steer", message).await,
            ChatRequest::Resume => self.post("resume").await,
            ChatRequest::Retry => self.post("retry").await,
            ChatRequest::ClearQueue => {
                bail!("a server has no request for this; ctrl-s with a message discards the queue")
            }
            // These wait for no other request.
            ChatRequest::Abort | ChatRequest::Answer(_) => Ok(()),
            ChatRequest::Always { .. } => {
                bail!("rules are written on the machine of the agent; k allows tools of this kind")
            }
            ChatRequest::SetMode { id } => self.set_mode(id).await,
            ChatRequest::SetModel { id } => {
                let thread = self.ensure_thread(None).await?.to_string();
                let change = ModelChange { model_id: id, scope: ModelChangeScope::Thread };
                let _: Nothing = self.org.put(&["threads", &thread, "model"], &change).await?;
                Ok(())
            }
            ChatRequest::SetYolo { on: true } => bail!(
                "on a server this would hold for all your threads, and would not end with this \
                 chat; k allows tools of one kind"
            ),
            ChatRequest::SetYolo { on: false } => {
                let id = self.ensure_thread(None).await?.to_string();
                let path = ["threads", &id, "state"];
                let _: Value = self.org.patch(&path, &json!({"yolo": false})).await?;
                Ok(())
            }
            ChatRequest::ListThreads { search } => {
                let query = [("search", search.trim())];
                let threads = self.org.list(&["threads"], &query, MAX_THREADS).await?;
                self.send(ChatUpdate::Threads(threads)).await;
                Ok(())
            }
            ChatRequest::OpenThread { id } => {
                self.follow(id, StreamStart::Messages);
                Ok(())
            }
            ChatRequest::NewThread => {
                let id = self.create(None).await?;
                self.send(ChatUpdate::Opened(Box::new(self.empty(id)))).await;
                Ok(())
            }
            ChatRequest::Fork => self.fork().await,
            ChatRequest::Rename { title } => {
                let id = self.ensure_thread(None).await?.to_string();
                let body = RenameThreadRequest { title };
                let _: Value = self.org.patch(&["threads", &id], &body).await?;
                Ok(())
            }
        }
    }

    fn current(&self) -> Result<ThreadId> {
        let open = *self.thread.borrow();
        open.ok_or_else(|| anyhow!("there is no thread yet; send a message first"))
    }

    async fn post(&self, verb: &str) -> Result<()> {
        let id = self.current()?.to_string();
        let _: Value = self.org.post(&["threads", &id, verb], &()).await?;
        Ok(())
    }

    async fn say(&mut self, verb: &'static str, message: ComposedMessage) -> Result<()> {
        let thread = self.ensure_thread(Some(title(&message.text))).await?;
        let id = thread.to_string();
        let known = self.unsent.take().filter(|unsent| unsent.is_of(thread, verb, &message));
        let unsent = match known {
            Some(unsent) => unsent,
            None => {
                let mut images = Vec::with_capacity(message.images.len());
                for image in &message.images {
                    images.push(self.upload(&id, image).await?.id);
                }
                UnsentMessage::new(thread, verb, message, images)?
            }
        };
        let path = ["threads", &id, verb];
        let sent: Result<Value> = self.org.post_once(&path, &unsent.input, &unsent.key).await;
        if sent.as_ref().is_err_and(|error| !is_answered(error)) {
            self.unsent = Some(unsent);
        }
        sent.map(drop)
    }

    async fn upload(&self, thread: &str, image: &ImageFile) -> Result<UploadedImage> {
        let bytes = tokio::fs::read(&image.path).await;
        let bytes = bytes.map_err(|error| anyhow!("{}: {error}", image.path.display()))?;
        self.org.upload(&["threads", thread, "images"], &[("name", &image.name)], bytes).await
    }

    async fn set_mode(&mut self, mode: String) -> Result<()> {
        let open = *self.thread.borrow();
        let Some(id) = open else {
            self.mode = Some(mode);
            self.show_nothing().await;
            return Ok(());
        };
        let change = ModeChange { mode_id: mode };
        let path = ["threads", &id.to_string(), "mode"];
        let _: Nothing = self.org.put(&path, &change).await?;
        Ok(())
    }

    async fn fork(&mut self) -> Result<()> {
        let id = self.current()?.to_string();
        let body = CloneThreadRequest::default();
        let copy: ThreadInfo = self.org.post(&["threads", &id, "clone"], &body).await?;
        self.follow(copy.id, StreamStart::Messages);
        Ok(())
    }
}
