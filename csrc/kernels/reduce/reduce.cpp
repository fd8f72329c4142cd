// Sums, products, norms and other associative operations.
#include "kernels/reduce/reduce.h"

#include <atomic>
#include <cmath>
#include <type_traits>

#include "kernels/elementwise/loops.h"
#include "kernels/reduce/loops.h"

namespace genesis::kernels::GENESIS_ISA {

namespace {

struct Add {
  template <class V>
  static V op(V a, V b) {
    return a + b;
  }
  static constexpr int kStart = 0;
};
struct Multiply {
  template <class V>
  static V op(V a, V b) {
    return a * b;
  }
  static constexpr int kStart = 1;
};
struct Larger {
  template <class V>
  static V op(V a, V b) {
    const V larger = b > a ? b : a;  // one instruction, which misses a NaN in b
    return b != b ? b : larger;
  }
  static constexpr int kStart = 0;  // for magnitudes
};
struct Same {
  template <class V>
  static V map(V x) {
    return x;
  }
};
struct Magnitude {
  template <class V>
  static V map(V x) {
    return x < 0 ? -x : x;
  }
};
struct Square {
  template <class V>
  static V map(V x) {
    return x * x;
  }
};
// Blocks of float32 are summed in float32, and the block sums in float64.
template <class T, class Op, class Map, class Stored = T>
struct Floating : Op, Map {
  using In = Stored;
  using Lane = T;
  using Acc = double;
};
// Integers wrap around, which C++ defines for unsigned types only.
template <class Op>
struct Integer : Op, Same {
  using In = int64_t;
  using Lane = uint64_t;
  using Acc = uint64_t;
};

template <class M>
struct Finish : Monoid<M> {
  DType dtype;
  Output y;
  double divisor = 1;
  bool root = false;
  std::atomic<bool>* out_of_range = nullptr;  // set if a sum of squares overflows float32 or loses bits to underflow
  Finish(DType dtype, const View& y) : dtype(dtype), y(y) {}

  void store(const typename Monoid<M>::Acc& acc, int64_t at) const {
    if constexpr (std::is_integral_v<typename M::In>) {
      y.put(at, static_cast<int64_t>(acc.value));
    } else {
      const double value = divisor == 1 ? acc.value : acc.value / divisor;
      if (out_of_range && (value < 1e-28 || std::isinf(value))) out_of_range->store(true, std::memory_order_relaxed);
      y.put(at, static_cast<typename M::Lane>(root ? std::sqrt(value) : value));
    }
  }
  bool store_plain(const typename Monoid<M>::Acc* accs, int64_t n, int64_t at) const
    requires std::is_floating_point_v<typename M::Lane>
  {
    using Lane = typename M::Lane;
    if (divisor != 1 || root || out_of_range || y.dtype != dtype_of<Lane>) return false;
    Lane* const to = reinterpret_cast<Lane*>(y.data) + at;
    for (int64_t j = 0; j < n; ++j) to[j] = static_cast<Lane>(accs[j].value);
    return true;
  }
};

template <class Op, class Map = Same>
void run(View y, View x, double divisor = 1) {
  const auto reduce_in = [&]<class M>(DType dtype) {
    Finish<M> r(dtype, y);
    r.divisor = divisor;
    reduce(r, y, x);
  };
  if constexpr (std::is_same_v<Op, Add> && std::is_same_v<Map, Same>) {  // sums, which read half types in place
    const DType from = x.dtype;
    if (y.dtype == from && from == DType::Float16)
      return reduce_in.template operator()<Floating<float, Op, Map, Half>>(from);
    if (y.dtype == from && from == DType::BFloat16)
      return reduce_in.template operator()<Floating<float, Op, Map, BFloat16>>(from);
  }
  const DType t = compute_type(y.dtype);
  if (t == DType::Float32) return reduce_in.template operator()<Floating<float, Op, Map>>(t);
  if (t == DType::Float64) return reduce_in.template operator()<Floating<double, Op, Map>>(t);
  if constexpr (std::is_same_v<Map, Same>) reduce_in.template operator()<Integer<Op>>(DType::Int64);
}

template <class T>
void euclidean(View y, View x, std::atomic<bool>* out_of_range) {
  Finish<Floating<T, Add, Square>> r(dtype_of<T>, y);
  r.root = true;
  r.out_of_range = out_of_range;
  reduce(r, y, x);
}
// Squares of float32 are summed in float32, which is faster, and recomputed in float64 if they exceed its range.
void euclidean(View y, View x) {
  std::atomic<bool> out_of_range = compute_type(y.dtype) == DType::Float64;
  if (!out_of_range) euclidean<float>(y, x, &out_of_range);
  if (out_of_range) euclidean<double>(y, x, nullptr);
}

struct Or : Same {
  using In = uint8_t;
  using Lane = uint8_t;
  using Acc = uint8_t;
  static constexpr uint8_t kStart = 0;
  template <class V>
  static V op(V a, V b) {
    return a | b;
  }
};
struct And : Or {
  static constexpr uint8_t kStart = 1;
  template <class V>
  static V op(V a, V b) {
    return a & b;
  }
};
struct Count : Add, Same {
  using In = uint8_t;
  using Lane = int32_t;
  using Acc = int64_t;
};

template <class M, class Result>
struct Bits : Monoid<M> {
  static constexpr DType dtype = DType::Bool;
  Output y;
  explicit Bits(const View& y) : y(y) {}
  void store(const typename Monoid<M>::Acc& acc, int64_t at) const { y.put(at, static_cast<Result>(acc.value)); }
};

}  // namespace

void sum(View y, View x, double divisor) { run<Add>(y, x, divisor); }
void prod(View y, View x) { run<Multiply>(y, x); }
void any(View y, View x) { reduce(Bits<Or, bool>(y), y, x); }
void all(View y, View x) { reduce(Bits<And, bool>(y), y, x); }
void count_nonzero(View y, View x) { reduce(Bits<Count, int64_t>(y), y, x); }
void norm(View y, View x, double p) {
  if (p == 1) run<Add, Magnitude>(y, x);
  else if (p == 2) euclidean(y, x);
  else run<Larger, Magnitude>(y, x);
}
double sum_block(const void* x, DType dtype, int64_t n) {
  if (dtype == DType::Float32) return Monoid<Floating<float, Add, Same>>::block(static_cast<const float*>(x), n);
  return Monoid<Floating<double, Add, Same>>::block(static_cast<const double*>(x), n);
}
GENESIS_KERNEL(sum)
GENESIS_KERNEL(sum_block)
GENESIS_KERNEL(prod)
GENESIS_KERNEL(any)
GENESIS_KERNEL(all)
GENESIS_KERNEL(count_nonzero)
GENESIS_KERNEL(norm)

}  // namespace genesis::kernels::GENESIS_ISA
