const std = @import("std");

noinline fn inner(value: u64) u64 {
    return value * 3 + @returnAddress() % 7;
}

pub const Work = struct {
    depth: u64,

    inline fn middle(self: Work) u64 {
        return inner(self.depth) + 1;
    }

    pub noinline fn outer(self: *const Work) u64 {
        return self.middle() + inner(self.depth);
    }
};

pub fn main() void {
    var work = Work{ .depth = 3 };
    std.mem.doNotOptimizeAway(&work);
    std.mem.doNotOptimizeAway(work.outer());
}
