//! The settings of a session that change what a plan does where it runs. A coordinator sends them along, since a
//! worker's session begins with those of the engine; a worker takes these and no others.

use datafusion::common::{Result, exec_datafusion_err, exec_err};
use datafusion::config::ConfigOptions;
use http::{HeaderMap, HeaderName, HeaderValue};

const PREFIX: &str = "logdef-setting-";

/// Whether sibling scans of one process take files from each other. It is off on all sides of a cluster.
pub(crate) const STEALING: &str = "datafusion.execution.enable_file_stream_work_stealing";

const LONGEST_BATCH: usize = 1 << 16;

const TRAVEL: [&str; 3] = [
    "datafusion.execution.batch_size",
    "datafusion.execution.time_zone",
    STEALING,
];

/// The headers that carry the settings.
pub(crate) fn headers(options: &ConfigOptions) -> Result<HeaderMap> {
    let mut headers = HeaderMap::new();
    for entry in options.entries() {
        if let (true, Some(value)) = (TRAVEL.contains(&entry.key.as_str()), entry.value) {
            let name = HeaderName::from_bytes(format!("{PREFIX}{}", entry.key).as_bytes());
            let value = HeaderValue::from_str(&value);
            headers.insert(
                name.map_err(|e| exec_datafusion_err!("{}: {e}", entry.key))?,
                value.map_err(|e| exec_datafusion_err!("{}: {e}", entry.key))?,
            );
        }
    }
    Ok(headers)
}

/// Sets what the headers carry.
pub(crate) fn apply(headers: &HeaderMap, options: &mut ConfigOptions) -> Result<()> {
    options.set(STEALING, "false")?;
    for (name, value) in headers {
        let Some(key) = name.as_str().strip_prefix(PREFIX) else {
            continue;
        };
        if !TRAVEL.contains(&key) {
            return exec_err!("no coordinator sends the setting {key}");
        }
        let value = value
            .to_str()
            .map_err(|e| exec_datafusion_err!("{key}: {e}"))?;
        options.set(key, value)?;
    }
    // Memory is taken for a batch at a time.
    if options.execution.batch_size.get() > LONGEST_BATCH {
        return exec_err!("batches of more than {LONGEST_BATCH} rows");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{STEALING, apply, headers};
    use datafusion::config::ConfigOptions;

    #[test]
    fn what_a_coordinator_sets_is_set_at_a_worker() {
        let mut ours = ConfigOptions::new();
        ours.set("datafusion.execution.time_zone", "+02:00")
            .unwrap();
        let mut theirs = ConfigOptions::new();
        apply(&headers(&ours).unwrap(), &mut theirs).unwrap();
        assert_eq!(theirs.execution.time_zone, ours.execution.time_zone);
        assert!(theirs.execution.enable_file_stream_work_stealing);
    }

    #[test]
    fn work_stealing_is_off_at_a_worker_if_nothing_is_said() {
        let mut theirs = ConfigOptions::new();
        assert!(theirs.execution.enable_file_stream_work_stealing);
        apply(&http::HeaderMap::new(), &mut theirs).unwrap();
        assert!(
            !theirs.execution.enable_file_stream_work_stealing,
            "{STEALING}"
        );
    }

    #[test]
    fn other_settings_are_refused() {
        let mut headers = http::HeaderMap::new();
        headers.insert(
            "logdef-setting-datafusion.runtime.memory_limit",
            "1T".parse().unwrap(),
        );
        assert!(apply(&headers, &mut ConfigOptions::new()).is_err());
    }
}
