//! SQL texts for the two dialects.

/// A statement in both dialects.
#[derive(Debug)]
pub(crate) struct Sql {
    pub(crate) sqlite: &'static str,
    pub(crate) postgres: &'static str,
}

/// Makes an [`Sql`] from a text that both databases understand. Parameters are
/// written `?1` and become `$1` for PostgreSQL; a question mark is nothing else.
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

/// Returns the text with `$` for `?`, at compile time.
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
    fn parameters_are_translated_for_postgres() {
        const SQL: Sql = sql!("SELECT ?1, ?2");
        assert_eq!((SQL.sqlite, SQL.postgres), ("SELECT ?1, ?2", "SELECT $1, $2"));
    }
}
