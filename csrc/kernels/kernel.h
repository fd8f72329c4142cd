// How a kernel is found at run time.
//
// A kernel file is compiled once per instruction set, each time with another GENESIS_ISA (baseline, avx2, avx512),
// which names the namespace that its functions live in. A header declares the kernel as a variable,
//
//   inline constinit Kernel<void(View out, View x)> exp;            // kernels/elementwise/unary.h
//
// and the file defines the function of that name and offers it; the best offer that this CPU can run wins:
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
  unsigned writes = 1;  // bit i: of the arguments that are Views, number i is written
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
  // What a kernel that looks for something bad in its input returns if there is none.
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
