//! Numbers and layouts of the header beside those of `logdef_wire`.

use crate::compilers::{compile_clean, run, toolchains};
use logdef_wire::Level;
use logdef_wire::printf::CType;
use logdef_wire::site::{self, ArgKind};

/// C expressions, each with its value in Rust.
fn expected() -> Vec<(&'static str, usize)> {
    let kind = |kind: ArgKind| kind.0 as usize;
    let level = |level: Level| level.0 as usize;
    let c_type = |c_type: CType| c_type as usize;
    vec![
        ("sizeof(struct logdef_site)", site::SIZE),
        ("offsetof(struct logdef_site, format)", site::FORMAT),
        ("offsetof(struct logdef_site, file)", site::FILE),
        ("offsetof(struct logdef_site, function)", site::FUNCTION),
        ("offsetof(struct logdef_site, module)", site::MODULE),
        ("offsetof(struct logdef_site, kinds)", site::KINDS),
        ("offsetof(struct logdef_site, plan)", site::PLAN),
        ("offsetof(struct logdef_site, state)", site::STATE),
        ("offsetof(struct logdef_site, line)", site::LINE),
        ("offsetof(struct logdef_site, level)", site::LEVEL),
        ("offsetof(struct logdef_site, args)", site::ARGS),
        ("offsetof(struct logdef_site, version)", site::VERSION_AT),
        ("offsetof(struct logdef_site, flags)", site::FLAGS),
        ("LOGDEF_SITE_VERSION", site::VERSION as usize),
        ("LOGDEF_SITE_BACKTRACE", site::flags::BACKTRACE as usize),
        ("LOGDEF_SITE_LIMITED", site::flags::LIMITED as usize),
        ("LOGDEF_SITE_SPAN", site::flags::SPAN as usize),
        ("LOGDEF_SITE_DESCRIBED", site::flags::DESCRIBED as usize),
        ("sizeof(struct logdef_site_state)", 192),
        ("offsetof(struct logdef_site_state, gate)", 0),
        ("offsetof(struct logdef_site_state, image)", 8),
        ("sizeof(struct logdef_image)", 64),
        ("offsetof(struct logdef_image, gate)", 0),
        ("sizeof(logdef_options)", 112),
        ("offsetof(logdef_options, filter)", 48),
        ("offsetof(logdef_options, helper)", 104),
        ("sizeof(logdef_status)", 8376),
        ("offsetof(logdef_status, path)", 168),
        ("offsetof(logdef_status, helper)", 8368),
        ("sizeof(logdef_field)", 32),
        ("offsetof(logdef_field, length)", 24),
        ("sizeof(struct logdef_limit)", 16),
        ("LOGDEF_KIND_INT", kind(ArgKind::INT)),
        ("LOGDEF_KIND_UINT", kind(ArgKind::UINT)),
        ("LOGDEF_KIND_DOUBLE", kind(ArgKind::DOUBLE)),
        ("LOGDEF_KIND_LONG_DOUBLE", kind(ArgKind::LONG_DOUBLE)),
        ("LOGDEF_KIND_CSTR", kind(ArgKind::CSTR)),
        ("LOGDEF_KIND_WSTR", kind(ArgKind::WSTR)),
        ("LOGDEF_KIND_POINTER", kind(ArgKind::POINTER)),
        ("LOGDEF_KIND_BYTES", kind(ArgKind::BYTES)),
        ("LOGDEF_KIND_BLOB", kind(ArgKind::BLOB)),
        ("LOGDEF_KIND_BOOL", kind(ArgKind::BOOL)),
        ("LOGDEF_KIND_INT128", kind(ArgKind::INT128)),
        ("LOGDEF_KIND_UINT128", kind(ArgKind::UINT128)),
        ("sizeof(struct logdef_bytes)", 16),
        ("sizeof(logdef_context)", 512),
        ("offsetof(logdef_context, keys)", 16),
        ("offsetof(logdef_context, count)", 24),
        ("LOGDEF_TRACE", level(Level::TRACE)),
        ("LOGDEF_DEBUG", level(Level::DEBUG)),
        ("LOGDEF_INFO", level(Level::INFO)),
        ("LOGDEF_WARN", level(Level::WARN)),
        ("LOGDEF_ERROR", level(Level::ERROR)),
        ("LOGDEF_FATAL", level(Level::FATAL)),
        ("LOGDEF_TYPE_INT", c_type(CType::Int)),
        ("LOGDEF_TYPE_UNSIGNED", c_type(CType::Unsigned)),
        ("LOGDEF_TYPE_LONG", c_type(CType::Long)),
        ("LOGDEF_TYPE_UNSIGNED_LONG", c_type(CType::UnsignedLong)),
        ("LOGDEF_TYPE_LONG_LONG", c_type(CType::LongLong)),
        (
            "LOGDEF_TYPE_UNSIGNED_LONG_LONG",
            c_type(CType::UnsignedLongLong),
        ),
        ("LOGDEF_TYPE_INTMAX", c_type(CType::IntMax)),
        ("LOGDEF_TYPE_UINTMAX", c_type(CType::UintMax)),
        ("LOGDEF_TYPE_SIGNED_SIZE", c_type(CType::SignedSize)),
        ("LOGDEF_TYPE_SIZE", c_type(CType::Size)),
        ("LOGDEF_TYPE_PTRDIFF", c_type(CType::Ptrdiff)),
        (
            "LOGDEF_TYPE_UNSIGNED_PTRDIFF",
            c_type(CType::UnsignedPtrdiff),
        ),
        ("LOGDEF_TYPE_INT32", c_type(CType::Int32)),
        ("LOGDEF_TYPE_UINT32", c_type(CType::Uint32)),
        ("LOGDEF_TYPE_INT64", c_type(CType::Int64)),
        ("LOGDEF_TYPE_UINT64", c_type(CType::Uint64)),
        ("LOGDEF_TYPE_INT_FAST16", c_type(CType::IntFast16)),
        ("LOGDEF_TYPE_UINT_FAST16", c_type(CType::UintFast16)),
        ("LOGDEF_TYPE_INT_FAST32", c_type(CType::IntFast32)),
        ("LOGDEF_TYPE_UINT_FAST32", c_type(CType::UintFast32)),
        ("LOGDEF_TYPE_INT_FAST64", c_type(CType::IntFast64)),
        ("LOGDEF_TYPE_UINT_FAST64", c_type(CType::UintFast64)),
        ("LOGDEF_TYPE_WINT", c_type(CType::WideInt)),
        ("LOGDEF_TYPE_DOUBLE", c_type(CType::Double)),
        ("LOGDEF_TYPE_LONG_DOUBLE", c_type(CType::LongDouble)),
        ("LOGDEF_TYPE_CHAR_POINTER", c_type(CType::CharPointer)),
        ("LOGDEF_TYPE_WCHAR_POINTER", c_type(CType::WideCharPointer)),
        ("LOGDEF_TYPE_POINTER", c_type(CType::VoidPointer)),
    ]
}

#[test]
fn numbers_and_layouts_are_those_of_the_wire() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("abi.c");
    let program = directory.path().join("abi");
    let prints: String = expected()
        .iter()
        .map(|(expression, _)| {
            format!("printf(\"%s=%zu\\n\", \"{expression}\", (size_t)({expression}));\n")
        })
        .collect();
    let text = format!(
        "#include <logdef.h>\n#include <stdio.h>\nint main(void) {{\n{prints}return 0;\n}}\n"
    );
    std::fs::write(&file, text).unwrap();
    let link = crate::compilers::recorder(directory.path());
    for toolchain in toolchains() {
        let mut arguments: Vec<std::ffi::OsString> = vec![file.clone().into(), "-o".into()];
        arguments.push(program.clone().into());
        arguments.extend(link.iter().map(std::ffi::OsString::from));
        compile_clean(toolchain.cc, arguments);
        let printed = run(&program);
        let mut lines = printed.lines();
        for (expression, value) in expected() {
            assert_eq!(lines.next(), Some(&*format!("{expression}={value}")));
        }
    }
}
