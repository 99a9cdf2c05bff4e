//! Lists of mappings as Linux prints them in `/proc/PID/maps`: which file was mapped where. Nothing
//! here opens files.
//!
//! ```text
//! 7f0000028000-7f00001bd000 r-xp 00028000 08:01 1234    /usr/lib/libc.so.6
//! ```

use logdef_wire::Avma;

/// A part of a file that was mapped as code.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MappedCode {
    /// The address of its first byte in the process.
    pub start: Avma,
    /// Where in the file its bytes come from.
    pub file_offset: u64,
    /// The path of the file that is mapped.
    pub path: String,
}

impl MappedCode {
    /// The files mapped as code by the lines of a list. Other lines are passed over.
    pub fn list(text: &str) -> Vec<MappedCode> {
        text.lines().filter_map(MappedCode::parse).collect()
    }

    fn parse(line: &str) -> Option<MappedCode> {
        let mut rest = line;
        let mut next = || {
            let field;
            (field, rest) = rest.split_once(' ')?;
            rest = rest.trim_start_matches(' ');
            Some(field)
        };
        let (start, _end) = next()?.split_once('-')?;
        let permissions = next()?;
        let file_offset = u64::from_str_radix(next()?, 16).ok()?;
        let (_device, _inode) = (next()?, next()?);
        let path = rest.strip_suffix(" (deleted)").unwrap_or(rest);
        let is_code = permissions.as_bytes().get(2) == Some(&b'x') && path.starts_with('/');
        Some(MappedCode {
            start: Avma(u64::from_str_radix(start, 16).ok()?),
            file_offset,
            path: path.to_owned(),
        })
        .filter(|_| is_code)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_of_files_is_listed_and_the_rest_passed_over() {
        let text = "\
            55e0a4a00000-55e0a4a02000 r--p 00000000 fe:01 262211                     /opt/my app/server\n\
            55e0a4a02000-55e0a4b02000 r-xp 00002000 fe:01 262211                     /opt/my app/server\n\
            55e0a6000000-55e0a6021000 rw-p 00000000 00:00 0                          [heap]\n\
            7ffd1c5f2000-7ffd1c5f4000 r-xp 00000000 00:00 0                          [vdso]\n\
            7f0000000000-7f0000001000 rwxp 00000000 00:00 0 \n\
            7f0000002000-7f0000003000 r-xp 0001f000 08:01 7      /usr/lib/old.so (deleted)\n\
            some text 55-66\n";
        let code = |start, file_offset, path: &str| MappedCode {
            start: Avma(start),
            file_offset,
            path: path.to_owned(),
        };
        assert_eq!(
            MappedCode::list(text),
            [
                code(0x55e0_a4a0_2000, 0x2000, "/opt/my app/server"),
                code(0x7f00_0000_2000, 0x1_f000, "/usr/lib/old.so"),
            ]
        );
    }
}
