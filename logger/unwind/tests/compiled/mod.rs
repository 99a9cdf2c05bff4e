//! Libraries compiled from `tests/native` when a test runs, so that the tests
//! choose compiler and options.

#![allow(dead_code, reason = "each test program uses its part")]

use std::ffi::{CStr, CString, c_void};
use std::path::{Path, PathBuf};
use std::process::{Command, id};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

#[path = "../../../../samples/src/skip.rs"]
pub mod skip;

/// Held while a library is unloaded and that is made known.
static LOADER: Mutex<()> = Mutex::new(());

/// A library that is loaded for as long as this lives.
pub struct Library {
    handle: *mut c_void,
}

/// Compiles `tests/native/<source>` to a shared library with `compiler` and
/// `options`.
pub fn compile(compiler: &str, source: &str, options: &[&str]) -> PathBuf {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let source = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/native")
        .join(source);
    let library = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!(
        "native-{}-{}.so",
        id(),
        COUNT.fetch_add(1, Ordering::Relaxed)
    ));
    let output = Command::new(compiler)
        .args(["-shared", "-fPIC", "-Wall", "-Werror", "-o"])
        .arg(&library)
        .args(options)
        .arg(&source)
        .arg("-lm")
        .output()
        .unwrap_or_else(|error| panic!("cannot run {compiler}: {error}"));
    assert!(
        output.status.success(),
        "{compiler} {}: {}",
        source.display(),
        String::from_utf8_lossy(&output.stderr)
    );
    library
}

impl Library {
    pub fn open(path: &Path) -> Self {
        Self::open_with(path, libc::RTLD_LAZY)
    }

    pub fn open_with(path: &Path, flags: i32) -> Self {
        let name = CString::new(path.as_os_str().as_encoded_bytes()).unwrap();
        let _loader = LOADER.lock();
        // SAFETY: the library is one of ours, whose constructors do nothing.
        let handle = unsafe { libc::dlopen(name.as_ptr(), flags | libc::RTLD_LOCAL) };
        assert!(!handle.is_null(), "cannot load {}", path.display());
        // Only where the loader cannot be asked.
        logdef_unwind::modules::refresh();
        Self { handle }
    }

    /// Compiles and loads; the file is gone at once.
    pub fn of(compiler: &str, source: &str, options: &[&str]) -> Self {
        let path = compile(compiler, source, options);
        let library = Self::open(&path);
        std::fs::remove_file(path).unwrap();
        library
    }

    pub fn address(&self, name: &CStr) -> usize {
        // SAFETY: a valid handle and name.
        let address = unsafe { libc::dlsym(self.handle, name.as_ptr()) };
        assert!(!address.is_null(), "no symbol {name:?}");
        address as usize
    }

    /// The function `name(visit)`, which all native sources export in this
    /// form: it calls `visit` from many places.
    pub fn call(&self, name: &CStr, visit: extern "C" fn()) -> i64 {
        let address = self.address(name);
        // SAFETY: the sources in `tests/native` declare these functions so.
        let function: extern "C" fn(extern "C" fn()) -> i64 =
            unsafe { std::mem::transmute(address) };
        function(visit)
    }
}

impl Drop for Library {
    fn drop(&mut self) {
        let _loader = LOADER.lock();
        // SAFETY: the handle is valid and closed once.
        unsafe { libc::dlclose(self.handle) };
        // The next library may be mapped at the same place.
        logdef_unwind::modules::refresh();
    }
}
