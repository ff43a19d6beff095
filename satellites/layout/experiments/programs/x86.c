// An emulator of the processor 80386, which runs a program that sorts bytes again and again. With `other`: primes, quotients, calls, texts.
#include <stdio.h>
#include <x86emu.h>

// The two programs that it runs.
__asm__(
    ".pushsection .rodata\n.code16\n"
    "sorting:\n"
    "  mov $0x4000, %si\n  mov $255, %cx\n"
    "1: lodsb\n  cmp (%si), %al\n  jbe 2f\n  xchg %al, (%si)\n  mov %al, -1(%si)\n"
    "2: rol $1, %al\n  xor %cl, %al\n  add %al, %bl\n  loop 1b\n"
    "  xor %bl, 0x4000\n  jmp sorting\n"
    "others:\n  cld\n  mov $0x3000, %sp\n"
    "1: mov $0x5000, %di\n  mov $64, %cx\n  xor %ax, %ax\n  rep stosw\n"  // the sieve
    "  mov $2, %bx\n"
    "2: testb $1, 0x5000(%bx)\n  jnz 4f\n  mov %bx, %si\n  add %bx, %si\n"
    "3: cmp $128, %si\n  jae 4f\n  orb $1, 0x5000(%si)\n  add %bx, %si\n  jmp 3b\n"
    "4: inc %bx\n  cmp $128, %bx\n  jb 2b\n"
    "  mov $0x5000, %si\n  mov $0x5100, %di\n  mov $32, %cx\n  rep movsl\n"
    "  mov $0x5100, %di\n  mov $100, %cx\n  mov $1, %al\n  repne scasb\n"
    "  push %cx\n  pushl $1071\n  pushl $462\n  call divisor\n  add $8, %sp\n  pop %cx\n"
    "  imul $77, %ax, %dx\n  neg %dx\n  shld $3, %ax, %dx\n  bswap %edx\n  bsr %edx, %ecx\n  setc %cl\n  movzbl %cl, %ecx\n"
    "  mov $0x19, %al\n  add $0x28, %al\n  daa\n  aam\n  xlat\n  cbw\n  cwde\n  adc %eax, 0x5200\n  sbb $7, %eax\n  lea 5(%eax, %eax, 4), %eax\n"
    "  rcr $2, %eax\n  sarl %eax\n  pusha\n  popa\n  pushf\n  popf\n  jmp 1b\n"
    "divisor:\n  enter $4, $0\n  mov 4(%bp), %eax\n  mov 8(%bp), %ecx\n"  // Euclid's
    "1: test %ecx, %ecx\n  jz 2f\n  xor %edx, %edx\n  div %ecx\n  mov %ecx, %eax\n  mov %edx, %ecx\n  jmp 1b\n"
    "2: leave\n  ret\n"
    "ends:\n.code64\n.popsection");
extern const unsigned char sorting[], others[], ends[];

int main(int count, char** words) {
  const unsigned char* const first = count > 1 ? others : sorting;
  const unsigned char* const end = count > 1 ? ends : others;
  x86emu_t* const machine = x86emu_new(X86EMU_PERM_RWX, 0);
  for (unsigned i = 0; first + i < end; ++i) x86emu_write_byte(machine, 0x1000 + i, first[i]);
  for (unsigned i = 0; i < 256; ++i) x86emu_write_byte(machine, 0x4000 + i, (unsigned char)(i * 167 + 13));
  x86emu_set_seg_register(machine, machine->x86.R_CS_SEL, 0);
  machine->x86.R_EIP = 0x1000;
  machine->max_instr = 60000;
  x86emu_run(machine, X86EMU_RUN_MAX_INSTR);
  printf("%x\n", x86emu_read_word(machine, 0x5200) + x86emu_read_word(machine, 0x4080));
  x86emu_done(machine);
  return 0;
}
