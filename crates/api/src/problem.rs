//! Errors as RFC 9457 problems. Programs use `code`, people read `detail`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Media type of a problem.
pub const PROBLEM_MEDIA_TYPE: &str = "application/problem+json";

/// Why a request failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error, JsonSchema)]
#[error("{detail}")]
pub struct Problem {
    /// `urn:ostler:problem:` followed by the code.
    #[serde(rename = "type")]
    pub kind: String,
    /// The code in words.
    pub title: String,
    pub status: u16,
    /// What happened and what to do about it.
    pub detail: String,
    pub code: ProblemCode,
}

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $word:literal, $status:literal, $title:literal;)*) => {
        /// Stable codes of problems. A client that does not know a code yet goes by
        /// the status.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
        pub enum ProblemCode {
            $($(#[$doc])* #[serde(rename = $word)] $name,)*
            /// A code of a newer server.
            #[serde(other, rename = "other")]
            Other,
        }

        impl ProblemCode {
            /// All codes of this version.
            pub const ALL: &[Self] = &[$(Self::$name),*];

            /// Returns the name on the wire.
            pub const fn word(self) -> &'static str {
                match self { $(Self::$name => $word,)* Self::Other => "other" }
            }

            /// Returns the HTTP status.
            pub const fn status(self) -> u16 {
                match self { $(Self::$name => $status,)* Self::Other => 500 }
            }

            const fn title(self) -> &'static str {
                match self { $(Self::$name => $title,)* Self::Other => "Something else" }
            }
        }
    };
}

codes! {
    /// The request could not be parsed.
    BadRequest = "bad_request", 400, "The request cannot be read";
    /// Missing or unknown key or token.
    Unauthorized = "unauthorized", 401, "A valid key or token is needed";
    /// Missing or wrong signature of a webhook.
    BadSignature = "bad_signature", 401, "The signature is not right";
    /// The ledger of the org does not pay for it.
    NoCredits = "no_credits", 402, "There are no credits left";
    /// The caller's role does not allow it.
    Forbidden = "forbidden", 403, "The role does not allow it";
    /// A page of this origin may not embed the chat.
    ForeignOrigin = "foreign_origin", 403, "This page may not do this";
    /// The resource does not exist, or not for this caller.
    NotFound = "not_found", 404, "There is no such thing here";
    /// The path exists, but not with this method.
    MethodNotAllowed = "method_not_allowed", 405, "This cannot be done with it";
    /// The request took too long to arrive or to process.
    TimedOut = "timed_out", 408, "It took too long";
    /// Another change was made first.
    Conflict = "conflict", 409, "Things have changed";
    /// The state of the resource does not allow it.
    NotNow = "not_now", 409, "This cannot be done in this state";
    /// Another process works on the thread.
    InUse = "in_use", 409, "It is in use elsewhere";
    /// A request with the same `Idempotency-Key` was started, and its outcome is
    /// not known.
    InProgress = "in_progress", 409, "The same request was begun before";
    /// The change is based on an old version.
    Changed = "changed", 412, "It was changed meanwhile";
    /// The body is too large.
    TooLarge = "too_large", 413, "The body is too large";
    /// The request was understood, but its values are not valid.
    Invalid = "invalid", 422, "What was said is not valid";
    /// The `Idempotency-Key` belongs to another request.
    KeyReused = "idempotency_key_reused", 422, "The key belongs to another request";
    /// A limit was reached.
    TooMany = "too_many", 429, "There is too much already";
    /// An error of the server.
    Internal = "internal", 500, "Something is wrong on this side";
    /// Temporarily unavailable.
    Unavailable = "unavailable", 503, "It may work later";
}

impl Problem {
    /// Makes a problem from its code and a sentence that says what to do.
    pub fn new(code: ProblemCode, detail: impl Into<String>) -> Self {
        Self {
            kind: format!("urn:ostler:problem:{}", code.word()),
            title: code.title().to_owned(),
            status: code.status(),
            detail: detail.into(),
            code,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Problem, ProblemCode};

    #[test]
    fn problem_has_a_stable_json_form() {
        let problem = Problem::new(ProblemCode::NotFound, "no such session here");
        let written = serde_json::json!({"type": "urn:ostler:problem:not_found",
            "title": "There is no such thing here", "status": 404,
            "detail": "no such session here", "code": "not_found"});
        assert_eq!(serde_json::to_value(&problem).unwrap(), written);
        assert_eq!(serde_json::from_value::<Problem>(written).unwrap(), problem);
        assert_eq!(problem.to_string(), "no such session here");
    }

    #[test]
    fn codes_are_distinct_and_round_trip() {
        let words: std::collections::BTreeSet<&str> =
            ProblemCode::ALL.iter().map(|code| code.word()).collect();
        assert_eq!(words.len(), ProblemCode::ALL.len());
        for code in ProblemCode::ALL {
            assert_eq!(serde_json::to_value(code).unwrap(), code.word());
            assert!((400..600).contains(&code.status()), "{}", code.word());
        }
        let newer: ProblemCode = serde_json::from_str("\"quota_of_2031\"").unwrap();
        assert_eq!(newer, ProblemCode::Other);
    }
}
