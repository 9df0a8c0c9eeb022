// The functions that newlib's printf needs: text goes out through board.c, and its buffers are in a small heap. intaglio itself
// uses neither.
#include <errno.h>
#include <stddef.h>
#include <sys/stat.h>

void board_print(const char* text);

int _write(int file, const char* data, int size) {
  (void)file;
  for (int i = 0; i < size; ++i) {
    const char text[2] = {data[i], '\0'};
    board_print(text);
  }
  return size;
}

void* _sbrk(ptrdiff_t size) {
  static char heap[4096] __attribute__((aligned(8)));
  static ptrdiff_t used;
  if (size < 0 || size > (ptrdiff_t)sizeof heap - used) {
    errno = ENOMEM;
    return (void*)-1;
  }
  used += size;
  return heap + used - size;
}

// abort() ends here: board.c's fault handler says so, and ends the program.
void _exit(int status) {
  (void)status;
  __builtin_trap();
}

int _kill(int process, int signal) {
  (void)process, (void)signal;
  return -1;
}

int _getpid(void) { return 1; }

// There are no files, and nothing to read.
int _close(int file) {
  (void)file;
  return -1;
}

int _isatty(int file) {
  (void)file;
  return 1;
}

int _lseek(int file, int offset, int from) {
  (void)file, (void)offset, (void)from;
  return 0;
}

int _read(int file, char* data, int size) {
  (void)file, (void)data, (void)size;
  return 0;
}

int _fstat(int file, struct stat* about) {
  (void)file;
  about->st_mode = S_IFCHR;
  return 0;
}
