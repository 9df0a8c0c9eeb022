// A plugin for dynamic qemu-user and qemu-system (TCG plugin interface, version 1): how many instructions the
// guest executed, in all and in each function. Debian ships no qemu-plugin.h; what is used of it is declared
// here. One guest thread at a time: the counters are plain.
//
//   qemu-aarch64 -plugin ./instruction_plugin.so[,functions=on][,blocks=on][,marks=on][,trace=FILE] -d plugin program
//
// prints to stderr "instructions N" and, with functions=on, "instructions N NAME" for each function. With blocks=on
// also "block START END COUNT TAKEN" for each run of instructions: how often it was executed, and how often
// something else than the instruction behind it came next. With marks=on "mark N" at each system call getppid: N
// instructions before it. marks=on is for AArch64 and Linux alone, and allows several threads that do not run at once.
// With marks=on,trace=FILE the file gets what ran between the last two marks, the number of each run of instructions as
// uint32, one after another. FILE.runs gets a line for each run: its number, start, bytes in hexadecimal and function.
// With flash=END,line=BYTES,code=N,data=N a flash below the address END (hexadecimal) is read through a cache of N lines for
// code and one for data, each with the least recently used line replaced: "flash CODE DATA SPLIT" are the misses of both, and
// the loads and stores anywhere that cross a word of four bytes. No lines of code: no fetch is a miss. No lines of data: each read is.
// With blocks=on,part=ADDRESS (hexadecimal) each time that the run of instructions there begins, "part" and what was counted of runs
// and of the flash since the last time are printed, and nothing of that at the end.
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORTED __attribute__((visibility("default")))

typedef uint64_t PluginId;
typedef struct qemu_plugin_tb Block;
typedef struct qemu_plugin_insn Instruction;
struct Info;
enum { kAddTo64 = 0, kNoRegisters = 0, kReadsAndWrites = 3 };  // QEMU_PLUGIN_INLINE_ADD_U64, _CB_NO_REGS, _MEM_RW

extern void qemu_plugin_register_vcpu_tb_trans_cb(PluginId, void (*)(PluginId, Block*));
extern void qemu_plugin_register_vcpu_insn_exec_inline(Instruction*, int operation, void* counter,
                                                       uint64_t amount);
extern void qemu_plugin_register_vcpu_tb_exec_cb(Block*, void (*)(unsigned, void*), int flags, void*);
extern void qemu_plugin_register_vcpu_mem_cb(Instruction*, void (*)(unsigned, uint32_t info, uint64_t address, void*),
                                             int flags, int reads_and_writes, void*);
extern unsigned qemu_plugin_mem_size_shift(uint32_t info);
extern bool qemu_plugin_mem_is_store(uint32_t info);
extern void qemu_plugin_register_vcpu_syscall_cb(PluginId,
                                                 void (*)(PluginId, unsigned, int64_t, uint64_t, uint64_t, uint64_t,
                                                          uint64_t, uint64_t, uint64_t, uint64_t, uint64_t));
extern void qemu_plugin_register_atexit_cb(PluginId, void (*)(PluginId, void*), void*);
extern size_t qemu_plugin_tb_n_insns(const Block*);
extern Instruction* qemu_plugin_tb_get_insn(const Block*, size_t);
extern const char* qemu_plugin_insn_symbol(const Instruction*);
extern uint64_t qemu_plugin_insn_vaddr(const Instruction*);
extern size_t qemu_plugin_insn_size(const Instruction*);
extern const void* qemu_plugin_insn_data(const Instruction*);
extern void qemu_plugin_outs(const char*);

EXPORTED int qemu_plugin_version = 1;

// In a list: qemu holds the counters' addresses.
typedef struct Function {
  struct Function* next;
  uint64_t count;
  char name[];
} Function;

typedef struct Run {
  struct Run* next;
  uint64_t start, last, end, count, taken;
  uint32_t number;
} Run;

// Numbers of runs, as they were executed.
typedef struct Trace {
  uint32_t* numbers;
  size_t count, room;
} Trace;

static uint64_t total;
static Function* functions;
static Run* runs;
static Run* last_run;
static bool by_function, by_block;
static uint64_t part_start = UINT64_MAX;
static const char* trace_path;
static FILE* trace_runs;
static uint32_t traced_runs;
static Trace current, complete;  // since the last mark, and between the last two

// Lines, the last used first.
typedef struct Cache {
  uint64_t lines[512];
  size_t count, room;
  uint64_t misses;
} Cache;
static uint64_t flash_end, split;
static unsigned flash_line;
static Cache code_cache, data_cache;

