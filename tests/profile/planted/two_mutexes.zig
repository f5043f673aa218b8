// SPDX-License-Identifier: MIT
// As two_mutexes.c, by Zig's own mutex.
const std = @import("std");
var first: std.Thread.Mutex = .{};
var second: std.Thread.Mutex = .{};
var waited = [_]u64{0} ** 4;

noinline fn firstSection() u64 {
    const before = std.time.nanoTimestamp();
    first.lock();
    const after = std.time.nanoTimestamp();
    std.time.sleep(2_000_000);
    first.unlock();
    return @intCast(after - before);
}

noinline fn secondSection() u64 {
    const before = std.time.nanoTimestamp();
    second.lock();
    const after = std.time.nanoTimestamp();
    std.time.sleep(4_000_000);
    second.unlock();
    return @intCast(after - before);
}

fn worker(me: usize) void {
    for (0..50) |_| {
        waited[me] += if (me < 2) firstSection() else secondSection();
        std.time.sleep(1_000_000);
    }
}

pub fn main() !void {
    var threads: [4]std.Thread = undefined;
    for (&threads, 0..) |*one, me| one.* = try std.Thread.spawn(.{}, worker, .{me});
    for (threads) |one| one.join();
    try std.io.getStdOut().writer().print("{{\"first_section\": {d}, \"second_section\": {d}}}\n", .{ waited[0] + waited[1], waited[2] + waited[3] });
}
