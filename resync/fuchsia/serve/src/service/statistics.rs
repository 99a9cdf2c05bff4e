//! The state of the service as inspect data.

use logdef_fuchsia::diagnostics::{InspectData, Node, Property};

use super::ring::{Counts, Ring};
use crate::Clock;

/// Connections, counted.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Connections {
    pub(super) opened: u64,
    pub(super) closed: u64,
    pub(super) refused: u64,
}

/// The tree: totals, connections, and each component under its moniker and process.
pub(super) fn inspect(
    ring: &Ring,
    connections: Connections,
    not_stored: u64,
    clock: Clock,
) -> InspectData {
    let mut root = Node::default();
    let name = Property::Text(clock.name().to_owned());
    root.properties.push(("clock".to_owned(), name));
    let mut totals = node(&ring.totals());
    put(&mut totals, "not_stored", not_stored);
    root.children.push(("totals".to_owned(), totals));
    let mut sockets = Node::default();
    put(&mut sockets, "opened", connections.opened);
    put(&mut sockets, "closed", connections.closed);
    put(&mut sockets, "refused", connections.refused);
    root.children.push(("connections".to_owned(), sockets));
    let mut components = Node::default();
    for kept in ring.components() {
        let name = format!("{}:{}", kept.component.moniker, kept.component.pid);
        components.children.push((name, node(&kept.counts)));
    }
    root.children.push(("components".to_owned(), components));
    InspectData::new("logdef-serve", clock.now(), root)
}

fn node(counts: &Counts) -> Node {
    let mut node = Node::default();
    put(&mut node, "stored", counts.stored);
    put(&mut node, "stored_bytes", counts.stored_bytes);
    put(&mut node, "rolled_out", counts.rolled_out);
    put(&mut node, "dropped", counts.dropped);
    put(&mut node, "invalid", counts.invalid);
    node
}

fn put(node: &mut Node, name: &str, value: u64) {
    node.properties
        .push((name.to_owned(), Property::UnsignedInt(value)));
}
