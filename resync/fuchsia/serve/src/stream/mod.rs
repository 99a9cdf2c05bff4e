//! The stream source and its retriever over Unix sockets and sealed memory files.
//!
//! A program writes records into memory it shares; others attach at any time, read what was written and what
//! comes, and can still read everything that was written when the program has crashed. Writing a record
//! takes no system call as long as no reader waits for it. The messages, the memory and all
//! rules are those of [`logdef_fuchsia::stream`].
//!
//! ```
//! use std::time::Duration;
//! use logdef_fuchsia::structured::{RecordWriter, Severity};
//! use logdef_serve::stream::{Next, StreamRetriever, StreamSettings, StreamSource};
//!
//! let directory = tempfile::tempdir()?;
//! let path = directory.path().join("stream");
//! let source = StreamSource::bind(&path, StreamSettings::default())?;
//! let mut buffer = [0; 256];
//! let mut writer = RecordWriter::new(&mut buffer, 1, Severity::INFO)?;
//! writer.argument("message", "hello")?;
//! let record = writer.finish();
//! source.write(record)?;
//!
//! let mut retriever = StreamRetriever::connect(&path)?;
//! match retriever.next(Duration::from_secs(10))? {
//!     Next::Record(bytes) => assert_eq!(bytes, record),
//!     other => panic!("{other:?}"),
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod log;
mod retriever;
mod source;

pub use log::LogStream;
pub use retriever::{Next, RetrieverError, StreamRetriever};
pub use source::{StreamSettings, StreamSource, WriteError};
