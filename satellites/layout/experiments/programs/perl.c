// The Perl interpreter: hashes, regular expressions, sorting, formats.
#include <EXTERN.h>
#include <perl.h>

static char* words[] = {
    "perl", "-e",
    "my (%count, $total); for my $round (1 .. 4) { for my $i (1 .. 1500) { my $w = sprintf('w%d-%s', $i * 7919 % 401, 'ab' x ($i % 5));"
    " $count{$1} += length($2) while $w =~ /(\\d)(\\S*)/g; $w =~ s/ab/c/g; $total += length(uc $w); }"
    " $total += $_ % 7 for sort { $count{$a} <=> $count{$b} || $a cmp $b } keys %count; } print \"$total\\n\";",
    NULL};

int main(int count, char** given, char** environment) {
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
