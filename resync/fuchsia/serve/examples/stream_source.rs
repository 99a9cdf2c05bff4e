//! Writes numbered records into shared memory as fast as it can: `stream_source PATH COUNT`.
//!
//! Prints how many were written, every 10 000 and at the end, and then how fast. Kill it at any time: a
//! retriever that is connected still gets all of them.

use std::io::Write;
use std::time::{Duration, Instant};

use logdef_fuchsia::structured::{RecordWriter, Severity};
use logdef_serve::stream::{StreamSettings, StreamSource};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().ok_or("usage: stream_source PATH COUNT")?;
    let count: i64 = arguments.next().ok_or("no count")?.parse()?;
    let settings = StreamSettings {
        wait: Duration::from_secs(1),
        ..StreamSettings::default()
    };
    let source = StreamSource::bind(path, settings)?;
    let mut output = std::io::stdout().lock();
    writeln!(output, "serving")?;
    // Others can attach before the first record.
    if let Some(milliseconds) = arguments.next() {
        std::thread::sleep(Duration::from_millis(milliseconds.parse()?));
    }
    let start = Instant::now();
    let mut buffer = [0; 128];
    for number in 0..count {
        let mut record = RecordWriter::new(&mut buffer, number, Severity::INFO)?;
        record.argument("message", "a number")?;
        record.argument("number", number)?;
        source.write(record.finish())?;
        if (number + 1) % 10_000 == 0 {
            writeln!(output, "{}", number + 1)?;
        }
    }
    let seconds = start.elapsed().as_secs_f64();
    writeln!(output, "{count} records in {seconds:.3} s")?;
    Ok(())
}
