//! User accounts.

use ostler_domain::id::UserId;
use ostler_domain::org::role::Role;
use ostler_domain::secret::PasswordHash;
use ostler_store::{Membership, Store, StoreError, User, UserAccount};
use tokio_postgres::NoTls;

use crate::on_every_backend;
use crate::support::{TestDatabase, next, with_org};

pub(crate) fn password(text: &str) -> PasswordHash {
    format!("$argon2id$v=19${text}").parse().unwrap()
}

pub(crate) async fn with_user(store: &Store, email: &str) -> User {
    let id = UserId::from_u128(next());
    let user = User { id, email: email.into(), name: "Ada".into() };
    store.create_user(user.clone(), &password("first")).await.expect("a new person");
    user
}

on_every_backend!(accounts_are_found_by_email_ignoring_case);
async fn accounts_are_found_by_email_ignoring_case(store: &Store) {
    let (here, there) = (with_org(store, 1).await, with_org(store, 2).await);
    let ada = with_user(store, "Ada@Example.com").await;
    with_user(store, "bob@example.com").await;
    store.org(there).set_member(ada.id, Role::Viewer).await.unwrap();
    store.org(here).set_member(ada.id, Role::Owner).await.unwrap();
    let expected = UserAccount {
        user: ada.clone(),
        password: Some(password("first")),
        memberships: vec![
            Membership { org: here, role: Role::Owner },
            Membership { org: there, role: Role::Viewer },
        ],
    };
    assert_eq!(store.user_account_by_email(" ADA@example.COM").await.unwrap(), expected);
    assert_eq!(store.user_account(ada.id).await.unwrap(), expected);
    for nobody in ["", " ", "carl@example.com", "ada@example.co", "%"] {
        let found = store.user_account_by_email(nobody).await;
        assert!(matches!(found, Err(StoreError::NotFound("user"))), "{nobody}");
    }
    assert!(!format!("{expected:?}").contains("argon2id"), "{expected:?}");
}

on_every_backend!(duplicate_email_addresses_conflict);
async fn duplicate_email_addresses_conflict(store: &Store) {
    let ada = with_user(store, "ada@example.com").await;
    let bob = with_user(store, "bob@example.com").await;
    let twin = User { id: UserId::from_u128(next()), email: "ADA@example.com ".into(), ..ada };
    let refused = store.create_user(twin.clone(), &password("x")).await;
    assert!(matches!(refused, Err(StoreError::Conflict(_))), "{refused:?}");
    let grab = User { id: bob.id, ..twin };
    let refused = store.update_user(grab).await;
    assert!(matches!(refused, Err(StoreError::Conflict(_))), "{refused:?}");
    let moved = User { email: "robert@example.com".into(), name: "Robert".into(), ..bob };
    store.update_user(moved.clone()).await.unwrap();
    assert_eq!(store.user_account_by_email("robert@example.com").await.unwrap().user, moved);
    let gone = store.user_account_by_email("bob@example.com").await;
    assert!(matches!(gone, Err(StoreError::NotFound("user"))));
}

on_every_backend!(changing_a_missing_user_is_not_found);
async fn changing_a_missing_user_is_not_found(store: &Store) {
    let ada = with_user(store, "ada@example.com").await;
    let nobody = UserId::from_u128(next());
    let refused = store.update_user(User { id: nobody, ..ada }).await;
    assert!(matches!(refused, Err(StoreError::NotFound("user"))));
}

/// A05: row-level security shows a transaction of one org only that org's users,
/// and lets it change none of them.
#[tokio::test(flavor = "multi_thread")]
async fn a05_an_org_sees_only_its_own_users() {
    let backend = TestDatabase::postgres().await;
    let store = backend.migrated().await;
    let here = with_org(&store, 1).await;
    let ada = with_user(&store, "ada@example.com").await;
    with_user(&store, "bob@example.com").await;
    store.org(here).set_member(ada.id, Role::Owner).await.unwrap();
    let (client, connection) = tokio_postgres::connect(&backend.url, NoTls).await.unwrap();
    tokio::spawn(connection);
    let seen = async |scope: &str| -> Vec<String> {
        client.batch_execute(&format!("SET ostler.scope = '{scope}'")).await.unwrap();
        let rows = client.query("SELECT email FROM users ORDER BY email", &[]).await.unwrap();
        rows.iter().map(|row| row.get(0)).collect()
    };
    assert_eq!(seen("").await, [""; 0]);
    assert_eq!(seen("all").await, ["ada@example.com", "bob@example.com"]);
    assert_eq!(seen(&format!("{:032x}", here.as_u128())).await, ["ada@example.com"]);
    assert_eq!(client.execute("UPDATE users SET password = ''", &[]).await.unwrap(), 0);
    assert_eq!(client.execute("DELETE FROM users", &[]).await.unwrap(), 0);
}
