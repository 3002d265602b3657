//! A server with its workers, and two orgs that are connected to gateways.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use ostler_channels::secret::ChannelSecret;
use ostler_channels::signature::SigningKeys;
use ostler_channels::{Channels, HttpLimits, NetworkAccess};
use ostler_domain::channel::Channel;
use ostler_domain::id::{AgentId, BindingId, OrgId};
use ostler_domain::secret::SecretRef;
use ostler_runtime::conversation::receive::InboundReceiver;
use ostler_runtime::delivery::{DeliveryOptions, DeliveryWorker};
use ostler_runtime::deps::Clock;
use ostler_runtime::operations::Operations;
use ostler_server::rate_limits::RateRules;
use ostler_server::{ConfigHost, QueueBus, Server, ServerDeps, ServerLimits, ThreadOptions};
use ostler_store::{OrgBinding, Store};
use ostler_testkit as testkit;
use serde_json::json;
use tempfile::TempDir;
use tokio::io::AsyncWriteExt as _;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::gateway::{Gateway, GatewayMode};
use super::http::MessageReader;
use crate::BenchError;
use crate::apply::NoChannels;
use crate::pipeline::setup::{PipelineSetup, create_org};
use crate::store::fixture::next;
use crate::turn::setup::Task;

/// The key that signs messages and replies.
const KEY: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
/// As many as `ostler serve` has by default.
const WORKERS: usize = 16;
const SENDS: usize = 256;
/// How long a reply may take.
const MAX_WAIT: Duration = Duration::from_secs(60);

/// What is done with accepted messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Work {
    /// Workers answer them, and the answers are delivered.
    Answered,
    /// They stay in the inbox.
    Kept,
}

/// A running server.
pub(crate) struct Installation {
    pub(crate) orgs: [PathOrg; 2],
    pub(crate) address: String,
    pub(crate) store: Store,
    file: PathBuf,
    stop: watch::Sender<bool>,
    running: JoinSet<()>,
    _folder: TempDir,
}

/// An org with its binding. Cheap to clone.
#[derive(Clone)]
pub(crate) struct PathOrg {
    pub(crate) id: OrgId,
    address: String,
    binding: BindingId,
    gateway: Gateway,
    keys: SigningKeys,
}

/// The connection of a client to the server.
pub(crate) struct SenderConnection {
    pub(crate) socket: TcpStream,
    pub(crate) reader: MessageReader,
}

impl Installation {
    /// Starts a server. The gateway of the second org behaves like `other`.
    pub(crate) async fn start(other: GatewayMode, work: Work) -> Result<Self, BenchError> {
        let folder = tempfile::tempdir()?;
        let file = folder.path().join("bench.db");
        let store = Store::connect(&format!("sqlite:{}", file.display()))?;
        store.migrate().await?;
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?.to_string();
        let mut orgs = Vec::new();
        for (number, mode) in [(1, GatewayMode::Answering), (2, other)] {
            orgs.push(connect_org(&store, &address, number, mode).await?);
        }
        let setup = PipelineSetup::in_store(store.clone())?;
        let (worker, intake) = (setup.worker, setup.intake);
        let channels = Channels::new(HttpLimits::default(), NetworkAccess::Unrestricted, |_, _| {
            Ok(ChannelSecret::new(KEY))
        })
        .map_err(|error| BenchError::Http(error.to_string()))?;
        let clock = Clock::system();
        let operations = Operations::for_worker(&worker);
        let receiver = InboundReceiver::new(
            worker.org_views().clone(),
            intake,
            channels.clone(),
            Arc::new(operations.clone()),
            clock.clone(),
        );
        let delivery = DeliveryWorker::new(
            store.clone(),
            channels.clone(),
            clock.clone(),
            DeliveryOptions::default(),
            worker.outbox_bell().clone(),
        );
        let server = Server::new(ServerDeps {
            store: store.clone(),
            operations,
            receiver,
            channels,
            deltas: worker.deps().deltas.clone(),
            clock,
            threads: ThreadOptions::new(Arc::new(|_| Err("the suite has no threads".into()))),
            host: ConfigHost(Arc::new(NoChannels)),
            queues: QueueBus::default(),
            public_url: None,
        })?
        .with_limits(ServerLimits {
            rates: RateRules::UNLIMITED,
            streams_per_address: usize::MAX,
            connections_per_address: usize::MAX,
            ..ServerLimits::default()
        });
        let (stop, stopped) = watch::channel(false);
        let mut running = JoinSet::new();
        if work == Work::Answered {
            let until = stopped.clone();
            running.spawn(async move { worker.run(WORKERS, until).await });
            let until = stopped.clone();
            running.spawn(async move { delivery.run(SENDS, until).await });
        }
        let mut until = stopped;
        running.spawn(async move {
            server.serve(listener, async { drop(until.wait_for(|stop| *stop).await) }).await;
        });
        let orgs = orgs.try_into().map_err(|_| BenchError::NoReply)?;
        Ok(Self { orgs, address, store, file, stop, running, _folder: folder })
    }

