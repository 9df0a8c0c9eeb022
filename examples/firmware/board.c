// Start-up of a Cortex-M for qemu's boards: vectors, floating-point unit, zeroed memory; text and the exit
// status go out through semihosting. A fault ends with 99.
#include <stdint.h>

extern uint32_t stack_top, bss_start, bss_end;
int main(void);
void board_print(const char* text);
void reset(void);

static uint32_t semihosting(uint32_t operation, const void* argument) {
  register uint32_t r0 __asm__("r0") = operation;
  register const void* r1 __asm__("r1") = argument;
  __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
  return r0;
}

static void leave(uint32_t status) {
  const uint32_t block[2] = {0x20026u, status};  // ADP_Stopped_ApplicationExit
  semihosting(0x20u, block);                     // SYS_EXIT_EXTENDED
  for (;;) {
  }
}

void board_print(const char* text) { semihosting(0x04u, text); }  // SYS_WRITE0

static void fault(void) {
  board_print("FAULT\n");
  leave(99);
}

static void __attribute__((used, noreturn)) start(void) {
  for (uint32_t* word = &bss_start; word < &bss_end; ++word) *word = 0;
  leave((uint32_t)main());
  for (;;) {
  }
}

// Coprocessors 10 and 11 on (CPACR), low-overhead loops on (CCR.LOB, ignored before v8.1-M).
void __attribute__((naked, noreturn)) reset(void) {
#if defined(__ARM_ARCH_6M__)
  __asm__ volatile("b start\n");  // it has neither
#else
  __asm__ volatile(
      "ldr r0, =0xE000ED88\n ldr r1, [r0]\n orr r1, r1, #(0xF << 20)\n str r1, [r0]\n dsb\n isb\n"
      "ldr r0, =0xE000ED14\n ldr r1, [r0]\n orr r1, r1, #(1 << 19)\n str r1, [r0]\n isb\n"
      "b start\n .ltorg\n");
#endif
}

typedef void (*Handler)(void);
static const struct {
  uint32_t* stack;
  Handler handlers[15];
} vectors
    __attribute__((section(".vectors"), used)) = {&stack_top,
                                                  {reset, fault, fault, fault, fault, fault, fault, fault,
                                                   fault, fault, fault, fault, fault, fault, fault}};
