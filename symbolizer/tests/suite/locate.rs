//! The right file is found by any of its names; a wrong file of the right name is refused, and the
//! refusal says why.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use crate::support::{self, compile, run};
use logdef_symbolizer::{Digest, Fingerprint, Image, Locator, Options, Proof, Refusal};
use logdef_wire::Magic;

/// A program, what a log would say about it, and an empty directory to search.
struct Case {
    dir: tempfile::TempDir,
    program: PathBuf,
    fingerprint: Fingerprint,
    search: PathBuf,
}

const LOGGED: &[u8] = b"/opt/service/bin/program";

impl Case {
    fn new(flags: &str) -> Case {
        let dir = tempfile::tempdir().unwrap();
        let program = compile(dir.path(), "gcc", flags, "chain.c", "program");
        let image = support::open(&program);
        let bytes = fs::read(&program).unwrap();
        let fingerprint = Fingerprint {
            size: Some(bytes.len() as u64),
            digest: Some(Digest::sha1(&bytes)),
            build_id: image.build_id().map(<[u8]>::to_vec),
        };
        let search = dir.path().join("search");
        fs::create_dir(&search).unwrap();
        Case {
            dir,
            program,
            fingerprint,
            search,
        }
    }

    fn place(&self, at: &str) -> PathBuf {
        let path = self.search.join(at);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::copy(&self.program, &path).unwrap();
        path
    }

    fn locator(&self) -> Locator {
        Locator::new(Options {
            image_dirs: vec![self.search.clone()],
            ..Options::default()
        })
    }

    fn only_build_id(&self) -> Fingerprint {
        Fingerprint {
            build_id: self.fingerprint.build_id.clone(),
            ..Fingerprint::default()
        }
    }
}

fn assert_found(found: Result<Image, logdef_symbolizer::Error>, path: &Path, proof: Proof) {
    let image = found.unwrap();
    assert_eq!((image.path(), image.proof()), (path, proof));
}

#[test]
fn an_image_is_found_under_its_path_its_name_its_build_id_or_any_name() {
    let case = Case::new("-g");
    let id = case.fingerprint.build_id.clone().unwrap();
    let hex: String = id.iter().map(|byte| format!("{byte:02x}")).collect();
    let by_id = format!(".build-id/{}/{}", &hex[..2], &hex[2..]);
    for at in [
        "opt/service/bin/program",
        "program",
        &by_id,
        "v1/old/renamed",
    ] {
        let path = case.place(at);
        assert_found(
            case.locator().image(LOGGED, &case.fingerprint),
            &path,
            Proof::Digest,
        );
        fs::remove_file(path).unwrap();
    }
}

#[test]
fn a_library_that_was_logged_by_the_name_of_a_link_is_found_at_any_depth() {
    let case = Case::new("-g");
    // A module record has no digest, so neither name nor size say which file it is.
    let path = case.place("usr/lib/x86_64-linux-gnu/libprogram-2.31.so");
    for search in ["", "usr", "usr/lib"] {
        let locator = Locator::new(Options {
            image_dirs: vec![case.search.join(search)],
            ..Options::default()
        });
        let logged = b"/lib/x86_64-linux-gnu/libprogram.so.6";
        assert_found(
            locator.for_symbols(logged, &case.only_build_id()),
            &path,
            Proof::BuildId,
        );
    }
}

#[test]
fn the_first_that_matches_wins_over_others_of_the_same_name() {
    let case = Case::new("-g");
    let other = case.place("v1/program");
    let mut bytes = fs::read(&other).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    fs::write(&other, &bytes).unwrap();
    let right = case.place("v2/program");
    assert_found(
        case.locator().image(LOGGED, &case.fingerprint),
        &right,
        Proof::Digest,
    );
}

#[test]
fn a_wrong_file_of_the_right_name_is_refused_with_the_reason() {
    let case = Case::new("-g");
    let path = case.place("program");
    let refusal = |fingerprint: &Fingerprint| {
        let error = case.locator().image(LOGGED, fingerprint).unwrap_err();
        assert_eq!(error.refused.len(), 1, "{error}");
        assert_eq!(error.refused[0].0, path);
        let line = error.to_string();
        assert!(!line.contains('\n') && line.contains("/opt/service/bin/program"));
        (error.refused.into_iter().next().unwrap().1, line)
    };

    let mut wanted = case.fingerprint.clone();
    wanted.size = Some(7);
    let (why, line) = refusal(&wanted);
    assert!(matches!(why, Refusal::Size { wanted: 7, .. }));
    assert!(line.contains("the image that logged has 7"), "{line}");

    // One bit differs, the build ID stays: enough for names, not for strings.
    let mut bytes = fs::read(&path).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    fs::write(&path, &bytes).unwrap();
    let (why, line) = refusal(&case.fingerprint);
    assert!(matches!(why, Refusal::Digest { .. }));
    assert!(line.contains("has digest"), "{line}");
    assert_found(
        case.locator().for_symbols(LOGGED, &case.fingerprint),
        &path,
        Proof::BuildId,
    );

    let mut wanted = case.only_build_id();
    wanted.build_id.as_mut().unwrap()[3] ^= 0x10;
    let (why, line) = refusal(&wanted);
    assert!(matches!(why, Refusal::BuildId { found: Some(_), .. }));
    assert!(line.contains("has build ID"), "{line}");

    // Without anything to compare nothing is opened at all.
    let error = case.locator().image(LOGGED, &Fingerprint::default());
    assert!(matches!(
        error.unwrap_err().refused[..],
        [(_, Refusal::NothingToMatch)]
    ));
}

