//! SQL texts for the two databases.

/// A statement in both dialects.
#[derive(Debug)]
pub(crate) struct Sql {
    pub(crate) sqlite: &'static str,
    pub(crate) postgres: &'static str,
}

/// A text that both databases understand. Parameters are written `?1`, which
/// PostgreSQL calls `$1`; no text of ours has a question mark otherwise.
macro_rules! sql {
    ($text:expr) => {
        $crate::backend::sql::Sql {
            sqlite: $text,
            postgres: {
                const TEXT: [u8; $text.len()] = $crate::backend::sql::dollars($text);
                match ::std::str::from_utf8(&TEXT) {
                    Ok(text) => text,
                    Err(_) => "",
                }
            },
        }
    };
}
pub(crate) use sql;

/// The text with `$` for `?`, made when the program is compiled.
pub(crate) const fn dollars<const N: usize>(text: &str) -> [u8; N] {
    let bytes = text.as_bytes();
    let mut out = [0; N];
    let mut at = 0;
    while at < N {
        out[at] = if bytes[at] == b'?' { b'$' } else { bytes[at] };
        at += 1;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::Sql;

    #[test]
    fn one_text_serves_both() {
        const SQL: Sql = sql!("SELECT ?1, ?2");
        assert_eq!((SQL.sqlite, SQL.postgres), ("SELECT ?1, ?2", "SELECT $1, $2"));
    }
}
