// A failing disk, for LD_PRELOAD. Counts the calls of the chosen kinds on files below ORIEL_DISK_UNDER, in all threads together, and
// fails the n-th with an errno. The shared file ORIEL_DISK holds five integers: calls left until the failure, the errno, the kinds
// (a bit mask), how many calls have failed, and the step: after the n-th call every
// step-th call fails as well; 0 for none.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <unistd.h>

enum { KIND_SYNC = 1, KIND_WRITE = 2, KIND_OPEN = 4, KIND_TRUNCATE = 8, KIND_CLOSE = 16 };

static volatile int *control;
static const char *under;

__attribute__((constructor)) static void start(void) {
  const char *path = getenv("ORIEL_DISK");
  under = getenv("ORIEL_DISK_UNDER");
  if (path == NULL || under == NULL) return;
  int (*real_open)(const char *, int, ...) = dlsym(RTLD_NEXT, "open");
  int fd = real_open(path, O_RDWR);
  if (fd < 0) return;
  void *found = mmap(NULL, 20, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (found != MAP_FAILED) control = found;
}

static int fails(int kind, const char *path) {
  if (control == NULL || (control[2] & kind) == 0) return 0;
  if (strncmp(path, under, strlen(under)) != 0) return 0;
  if (control[0] == INT_MIN) return 0;
  int left = __sync_sub_and_fetch(&control[0], 1);
  int step = control[4];
  if (left > 0 || (left < 0 && (step == 0 || left % step != 0))) return 0;
  __sync_add_and_fetch(&control[3], 1);
  errno = control[1];
  return 1;
}

static int fails_on(int kind, int fd) {
  if (control == NULL || (control[2] & kind) == 0) return 0;
  char link[64], path[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, path, sizeof path - 1);
  if (length < 0) return 0;
  path[length] = 0;
  return fails(kind, path);
}

#define REAL(type, name, ...) ((type(*)(__VA_ARGS__))dlsym(RTLD_NEXT, #name))

int fsync(int fd) {
  return fails_on(KIND_SYNC, fd) ? -1 : REAL(int, fsync, int)(fd);
}
int fdatasync(int fd) {
  return fails_on(KIND_SYNC, fd) ? -1 : REAL(int, fdatasync, int)(fd);
}
ssize_t pwrite(int fd, const void *data, size_t size, off_t offset) {
  if (fails_on(KIND_WRITE, fd)) return -1;
  return REAL(ssize_t, pwrite, int, const void *, size_t, off_t)(fd, data, size, offset);
}
ssize_t pwrite64(int fd, const void *data, size_t size, off64_t offset) {
  if (fails_on(KIND_WRITE, fd)) return -1;
  return REAL(ssize_t, pwrite64, int, const void *, size_t, off64_t)(fd, data, size, offset);
}
ssize_t write(int fd, const void *data, size_t size) {
  return fails_on(KIND_WRITE, fd) ? -1 : REAL(ssize_t, write, int, const void *, size_t)(fd, data, size);
}
int ftruncate(int fd, off_t size) {
  return fails_on(KIND_TRUNCATE, fd) ? -1 : REAL(int, ftruncate, int, off_t)(fd, size);
}
int ftruncate64(int fd, off64_t size) {
  return fails_on(KIND_TRUNCATE, fd) ? -1 : REAL(int, ftruncate64, int, off64_t)(fd, size);
}
int close(int fd) {
  // The descriptor is gone even when the kernel reports an error.
  int is_failing = fails_on(KIND_CLOSE, fd);
  int reason = errno;
  int result = REAL(int, close, int)(fd);
  if (!is_failing) return result;
  errno = reason;
  return -1;
}
int open(const char *path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  mode_t mode = va_arg(rest, mode_t);
  va_end(rest);
  if (fails(KIND_OPEN, path)) return -1;
  return REAL(int, open, const char *, int, ...)(path, flags, mode);
}
int open64(const char *path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  mode_t mode = va_arg(rest, mode_t);
  va_end(rest);
  if (fails(KIND_OPEN, path)) return -1;
  return REAL(int, open64, const char *, int, ...)(path, flags, mode);
}
