/* Preloaded into a command: when it first makes a file's bytes safe on the disk, another process replaces the file RACE_PATH. So a
 * program that writes it is between reading and replacing, each time. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void replace(const char* path) {
  char other[4096];
  snprintf(other, sizeof other, "%s.other", path);
  const int file = open(other, O_WRONLY | O_CREAT | O_TRUNC, 0666);
  static const char text[] = "of another program";
  if (file < 0 || write(file, text, sizeof text - 1) != sizeof text - 1 || close(file) != 0 || rename(other, path) != 0) _exit(1);
  _exit(0);
}

int fsync(int file) {
  static int raced;
  const char* const path = getenv("RACE_PATH");
  if (path != NULL && !raced) {
    raced = 1;
    const pid_t child = fork();
    int status = 1;
    if (child == 0) replace(path);
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0) abort();
  }
  int (*const next)(int) = (int (*)(int))dlsym(RTLD_NEXT, "fsync");
  return next(file);
}
