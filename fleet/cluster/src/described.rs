//! Tables on their way to a worker, as a header of each task: functions look into them. The engine's own way to send
//! what a function knows is closed, since `DistributedCodec` says of every function that it has encoded it, with
//! nothing, and so no other codec is asked (`ComposedPhysicalExtensionCodec::encode_protobuf`).

use bytes::Bytes;
use datafusion::common::{Result, exec_datafusion_err, exec_err};
use http::HeaderMap;
use tonic::metadata::{BinaryMetadataValue, MetadataMap};

/// Its end says that it is bytes, which the transport writes as text.
const HEADER: &str = "logdef-tables-bin";

/// Bytes of headers that a worker takes with one request.
pub(crate) const MOST: u32 = 1 << 20;

/// Adds a description.
pub(crate) fn insert(description: &[u8], headers: &mut HeaderMap) -> Result<()> {
    // Three bytes become four characters, and some room is left for the other headers.
    if description.len() / 3 * 4 + (16 << 10) > MOST as usize {
        return exec_err!(
            "too many files, or too much damage in them, to send to workers with one query: ask about fewer"
        );
    }
    let mut metadata = MetadataMap::new();
    metadata.insert_bin(HEADER, BinaryMetadataValue::from_bytes(description));
    headers.extend(metadata.into_headers());
    Ok(())
}

/// The description in the headers, if there is one.
pub(crate) fn find(headers: &HeaderMap) -> Result<Option<Bytes>> {
    let metadata = MetadataMap::from_headers(headers.clone());
    let bytes = metadata
        .get_bin(HEADER)
        .map(BinaryMetadataValue::to_bytes)
        .transpose();
    bytes.map_err(|e| exec_datafusion_err!("{HEADER}: {e}"))
}
