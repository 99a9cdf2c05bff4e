//! From the running total of lost records that legacy writers send to what was lost since.

/// Remembers the last total of one writer.
///
/// Structured records carry what was lost since the previous record; legacy packets carry a total that
/// their writers never reset.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RunningDrops {
    last: u32,
}

impl RunningDrops {
    /// How many were lost since the previous packet, given the total of this one.
    ///
    /// A total that went down started again at zero, by a restarted logger or by wrapping: all of it is new.
    pub fn increase(&mut self, total: u32) -> u32 {
        let increase = total.checked_sub(self.last).unwrap_or(total);
        self.last = total;
        increase
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_increase_is_reported() {
        let mut drops = RunningDrops::default();
        let increases = [0, 3, 3, 10, 2].map(|total| drops.increase(total));
        assert_eq!(increases, [0, 3, 0, 7, 2]);
    }
}
