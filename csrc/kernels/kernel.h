// Kernels and how they are selected at run time.
//
// A kernel file is compiled once per instruction set with a different GENESIS_ISA (baseline, avx2, avx512), which is
// also the namespace of its functions. A header declares the kernel as a variable,
//
//   inline constinit Kernel<void(View out, View x)> exp;            // kernels/elementwise/unary.h
//
// and the file defines a function of that name and registers it. The best registered version that the CPU supports is
// called:
//
//   namespace genesis::kernels::GENESIS_ISA {
//   void exp(View out, View x) { ... }
//   GENESIS_KERNEL(exp)
//   }
#pragma once

#include <type_traits>

#include "core/device.h"
#include "core/isa.h"
#include "kernels/capture.h"

namespace genesis::kernels {

template <class Signature>
struct Kernel;

template <class R, class... Args>
struct Kernel<R(Args...)> {
  R (*fn)(Args...) = nullptr;
  int rank = -1;
  unsigned writes = 1;  // bit i is set if argument i, counting Views only, is written
  const char* name = nullptr;

  R operator()(Args... args) const {
    if (on_meta) [[unlikely]]
      return skipped();
    if (capture::observer) [[unlikely]]
      return capture::Captured<R(Args...)>::call(fn, name, writes, args...);
    return fn(args...);
  }

  bool offer(R (*candidate)(Args...), Isa level, const char* label) {
    name = label;
    if (level > isa() || static_cast<int>(level) <= rank) return false;
    fn = candidate;
    rank = static_cast<int>(level);
    return true;
  }

 private:
  // The result of a kernel that searches its input for invalid values, if there are none.
  static R skipped() {
    if constexpr (std::is_same_v<R, bool>) return true;
    else if constexpr (!std::is_void_v<R>) return R(-1);
  }
};

}  // namespace genesis::kernels

#if defined(GENESIS_ISA)
#define GENESIS_KERNEL(name)                          \
  [[maybe_unused]] static const bool offered_##name = \
      ::genesis::kernels::name.offer(&name, ::genesis::Isa::GENESIS_ISA, #name);
#endif
