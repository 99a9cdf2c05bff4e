//! Such logs, followed while they grow: `LOGDEF_FOLLOWED` says how many, by whole frames and by
//! pieces.

use super::copied::read;
use super::*;

type Identity = Option<(Run, Sequence)>;

fn identity_of(body: &[u8]) -> Identity {
    let mut scratch = Vec::new();
    match logdef_resync::decode(body, &mut scratch) {
        Ok(Record::Data(data)) => data.run.zip(data.sequence),
        _ => None,
    }
}

/// Of each data record in a file, by its offset, how far it can be trusted at last: what
/// following said when it gave it, or later. One that was withheld is not here.
#[derive(Default)]
struct Followed {
    given: BTreeMap<u64, Standing>,
    texts: HashSet<Vec<u8>>,
    identities: HashSet<Identity>,
    corrections: Vec<(Range<u64>, Standing)>,
    withheld: u64,
}

impl Followed {
    fn take(&mut self, news: Vec<News>) {
        for news in news {
            match news {
                News::Frame {
                    offset,
                    bytes,
                    standing,
                    ..
                } => {
                    let body = frame::decode(&bytes).unwrap().body;
                    let mut scratch = Vec::new();
                    if matches!(
                        logdef_resync::decode(body, &mut scratch),
                        Ok(Record::Data(_))
                    ) {
                        self.given.insert(offset, standing);
                        self.identities.insert(identity_of(body));
                        self.texts.insert(bytes);
                    }
                }
                News::Doubted {
                    standing, from, to, ..
                } => self.corrections.push((from..to, standing)),
                News::Withheld { records, .. } => self.withheld += records,
                _ => {}
            }
        }
    }

    fn standing(&self, offset: u64) -> Option<Standing> {
        let given = self.given.get(&offset)?;
        let later = self.corrections.iter();
        let later = later.filter(|(range, _)| range.contains(&offset));
        Some(
            later
                .map(|(_, standing)| *standing)
                .fold(*given, Standing::max),
        )
    }

    /// What a view shows, and how: a record that stands twice may be another of its copies.
    fn check(&self, bytes: &[u8]) {
        let inputs = [Input::from_bytes("mutant", bytes.to_vec())];
        let recovery = read(&inputs, false);
        let mut items = Items::new(&inputs[0]);
        let mut scratch = Vec::new();
        while let Some(item) = items.next().unwrap() {
            let Item::Frame(frame) = item else { continue };
            let Some(body) = logdef_resync::unmasked(frame.body, &mut scratch) else {
                continue;
            };
            if body.first() != Some(&Tag::DATA.0) {
                continue;
            }
            let (input, offset) = (0, frame.offset);
            let viewed = recovery.standing(Place { input, offset }, body);
            match self.standing(offset) {
                Some(Standing::Sound) => assert_eq!(viewed, Standing::Sound, "{offset}"),
                Some(_) => {}
                None => {
                    let is_copy = self.texts.contains(frame.bytes);
                    let is_other = self.identities.contains(&identity_of(body));
                    let is_doubtful = viewed == Standing::Recovered && is_other;
                    let may_miss = is_copy || is_doubtful || viewed == Standing::Suspect;
                    assert!(may_miss, "{offset} is left out");
                }
            }
        }
    }
}

/// Where frames and gaps end.
fn ends(bytes: &[u8]) -> impl Iterator<Item = usize> {
    let mut items = Items::of_bytes(bytes);
    let mut ends = Vec::new();
    while let Some(item) = items.next().unwrap() {
        ends.push(item.end() as usize);
    }
    ends.into_iter()
}

/// A log that comes in pieces: damage and the beginning of a frame may look like one gap, or
/// like damage and zeros.
fn follow_in_pieces(original: &Original, seed: u64) {
    let mut random = Random::new(seed);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("app.log");
    let bytes = original.mutant(&mut random);
    let mut file = std::fs::File::create(&path).unwrap();
    let mut follow = Follow::new(&path);
    let mut followed = Followed::default();
    let most = 4 << random.below(8);
    let mut rest = &bytes[..];
    while !rest.is_empty() {
        let (piece, behind) = rest.split_at(rest.len().min(1 + random.below(most)));
        file.write_all(piece).unwrap();
        followed.take(follow.poll());
        rest = behind;
    }
    for _ in 0..30 {
        followed.take(follow.poll());
    }
    followed.check(&bytes);
}

#[test]
fn what_comes_in_pieces_of_frames_is_followed_whole() {
    // Those that showed what is mended, and the first.
    let known = [25, 35, 40, 70].map(|seed| seed..seed + 1);
    let first = seeds::wanted("LOGDEF_FOLLOWED", if synth::slow() { 200 } else { 12 });
    let tried = known.iter().chain([&first]);
    let failed = |seeds| seeds::failures(seeds, SERIES, Original::new, follow_in_pieces);
    let failed: Vec<u64> = tried.flat_map(failed).collect();
    assert!(failed.is_empty(), "{} seeds: {failed:?}", failed.len());
}

/// A log that stands there at once, grows, or is damaged when it has been read.
#[test]
fn what_is_followed_is_marked_and_withheld_as_a_view_does_it() {
    let seeds = seeds::wanted("LOGDEF_FOLLOWED", if synth::slow() { 4_000 } else { 150 });
    let (unsound, withheld) = (AtomicU64::new(0), AtomicU64::new(0));
    let failed = seeds::failures(&seeds, SERIES, Original::new, |original, seed| {
        let mut random = Random::new(seed);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("app.log");
        let mut bytes = original.mutant(&mut random);
        let mut follow = Follow::new(&path);
        let mut followed = Followed::default();
        match random.below(3) {
            0 => {}
            1 => {
                // Each write is of some whole frames.
                for end in ends(&bytes).step_by(1 + random.below(5)) {
                    std::fs::write(&path, &bytes[..end]).unwrap();
                    followed.take(follow.poll());
                }
            }
            _ => {
                std::fs::write(&path, &bytes).unwrap();
                followed.take(follow.poll());
                bytes.extend_from_slice(&original.mutant(&mut random));
            }
        }
        std::fs::write(&path, &bytes).unwrap();
        for _ in 0..30 {
            followed.take(follow.poll());
        }
        followed.check(&bytes);
        let given = followed.given.values();
        let marked = given.filter(|it| **it != Standing::Sound).count() as u64;
        unsound.fetch_add(marked, Ordering::Relaxed);
        withheld.fetch_add(followed.withheld, Ordering::Relaxed);
    });
    assert!(failed.is_empty(), "{} seeds: {failed:?}", failed.len());
    let seeds = seeds.end - seeds.start;
    assert!(unsound.into_inner() > seeds / 2);
    assert!(withheld.into_inner() > seeds / 20);
}
