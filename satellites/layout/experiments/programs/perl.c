// The Perl interpreter: hashes, sorting, formats. With `other`: regular expressions, objects, closures, packed records.
#include <EXTERN.h>
#include <perl.h>

static char program[] =
    "my (%count, $total); for my $round (1 .. 4) { for my $i (1 .. 1500) { my $w = sprintf('w%d-%s', $i * 7919 % 401, 'ab' x ($i % 5));"
    " $count{$1} += length($2) while $w =~ /(\\d)(\\S*)/g; $w =~ s/ab/c/g; $total += length(uc $w); }"
    " $total += $_ % 7 for sort { $count{$a} <=> $count{$b} || $a cmp $b } keys %count; } print \"$total\\n\";";

static char other[] =
    "package Shape; sub new { my ($class, %with) = @_; return bless { %with }, $class } sub area { my $self = shift; return $self->{w} * $self->{h} }"
    " package Square; our @ISA = ('Shape'); sub area { my $self = shift; return $self->{w} ** 2 + $self->SUPER::area() / 2 }"
    " package main; my ($sum, @parts) = (0);"
    " for my $i (1 .. 800) { my $class = $i % 3 ? 'Shape' : 'Square'; $sum += int $class->new(w => $i % 17, h => $i % 5)->area }"
    " my @adders = map { my $n = $_; sub { $_[0] + $n } } 1 .. 20; for my $i (1 .. 100) { $sum = $_->($sum) % 100003 for @adders }"
    " for my $i (1 .. 600) { push @parts, join '/', 'user' . $i % 37, 'home', reverse split //, $i * 31 }"
    " for (@parts) { my ($who, @path) = split m{/}; $sum += @path if $who =~ /^(?:user(?:1|2)\\d?|admin)$/; tr/0-9/a-j/;"
    " s/([aeiou]+)(?=[^aeiou])/<$1>/g; $sum += length; s/(\\w)(\\d)?$/ord($1) % 10/e; $sum++ if /(.)(.*?)\\1/ && lc $2 ne '' }"
    " my $packed = pack '(nNa4)*', map { ($_, $_ * $_, \"r$_\") } 1 .. 500; my @records = unpack '(nNa4)*', $packed;"
    " while (my ($short, $long, $name) = splice @records, 0, 3) { $sum += $long % 11 + $short; $sum ^= length $name }"
    " my $deep; $deep = sub { my $n = shift; return $n < 2 ? $n : $deep->($n - 1) + $deep->($n - 2) }; $sum += $deep->(13);"
    " eval { die { code => 7 } }; $sum += $@->{code}; print \"$sum\\n\";";

int main(int count, char** given, char** environment) {
  char* words[] = {"perl", "-e", count > 1 ? other : program, NULL};
  setenv("PERL_HASH_SEED", "0", 1);  // the same order of keys each time
  setenv("PERL_PERTURB_KEYS", "0", 1);
  PERL_SYS_INIT3(&count, &given, &environment);
  PerlInterpreter* const my_perl = perl_alloc();  // by which its macros know it
  perl_construct(my_perl);
  PL_exit_flags |= PERL_EXIT_DESTRUCT_END;
  int status = perl_parse(my_perl, NULL, 3, words, NULL);
  if (status == 0) status = perl_run(my_perl);
  perl_destruct(my_perl);
  perl_free(my_perl);
  PERL_SYS_TERM();
  return status;
}
