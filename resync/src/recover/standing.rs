//! The three words for how far a frame can be trusted. How it is found out, others know.

/// How far a frame can be trusted.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Standing {
    /// No damage is near, or none that could have laid it bare.
    #[default]
    Sound,
    /// It stands inside a damaged range, and undamaged evidence supports it; or there is
    /// none in these inputs.
    Recovered,
    /// It stands inside a damaged range, and nothing outside supports it: probably it was
    /// quoted in a message.
    Suspect,
}

impl Standing {
    /// The word for it, `None` if it needs none.
    pub fn word(self) -> Option<&'static str> {
        match self {
            Standing::Sound => None,
            Standing::Recovered => Some("recovered"),
            Standing::Suspect => Some("suspect"),
        }
    }
}
