# SPDX-License-Identifier: MIT
# Four of Perl's threads at one shared variable.
use threads;
use threads::shared;

my $count : shared = 0;
my @all = map {
	threads->create(sub { for (1 .. 20000) { lock($count); $count++; } });
} 1 .. 4;
$_->join for @all;
die "lost" if $count != 80000;
