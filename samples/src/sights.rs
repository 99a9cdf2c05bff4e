//! What `stepped` sees of a log on its way through a call: its files, each time
//! that one of them has changed.

use std::path::Path;

/// What the names of a log's files end in, as far as they are looked at.
pub const FILES: [&str; 4] = ["", ".000001", ".000002", ".000003"];

/// The log's files at one moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sight {
    /// How many instructions the call had made.
    pub step: u64,
    /// Bytes of the files; none for those that there are not.
    pub files: [Vec<u8>; FILES.len()],
}

impl Sight {
    /// Looks at the files now.
    ///
    /// # Panics
    ///
    /// If one of them cannot be read.
    pub fn of(log: &Path, step: u64) -> Sight {
        let files = FILES.map(|suffix| {
            let mut name = log.as_os_str().to_os_string();
            name.push(suffix);
            let path = Path::new(&name);
            if path.is_file() && !path.is_symlink() {
                std::fs::read(path).expect("a file that is there can be read")
            } else {
                Vec::new()
            }
        });
        Sight { step, files }
    }

    /// Those that were written down, first to last; of one step the last.
    ///
    /// # Panics
    ///
    /// If they are cut short.
    pub fn written(mut bytes: &[u8]) -> Vec<Sight> {
        let mut sights: Vec<Sight> = Vec::new();
        while !bytes.is_empty() {
            let (head, rest) = bytes.split_at(24);
            let word = |nth: usize| {
                let word = head[8 * nth..][..8].try_into().expect("eight bytes");
                u64::from_ne_bytes(word)
            };
            let (file, rest) = rest.split_at(word(2) as usize);
            bytes = rest;
            let mut sight = sights.last().cloned().unwrap_or_default();
            if sight.step == word(0) {
                sights.pop();
            }
            sight.step = word(0);
            sight.files[word(1) as usize] = file.to_vec();
            sights.push(sight);
        }
        sights
    }
}
