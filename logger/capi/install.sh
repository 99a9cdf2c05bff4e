#!/bin/sh
# Builds logdef for C and C++ and installs it:
#
#     logger/capi/install.sh [--debug] PREFIX
#
#     PREFIX/include/logdef.h, logdef_format.h, logdef_stream.h
#     PREFIX/lib/liblogdef.so -> liblogdef.so.0 -> liblogdef.so.VERSION
#     PREFIX/lib/liblogdef.a
#     PREFIX/lib/pkgconfig/logdef.pc
#     PREFIX/lib/cmake/logdef/
#
# Needs cargo. DESTDIR, LIBDIR (default lib), STRIP and cargo's own variables are obeyed. Rust's standard
# library is built along with it, smaller, where its sources are: `rustup component add rust-src`.
set -eu

fail() {
    echo "install.sh: $*" >&2
    exit 1
}

profile=capi
if [ "${1-}" = --debug ]; then
    profile=debug
    shift
fi
[ $# -eq 1 ] || fail "usage: install.sh [--debug] PREFIX"
case $1 in
/*) prefix=$1 ;;
*) prefix=$PWD/$1 ;;
esac
libdir=${LIBDIR:-lib}
# From there to the prefix: `..` for `lib`, `../..` for `lib/x86_64-linux-gnu`.
up=$(printf %s "$libdir" | sed 's|[^/][^/]*|..|g')

here=$(cd "$(dirname "$0")" && pwd)
cargo=${CARGO:-cargo}
# rustc stands beside it.
case $cargo in */*) PATH=${cargo%/*}:$PATH ;; esac
cd "$here"

# A quarter of the library is what Rust's standard library, as it comes, prints backtraces of panics
# with. One that is built here has none of that; cargo may fetch the few libraries that it uses itself.
without_symbolizer() {
    [ -f "$(rustc --print sysroot)/lib/rustlib/src/rust/library/Cargo.lock" ] || return
    RUSTC_BOOTSTRAP=1 "$cargo" build --package logdef-capi --profile capi --target "$1" \
        -Z build-std=std,panic_abort -Z build-std-features=
}

# Below the target folder.
place=${CARGO_BUILD_TARGET-}
if [ $profile = debug ]; then
    "$cargo" build --package logdef-capi
else
    host=$(rustc -vV | sed -n 's/^host: //p')
    if without_symbolizer "${place:-$host}"; then
        place=${place:-$host}
    else
        echo "install.sh: Rust's standard library was not built along, so the library is a quarter larger" >&2
        "$cargo" build --package logdef-capi --profile capi
    fi
fi
metadata=$("$cargo" metadata --no-deps --format-version 1)
target=$(printf '%s' "$metadata" | sed 's/.*"target_directory":"\([^"]*\)".*/\1/')
built=$target${place:+/$place}/$profile
version=$("$cargo" pkgid --package logdef-capi | sed 's/.*[#@]//')
soversion=0

to=${DESTDIR-}$prefix
# put MODE FROM TO: a new file, so that programs that run keep the old one.
put() {
    rm -f "$3"
    cp "$2" "$3"
    chmod "$1" "$3"
}
# What sed is to put in as it is.
plain() { printf %s "$1" | sed 's/[&|\\]/\\&/g'; }
# fill FROM TO
fill() {
    rm -f "$2"
    sed -e "s|@PREFIX@|$(plain "$prefix")|g" -e "s|@LIBDIR@|$(plain "$libdir")|g" -e "s|@UP@|$up|g" \
        -e "s|@VERSION@|$version|g" -e "s|@SOVERSION@|$soversion|g" "$1" >"$2"
    chmod 644 "$2"
}

mkdir -p "$to/include" "$to/$libdir/pkgconfig" "$to/$libdir/cmake/logdef"
for header in logdef logdef_format logdef_stream; do
    put 644 include/$header.h "$to/include/$header.h"
done
put 644 "$built/liblogdef.a" "$to/$libdir/liblogdef.a"
# Of Rust's standard library as it comes there is debug information, half of the file.
if [ $profile = capi ] && command -v "${STRIP:-strip}" >/dev/null; then
    "${STRIP:-strip}" --strip-debug "$to/$libdir/liblogdef.a"
fi
put 755 "$built/liblogdef.so" "$to/$libdir/liblogdef.so.$version"
ln -sf "liblogdef.so.$version" "$to/$libdir/liblogdef.so.$soversion"
ln -sf "liblogdef.so.$soversion" "$to/$libdir/liblogdef.so"
fill packaging/logdef.pc.in "$to/$libdir/pkgconfig/logdef.pc"
for file in logdefConfig logdefConfigVersion; do
    fill packaging/$file.cmake.in "$to/$libdir/cmake/logdef/$file.cmake"
done
echo "installed logdef $version in $to"