static void fetch(Cache* cache, uint64_t line) {
  if (cache->count > 0 && cache->lines[0] == line) return;
  if (cache->room == 0) {
    ++cache->misses;
    return;
  }
  size_t at = 0;
  while (at < cache->count && cache->lines[at] != line) ++at;
  if (at == cache->count) {
    ++cache->misses;
    if (cache->count < cache->room) ++cache->count;
    else at = cache->count - 1;
  }
  memmove(cache->lines + 1, cache->lines, at * sizeof *cache->lines);
  cache->lines[0] = line;
}

static void on_access(unsigned cpu, uint32_t info, uint64_t address, void* unused) {
  (void)cpu, (void)unused;
  const unsigned bytes = 1u << qemu_plugin_mem_size_shift(info);
  const unsigned place = (unsigned)(address % 4);
  if (bytes <= 4 ? place + bytes > 4 : place != 0) ++split;
  if (qemu_plugin_mem_is_store(info) || address >= flash_end) return;
  for (uint64_t line = address / flash_line; line <= (address + bytes - 1) / flash_line; ++line) fetch(&data_cache, line);
}

static void fetch_code(uint64_t start, uint64_t end) {
  if (start >= flash_end || code_cache.room == 0) return;
  for (uint64_t line = start / flash_line; line <= (end - 1) / flash_line; ++line) fetch(&code_cache, line);
}

static uint64_t* counter_of(const char* name) {
  if (name == NULL) name = "?";
  for (Function* f = functions; f != NULL; f = f->next)
    if (strcmp(f->name, name) == 0) return &f->count;
  const size_t size = strlen(name) + 1;
  Function* const f = calloc(1, sizeof *f + size);
  if (f == NULL) abort();
  memcpy(f->name, name, size);
  f->next = functions;
  functions = f;
  return &f->count;
}

static void print_counts(void) {
  char line[128];
  if (flash_line > 0) {
    snprintf(line, sizeof line, "flash %llu %llu %llu\n", (unsigned long long)code_cache.misses,
             (unsigned long long)data_cache.misses, (unsigned long long)split);
    qemu_plugin_outs(line);
  }
  for (Run* r = runs; r != NULL; r = r->next) {
    if (r->count == 0) continue;
    snprintf(line, sizeof line, "block %llx %llx %llu %llu\n", (unsigned long long)r->start,
             (unsigned long long)r->end, (unsigned long long)r->count, (unsigned long long)r->taken);
    qemu_plugin_outs(line);
    r->count = r->taken = 0;
  }
  code_cache.misses = data_cache.misses = split = 0;
}

static void on_block(unsigned cpu, void* data) {
  (void)cpu;
  Run* const run = data;
  // A block ends with the first bytes of an instruction that crosses a page, which is the next block.
  if (last_run != NULL && (run->start <= last_run->last || run->start > last_run->end)) ++last_run->taken;
  if (run->start == part_start) {
    qemu_plugin_outs("part\n");
    print_counts();
  }
  ++run->count;
  last_run = run;
  if (flash_line > 0) fetch_code(run->start, run->end);
}

static void on_traced(unsigned cpu, void* data) {
  (void)cpu;
  if (current.count == current.room) {
    current.room = current.room == 0 ? 1 << 16 : 2 * current.room;
    current.numbers = realloc(current.numbers, current.room * sizeof *current.numbers);
    if (current.numbers == NULL) abort();
  }
  current.numbers[current.count++] = (uint32_t)(uintptr_t)data;
}

static void trace(Block* block) {
  const size_t count = qemu_plugin_tb_n_insns(block);
  if (count == 0) return;
  const Instruction* const first = qemu_plugin_tb_get_insn(block, 0);
  const char* const name = qemu_plugin_insn_symbol(first);
  fprintf(trace_runs, "%u %llx ", traced_runs, (unsigned long long)qemu_plugin_insn_vaddr(first));
  for (size_t i = 0; i < count; ++i) {
    const Instruction* const instruction = qemu_plugin_tb_get_insn(block, i);
    const uint8_t* const bytes = qemu_plugin_insn_data(instruction);
    for (size_t b = 0; b < qemu_plugin_insn_size(instruction); ++b) fprintf(trace_runs, "%02x", bytes[b]);
  }
  fprintf(trace_runs, " %s\n", name == NULL ? "?" : name);
  qemu_plugin_register_vcpu_tb_exec_cb(block, on_traced, kNoRegisters, (void*)(uintptr_t)traced_runs++);
}

static void follow(Block* block) {
  const size_t count = qemu_plugin_tb_n_insns(block);
  if (count == 0) return;
  Instruction* const last = qemu_plugin_tb_get_insn(block, count - 1);
  Run* const run = calloc(1, sizeof *run);
  if (run == NULL) abort();
  run->start = qemu_plugin_insn_vaddr(qemu_plugin_tb_get_insn(block, 0));
  run->last = qemu_plugin_insn_vaddr(last);
  run->end = run->last + qemu_plugin_insn_size(last);
  run->next = runs;
  runs = run;
  qemu_plugin_register_vcpu_tb_exec_cb(block, on_block, kNoRegisters, run);
}

