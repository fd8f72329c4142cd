#include "core/isa.h"

#include <cstdlib>
#include <cstring>
#include <initializer_list>

#if defined(__aarch64__) && defined(__linux__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

namespace genesis {

static Isa detect() {
  Isa best = Isa::baseline;
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c") &&
      __builtin_cpu_supports("bmi2")) {
    best = Isa::avx2;
#if defined(GENESIS_EMULATE_AVX512)
    best = Isa::avx512;
#else
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl"))
      best = Isa::avx512;
#endif
  }
  const auto levels = {Isa::baseline, Isa::avx2, Isa::avx512};
#else
#if defined(__aarch64__) && defined(HWCAP2_BF16)
  if (getauxval(AT_HWCAP2) & HWCAP2_BF16) best = Isa::bf16;
#endif
  const auto levels = {Isa::baseline, Isa::bf16};
#endif
  if (const char* cap = std::getenv("GENESIS_ISA")) {
    for (Isa level : levels)
      if (std::strcmp(cap, isa_name(level)) == 0 && level < best) best = level;
  }
  return best;
}

Isa isa() {
  static const Isa chosen = detect();
  return chosen;
}

bool foresees_writes() {
#if defined(__x86_64__)
  static const bool intel = (__builtin_cpu_init(), __builtin_cpu_is("intel"));
  return !intel;
#else
  return true;
#endif
}

const char* isa_name(Isa isa) {
  switch (isa) {
    case Isa::bf16: return "bf16";
    case Isa::avx512: return "avx512";
    case Isa::avx2: return "avx2";
    default: return "baseline";
  }
}

}  // namespace genesis
