//! Prints what a log service has and gets, as text: `log_query DIRECTORY [REQUEST]`, where the request is
//! JSON such as `{"mode":"subscribe","severity":"WARN"}`.

use logdef_fuchsia::diagnostics::{LogsData, Text};
use logdef_serve::client;
use logdef_serve::service::Request;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let directory = arguments
        .next()
        .ok_or("usage: log_query DIRECTORY [REQUEST]")?;
    let request: Request = serde_json::from_str(arguments.next().as_deref().unwrap_or("{}"))?;
    let answer = client::ask(directory, &request)?;
    for array in serde_json::Deserializer::from_reader(answer).into_iter::<Vec<LogsData>>() {
        for data in array? {
            println!("{}", Text::new(&data));
        }
    }
    Ok(())
}
