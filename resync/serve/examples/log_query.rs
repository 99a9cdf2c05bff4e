//! Prints what a log service has and gets: `log_query DIRECTORY [REQUEST] [--json]`, where the request is
//! JSON such as `{"mode":"subscribe","severity":"WARN"}`. As text, or the JSON arrays as they come.

use std::io::{self, Write};

use logdef_fuchsia::diagnostics::{LogsData, Text};
use logdef_serve::client;
use logdef_serve::service::Request;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let json = arguments.iter().position(|argument| argument == "--json");
    let json = json.map(|index| arguments.remove(index)).is_some();
    let mut arguments = arguments.iter();
    let directory = arguments
        .next()
        .ok_or("usage: log_query DIRECTORY [REQUEST] [--json]")?;
    let request: Request = match arguments.next() {
        Some(request) => serde_json::from_str(request)?,
        None => Request::default(),
    };
    let mut answer = client::ask(directory, &request)?;
    let mut output = io::stdout().lock();
    if json {
        io::copy(&mut answer, &mut output)?;
        return Ok(());
    }
    for array in serde_json::Deserializer::from_reader(answer).into_iter::<Vec<LogsData>>() {
        for data in array? {
            writeln!(output, "{}", Text::new(&data))?;
        }
    }
    Ok(())
}
