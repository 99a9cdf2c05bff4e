//! Logs one record: `log_write DIRECTORY SEVERITY MESSAGE [NAME=VALUE]...`. Values that are numbers or
//! booleans are sent as such.

use logdef_fuchsia::structured::Value;
use logdef_serve::client::Client;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [directory, severity, message, pairs @ ..] = &arguments[..] else {
        return Err("usage: log_write DIRECTORY SEVERITY MESSAGE [NAME=VALUE]...".into());
    };
    let pairs: Vec<_> = pairs
        .iter()
        .filter_map(|pair| pair.split_once('='))
        .map(|(name, text)| (name, value(text)))
        .collect();
    let client = Client::connect(directory)?;
    client.write(severity.parse()?, message, &pairs);
    let synced = client.sync()?;
    println!("{} stored", synced.stored);
    Ok(())
}

fn value(text: &str) -> Value<'_> {
    None.or_else(|| text.parse::<u64>().ok().map(Value::from))
        .or_else(|| text.parse::<i64>().ok().map(Value::from))
        .or_else(|| text.parse::<f64>().ok().map(Value::from))
        .or_else(|| text.parse::<bool>().ok().map(Value::from))
        .unwrap_or_else(|| Value::from(text))
}
