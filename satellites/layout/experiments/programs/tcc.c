// The compiler TCC, which compiles a program of many functions. With `other`: macros, tables, texts, floating point, labels, wide numbers.
#include <libtcc.h>
#include <stdio.h>

static char source[400000];
static size_t used;

static void write_functions(void) {
  for (int i = 0; i < 300; ++i) {
    used += (size_t)snprintf(
        source + used, sizeof source - used,
        "struct s%d { int a, b; struct s%d* next; double d[%d]; };\n"
        "static int f%d(struct s%d* p, int n) {\n"
        "  int sum = 0;\n"
        "  for (int i = 0; i < n; ++i) {\n"
        "    if ((i ^ n) & %d) sum += p->a * i - (p->b << 2);\n"
        "    else { switch (i %% 5) { case 0: sum ^= n; break; case 1: sum -= i; default: ++sum; } }\n"
        "    while (p->next && sum > 1000) { p = p->next; sum /= 3; p->d[i %% %d] += sum * 1.5; }\n"
        "  }\n  return sum;\n}\n"
        "int (*use%d)(struct s%d*, int) = f%d;\n",
        i, i, i % 9 + 1, i, i, i % 31 + 1, i % 9 + 1, i, i, i);
  }
}

static void write_others(void) {
  for (int i = 0; i < 100; ++i) {
    used += (size_t)snprintf(
        source + used, sizeof source - used,
        "#define JOIN%d(a, b) a##_##b\n#define SHOW%d(x, ...) #x \" of \" #__VA_ARGS__\n#define EACH%d(M) M(one) M(two) M(three) M(four)\n"
        "#define ITEM(n) JOIN%d(n, %d),\n#define TEXT(n) SHOW%d(n, %d, n),\n"
        "#if defined EACH%d && (%d * 3 + 1 > 2 || !defined NOTHING)\n"
        "enum { EACH%d(ITEM) last_%d };\nstatic const char* const texts_%d[] = { EACH%d(TEXT) \"\\x41\\n\" };\n#else\n#error never\n#endif\n"
        "#undef ITEM\n#undef TEXT\n"
        "typedef union { unsigned flags : 5; float real; long long wide; unsigned char bytes[sizeof(double)]; } u%d;\n"
        "static const short table_%d[4][3] = { { 1, -2, 0x%x }, [2] = { 'a', 07, sizeof(u%d) }, { last_%d, ~3 } };\n"
        "double g%d(double x, float y, unsigned long long w) {\n"
        "  u%d u = { .real = y }; const char* text = texts_%d[(int)x & 3];\n"
        "again: x = x * 0.5e-1 + (y > 2.f ? -y : (double)u.flags) / 3; w = w / %dULL + w %% 7 ^ w >> 3;\n"
        "  if (*text++ && x > 1 && !(w & 1)) goto again;\n"
        "  do u.bytes[w & 7] -= (unsigned char)table_%d[w & 3][1]; while (++u.flags < 9, --w > 100);\n"
        "  return x + (long double)w * u.wide;\n}\n",
        i, i, i, i, i, i, i, i, i, i, i, i, i, i, i, i, i, i, i, i, i, i + 2, i);
  }
}

int main(int count, char** words) {
  if (count > 1) write_others();
  else write_functions();
  for (int round = 0; round < 2; ++round) {
    TCCState* const state = tcc_new();
    tcc_set_options(state, "-nostdlib -nostdinc");
    tcc_set_output_type(state, TCC_OUTPUT_OBJ);
    if (tcc_compile_string(state, source) != 0) return 1;
    tcc_delete(state);
  }
  puts("compiled");
  return 0;
}
