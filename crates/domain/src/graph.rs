//! Ways through what depends on what.

use std::collections::{BTreeMap, VecDeque};

/// A shortest way from one to another, both included. Each of them is looked at
/// once.
pub(crate) fn way<K, N>(from: K, to: K, next: impl Fn(K) -> N) -> Option<Vec<K>>
where
    K: Copy + Ord,
    N: IntoIterator<Item = K>,
{
    let (mut open, mut before) = (VecDeque::from([from]), BTreeMap::new());
    while let Some(at) = open.pop_front() {
        if at == to {
            let mut way = vec![to];
            while let Some(earlier) =
                way.last().filter(|at| **at != from).and_then(|at| before.get(at))
            {
                way.push(*earlier);
            }
            way.reverse();
            return Some(way);
        }
        for other in next(at) {
            if other != from && !before.contains_key(&other) {
                before.insert(other, at);
                open.push_back(other);
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::way;

    #[test]
    fn the_shortest_way_is_found() {
        let next = |at: u8| match at {
            1 => vec![2, 3],
            2 => vec![4],
            3 => vec![4, 1],
            4 => vec![5],
            _ => vec![],
        };
        let check =
            |from, to, found: Option<&[u8]>| assert_eq!(way(from, to, next).as_deref(), found);
        check(1, 1, Some(&[1]));
        check(1, 5, Some(&[1, 2, 4, 5]));
        check(3, 2, Some(&[3, 1, 2]));
        check(5, 1, None);
    }
}
