//! A log service with all defaults: `log_service [DIRECTORY]`. Ends on SIGTERM.

use logdef_serve::service::{AppendFile, Service, Settings};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let directory = std::env::args_os().nth(1);
    let directory = directory.map_or_else(Settings::default_directory, Into::into);
    let settings = Settings::new(&directory);
    let records = directory.join("records");
    let service = Service::bind(settings, |each| {
        let (file, recovered) = AppendFile::open(&records, 1 << 30, each)?;
        println!(
            "{} records were there, {} bytes torn",
            recovered.entries, recovered.torn_bytes
        );
        Ok(file)
    })?;
    service.stop_handle().on_signals()?;
    println!("serving in {}", directory.display());
    service.run()?;
    println!("ended");
    Ok(())
}
