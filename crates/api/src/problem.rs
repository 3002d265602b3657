//! Errors, as RFC 9457 writes them. Programs go by `code`, people by `detail`.

use serde::{Deserialize, Serialize};

/// The media type of a problem.
pub const MEDIA_TYPE: &str = "application/problem+json";

/// Why a request was not done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{detail}")]
pub struct Problem {
    /// What kind of problem it is, as a URI: `urn:ostler:problem:` and the code.
    #[serde(rename = "type")]
    pub kind: String,
    /// The kind in words; the same for each of the kind.
    pub title: String,
    /// The HTTP status.
    pub status: u16,
    /// What happened, and what to do.
    pub detail: String,
    /// The kind, for programs.
    pub code: Code,
}

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $word:literal, $status:literal, $title:literal;)*) => {
        /// The kinds of problems. A program may meet one that it does not know
        /// yet and goes by the status then.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
        pub enum Code {
            $($(#[$doc])* #[serde(rename = $word)] $name,)*
            /// One that a newer server knows.
            #[serde(other, rename = "other")]
            Other,
        }

        impl Code {
            /// All that this version knows.
            pub const ALL: &[Self] = &[$(Self::$name),*];

            /// The word on the wire.
            pub const fn word(self) -> &'static str {
                match self { $(Self::$name => $word,)* Self::Other => "other" }
            }

            /// The HTTP status that goes with it.
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
    /// The request cannot be read.
    BadRequest = "bad_request", 400, "The request cannot be read";
    /// Nobody, or nobody known, asks.
    Unauthorized = "unauthorized", 401, "A valid key or token is needed";
    /// What came in is not signed as it should be.
    BadSignature = "bad_signature", 401, "The signature is not right";
    /// The caller may not do this.
    Forbidden = "forbidden", 403, "The role does not allow it";
    /// A page of this origin may not embed the chat.
    ForeignOrigin = "foreign_origin", 403, "This page may not do this";
    /// There is no such thing here.
    NotFound = "not_found", 404, "There is no such thing here";
    /// There is such a thing, but not this way of using it.
    MethodNotAllowed = "method_not_allowed", 405, "This cannot be done with it";
    /// The request took too long to arrive or to do.
    TimedOut = "timed_out", 408, "It took too long";
    /// Things are not as the caller thinks.
    Conflict = "conflict", 409, "Things have changed";
    /// The state of the thing does not allow it.
    NotNow = "not_now", 409, "This cannot be done in this state";
    /// A request with the same `Idempotency-Key` has begun and its end is not
    /// known.
    InProgress = "in_progress", 409, "The same request was begun before";
    /// The body is too large.
    TooLarge = "too_large", 413, "The body is too large";
    /// The request is understood, and what it says is wrong.
    Invalid = "invalid", 422, "What was said is not valid";
    /// The `Idempotency-Key` belongs to another request.
    KeyReused = "idempotency_key_reused", 422, "The key belongs to another request";
    /// There is too much already.
    TooMany = "too_many", 429, "There is too much already";
    /// Something is wrong on this side.
    Internal = "internal", 500, "Something is wrong on this side";
    /// It may work later.
    Unavailable = "unavailable", 503, "It may work later";
}

impl Problem {
    /// A problem of a kind, and what to do about it.
    pub fn new(code: Code, detail: impl Into<String>) -> Self {
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
    use super::{Code, Problem};

    #[test]
    fn a_problem_keeps_its_form() {
        let problem = Problem::new(Code::NotFound, "no such session here");
        let written = serde_json::json!({"type": "urn:ostler:problem:not_found",
            "title": "There is no such thing here", "status": 404,
            "detail": "no such session here", "code": "not_found"});
        assert_eq!(serde_json::to_value(&problem).unwrap(), written);
        assert_eq!(serde_json::from_value::<Problem>(written).unwrap(), problem);
        assert_eq!(problem.to_string(), "no such session here");
    }

    #[test]
    fn codes_are_told_apart_and_read_back() {
        let words: std::collections::BTreeSet<&str> =
            Code::ALL.iter().map(|code| code.word()).collect();
        assert_eq!(words.len(), Code::ALL.len());
        for code in Code::ALL {
            assert_eq!(serde_json::to_value(code).unwrap(), code.word());
            assert!((400..600).contains(&code.status()), "{}", code.word());
        }
        let newer: Code = serde_json::from_str("\"quota_of_2031\"").unwrap();
        assert_eq!(newer, Code::Other);
    }
}
