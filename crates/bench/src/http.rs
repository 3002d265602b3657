//! The HTTP suite: what the server does beside a bare axum route that does the same. Accepted
//! messages are compared with a route that commits their bodies, lists with a route that sends
//! the same bytes. Clients, servers and database share this process.

mod bare;
mod streams;

use std::sync::Arc;
use std::time::{Duration, Instant};

use ostler_domain::id::KeyId;
use ostler_domain::org::key_scope::KeyScopes;
use ostler_domain::org::role::Role;
use ostler_domain::secret::ApiKeySecret;
use ostler_store::NewApiKey;
use tokio::task::JoinSet;

use crate::path::gateway::GatewayMode;
use crate::path::installation::{Installation, SenderConnection, Work};
use crate::report::{Measurement, cpu_time};
use crate::{BenchError, Options};

/// Connections that send requests at the same time.
const CONNECTIONS: usize = 64;
/// Conversations of a list.
const SESSIONS: usize = 50;
/// The key of an operator.
const KEY: &str = "osk_an-operator-who-lists-conversations";

/// Makes the request of a connection: the number of the connection, and of the request.
type MakeRequest = Arc<dyn Fn(usize, usize) -> String + Send + Sync>;

pub(crate) async fn run(
    options: &Options,
    mut progress: impl FnMut(&str),
) -> Result<Vec<Measurement>, BenchError> {
    let share = options.time / 6;
    let mut results = Vec::new();
    progress("http.accept");
    results.push(accept(share).await?);
    progress("http.list_sessions");
    let installation = Installation::start(GatewayMode::Answering, Work::Answered).await?;
    let org = installation.orgs[0].id;
    let secret: ApiKeySecret =
        KEY.parse().map_err(|_| BenchError::Http("the key of the suite is not valid".into()))?;
    let (id, scopes) = (KeyId::from_u128(1), KeyScopes::default());
    let (name, role) = ("bench".to_owned(), Role::Operator);
    let key = NewApiKey { id, name, role, scopes, expires_at: None };
    installation.store.org(org).create_key(key, &secret).await?;
    results.push(list_sessions(&installation, share).await?);
    progress("http.streams.1000");
    results.push(streams::run(&installation, KEY, share).await?);
    installation.stop().await;
    Ok(results)
}

/// Measures accepted messages beside a route that commits their bodies.
async fn accept(time: Duration) -> Result<Measurement, BenchError> {
    let bare = bare::Committing::start().await?;
    let installation = Installation::start(GatewayMode::Answering, Work::Kept).await?;
    let org = installation.orgs[0].clone();
    // The bare route gets requests of the same size.
    let message: MakeRequest =
        Arc::new(move |connection, _| org.message(&format!("customer-{connection}")));
    let limit = load(&bare.address, message.clone(), time).await?;
    bare.stop();
    let measured = load(&installation.address, message, time).await?;
    installation.stop().await;
    Ok(measured.beside("http.accept", &limit))
}

/// Measures lists of conversations beside a route that sends the same bytes.
async fn list_sessions(
    installation: &Installation,
    time: Duration,
) -> Result<Measurement, BenchError> {
    let org = &installation.orgs[0];
    for customer in 0..SESSIONS {
        org.exchange(&format!("customer-{customer}")).await?;
    }
    let path = format!("/v1/orgs/{}/sessions?limit={SESSIONS}", org.id);
    let request =
        format!("GET {path} HTTP/1.1\r\nhost: bench\r\nauthorization: Bearer {KEY}\r\n\r\n");
    let answer = SenderConnection::open(&installation.address).await?.exchange(&request).await?;
    let bare = bare::Fixed::start(answer).await?;
    let request: MakeRequest = Arc::new(move |_, _| request.clone());
    let limit = load(&bare.address, request.clone(), time).await?;
    bare.stop();
    let measured = load(&installation.address, request, time).await?;
    Ok(measured.beside("http.list_sessions", &limit))
}

/// The requests of a load.
struct Load {
    each: Vec<Duration>,
    all: Duration,
    cpu: Duration,
}

impl Load {
    fn beside(self, name: &str, limit: &Self) -> Measurement {
        let limit = limit.each.len() as f64 / limit.all.as_secs_f64();
        let (all, cpu) = (self.all, self.cpu);
        Measurement::new(name.to_owned(), self.each, all, Some(limit)).with_cpu(all, cpu)
    }
}

/// Sends requests on all connections until the time is over.
async fn load(address: &str, request: MakeRequest, time: Duration) -> Result<Load, BenchError> {
    let (start, cpu) = (Instant::now(), cpu_time());
    let mut running = JoinSet::new();
    for number in 0..CONNECTIONS {
        let (address, request) = (address.to_owned(), request.clone());
        running.spawn(async move {
            let mut connection = SenderConnection::open(&address).await?;
            let mut each = Vec::new();
            while start.elapsed() < time {
                let request = request(number, each.len());
                let began = Instant::now();
                connection.exchange(&request).await?;
                each.push(began.elapsed());
            }
            Ok::<_, BenchError>(each)
        });
    }
    let mut each = Vec::new();
    while let Some(done) = running.join_next().await {
        each.extend(done??);
    }
    Ok(Load { each, all: start.elapsed(), cpu: cpu_time().saturating_sub(cpu) })
}
