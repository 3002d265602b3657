//! A bike shop from nothing to an answered customer, on both stacks: an installation, the
//! shop as a world file, its orders from a CSV file, its own order system as an HTTP tool,
//! and a model at a local URL.

use std::path::Path;

use ostler_testkit::{OrderSystem, TestDatabase};
use serde_json::Value;

use crate::mock_model::Server;
use crate::{ostler, stderr, stdout};

/// How the model of the shop answers.
const SCRIPT: &str = "examples/scripts/nordlicht.yaml";

pub(crate) struct Shop {
    pub(crate) home: tempfile::TempDir,
    files: tempfile::TempDir,
    _model: Server,
}

impl Shop {
    /// Makes the installation and applies the world file.
    pub(crate) fn open(flags: &[&str]) -> Self {
        let home = tempfile::tempdir().expect("a folder");
        let files = tempfile::tempdir().expect("a folder");
        let (model, address) = Server::start(SCRIPT);
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

    pub(crate) fn home(&self) -> &str {
        self.home.path().to_str().expect("a path")
    }

    pub(crate) fn run(&self, args: &[&str]) -> String {
        stdout(&[args, &["--home", self.home()]].concat())
    }

    pub(crate) fn json(&self, args: &[&str]) -> Value {
        serde_json::from_str(&self.run(&[args, &["--json"]].concat())).expect("JSON")
    }

    /// Writes the world file for an order system and returns its path.
    pub(crate) fn world_file(&self, order_system: &str) -> String {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let example = std::fs::read_to_string(root.join("examples/nordlicht.toml"));
        let world = example
            .expect("the example")
            .replace("https://shop.nordlicht.example", &format!("http://{order_system}"))
            .replace("risk = \"read\"\naudience", "risk = \"read\"\ntimeout_secs = 1\naudience");
        let file = self.files.path().join("nordlicht.toml");
        std::fs::write(&file, world).expect("written");
        file.to_str().expect("a path").to_owned()
    }

    /// Applies the world file for an order system.
    fn apply(&self, order_system: &str) {
        let file = self.world_file(order_system);
        let said = self.run(&["apply", &file, "--yes"]);
        assert!(said.ends_with("12 to create\napplied\n"), "{said}");
        assert_eq!(self.run(&["apply", &file, "--plan"]), "nothing to change\n");
    }

    /// Puts the token of the order system where the world file says.
    fn write_token(&self) {
        self.write_secret("shop_token", "canary-shop-token");
    }

    /// Writes a secret of the shop.
    pub(crate) fn write_secret(&self, name: &str, value: &str) {
        let channels = self.json(&["channel", "ls", "--org", "nordlicht"]);
        let id = channels[0]["org"].as_str().expect("an org");
        let folder = self.home.path().join("secrets").join(id);
        std::fs::create_dir_all(&folder).expect("a folder");
        std::fs::write(folder.join(name), value).expect("a secret");
    }
}

/// The story, on one stack.
fn play(flags: &[&str]) {
    let shop = Shop::open(flags);
    let system = OrderSystem::start();
    shop.apply(system.address());
    shop.write_token();
    let credits = shop.json(&["credit", "show", "--org", "nordlicht"]);
    assert_eq!(credits["pools"][1]["available"], 500, "{credits}");
    for kind in ["contacts", "products", "orders"] {
        let file = format!("examples/data/nordlicht_{kind}.csv");
        shop.run(&["data", "import", &file, "--kind", kind, "--org", "nordlicht"]);
    }

    let send = ["send", "--org", "nordlicht", "--contact", "kim", "Is my repair 1001 done?"];
    let answer = shop.run(&send);
    assert!(answer.contains("in the workshop") && answer.contains("Friday"), "{answer}");
    order_system_has_faults(&shop);
    let mara = ["send", "--org", "nordlicht", "--channel", "mail", "--contact", "mara@example.com"];
    let answer = shop.run(&[&mara[..], &["Where is my order 2002?"]].concat());
    assert!(answer.contains("Your order is in the workshop."), "{answer}");

    let refund = "I want a refund for order 2001.";
    let otto = ["send", "--org", "nordlicht", "--channel", "mail", "--contact", "otto@example.com"];
    let answer = shop.run(&[&otto[..], &[refund]].concat());
    assert!(answer.contains("A colleague decides about the refund."), "{answer}");
    let waiting = shop.json(&["approval", "ls"]);
    assert_eq!(waiting[0]["risk"], "destructive", "{waiting}");
    assert_eq!(waiting[0]["tool"], "refund_payment", "{waiting}");
    let id = waiting[0]["id"].as_str().expect("an id");
    let listed = shop.run(&["approval", "ls"]);
    assert!(listed.contains("otto@example.com on email"), "{listed}");
    let end = &id[id.len() - 4..];
    shop.run(&["approval", "approve", end, "--org", "nordlicht"]);
    let again = ["approval", "reject", end, "--reason", "no", "--org", "nordlicht"];
    let again = stderr(&[&again[..], &["--home", shop.home()]].concat());
    assert!(again.contains("was approved already"), "{again}");
    let shown = shop.run(&["approval", "show", end, "--org", "nordlicht"]);
    assert!(
        shown.contains("approved by the terminal") && shown.contains("otto@example.com on"),
        "{shown}"
    );
    refund_is_paid(&shop, &otto);
    refund_is_rejected(&shop, &otto);
    visitor_becomes_a_contact(&shop);
    tools_are_described(&shop);

    let world = shop.run(&["export", "--org", "nordlicht"]);
    let audit = shop.run(&["audit", "ls", "--org", "nordlicht", "--json"]);
    for text in [&world, &audit] {
        assert!(!text.contains("canary-shop-token"), "{text}");
    }
    assert!(audit.contains("create_agent"), "{audit}");
    let missing = stderr(&["doctor", "--home", shop.home()]);
    assert!(!missing.contains("models"), "every agent has a usable model: {missing}");
}

/// What is wrong with the shop's own system is told to the customer and shown to people.
fn order_system_has_faults(shop: &Shop) {
    for (order, told) in [
        ("1002", "did not answer within"),
        ("1003", "The system failed (status 500)"),
        ("1004", "in the workshop"),
        ("1005", "knows nothing by that name (status 404)"),
    ] {
        let question = format!("Is my repair {order} done?");
        let contact = format!("customer-{order}");
        let answer = shop.run(&["send", "--org", "nordlicht", "--contact", &contact, &question]);
        assert!(answer.contains(told), "{order}: {answer}");
        let shown = shop.run(&["session", "show", &contact]);
        assert!(shown.contains(told), "{order}: {shown}");
    }
}

/// An approved request is on the order, in the list and in a notice until a person pays it;
/// then the customer reads so.
fn refund_is_paid(shop: &Shop, otto: &[&str]) {
    shop.run(&[otto, &["Thank you."]].concat());
    let order = shop.run(&["data", "show", "order", "2001", "--org", "nordlicht"]);
    assert!(order.contains("12.50 EUR, to be paid: the bell was broken"), "{order}");
    let notices = shop.run(&["notice", "ls", "--org", "nordlicht"]);
    assert!(
        notices.contains("pay a refund of 12.50 EUR for order 2001: the bell was broken"),
        "{notices}"
    );
    let refunds = shop.json(&["refund", "ls", "--org", "nordlicht"]);
    assert_eq!(refunds[0]["status"], "requested", "{refunds}");
    let id = refunds[0]["id"].as_str().expect("an id");

    let said = shop.run(&["refund", "paid", id, "--org", "nordlicht"]);
    assert!(said.contains("is paid; the agent tells the customer"), "{said}");
    let again = stderr(&[
        "refund",
        "refuse",
        id,
        "--reason",
        "no",
        "--home",
        shop.home(),
        "--org",
        "nordlicht",
    ]);
    assert!(again.contains("this refund is paid already"), "{again}");
    shop.run(&[otto, &["Is it there?"]].concat());
    let session = shop.run(&["session", "show", "otto@example.com"]);
    assert!(session.contains("approved refund_payment"), "{session}");
    assert!(session.contains("Your money is on its way."), "{session}");
    assert_eq!(shop.run(&["refund", "ls"]), "there is no refund to pay in any organization\n");
    let notices = shop.run(&["notice", "ls"]);
    for settled in ["pay a refund", "wants to call"] {
        assert!(!notices.contains(settled), "what is settled waits for nobody: {notices}");
    }
    let all = shop.run(&["notice", "ls", "--all", "--org", "nordlicht"]);
    assert!(all.contains("for order 2001: the bell was broken (it was paid or refused)"), "{all}");
    let order = shop.run(&["data", "show", "order", "2001", "--org", "nordlicht"]);
    assert!(order.contains("12.50 EUR, paid: the bell was broken"), "{order}");
    let audit = shop.run(&["audit", "ls", "--action", "pay_refund", "--json"]);
    assert!(audit.contains(id), "{audit}");
}

/// The agent reads a rejection, and the session shows it with its reason.
fn refund_is_rejected(shop: &Shop, otto: &[&str]) {
    shop.run(&[otto, &["I want another refund for order 2001."]].concat());
    let waiting = shop.json(&["approval", "ls", "--org", "nordlicht"]);
    let id = waiting[0]["id"].as_str().expect("an id");
    shop.run(&["approval", "reject", id, "--reason", "once is enough", "--org", "nordlicht"]);
    shop.run(&[otto, &["And now?"]].concat());
    let session = shop.run(&["session", "show", "otto@example.com"]);
    assert!(session.contains("rejected refund_payment: once is enough"), "{session}");
    assert!(session.contains("I am sorry, we cannot refund this one."), "{session}");
}

/// An agent hides orders from a visitor; the session says so, and an operator who knows the
/// visitor links them to the contact.
fn visitor_becomes_a_contact(shop: &Shop) {
    let kim = ["send", "--org", "nordlicht", "--contact", "kim"];
    let ask = |text: &str| shop.run(&[&kim[..], &[text]].concat());
    ask("I want a refund for order 2001.");
    let hidden = shop.run(&["session", "show", "kim"]);
    assert!(hidden.contains("✗ not found: There is no such order here."), "{hidden}");
    assert!(hidden.contains("ostler contact link webchat:kim CONTACT --org nordlicht"), "{hidden}");
    let said =
        shop.run(&["contact", "link", "webchat:kim", "otto@example.com", "--org", "nordlicht"]);
    assert!(said.starts_with("webchat:kim is Otto Klein from the next message on"), "{said}");
    ask("A refund for my order 2001, please.");
    let shown = shop.run(&["session", "show", "kim"]);
    assert!(shown.contains("✓ {\"orders\""), "{shown}");
    assert!(!shown.contains("contact link"), "{shown}");
    let audit = shop.run(&["audit", "ls", "--action", "link_contact", "--json"]);
    assert!(audit.contains("kim"), "{audit}");
    let again = stderr(&[
        "contact",
        "link",
        "kim",
        "Mara Lindt",
        "--org",
        "nordlicht",
        "--home",
        shop.home(),
    ]);
    assert!(again.contains("kim is the contact Otto Klein already"), "{again}");
}

/// The arguments of built-in tools and the tools of an agent are shown without a session.
fn tools_are_described(shop: &Shop) {
    let refund = shop.run(&["tools", "show", "refund_payment"]);
    for part in ["refund_payment  destructive, local", "amount    string  required", "currency"] {
        assert!(refund.contains(part), "{part} in {refund}");
    }
    let shown = shop.json(&["tools", "show", "get_order"]);
    assert_eq!(shown["arguments"]["required"][0], "order", "{shown}");
    let jon = shop.run(&["tools", "explain", "--agent", "jon", "--tool", "refund_payment"]);
    assert!(jon.contains("Jon of Nordlicht Bikes") && jon.contains("a fresh session"), "{jon}");
    assert!(jon.contains("asks first"), "{jon}");
    let unknown = stderr(&["tools", "explain", "--agent", "jan", "--home", shop.home()]);
    assert!(unknown.contains("no organization has an agent `jan`"), "{unknown}");
}

/// O18, O20: what keeps a tool from working is said when it is applied, and by doctor: a
/// secret that is missing, and a host that the configuration does not allow.
#[test]
fn o18_o20_a_tool_that_cannot_work_is_reported() {
    let shop = Shop::open(&[]);
    let config = shop.home.path().join("ostler.toml");
    let text = std::fs::read_to_string(&config).expect("a configuration");
    std::fs::write(&config, text.replace("local_network = true\n", "")).expect("written");
    let file = shop.world_file("127.0.0.1:1");
    let world = std::fs::read_to_string(&file).expect("the world");
    std::fs::write(&file, world.replace("mail.nordlicht.example", "127.0.0.1")).expect("written");
    let planned = ostler(&["apply", &file, "--plan", "--home", shop.home()]);
    let planned = String::from_utf8_lossy(&planned.stderr).into_owned();
    for part in [
        "HTTP tool shop_order: 127.0.0.1 is not on the public internet (this machine)",
        "the mail server of channel mail: 127.0.0.1 is not on the public internet",
    ] {
        assert!(planned.contains(part), "{part} in {planned}");
    }
    let applied = ostler(&["apply", &file, "--yes", "--home", shop.home()]);
    let notes = String::from_utf8_lossy(&applied.stderr).into_owned();
    let doctor = ostler(&["doctor", "--home", shop.home()]);
    let doctor = String::from_utf8_lossy(&doctor.stdout).into_owned();
    for said in [&notes, &doctor] {
        assert!(said.contains("HTTP tool shop_order: "), "{said}");
        assert!(said.contains("shop_token"), "{said}");
        assert!(said.contains("127.0.0.1 is not on the public internet (this machine)"), "{said}");
        assert!(said.contains("`local_network = true`"), "{said}");
    }
    shop.write_token();
    std::fs::write(&config, text).expect("written");
    let doctor = ostler(&["doctor", "--home", shop.home()]);
    let doctor = String::from_utf8_lossy(&doctor.stdout).into_owned();
    assert!(doctor.contains("One tool of an organization finds its secrets."), "{doctor}");
}

/// O20: doctor repeats what the process that polls a bot has reported.
#[tokio::test]
async fn o20_doctor_reports_a_bot_that_receives_nothing() {
    let shop = Shop::open(&[]);
    shop.apply("127.0.0.1:1");
    let channels = shop.json(&["channel", "ls", "--org", "nordlicht"]);
    let channels = channels.as_array().expect("a list");
    let bot = channels.iter().find(|one| one["name"] == "bot").expect("the bot");
    let text = |field: &str| bot[field].as_str().expect("an id");
    let folder = shop.home.path().join("secrets").join(text("org"));
    std::fs::create_dir_all(&folder).expect("a folder");
    std::fs::write(folder.join("telegram"), "1:canary").expect("a token");
    let url = format!("sqlite:{}", shop.home.path().join("ostler.db").display());
    let store = ostler_store::Store::open(&url).await.expect("the database");
    let org = store.org(text("org").parse().expect("an id"));
    let binding = text("binding").parse().expect("an id");
    org.record_binding_failure(binding, "401 Unauthorized").await.expect("recorded");
    drop(store);
    let doctor = ostler(&["doctor", "--home", shop.home()]);
    let doctor = String::from_utf8_lossy(&doctor.stdout).into_owned();
    assert!(doctor.contains("bot of nordlicht: failing since"), "{doctor}");
    assert!(doctor.contains("401 Unauthorized"), "{doctor}");
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