#[test]
fn a_stripped_program_and_its_twin_share_addresses_but_not_bytes() {
    let case = Case::new("-g");
    let twin = case.place("program");
    run(case.dir.path(), "strip", &["program"]);
    let bytes = fs::read(&case.program).unwrap();
    let stripped = Fingerprint {
        size: Some(bytes.len() as u64),
        digest: Some(Digest::sha1(&bytes)),
        build_id: case.fingerprint.build_id.clone(),
    };
    assert!(case.locator().image(LOGGED, &stripped).is_err());
    // Even where the stripped one is found first, its twin knows more names.
    for place in ["unrelated", "opt/service/bin/program"] {
        case.place(place);
        assert_found(
            case.locator().for_symbols(LOGGED, &stripped),
            &twin,
            Proof::BuildId,
        );
    }
    let first = case.search.join("opt/service/bin/program");
    assert_found(
        case.locator().image(LOGGED, &stripped),
        &first,
        Proof::Digest,
    );
    fs::rename(&twin, case.dir.path().join("twin")).unwrap();
    assert_found(
        case.locator().for_symbols(LOGGED, &stripped),
        &first,
        Proof::Digest,
    );
    fs::rename(case.dir.path().join("twin"), &twin).unwrap();
    fs::remove_dir_all(case.search.join("opt")).unwrap();
    assert_found(
        case.locator().image(LOGGED, &case.only_build_id()),
        &twin,
        Proof::BuildId,
    );
}

#[test]
fn a_debug_file_names_code_but_has_no_strings() {
    let case = Case::new("-g");
    let debug = case.search.join("program");
    let to = debug.to_str().unwrap();
    run(
        case.dir.path(),
        "objcopy",
        &["--only-keep-debug", "program", to],
    );
    let wanted = case.only_build_id();
    let error = case.locator().image(LOGGED, &wanted).unwrap_err();
    assert!(matches!(error.refused[..], [(_, Refusal::OnlyDebug)]));
    let image = case.locator().for_symbols(LOGGED, &wanted).unwrap();
    let (outer, _) = support::symbol(&case.program, "outer");
    assert_eq!(support::chain(&image, outer), ["outer chain.c:17"]);
    let original = support::open(&case.program);
    let text = support::address_of(&case.program, &original, "first entry");
    assert!(original.string_at(text, 100).is_some());
    assert_eq!(image.string_at(text, 100), None);
}

#[test]
fn md5_is_accepted_and_a_build_id_is_not_needed() {
    let case = Case::new("-Wl,--build-id=none");
    assert_eq!(case.fingerprint.build_id, None);
    let path = case.place("program");
    let bytes = fs::read(&path).unwrap();
    let md5 = Fingerprint {
        digest: Some(Digest::Md5([0; 16]).same_of(&bytes)),
        ..Fingerprint::default()
    };
    for wanted in [&case.fingerprint, &md5] {
        assert_found(case.locator().image(LOGGED, wanted), &path, Proof::Digest);
        assert_found(
            case.locator().for_symbols(LOGGED, wanted),
            &path,
            Proof::Digest,
        );
    }
}

#[test]
fn logged_paths_are_opened_only_on_request_and_never_lead_out_of_a_directory() {
    let case = Case::new("-g");
    let logged = case.program.as_os_str().as_encoded_bytes();
    assert!(case.locator().image(logged, &case.fingerprint).is_err());
    let trusting = Locator::new(Options {
        use_logged_paths: true,
        ..Options::default()
    });
    assert_found(
        trusting.image(logged, &case.fingerprint),
        &case.program,
        Proof::Digest,
    );

    let climbing = b"../program";
    assert!(case.locator().image(climbing, &case.fingerprint).is_err());
    symlink(&case.program, case.search.join("program")).unwrap();
    symlink(case.dir.path(), case.search.join("opt")).unwrap();
    for logged in [&b"/program"[..], b"/opt/program"] {
        assert!(case.locator().image(logged, &case.fingerprint).is_err());
    }
}

