//! Mail to the bike shop: a gateway posts it, the agent answers, and the answer leaves by SMTP.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use ostler_testkit::TestDatabase;
use serde_json::json;

use crate::channel::post_message;
use crate::nordlicht::Shop;
use crate::running_server::RunningServer;

const KEY: &str = "whsec_bm9yZGxpY2h0LW1haWwtZ2F0ZXdheS1rZXk=";
/// How long a mail may take on a busy machine.
const WAIT: Duration = Duration::from_secs(60);

/// Starts a mail server that takes every mail, and returns its port and the mails.
fn mail_server() -> (u16, Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let (mails, received) = channel();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let mails = mails.clone();
            std::thread::spawn(move || take_mails(&stream, &mails));
        }
    });
    (port, received)
}

/// Speaks as much SMTP as a client without extensions needs.
fn take_mails(mut stream: &TcpStream, mails: &Sender<String>) -> Option<()> {
    let mut lines = BufReader::new(stream).lines();
    stream.write_all(b"220 mail\r\n").ok()?;
    loop {
        let command = lines.next()?.ok()?;
        if !command.starts_with("DATA") {
            stream.write_all(b"250 ok\r\n").ok()?;
            continue;
        }
        stream.write_all(b"354 go on\r\n").ok()?;
        let mut mail = String::new();
        loop {
            let line = lines.next()?.ok()?;
            if line == "." {
                break;
            }
            mail += &line;
            mail += "\n";
        }
        mails.send(mail).ok()?;
        stream.write_all(b"250 taken\r\n").ok()?;
    }
}

/// Mail of a known customer, proven by the gateway, is answered with the order; mail that
/// claims the same address without proof is answered like a stranger's.
fn answer_mail(flags: &[&str]) {
    let (port, mails) = mail_server();
    let shop = Shop::open(flags);
    let file = shop.world_file("127.0.0.1:1");
    let world = std::fs::read_to_string(&file).expect("the world").replace(
        r#"smtp = { host = "mail.nordlicht.example" }"#,
        &format!(
            r#"smtp = {{ host = "127.0.0.1", port = {port}, security = "none" }}, inbound_secret = "file:mail_in""#
        ),
    );
    std::fs::write(&file, world).expect("written");
    shop.run(&["apply", &file, "--yes"]);
    shop.write_secret("mail_in", KEY);
    for kind in ["contacts", "products", "orders"] {
        let file = format!("examples/data/nordlicht_{kind}.csv");
        shop.run(&["data", "import", &file, "--kind", kind, "--org", "nordlicht"]);
    }
    let channels = shop.json(&["channel", "ls", "--org", "nordlicht"]);
    let channels = channels.as_array().expect("a list");
    let mail = channels.iter().find(|one| one["name"] == "mail").expect("the mail channel");
    let path = format!("/v1/webhooks/{}", mail["binding"].as_str().expect("an id"));
    let server = RunningServer::start(shop.home());
    let ask = |id: &str, dmarc: &str| {
        let message = json!({
            "from": {"email": "mara@example.com", "name": "Mara"}, "subject": "My order",
            "message_id": id, "text": "Where is my order 2002?", "dmarc": dmarc,
        });
        let taken = post_message(&server.address, &path, KEY, &message);
        assert!(taken.contains(" 20"), "{taken}");
        mails.recv_timeout(WAIT).expect("the answer")
    };
    let answer = ask("<first@example.com>", "pass");
    assert!(answer.contains("Your order is in the workshop."), "{answer}");
    assert!(answer.contains("To: mara@example.com"), "{answer}");
    assert!(answer.contains("In-Reply-To: <first@example.com>"), "{answer}");
    let answer = ask("<second@example.com>", "none");
    assert!(!answer.contains("in the workshop"), "{answer}");
}

/// O02: mail to the shop is answered by mail, on a laptop.
#[test]
fn o02_mail_to_the_bike_shop_is_answered_by_mail() {
    answer_mail(&[]);
}

/// O02: the same on PostgreSQL and RabbitMQ.
#[tokio::test(flavor = "multi_thread")]
async fn o02_mail_to_the_bike_shop_is_answered_on_postgresql_and_rabbitmq() {
    let database = TestDatabase::postgres().await;
    let bus = std::env::var("OSTLER_TEST_AMQP_URL").expect("a broker");
    let url = database.url.clone();
    tokio::task::spawn_blocking(move || answer_mail(&["--database", &url, "--bus", &bus]))
        .await
        .expect("the mail is answered");
}
