//! Log-in of people, and what they do with their own account: log-ins, password, sessions
//! of browsers, resets by admins.
//!
//! | file | holds |
//! |---|---|
//! | `activation` | setting a first or new password with a one-time code |
//! | `cookie` | the cookie of a logged-in browser |
//! | `key_refusals` | log and limit of requests with invalid keys |
//! | `log_in` | logging in and out |
//! | `members` | resets by admins |
//! | `notice_choices` | what a user wants to be notified of |
//! | `oidc` | logging in with an identity provider |
//! | `own` | who the caller is; own log-ins; changing the password |
//! | `passwords` | hashing and checking passwords |
//! | `same_site` | refusing changes that another site makes with somebody's cookie |

mod activation;
pub(crate) mod cookie;
pub(crate) mod key_refusals;
mod log_in;
mod members;
mod notice_choices;
pub(crate) mod oidc;
mod own;
mod passwords;
pub(crate) mod same_site;

use ostler_api::account::{Activated, Activation};
use ostler_api::me::Me;
use ostler_domain::org::permission::OrgPermission::{ManagePeople, View};
use serde_json::{Map, Value, json};

use self::key_refusals::KeyRefusals;
use self::oidc::IdentityProviders;
use self::passwords::Passwords;
use crate::route::Access::{Caller, LogIn};
use crate::route::describe::schema_of;
use crate::route::{Route, delete, get, patch, post, put};

/// What the server remembers of accounts.
#[derive(Debug, Default)]
pub(crate) struct Accounts {
    pub(crate) passwords: Passwords,
    pub(crate) key_refusals: KeyRefusals,
    pub(crate) providers: IdentityProviders,
}

/// Routes of people who log in, and of the caller's own account.
pub(crate) fn routes() -> Vec<Route> {
    let (email, password) = ("ada@example.org", "a long sentence of your own");
    vec![
        post(LogIn, "/login", "logIn", "Log in with a password", log_in::log_in)
            .returns(schema_of::<Me>)
            .example(json!({"email": email, "password": password})),
        get(LogIn, "/login", "listLoginProviders", "List identity providers", oidc::routes::list),
        get(
            LogIn,
            "/login/{provider}",
            "beginLogin",
            "Send the browser to an identity provider",
            oidc::routes::begin,
        )
        .statuses(&[303]),
        get(
            LogIn,
            "/login/{provider}/callback",
            "finishLogin",
            "Log the browser in that comes back from an identity provider",
            oidc::routes::finish,
        )
        .statuses(&[303]),
        get(
            LogIn,
            "/activate",
            "getActivation",
            "Say what a one-time code is for",
            activation::show,
        )
        .returns(schema_of::<Activation>),
        post(
            LogIn,
            "/activate",
            "activate",
            "Set a password with a one-time code",
            activation::activate,
        )
        .returns(schema_of::<Activated>)
        .example(json!({"code": "osc_…", "password": password})),
        post(Caller, "/logout", "logOut", "End the log-in of the request", log_in::log_out)
            .statuses(&[204]),
        get(Caller, "/me", "getMe", "Show the identity of the caller", own::me),
        put(
            Caller,
            "/me/password",
            "changePassword",
            "Change the own password",
            own::change_password,
        )
        .example(json!({"current": password, "new": "another long sentence"})),
        get(Caller, "/me/sessions", "listLogins", "List the own log-ins", own::sessions),
        delete(Caller, "/me/sessions/{login}", "endLogin", "End a log-in", own::end_session),
    ]
}

/// Routes of an org about its members: their log-ins, and what each chooses.
pub(crate) fn member_routes() -> Vec<Route> {
    vec![
        get(
            View,
            "/notice-choices",
            "getNoticeChoices",
            "Show what the logged-in member is notified of",
            notice_choices::show,
        ),
        patch(
            View,
            "/notice-choices",
            "changeNoticeChoices",
            "Change what the logged-in member is notified of",
            notice_choices::change,
        )
        .takes(schema_of::<Map<String, Value>>)
        .example(json!({"topics": {"escalation": ["email"]}})),
        post(
            ManagePeople,
            "/members/{member}/password-code",
            "createPasswordCode",
            "Make a link with which a member sets a new password",
            members::create_password_code,
        )
        .runs_again(),
        get(
            ManagePeople,
            "/members/{member}/logins",
            "listMemberLogins",
            "List the log-ins of a member",
            members::logins,
        ),
        delete(
            ManagePeople,
            "/members/{member}/logins",
            "endMemberLogins",
            "End all log-ins of a member",
            members::end_logins,
        ),
    ]
}
