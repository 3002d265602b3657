//! A bike shop from nothing to an answered customer, on both stacks: an installation, the
//! shop as a world file, its orders from a CSV file, its own order system as an HTTP tool,
//! and a model at a local URL.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::path::Path;

use ostler_testkit::TestDatabase;
use serde_json::Value;

use crate::mock_model::Server;
use crate::{stderr, stdout};

/// How the model of the shop answers.
const SCRIPT: &str = r#"
model: shop
rules:
  - name: a question about a refund goes to Jon
    when: { agent: You are Ida, user: refund, offered: tag_in_agent }
    answer:
      text: Jon looks after payments.
      call: tag_in_agent
      with: { targetAgentId: jon, reason: a refund, contextSummary: a refund, conversationGoal: a refund }
  - name: Jon asks for the refund
    when: { agent: You are Jon, user: { regex: 'refund.* order (?<order>\d+)' } }
    answer:
      - call: get_order
        with: { order: "{{ order }}" }
      - call: refund_payment
        with: { order: "{{ order }}", amount: "6.50", reason: spoiled }
      - A colleague decides about the refund.
  - name: the refund was approved
    when: { result: { tool: refund_payment, status: ok } }
    answer: The refund is approved.
  - name: the shop knows the order
    when: { user: { regex: 'order (?<order>\d+)' }, offered: shop_order }
    answer:
      - call: shop_order
        with: { order: "{{ order }}" }
      - "Your order: {{ result }}"
default: What can I do for you?
"#;

/// The order system of the shop. It knows one order and one token.
fn order_system() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let mut reader = BufReader::new(&stream);
            let mut head = String::new();
            while reader.read_line(&mut head).is_ok_and(|read| read > 2) {}
            let knows = head.starts_with("GET /api/orders/1001 ")
                && head.to_lowercase().contains("authorization: bearer canary-shop-token");
            let (status, body) = match knows {
                true => ("200 OK", r#"{"status": "in the workshop", "expected": "Friday"}"#),
                false => ("404 Not Found", "{}"),
            };
            let length = body.len();
            let _gone = write!(
                &stream,
                "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
            );
        }
    });
    address
}

struct Shop {
    home: tempfile::TempDir,
    files: tempfile::TempDir,
    _model: Server,
}

impl Shop {
    /// Makes the installation and applies the world file.
    fn open(flags: &[&str]) -> Self {
        let home = tempfile::tempdir().expect("a folder");
        let files = tempfile::tempdir().expect("a folder");
        let script = files.path().join("shop.yaml");
        std::fs::write(&script, SCRIPT).expect("a script");
        let (model, address) = Server::start(script.to_str().expect("a path"));
        let shop = Self { home, files, _model: model };
        shop.run(&[&["init", "--email", "ada@example.org", "--name", "Ada"], flags].concat());
        let config = shop.home.path().join("ostler.toml");
        let text = std::fs::read_to_string(&config).expect("a configuration");
        let more = format!(
            "model = \"local/shop\"\nlocal_network = true\n{text}\n[[provider]]\nname = \"local\"\nkind = \"openai\"\nbase_url = \"http://{address}/v1\"\n"
        );
        std::fs::write(&config, more).expect("written");
        shop
    }

    fn home(&self) -> &str {
        self.home.path().to_str().expect("a path")
    }

    fn run(&self, args: &[&str]) -> String {
        stdout(&[args, &["--home", self.home()]].concat())
    }

    fn json(&self, args: &[&str]) -> Value {
        serde_json::from_str(&self.run(&[args, &["--json"]].concat())).expect("JSON")
    }

    /// Writes the world file for an order system and applies it.
    fn apply(&self, order_system: &str) {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let example = std::fs::read_to_string(root.join("examples/nordlicht.toml"));
        let world = example
            .expect("the example")
            .replace("https://shop.nordlicht.example", &format!("http://{order_system}"));
        let file = self.files.path().join("nordlicht.toml");
        std::fs::write(&file, world).expect("written");
        let file = file.to_str().expect("a path");
        let said = self.run(&["apply", file, "--yes"]);
        assert!(said.ends_with("12 to create\napplied\n"), "{said}");
        assert_eq!(self.run(&["apply", file, "--plan"]), "nothing to change\n");
    }

    /// Puts the token of the order system where the world file says.
    fn write_token(&self) {
        let channels = self.json(&["channel", "ls", "--org", "nordlicht"]);
        let id = channels[0]["org"].as_str().expect("an org");
        let folder = self.home.path().join("secrets").join(id);
        std::fs::create_dir_all(&folder).expect("a folder");
        std::fs::write(folder.join("shop_token"), "canary-shop-token").expect("a token");
    }
}

/// The story, on one stack.
fn play(flags: &[&str]) {
    let shop = Shop::open(flags);
    shop.apply(&order_system());
    shop.write_token();
    let credits = shop.json(&["credit", "show", "--org", "nordlicht"]);
    assert_eq!(credits["pools"][1]["available"], 500, "{credits}");
    for (kind, file) in [("contacts", "contacts.csv"), ("orders", "orders.csv")] {
        let file = format!("examples/data/{file}");
        shop.run(&["data", "import", &file, "--kind", kind, "--org", "nordlicht"]);
    }

    let send = ["send", "--org", "nordlicht", "--contact", "kim", "Where is my order 1001?"];
    let answer = shop.run(&send);
    assert!(answer.contains("in the workshop") && answer.contains("Friday"), "{answer}");

    let refund = "I want a refund for order 2001.";
    let otto =
        ["send", "--org", "nordlicht", "--channel", "email", "--contact", "otto@example.com"];
    let answer = shop.run(&[&otto[..], &[refund]].concat());
    assert!(answer.contains("A colleague decides about the refund."), "{answer}");
    let waiting = shop.json(&["approval", "ls", "--org", "nordlicht"]);
    assert_eq!(waiting[0]["tool"], "refund_payment", "{waiting}");
    let id = waiting[0]["id"].as_str().expect("an id");
    shop.run(&["approval", "approve", id, "--org", "nordlicht"]);

    let world = shop.run(&["export", "--org", "nordlicht"]);
    let audit = shop.run(&["audit", "ls", "--org", "nordlicht", "--json"]);
    for text in [&world, &audit] {
        assert!(!text.contains("canary-shop-token"), "{text}");
    }
    assert!(audit.contains("create_agent"), "{audit}");
    let missing = stderr(&["doctor", "--home", shop.home()]);
    assert!(!missing.contains("models"), "every agent has a usable model: {missing}");
}

/// O02, O18: from nothing to an answered customer on a laptop.
#[test]
fn o02_o18_a_bike_shop_goes_from_nothing_to_an_answered_customer() {
    play(&[]);
}

/// O02, O18: the same on PostgreSQL and RabbitMQ.
#[tokio::test(flavor = "multi_thread")]
async fn o02_o18_a_bike_shop_runs_on_postgresql_and_rabbitmq() {
    let database = TestDatabase::postgres().await;
    let bus = std::env::var("OSTLER_TEST_AMQP_URL").expect("a broker");
    let url = database.url.clone();
    tokio::task::spawn_blocking(move || play(&["--database", &url, "--bus", &bus]))
        .await
        .expect("the story is played");
}