static void on_translation(PluginId id, Block* block) {
  (void)id;
  if (by_block) follow(block);
  if (trace_path != NULL) trace(block);
  for (size_t i = 0; i < qemu_plugin_tb_n_insns(block); ++i) {
    Instruction* const instruction = qemu_plugin_tb_get_insn(block, i);
    qemu_plugin_register_vcpu_insn_exec_inline(instruction, kAddTo64, &total, 1);
    if (flash_line > 0)
      qemu_plugin_register_vcpu_mem_cb(instruction, on_access, kNoRegisters, kReadsAndWrites, NULL);
    if (by_function)
      qemu_plugin_register_vcpu_insn_exec_inline(instruction, kAddTo64,
                                                 counter_of(qemu_plugin_insn_symbol(instruction)), 1);
  }
}

static void on_system_call(PluginId id, unsigned cpu, int64_t number, uint64_t a1, uint64_t a2, uint64_t a3,
                           uint64_t a4, uint64_t a5, uint64_t a6, uint64_t a7, uint64_t a8) {
  (void)id, (void)cpu, (void)a1, (void)a2, (void)a3, (void)a4, (void)a5, (void)a6, (void)a7, (void)a8;
  enum { kGetppid = 173 };
  if (number != kGetppid) return;
  char line[64];
  snprintf(line, sizeof line, "mark %llu\n", (unsigned long long)total);
  qemu_plugin_outs(line);
  const Trace other = complete;
  complete = current;
  current = other;
  current.count = 0;
}

static void write_trace(void) {
  FILE* const file = fopen(trace_path, "wb");
  if (file == NULL || fwrite(complete.numbers, sizeof *complete.numbers, complete.count, file) != complete.count ||
      fclose(file) != 0 || fclose(trace_runs) != 0)
    qemu_plugin_outs("the trace could not be written\n");
}

static void on_exit_of_guest(PluginId id, void* unused) {
  (void)id;
  (void)unused;
  char line[512];
  snprintf(line, sizeof line, "instructions %llu\n", (unsigned long long)total);
  qemu_plugin_outs(line);
  if (trace_path != NULL) write_trace();
  for (const Function* f = functions; f != NULL; f = f->next) {
    snprintf(line, sizeof line, "instructions %llu %s\n", (unsigned long long)f->count, f->name);
    qemu_plugin_outs(line);
  }
  if (part_start == UINT64_MAX) print_counts();
}

static bool read_number(const char* argument, const char* name, int base, unsigned long long most,
                        unsigned long long* value) {
  const size_t size = strlen(name);
  if (strncmp(argument, name, size) != 0) return false;
  *value = strtoull(argument + size, NULL, base);
  if (*value > most) {
    fprintf(stderr, "instruction_plugin: %s is above %llu\n", argument, most);
    exit(2);
  }
  return true;
}

EXPORTED int qemu_plugin_install(PluginId id, const struct Info* info, int argc, char** argv) {
  (void)info;
  unsigned long long number = 0;
  for (int i = 0; i < argc; ++i)
    if (read_number(argv[i], "flash=", 16, UINT32_MAX, &number)) {
      flash_end = number;
    } else if (read_number(argv[i], "line=", 10, 4096, &number)) {
      flash_line = (unsigned)number;
    } else if (read_number(argv[i], "code=", 10, 512, &number)) {
      code_cache.room = number;
    } else if (read_number(argv[i], "data=", 10, 512, &number)) {
      data_cache.room = number;
    } else if (read_number(argv[i], "part=", 16, UINT32_MAX, &number)) {
      part_start = number;
    } else if (strcmp(argv[i], "functions=on") == 0) {
      by_function = true;
    } else if (strcmp(argv[i], "blocks=on") == 0) {
      by_block = true;
    } else if (strcmp(argv[i], "marks=on") == 0) {
      qemu_plugin_register_vcpu_syscall_cb(id, on_system_call);
    } else if (strncmp(argv[i], "trace=", 6) == 0) {
      static char path[4000];
      char name[4096];
      if (snprintf(path, sizeof path, "%s", argv[i] + 6) >= (int)sizeof path) return -1;
      trace_path = path;
      snprintf(name, sizeof name, "%s.runs", path);
      trace_runs = fopen(name, "w");
      if (trace_runs == NULL) return -1;
    }
  if ((flash_line > 0) != (flash_end > 0)) return -1;
  qemu_plugin_register_vcpu_tb_trans_cb(id, on_translation);
  qemu_plugin_register_atexit_cb(id, on_exit_of_guest, NULL);
  return 0;
}
