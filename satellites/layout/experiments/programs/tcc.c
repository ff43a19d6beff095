// The compiler TCC, which compiles a program of many functions.
#include <libtcc.h>
#include <stdio.h>

int main(void) {
  static char source[400000];
  size_t used = 0;
  for (int i = 0; i < 300; ++i) {
    used += (size_t)snprintf(
        source + used, sizeof source - used,
        "struct s%d { int a, b; struct s%d* next; double d[%d]; };\n"
        "static int f%d(struct s%d* p, int n) {\n"
        "  int sum = 0;\n"
        "  for (int i = 0; i < n; ++i) {\n"
        "    if ((i ^ n) & %d) sum += p->a * i - (p->b << 2); else { switch (i %% 5) { case 0: sum ^= n; break; case 1: sum -= i; default: ++sum; } }\n"
        "    while (p->next && sum > 1000) { p = p->next; sum /= 3; p->d[i %% %d] += sum * 1.5; }\n"
        "  }\n  return sum;\n}\n"
        "int (*use%d)(struct s%d*, int) = f%d;\n",
        i, i, i % 9 + 1, i, i, i % 31 + 1, i % 9 + 1, i, i, i);
  }
  for (int round = 0; round < 4; ++round) {
    TCCState* const state = tcc_new();
    tcc_set_options(state, "-nostdlib -nostdinc");
    tcc_set_output_type(state, TCC_OUTPUT_OBJ);
    if (tcc_compile_string(state, source) != 0) return 1;
    tcc_delete(state);
  }
  puts("compiled");
  return 0;
}
