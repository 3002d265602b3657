//! Checks that the bus of an installation can be used.

use std::time::Duration;

use ostler_bus::RabbitOptions;
use tokio::net::TcpStream;

/// How long the broker may take to accept a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);
/// How long the broker may take to answer.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Connects to the bus at a URL and closes the connection. Returns why it cannot be used.
pub(crate) async fn check(url: &str) -> Result<(), String> {
    if let Some(host) = broker_host(url) {
        // The bus itself waits for a broker that is away, because it may come back.
        match tokio::time::timeout(CONNECT_TIMEOUT, TcpStream::connect(&host)).await {
            Ok(Ok(_)) => {}
            Ok(Err(error)) => return Err(format!("cannot connect to {host}: {error}")),
            Err(_) => return Err(format!("{host} does not answer")),
        }
    }
    let opened = tokio::time::timeout(TIMEOUT, ostler_bus::open(url, RabbitOptions::default()));
    match opened.await {
        Ok(Ok(bus)) => {
            bus.close().await;
            Ok(())
        }
        Ok(Err(error)) => Err(error.to_string()),
        Err(_) => Err("it accepts connections and does not answer".to_owned()),
    }
}

/// Returns the host and port of a broker's URL.
fn broker_host(url: &str) -> Option<String> {
    let (scheme, rest) = url.split_once("://")?;
    let port = match scheme {
        "amqp" => 5672,
        "amqps" => 5671,
        _ => return None,
    };
    let rest = rest.rsplit_once('@').map_or(rest, |(_, host)| host);
    let host = rest.split(['/', '?']).next().filter(|host| !host.is_empty())?;
    let has_port = host.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
    Some(if has_port { host.to_owned() } else { format!("{host}:{port}") })
}

#[cfg(test)]
mod tests {
    use super::broker_host;

    #[test]
    fn the_host_of_a_broker_is_found_in_its_url() {
        for (url, host) in [
            ("amqp://localhost", Some("localhost:5672")),
            ("amqps://u:p@mq.example/vhost", Some("mq.example:5671")),
            ("amqp://u:p@ss/w@mq:1234/%2f?x=1", Some("mq:1234")),
            ("amqp://[::1]:5672", Some("[::1]:5672")),
            ("amqp://[::1]", Some("[::1]:5672")),
            ("memory:", None),
        ] {
            assert_eq!(broker_host(url).as_deref(), host, "{url}");
        }
    }
}