    /// Returns the size of the database file with everything that was written.
    pub(crate) async fn database_bytes(&self) -> Result<u64, BenchError> {
        self.store.empty_log().await?;
        Ok(std::fs::metadata(&self.file)?.len())
    }

    /// Ends the server, and work in progress with it.
    pub(crate) async fn stop(mut self) {
        self.stop.send_replace(true);
        self.running.shutdown().await;
    }
}

async fn connect_org(
    store: &Store,
    address: &str,
    number: u128,
    mode: GatewayMode,
) -> Result<PathOrg, BenchError> {
    let gateway = Gateway::start(mode).await?;
    let (org, agent) = (OrgId::from_u128(number), AgentId::from_u128(10 + number));
    let id = BindingId::from_u128(20 + number);
    let bound = OrgBinding {
        binding: testkit::binding(id, Channel::Webhook),
        agent,
        settings: json!({"url": gateway.url}).to_string(),
        secret: Some(SecretRef::Env("KEY".into())),
    };
    create_org(store, org, agent, bound).await?;
    let keys = SigningKeys::parse(&ChannelSecret::new(KEY)).ok_or(BenchError::NoReply)?;
    Ok(PathOrg { id: org, address: address.to_owned(), binding: id, gateway, keys })
}

impl PathOrg {
    pub(crate) async fn connect(&self) -> Result<SenderConnection, BenchError> {
        SenderConnection::open(&self.address).await
    }

    /// Sends a message on a connection of its own and waits for the reply.
    pub(crate) async fn exchange(&self, who: &str) -> Result<(), BenchError> {
        let mut sender = self.connect().await?;
        self.exchange_on(&mut sender, who).await
    }

    /// Sends a message and waits until the gateway has the reply.
    pub(crate) async fn exchange_on(
        &self,
        sender: &mut SenderConnection,
        who: &str,
    ) -> Result<(), BenchError> {
        let reply = self.gateway.next_reply(who);
        self.post(sender, who).await?;
        match tokio::time::timeout(MAX_WAIT, reply).await {
            Ok(Ok(())) => Ok(()),
            _ => Err(BenchError::NoReply),
        }
    }

    /// Sends a message and waits until it is accepted.
    pub(crate) async fn post(
        &self,
        sender: &mut SenderConnection,
        who: &str,
    ) -> Result<(), BenchError> {
        sender.exchange(&self.message(who)).await.map(drop)
    }

    /// Returns a signed request with a new message.
    pub(crate) fn message(&self, who: &str) -> String {
        let text = Task::Plain.name();
        let body = json!({"type": "message", "from": {"id": who}, "text": text}).to_string();
        let signed = self.keys.sign(&next().to_string(), Clock::system().now(), body.as_bytes());
        let mut request = format!(
            "POST /v1/webhooks/{} HTTP/1.1\r\nhost: bench\r\ncontent-length: {}\r\n",
            self.binding,
            body.len()
        );
        for (name, value) in signed {
            request.push_str(&format!("{name}: {value}\r\n"));
        }
        request.push_str("\r\n");
        request.push_str(&body);
        request
    }
}

impl SenderConnection {
    pub(crate) async fn open(address: &str) -> Result<Self, BenchError> {
        let socket = TcpStream::connect(address).await?;
        socket.set_nodelay(true)?;
        Ok(Self { socket, reader: MessageReader::default() })
    }

    /// Sends a request and returns the body of its answer; any other than 200 is an error.
    pub(crate) async fn exchange(&mut self, request: &str) -> Result<Vec<u8>, BenchError> {
        self.socket.write_all(request.as_bytes()).await?;
        let answer = self.reader.next(&mut self.socket).await?.ok_or(BenchError::NoReply)?;
        if !answer.first_line.starts_with("HTTP/1.1 200") {
            let body = String::from_utf8_lossy(&answer.body);
            return Err(BenchError::Http(format!("{}: {body}", answer.first_line)));
        }
        Ok(answer.body)
    }
}
