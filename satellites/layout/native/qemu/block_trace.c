// A plugin of qemu-user that writes which blocks of a program are executed. `assay layout profile`
// loads it; nothing of Assay is linked with it, and it needs no header of QEMU's, whose interface
// for plugins it declares itself (version 1, of QEMU 6.2 to 8.2).
//
// The argument `blocks` is a new file to which it writes what blocks there are. `executed` is a
// pipe to which it writes their numbers, four bytes each, in the order of execution by the first
// thread, and at the end 0xffffffff. What a child executes after fork() is in neither.

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef uint64_t qemu_plugin_id_t;
struct qemu_info_t;
struct qemu_plugin_tb;
struct qemu_plugin_insn;
typedef void (*on_translation)(qemu_plugin_id_t, struct qemu_plugin_tb*);
typedef void (*on_execution)(unsigned, void*);
typedef void (*on_exit)(qemu_plugin_id_t, void*);
enum { no_registers = 0 };
extern void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t, on_translation);
extern void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb*, on_execution, int, void*);
extern void qemu_plugin_register_atexit_cb(qemu_plugin_id_t, on_exit, void*);
extern size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb*);
extern uint64_t qemu_plugin_tb_vaddr(const struct qemu_plugin_tb*);
extern struct qemu_plugin_insn* qemu_plugin_tb_get_insn(const struct qemu_plugin_tb*, size_t);
extern const void* qemu_plugin_insn_data(const struct qemu_plugin_insn*);
extern size_t qemu_plugin_insn_size(const struct qemu_plugin_insn*);
extern uint64_t qemu_plugin_start_code(void);

#define EXPORT __attribute__((visibility("default")))
EXPORT int qemu_plugin_version = 1;

// As assay-layouts reads it.
struct block {
  uint64_t address;
  uint64_t hash;  // of its bytes: FNV-1a
  uint32_t bytes;
  uint32_t instructions;
};

enum { executed_buffered = 1 << 16, blocks_buffered = 1 << 10 };

static const uint32_t end_mark = ~0U;

// A file of ours. The program shares our descriptors, and may close them and open its own.
struct output {
  int descriptor;
  dev_t device;
  ino_t inode;
};

static pid_t owner;  // not a child after fork()
static struct output executed = {.descriptor = -1};
static uint32_t numbers[executed_buffered];  // of the first thread alone
static unsigned number_count;
static struct output blocks = {.descriptor = -1};
static pthread_mutex_t blocks_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct block told[blocks_buffered];
static unsigned told_count;
static uint32_t block_count;

static void fail(const char* why) {
  fprintf(stderr, "assay-layout: cannot write what is executed: %s\n", why);
  _exit(125);
}

// Opens a file, with a number that programs seldom use. False if that fails.
static bool open_output(struct output* to, const char* path, int flags) {
  const int first = open(path, flags | O_WRONLY | O_CLOEXEC, 0600);
  const int high = fcntl(first, F_DUPFD_CLOEXEC, 900);
  if (high >= 0) close(first);
  to->descriptor = high >= 0 ? high : first;
  struct stat status;
  if (fstat(to->descriptor, &status) != 0) return false;
  to->device = status.st_dev;
  to->inode = status.st_ino;
  return true;
}

// As many bytes as there are, by the owner.
static void write_all(const struct output* to, const void* data, size_t left) {
  if (getpid() != owner) return;
  struct stat status;
  if (fstat(to->descriptor, &status) != 0 || status.st_dev != to->device ||
      status.st_ino != to->inode)
    fail("the program has closed its file");
  const char* from = data;
  while (left > 0) {
    const ssize_t written = write(to->descriptor, from, left);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail(strerror(errno));
    from += written;
    left -= (size_t)written;
  }
}

// With blocks_mutex.
static void flush_blocks(void) {
  write_all(&blocks, told, told_count * sizeof told[0]);
  told_count = 0;
}

// The blocks come first, so that whoever reads a number finds its block.
static void flush_executed(void) {
  pthread_mutex_lock(&blocks_mutex);
  flush_blocks();
  pthread_mutex_unlock(&blocks_mutex);
  write_all(&executed, numbers, number_count * sizeof numbers[0]);
  number_count = 0;
}

static void execute(unsigned thread, void* number) {
  if (thread != 0) return;
  numbers[number_count++] = (uint32_t)(uintptr_t)number;
  if (number_count == executed_buffered) flush_executed();
}

static void translate(qemu_plugin_id_t id, struct qemu_plugin_tb* translated) {
  (void)id;
  struct block found = {.address = qemu_plugin_tb_vaddr(translated),
                        .hash = 0xcbf29ce484222325,
                        .instructions = (uint32_t)qemu_plugin_tb_n_insns(translated)};
  for (size_t i = 0; i < found.instructions; ++i) {
    const struct qemu_plugin_insn* const each = qemu_plugin_tb_get_insn(translated, i);
    const unsigned char* const data = qemu_plugin_insn_data(each);
    const size_t size = qemu_plugin_insn_size(each);
    for (size_t j = 0; j < size; ++j) found.hash = (found.hash ^ data[j]) * 0x100000001b3;
    found.bytes += (uint32_t)size;
  }
  pthread_mutex_lock(&blocks_mutex);
  if (block_count == 0) {
    const uint64_t start = qemu_plugin_start_code();
    write_all(&blocks, &start, sizeof start);
  }
  const uint32_t number = block_count++;
  told[told_count++] = found;
  if (told_count == blocks_buffered) flush_blocks();
  pthread_mutex_unlock(&blocks_mutex);
  qemu_plugin_register_vcpu_tb_exec_cb(translated, execute, no_registers, (void*)(uintptr_t)number);
}

static void end(qemu_plugin_id_t id, void* unused) {
  (void)id;
  (void)unused;
  flush_executed();
  write_all(&executed, &end_mark, sizeof end_mark);
}

EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const struct qemu_info_t* info, int count,
                               char** words) {
  (void)info;
  bool has_files = true;
  for (int i = 0; i < count; ++i) {
    if (strncmp(words[i], "blocks=", 7) == 0)
      has_files = open_output(&blocks, words[i] + 7, O_CREAT | O_EXCL) && has_files;
    if (strncmp(words[i], "executed=", 9) == 0)
      has_files = open_output(&executed, words[i] + 9, 0) && has_files;
  }
  if (!has_files || blocks.descriptor < 0 || executed.descriptor < 0) {
    fprintf(stderr, "assay-layout: the plugin needs blocks=FILE and executed=PIPE\n");
    return 1;
  }
  owner = getpid();
  qemu_plugin_register_vcpu_tb_trans_cb(id, translate);
  qemu_plugin_register_atexit_cb(id, end, NULL);
  return 0;
}
