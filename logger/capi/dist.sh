#!/bin/sh
# Makes an archive of logdef for programs in C and C++ that need no Rust, and Debian packages:
#
#     logger/capi/dist.sh [--debug] FOLDER
#
#     FOLDER/logdef-VERSION-MACHINE-linux-gnu.tar.gz: one folder with the library, the headers,
#         the files for pkg-config, CMake and Meson, the command, its manual and completions
#     FOLDER/logdef.wrap: a wrap of Meson, of this archive
#     FOLDER/liblogdef0_*.deb, liblogdef-dev_*.deb, logdef_*.deb, where dpkg-deb is
#
# Needs cargo, and rust-src for the smaller library (install.sh). CARGO_BUILD_TARGET builds for another
# machine, with the linker that cargo is given for it and the strip of STRIP; COMMAND names a command
# for it that was built already, PRINTER one of this machine, which prints its manual. The oldest glibc
# that what was made runs with is printed.
set -eu

fail() {
    echo "dist.sh: $*" >&2
    exit 1
}

debug= gzip="gzip -6" deb_format=
if [ "${1-}" = --debug ]; then
    # What is tried out once need not be small.
    debug=--debug gzip="gzip -1" deb_format="-Zgzip -z1"
    shift
fi
[ $# -eq 1 ] || fail "usage: dist.sh [--debug] FOLDER"
mkdir -p "$1"
out=$(cd "$1" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
cargo=${CARGO:-cargo}
cd "$here"

# ---- What is built ------------------------------------------------------------

host=$(rustc -vV | sed -n 's/^host: //p')
target=${CARGO_BUILD_TARGET:-$host}
machine=${target%%-*}
case $machine in
x86_64) deb=amd64 ;;
aarch64) deb=arm64 ;;
riscv64*) deb=riscv64 machine=riscv64 ;;
*) fail "no archive is made for $target" ;;
esac
triplet=$machine-linux-gnu
strip=${STRIP:-strip}
[ "$target" = "$host" ] || [ -n "${STRIP-}" ] || strip=$triplet-strip

version=$("$cargo" pkgid --package logdef-capi | sed 's/.*[#@]//')
metadata=$("$cargo" metadata --no-deps --format-version 1)
targets=$(printf '%s' "$metadata" | sed 's/.*"target_directory":"\([^"]*\)".*/\1/')
command=$targets${CARGO_BUILD_TARGET:+/$CARGO_BUILD_TARGET}/release/logdef
if [ -n "${COMMAND-}" ]; then
    command=$COMMAND
else
    "$cargo" build --package logdef-cli --bin logdef --release
fi
# The command that prints its own manual: one of this machine.
printer=${PRINTER:-$command}
if [ "$target" != "$host" ] && [ -z "${PRINTER-}" ]; then
    (unset CARGO_BUILD_TARGET && "$cargo" build --package logdef-cli --bin logdef)
    printer=$targets/debug/logdef
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
umask 022

# The oldest glibc whose symbols a file asks for.
glibc_of() {
    objdump -T "$@" | sed -n 's/.*(\?GLIBC_\([0-9][0-9.]*\).*/\1/p' | sort -uV | tail -n 1
}

# What a package with this file depends on.
depends_of() {
    printf 'libc6 (>= %s)' "$(glibc_of "$1")"
    if objdump -p "$1" | grep -q 'NEEDED *libgcc_s'; then
        printf ', libgcc-s1'
    fi
}

# ---- The archive --------------------------------------------------------------

name=logdef-$version-$triplet
tree=$work/$name
mkdir -p "$tree"
DESTDIR= STRIP="$strip" LIBDIR=lib sh install.sh $debug "$tree" >/dev/null
# From wherever it is unpacked.
sed 's|^prefix=.*|prefix=${pcfiledir}/../..|' "$tree/lib/pkgconfig/logdef.pc" >"$work/pc"
cat "$work/pc" >"$tree/lib/pkgconfig/logdef.pc"
"$strip" --strip-unneeded "$tree/lib/liblogdef.so.$version"
"$strip" --strip-debug "$tree/lib/liblogdef.a"

# The command and what a shell and man know of it.
mkdir -p "$tree/bin" "$tree/share/man/man1" "$tree/share/bash-completion/completions" \
    "$tree/share/zsh/vendor-completions" "$tree/share/fish/vendor_completions.d"
cp "$command" "$tree/bin/logdef"
chmod 755 "$tree/bin/logdef"
"$strip" --strip-unneeded "$tree/bin/logdef"
"$printer" man | gzip -9n >"$tree/share/man/man1/logdef.1.gz"
"$printer" completions bash >"$tree/share/bash-completion/completions/logdef"
"$printer" completions zsh >"$tree/share/zsh/vendor-completions/_logdef"
"$printer" completions fish >"$tree/share/fish/vendor_completions.d/logdef.fish"

