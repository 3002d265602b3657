//! Taking turns.

/// Takes one value of each key in turn, up to `limit`.
pub(crate) fn round_robin<K: Clone, V>(
    values: impl IntoIterator<Item = (K, Vec<V>)>,
    limit: usize,
) -> Vec<(K, V)> {
    let mut left: Vec<_> =
        values.into_iter().map(|(key, values)| (key, values.into_iter())).collect();
    let mut picked = Vec::new();
    while picked.len() < limit && !left.is_empty() {
        left.retain_mut(|(key, values)| {
            let next = values.next().filter(|_| picked.len() < limit);
            let more = next.is_some();
            picked.extend(next.map(|value| (key.clone(), value)));
            more
        });
    }
    picked
}

#[cfg(test)]
mod tests {
    use super::round_robin;

    #[test]
    fn keys_take_turns_until_the_limit() {
        let values = || [("a", vec![1, 2, 3]), ("b", vec![]), ("c", vec![4])];
        assert_eq!(round_robin(values(), 9), [("a", 1), ("c", 4), ("a", 2), ("a", 3)]);
        assert_eq!(round_robin(values(), 2), [("a", 1), ("c", 4)]);
        assert_eq!(round_robin(values(), 0), []);
    }
}