#[test]
fn what_is_no_file_or_no_elf_file_is_refused() {
    let case = Case::new("-g");
    let path = case.search.join("program");
    run(&case.search, "mkfifo", &["program"]);
    let mut wanted = case.fingerprint.clone();
    let error = case.locator().image(LOGGED, &wanted).unwrap_err();
    assert!(matches!(error.refused[..], [(_, Refusal::NotRegular)]));

    fs::remove_file(&path).unwrap();
    fs::write(&path, b"#!/bin/sh\n").unwrap();
    wanted.size = Some(10);
    wanted.digest = Some(Digest::sha1(b"#!/bin/sh\n"));
    let error = case.locator().image(LOGGED, &wanted).unwrap_err();
    assert!(matches!(error.refused[..], [(_, Refusal::NotElf(_))]));

    let mut options = case.locator().options().clone();
    options.limits.file_size = 9;
    let error = Locator::new(options).image(LOGGED, &wanted).unwrap_err();
    assert!(matches!(
        error.refused[..],
        [(_, Refusal::TooLarge { size: 10 })]
    ));
}

#[test]
fn a_path_from_a_log_cannot_paint_the_terminal() {
    let case = Case::new("-g");
    let logged = b"/opt/\x1b[31mred\x07\xe2\x80\xae/program\n2";
    let line = case
        .locator()
        .image(logged, &case.fingerprint)
        .unwrap_err()
        .to_string();
    assert!(
        !line.chars().any(|it| it.is_control() || it == '\u{202e}'),
        "{line:?}"
    );
}

#[test]
fn an_image_is_found_by_its_magic_alone() {
    let case = Case::new("-g");
    let digest = case.fingerprint.digest.unwrap();
    let magic = Magic::of_digest(case.fingerprint.size.unwrap(), digest.as_bytes()).unwrap();
    let at = case.place("of/another/name");
    fs::write(case.search.join("notes"), "no executable").unwrap();
    let locator = case.locator();
    let image = locator.by_magic(magic).unwrap();
    assert_eq!((image.path(), image.proof()), (&*at, Proof::Digest));
    assert!(locator.by_magic(Magic(magic.0 ^ 1)).is_none());

    // What changed since it was found is no longer it.
    fs::write(&at, "\x7fELF").unwrap();
    assert!(locator.by_magic(magic).is_none());
}

#[test]
fn a_folder_of_links_pipes_and_holes_costs_one_reading_and_all_folders_have_one_budget() {
    let case = Case::new("-g");
    let magic = |path: &Path| {
        let bytes = fs::read(path).unwrap();
        Magic::of_digest(bytes.len() as u64, Digest::sha1(&bytes).as_bytes()).unwrap()
    };
    let first = case.place("a");
    for link in 0..40 {
        fs::hard_link(&first, case.search.join(format!("link{link}"))).unwrap();
    }
    for hole in 0..40 {
        let path = case.search.join(format!("hole{hole}"));
        fs::write(&path, "\x7fELF").unwrap();
        let file = fs::OpenOptions::new().write(true).open(&path).unwrap();
        file.set_len(1 << 30).unwrap();
    }
    run(&case.search, "mkfifo", &["pipe"]);
    symlink("/dev/zero", case.search.join("device")).unwrap();
    let others = ["z1", "z2"].map(|name| {
        let path = case.place(name);
        let mut bytes = fs::read(&path).unwrap();
        bytes.extend(name.as_bytes());
        fs::write(&path, bytes).unwrap();
        path
    });
    let size = fs::metadata(&others[0]).unwrap().len();
    let mut options = case.locator().options().clone();
    options.limits.total_size = 2 * size;
    let locator = Locator::new(options);
    assert!(locator.by_magic(magic(&first)).is_some());
    assert!(locator.by_magic(magic(&others[0])).is_some());
    assert!(
        locator.by_magic(magic(&others[1])).is_none(),
        "beyond the budget"
    );
}

#[test]
fn an_image_that_could_not_be_read_when_it_logged_is_found_by_its_build_id() {
    let dir = tempfile::tempdir().unwrap();
    let path = compile(dir.path(), "gcc", "", "chain.c", "program");
    let build_id = support::open(&path).build_id().unwrap().to_vec();
    let digest = Digest::sha1(&build_id);
    let magic = Magic::of_digest(0, digest.as_bytes()).unwrap();
    // The directory, or the file itself.
    for place in [dir.path(), &path] {
        let locator = Locator::new(Options {
            image_dirs: vec![place.to_owned()],
            ..Options::default()
        });
        let image = locator.by_magic(magic).unwrap();
        assert_eq!((image.path(), image.proof()), (&*path, Proof::BuildId));
        assert!(locator.by_magic(Magic(magic.0 ^ 1)).is_none());
    }
}