# papers FOLDER: whose it is.
papers() {
    mkdir -p "$1"
    cp ../../LICENSE-APACHE ../../LICENSE-MIT ../../CHANGELOG.md "$1"
}

papers "$tree/share/doc/logdef"
# pages FOLDER: what programmers read, and what binds other loggers and languages, where the pages look for it.
pages() {
    mkdir -p "$1/docs" "$1/samples"
    cp ../../docs/c.md ../../docs/build.md "$1/docs"
    cp ../../BENCHMARKS.md "$1"
    cp -r ../../samples/bindings "$1/samples"
}

pages "$tree/share/doc/logdef"
cp packaging/CMakeLists.txt "$tree"
sed "s|@VERSION@|$version|g" packaging/meson.build.in >"$tree/meson.build"
glibc=$(glibc_of "$tree/lib/liblogdef.so.$version")
tar --sort=name --owner=0 --group=0 --numeric-owner -C "$work" -I "$gzip" -cf "$out/$name.tar.gz" "$name"
echo "made $out/$name.tar.gz, for glibc $glibc and later"
hash=$(sha256sum "$out/$name.tar.gz" | cut -d ' ' -f 1)
sed -e "s|@NAME@|$name|g" -e "s|@HASH@|$hash|g" packaging/logdef.wrap.in >"$out/logdef.wrap"
echo "made $out/logdef.wrap"

# ---- Debian packages ----------------------------------------------------------

command -v dpkg-deb >/dev/null || {
    echo "there is no dpkg-deb, so no Debian packages are made"
    exit 0
}

# package NAME DEPENDS SUMMARY TEXT FIELDS: of the tree $work/NAME.
package() {
    mkdir -p "$work/$1/DEBIAN"
    papers "$work/$1/usr/share/doc/$1"
    {
        echo 'Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/'
        printf '\nFiles: *\nCopyright: the authors of logdef\nLicense: MIT or Apache-2.0\n'
        printf ' See LICENSE-MIT and LICENSE-APACHE in this folder.\n'
    } >"$work/$1/usr/share/doc/$1/copyright"
    {
        printf 'Package: %s\nVersion: %s\nArchitecture: %s\n' "$1" "$version" "$deb"
        printf 'Maintainer: %s\n' "${DEBFULLNAME:-logdef} <${DEBEMAIL:-logdef@localhost}>"
        printf 'Priority: optional\n%s\nDepends: %s\n' "$5" "$2"
        printf 'Description: %s\n %s\n' "$3" "$4"
    } >"$work/$1/DEBIAN/control"
    dpkg-deb $deb_format --root-owner-group --build "$work/$1" "$out/${1}_${version}_$deb.deb" >/dev/null
    echo "made $out/${1}_${version}_$deb.deb"
}

lib=usr/lib/$triplet
dev=$work/liblogdef-dev
mkdir -p "$dev" "$work/liblogdef0/$lib" "$work/liblogdef0/DEBIAN"
DESTDIR=$dev STRIP="$strip" LIBDIR=lib/$triplet sh install.sh $debug /usr >/dev/null
cp "$tree/lib/liblogdef.a" "$dev/$lib"
rm "$dev/$lib/liblogdef.so.$version"
mv "$dev/$lib/liblogdef.so.0" "$work/liblogdef0/$lib"
cp "$tree/lib/liblogdef.so.$version" "$work/liblogdef0/$lib"
echo "liblogdef 0 liblogdef0 (>= $version)" >"$work/liblogdef0/DEBIAN/shlibs"
cp packaging/liblogdef0.symbols "$work/liblogdef0/DEBIAN/symbols"
echo 'activate-noawait ldconfig' >"$work/liblogdef0/DEBIAN/triggers"
package liblogdef0 "$(depends_of "$tree/lib/liblogdef.so.$version")" "crash-resilient binary log, shared library" \
    "What programs that log with logdef need to run." "Section: libs
Multi-Arch: same"
pages "$dev/usr/share/doc/liblogdef-dev"
package liblogdef-dev "liblogdef0 (= $version), libc6-dev" "crash-resilient binary log, for C and C++" \
    "The headers, the static library, and files for pkg-config and CMake." "Section: libdevel
Multi-Arch: same"
mkdir -p "$work/logdef/usr"
cp -r "$tree/bin" "$tree/share" "$work/logdef/usr"
rm -r "$work/logdef/usr/share/doc"
package logdef "$(depends_of "$tree/bin/logdef")" "crash-resilient binary log, the command" \
    "Shows, checks, repairs and converts the logs." "Section: utils
Multi-Arch: foreign"
