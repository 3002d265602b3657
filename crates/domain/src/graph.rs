//! Graph search.

use std::collections::{BTreeMap, VecDeque};

/// Returns a shortest path from one node to another, both included. Visits each
/// node once.
pub(crate) fn shortest_path<K, N>(from: K, to: K, neighbors: impl Fn(K) -> N) -> Option<Vec<K>>
where
    K: Copy + Ord,
    N: IntoIterator<Item = K>,
{
    let (mut queue, mut previous) = (VecDeque::from([from]), BTreeMap::new());
    while let Some(node) = queue.pop_front() {
        if node == to {
            let mut path = vec![to];
            while let Some(earlier) =
                path.last().filter(|node| **node != from).and_then(|node| previous.get(node))
            {
                path.push(*earlier);
            }
            path.reverse();
            return Some(path);
        }
        for neighbor in neighbors(node) {
            if neighbor != from && !previous.contains_key(&neighbor) {
                previous.insert(neighbor, node);
                queue.push_back(neighbor);
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::shortest_path;

    #[test]
    fn the_shortest_path_is_found() {
        let neighbors = |node: u8| match node {
            1 => vec![2, 3],
            2 => vec![4],
            3 => vec![4, 1],
            4 => vec![5],
            _ => vec![],
        };
        let check = |from, to, expected: Option<&[u8]>| {
            assert_eq!(shortest_path(from, to, neighbors).as_deref(), expected);
        };
        check(1, 1, Some(&[1]));
        check(1, 5, Some(&[1, 2, 4, 5]));
        check(3, 2, Some(&[3, 1, 2]));
        check(5, 1, None);
    }
}
