//! People log in with an identity provider; `oauth2-mock-server` plays it.

use std::path::Path;
use std::process::Stdio;

use ostler_domain::org::role::Role;
use ostler_runtime::operations::{Actor, NewMember};
use ostler_server::{ClientSecret, IdentityProvider};
use reqwest::redirect::Policy;
use reqwest::{Client, Response, StatusCode};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use super::{Online, problem, threads};
use crate::support::{ECHO, ORG, Scenario};

/// Starts the server, and sets the claims of the next token to the lines that it reads.
const PROGRAM: &str = "
    import { OAuth2Server } from 'oauth2-mock-server';
    import { createInterface } from 'node:readline';
    const server = new OAuth2Server();
    let claims = {};
    server.service.on('beforeTokenSigning', (token) => Object.assign(token.payload, claims));
    await server.issuer.keys.generate('RS256');
    await server.start(0, '127.0.0.1');
    console.log(server.issuer.url);
    createInterface({ input: process.stdin }).on('line', (line) => {
        claims = JSON.parse(line);
        console.log('set');
    });";

struct Provider {
    _process: Child,
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
    issuer: String,
}

impl Provider {
    async fn start() -> Self {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let installed = Command::new(root.join("scripts/install-npm")).output().await.unwrap();
        assert!(installed.status.success(), "{}", String::from_utf8_lossy(&installed.stderr));
        let folder = String::from_utf8(installed.stdout).unwrap();
        let folder = Path::new(folder.trim_end());
        let mut process = Command::new(folder.join("node"))
            .args(["--input-type=module", "-e", PROGRAM])
            .current_dir(folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let input = process.stdin.take().unwrap();
        let mut output = BufReader::new(process.stdout.take().unwrap()).lines();
        let issuer = output.next_line().await.unwrap().expect("the issuer");
        Self { _process: process, input, output, issuer }
    }

    /// Sets what the next token says.
    async fn say(&mut self, claims: &Value) {
        self.input.write_all(format!("{claims}\n").as_bytes()).await.unwrap();
        assert_eq!(self.output.next_line().await.unwrap().as_deref(), Some("set"));
    }
}

/// Returns the cookies that an answer sets, as a browser sends them back.
fn cookies(answer: &Response) -> String {
    let set = answer.headers().get_all("set-cookie").iter();
    let pairs = set.map(|cookie| cookie.to_str().unwrap().split(';').next().unwrap().to_owned());
    pairs.collect::<Vec<_>>().join("; ")
}

fn location(answer: &Response) -> String {
    assert!(answer.status().is_redirection(), "{}", answer.status());
    answer.headers()["location"].to_str().unwrap().to_owned()
}

/// Begins a log-in, and returns the cookie and the address that the provider sends back to.
async fn begin(online: &Online, browser: &Client) -> (String, String) {
    let begun = browser.get(online.url("/v1/login/company")).send().await.unwrap();
    assert_eq!(begun.status(), StatusCode::SEE_OTHER);
    let at_provider = browser.get(location(&begun)).send().await.unwrap();
    (cookies(&begun), location(&at_provider))
}

/// S13: log-in with an identity provider by OpenID Connect with PKCE. The first log-in links
/// the account by a verified e-mail address; later ones need no address.
#[tokio::test(flavor = "multi_thread")]
async fn s13_people_log_in_with_an_identity_provider() {
    let mut provider = Provider::start().await;
    let scenario = Scenario::new(ECHO).await;
    let threads = threads::options(&scenario.store, "default: I see.");
    let company = IdentityProvider {
        name: "company".into(),
        issuer: provider.issuer.clone(),
        client_id: "ostler".into(),
        client_secret: Some(ClientSecret::new("a secret".into())),
    };
    let online = Online::with_identity_providers(scenario, threads, vec![company]).await;
    let operations = online.scenario.operations();
    let terminal = operations.as_actor(Actor::Terminal, ORG);
    let new = NewMember { email: "ada@example.com".into(), name: None, role: Role::Operator };
    let ada = terminal.add_member(new).await.unwrap().user.id;
    let browser = Client::builder().redirect(Policy::none()).build().unwrap();

    let listed: Value =
        browser.get(online.url("/v1/login")).send().await.unwrap().json().await.unwrap();
    assert_eq!(listed, json!([{"name": "company", "url": "/v1/login/company"}]));
    let unknown = browser.get(online.url("/v1/login/other")).send().await.unwrap();
    assert_eq!(problem(unknown).await, (404, "not_found".into()));

    let verified = json!({"sub": "a1", "email": "Ada@example.com", "email_verified": true});
    let with = |more: Value| {
        let mut claims = verified.clone();
        claims.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        claims
    };
    for (claims, status) in [
        (with(json!({"email_verified": false})), 403),
        (with(json!({"email": "eve@example.com"})), 403),
        (with(json!({"nonce": "of another log-in"})), 401),
        (with(json!({"aud": "another client"})), 401),
        (with(json!({"iss": "https://another.example"})), 401),
        (with(json!({"exp": 1_000_000_000})), 401),
    ] {
        provider.say(&claims).await;
        let (cookie, back) = begin(&online, &browser).await;
        let refused = browser.get(back).header("cookie", cookie).send().await.unwrap();
        assert_eq!(refused.status(), status, "{claims}");
        assert!(refused.headers().get("set-cookie").is_none(), "{claims}");
    }

    provider.say(&verified).await;
    let (cookie, back) = begin(&online, &browser).await;
    let elsewhere = browser.get(&back).send().await.unwrap();
    assert_eq!(problem(elsewhere).await, (401, "unauthorized".into()), "another browser");
    let (other_cookie, _) = begin(&online, &browser).await;
    let mixed = browser.get(&back).header("cookie", other_cookie).send().await.unwrap();
    assert_eq!(problem(mixed).await, (401, "unauthorized".into()), "another log-in");
    let done = browser.get(&back).header("cookie", &cookie).send().await.unwrap();
    assert_eq!((done.status().as_u16(), location(&done).as_str()), (303, "/"));
    let me = browser.get(online.url("/v1/me")).header("cookie", cookies(&done));
    let me: Value = me.send().await.unwrap().json().await.unwrap();
    assert_eq!((&me["user"], &me["orgs"][0]["role"]), (&json!(ada), &json!("operator")), "{me}");
    let again = browser.get(&back).header("cookie", &cookie).send().await.unwrap();
    assert!(again.status().as_u16() >= 400, "a code works once: {}", again.status());

    // The account at the provider is known now, whatever its address.
    provider.say(&json!({"sub": "a1", "email": "new@example.com", "email_verified": false})).await;
    let (cookie, back) = begin(&online, &browser).await;
    let later = browser.get(back).header("cookie", cookie).send().await.unwrap();
    assert_eq!(location(&later), "/");
}
