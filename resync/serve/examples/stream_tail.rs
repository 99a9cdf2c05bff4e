//! Prints the records of a stream source as they come: `stream_tail PATH`.

use std::io::Write;
use std::time::Duration;

use logdef_fuchsia::diagnostics::{LogsData, Origin, Text};
use logdef_fuchsia::structured::{Profile, Record};
use logdef_serve::stream::{Next, StreamRetriever};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).ok_or("usage: stream_tail PATH")?;
    let mut retriever = StreamRetriever::connect(&path)?;
    let mut output = std::io::stdout().lock();
    let origin = Origin {
        moniker: &path,
        ..Origin::default()
    };
    loop {
        match retriever.next(Duration::from_secs(3600)) {
            Ok(Next::Record(bytes)) => match Record::parse(bytes, Profile::Compat) {
                Ok((record, _)) => {
                    let data = LogsData::from_record(&record, &origin);
                    writeln!(output, "{}", Text::new(&data))?;
                }
                Err(error) => eprintln!("{error}"),
            },
            Ok(Next::Idle) => {}
            Ok(Next::Ended) => return Ok(()),
            Err(error) => eprintln!("{error}"),
        }
    }
}
