// What the static C++ library asks of a newer glibc than the one that a wheel is built for (tools/glibc.py). Compiled
// only with GENESIS_GLIBC.
#include <sys/random.h>
#include <sys/stat.h>

#include <cstdint>
#include <cstdlib>

extern "C" {

// Whether counters of references may do without atomic instructions: here, never.
[[gnu::visibility("hidden")]] char __libc_single_threaded = 0;

[[gnu::visibility("hidden")]] uint32_t arc4random() {
  uint32_t word;
  if (getrandom(&word, sizeof word, 0) != sizeof word) std::abort();
  return word;
}

int __fxstat64(int version, int file, struct stat64* status);
[[gnu::visibility("hidden")]] int fstat64(int file, struct stat64* status) {
#if defined(__x86_64__)
  constexpr int version = 1;  // of the structure
#else
  constexpr int version = 0;
#endif
  return __fxstat64(version, file, status);
}
}
