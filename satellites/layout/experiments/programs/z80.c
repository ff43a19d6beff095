// An emulator of the processor Z80, which runs a program that sorts bytes again and again.
#include <stdio.h>
#include <z80ex/z80ex.h>

static Z80EX_BYTE memory[65536];

static Z80EX_BYTE read_memory(Z80EX_CONTEXT* cpu, Z80EX_WORD at, int is_code, void* unused) { return memory[at]; }
static void write_memory(Z80EX_CONTEXT* cpu, Z80EX_WORD at, Z80EX_BYTE value, void* unused) { memory[at] = value; }
static Z80EX_BYTE read_port(Z80EX_CONTEXT* cpu, Z80EX_WORD port, void* unused) { return 0; }
static void write_port(Z80EX_CONTEXT* cpu, Z80EX_WORD port, Z80EX_BYTE value, void* unused) {}
static Z80EX_BYTE read_vector(Z80EX_CONTEXT* cpu, void* unused) { return 0xff; }

int main(void) {
  // loop: ld hl,0x4000; ld b,255; next: ld a,(hl); inc hl; cp (hl); jr c,ok; ld c,(hl); ld (hl),a; dec hl; ld (hl),c; inc hl
  // ok: rlca; xor b; djnz next; jr loop
  static const Z80EX_BYTE program[] = {0x21, 0x00, 0x40, 0x06, 0xff, 0x7e, 0x23, 0xbe, 0x38, 0x05, 0x4e,
                                       0x77, 0x2b, 0x71, 0x23, 0x07, 0xa8, 0x10, 0xf2, 0x18, 0xeb};
  for (unsigned i = 0; i < sizeof program; ++i) memory[i] = program[i];
  for (unsigned i = 0; i < 256; ++i) memory[0x4000 + i] = (Z80EX_BYTE)(i * 167 + 13);
  Z80EX_CONTEXT* const cpu =
      z80ex_create(read_memory, NULL, write_memory, NULL, read_port, NULL, write_port, NULL, read_vector, NULL);
  for (int i = 0; i < 300000; ++i) z80ex_step(cpu);
  printf("%d\n", memory[0x4080]);
  z80ex_destroy(cpu);
  return 0;
}
