//! A tree of named properties, as JSON objects.

use std::cmp::Ordering;
use std::fmt;

use serde::de::{self, MapAccess, SeqAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::Property;
use super::property::PropertyVisitor;

/// An inner node of a payload.
///
/// Names may repeat, in JSON too. Properties are written before child nodes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Node {
    /// The named values of this node.
    pub properties: Vec<(String, Property)>,
    /// The named nodes below this one.
    pub children: Vec<(String, Node)>,
}

impl Node {
    /// Sorts the names at every level, keeping the order of equal ones: first those that are numbers, by
    /// value, then the others, by bytes.
    pub fn sort(&mut self) {
        sort_by_name(&mut self.properties);
        sort_by_name(&mut self.children);
        for (_, child) in &mut self.children {
            child.sort();
        }
    }
}

/// The order of [`Node::sort`]. It is total: comparing numbers with numbers by value and all else by
/// bytes is not (`9 < 10 < 1a < 9`).
pub(super) fn sort_by_name<T>(named: &mut [(String, T)]) {
    named.sort_by(
        |(a, _), (b, _)| match (a.parse::<u64>(), b.parse::<u64>()) {
            (Ok(number), Ok(other)) => number.cmp(&other),
            (Ok(_), Err(_)) => Ordering::Less,
            (Err(_), Ok(_)) => Ordering::Greater,
            (Err(_), Err(_)) => a.cmp(b),
        },
    );
}

impl Serialize for Node {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map =
            serializer.serialize_map(Some(self.properties.len() + self.children.len()))?;
        for (name, property) in &self.properties {
            map.serialize_entry(name, property)?;
        }
        for (name, child) in &self.children {
            map.serialize_entry(name, child)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Item::deserialize(deserializer)? {
            Item::Node(node) => Ok(node),
            Item::Property(_) => Err(de::Error::custom("expected an object")),
        }
    }
}

/// What an object holds under a name.
enum Item {
    Property(Property),
    Node(Node),
}

impl<'de> Deserialize<'de> for Item {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ItemVisitor)
    }
}

struct ItemVisitor;

impl<'de> Visitor<'de> for ItemVisitor {
    type Value = Item;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a property or an object")
    }

    fn visit_bool<E: de::Error>(self, value: bool) -> Result<Item, E> {
        PropertyVisitor.visit_bool(value).map(Item::Property)
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<Item, E> {
        PropertyVisitor.visit_i64(value).map(Item::Property)
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<Item, E> {
        PropertyVisitor.visit_u64(value).map(Item::Property)
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Item, E> {
        PropertyVisitor.visit_f64(value).map(Item::Property)
    }

    fn visit_str<E: de::Error>(self, value: &str) -> Result<Item, E> {
        PropertyVisitor.visit_str(value).map(Item::Property)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, array: A) -> Result<Item, A::Error> {
        PropertyVisitor.visit_seq(array).map(Item::Property)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Item, A::Error> {
        let mut node = Node::default();
        while let Some((name, item)) = map.next_entry()? {
            match item {
                Item::Property(property) => node.properties.push((name, property)),
                Item::Node(child) => node.children.push((name, child)),
            }
        }
        Ok(Item::Node(node))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeated_names_survive_in_order() {
        let text = r#"{"b":1,"a":true,"b":"two","c":{"x":[1,2]},"c":{}}"#;
        let mut node: Node = serde_json::from_str(text).unwrap();
        assert_eq!(serde_json::to_string(&node).unwrap(), text);
        node.sort();
        assert_eq!(
            serde_json::to_string(&node).unwrap(),
            r#"{"a":true,"b":1,"b":"two","c":{"x":[1,2]},"c":{}}"#
        );
    }

    #[test]
    fn names_that_are_numbers_sort_by_value() {
        let mut named = ["b", "10", "1a", "9", "a", "010"].map(|name| (name.to_owned(), ()));
        sort_by_name(&mut named);
        assert_eq!(
            named.map(|(name, ())| name),
            ["9", "10", "010", "1a", "a", "b"]
        );
    }

    #[test]
    fn what_is_nested_too_deep_is_an_error_and_not_an_overflow() {
        let text = r#"{"a":"#.repeat(100_000);
        assert!(serde_json::from_str::<Node>(&text).is_err());
    }
}
