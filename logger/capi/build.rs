//! Names the shared library as it is installed, and keeps it in memory: a program
//! that closes a library which logs must not lose the logger's code below a
//! thread that is about to return to it.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,liblogdef.so.0");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-z,nodelete");
}
