//! Which values on the wire each directive takes: the order in which writers put
//! them, and every reader finds them again.

use super::conversion::Class;
use super::directive::{Count, Directive, Directives};
use super::plan::caller_args;

/// Goes through the values of a record as its directives take them.
#[derive(Clone, Debug)]
pub struct Order {
    positional: bool,
    /// Where errno stands in a positional format.
    errno: u16,
    next: u16,
}

/// Where on the wire the values of a directive stand, counted from 0.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Placed {
    /// The width; an argument is one on the wire.
    pub width: Count,
    /// The precision; an argument is one on the wire.
    pub precision: Count,
    /// The value; none if the directive prints none.
    pub value: Option<u16>,
}

impl Order {
    /// The order of a format's values.
    pub const fn of(format: &[u8]) -> Self {
        let mut directives = Directives::new(format);
        while directives.advance().is_some() {}
        Self {
            positional: directives.is_positional(),
            errno: caller_args(format) as u16,
            next: 0,
        }
    }

    /// What the next directive of the format takes.
    pub const fn place(&mut self, directive: &Directive) -> Placed {
        let width = self.count(directive.width);
        let precision = self.count(directive.precision);
        let value = match (directive.argument, directive.class()) {
            (Some(argument), _) => Some(self.take(argument)),
            (None, Some(Class::Errno)) => Some(self.take(self.errno)),
            (None, _) => None,
        };
        Placed {
            width,
            precision,
            value,
        }
    }

    const fn count(&mut self, count: Count) -> Count {
        match count {
            Count::Argument(argument) => Count::Argument(self.take(argument)),
            count => count,
        }
    }

    const fn take(&mut self, argument: u16) -> u16 {
        if self.positional {
            return argument;
        }
        self.next = self.next.saturating_add(1);
        self.next - 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::printf::{ArgPlan, plan_into};
    use std::vec::Vec;

    fn placed(format: &[u8]) -> Vec<Placed> {
        let mut order = Order::of(format);
        Directives::new(format)
            .map(|directive| order.place(&directive))
            .collect()
    }

    #[test]
    fn each_directive_finds_what_the_plan_put_for_it() {
        let formats: [&[u8]; 9] = [
            b"%d %s",
            b"%*d %m %.*s %.5s %S %n%m",
            b"%4$Lf %m %3$.*1$s %m",
            b"%% %y %d",
            b"%*y %d",
            b"%2$s %1$d %2$s",
            b"%m",
            b"%d %",
            b"%1$*2$.*3$f",
        ];
        for format in formats {
            let mut plan = [ArgPlan::UNNAMED; 16];
            let len = plan_into(format, &mut plan).unwrap();
            let directives = Directives::new(format);
            for (directive, placed) in directives.zip(placed(format)) {
                let at = |index: u16| &plan[..len][index as usize];
                match (placed.value, directive.class()) {
                    (Some(index), Some(class)) => assert_eq!(at(index).class, class),
                    (None, class) => assert!(class.is_none(), "{class:?}"),
                    (Some(_), None) => panic!("a value for nothing"),
                }
                for count in [placed.width, placed.precision] {
                    if let Count::Argument(index) = count
                        && directive.fault.is_none()
                    {
                        assert_eq!(at(index).class, Class::Star);
                    }
                }
            }
        }
    }

    #[test]
    fn stars_stand_before_their_value_and_an_unknown_conversion_takes_them() {
        let one = Placed {
            width: Count::Argument(0),
            precision: Count::Argument(1),
            value: Some(2),
        };
        assert_eq!(placed(b"%*.*f")[0], one);
        assert_eq!(placed(b"%*.*y %d")[1].value, Some(2));
    }
}
