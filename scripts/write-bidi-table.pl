# Prints src/core/approval/bidi-ranges.ts: every code point that is written right to left or is an Arabic
# number, by the Bidi_Class of perl's own Unicode tables. They give unassigned code points of the
# right-to-left blocks their default class too, so that scripts added later are covered.
use strict;
use warnings;
use Unicode::UCD;

my @ranges;
for my $code (0 .. 0x10FFFF) {
  next if $code >= 0xD800 && $code <= 0xDFFF;
  next unless chr($code) =~ /[\p{Bidi_Class=R}\p{Bidi_Class=AL}\p{Bidi_Class=AN}]/;
  if (@ranges && $ranges[-1][1] == $code - 1) { $ranges[-1][1] = $code }
  else { push @ranges, [$code, $code] }
}
my $version = Unicode::UCD::UnicodeVersion();
print "/**\n * Code points of Bidi_Class R, AL and AN (Unicode $version, unassigned ones of right-to-left blocks\n";
print " * included), first and last of each range. Written by scripts/write-bidi-table.pl.\n */\n";
print "// biome-ignore format: a table\n";
print "export const RIGHT_TO_LEFT: readonly (readonly [first: number, last: number])[] = [\n";
my @row;
for my $i (0 .. $#ranges) {
  push @row, sprintf('[0x%X, 0x%X]', @{ $ranges[$i] });
  if (@row == 4 || $i == $#ranges) { print '  ', join(', ', @row), ",\n"; @row = () }
}
print "]\n";
