#include "kernels/sort/search.h"

#include <algorithm>
#include <type_traits>
#include <vector>

#include "core/parallel.h"
#include "kernels/elementwise/elementwise.h"

#if defined(__clang__)  // libstdc++'s stable_sort calls its own deprecated function
#pragma clang diagnostic ignored "-Wdeprecated-declarations"
#endif

namespace genesis::kernels::GENESIS_ISA {

namespace {

// Counts how many of m elements precede each of n <= kTogether values, where equal ones do or do not count. The
// searches run side by side in lockstep, so there are no branch mispredictions and latencies overlap. NaN comes after
// everything.
constexpr int64_t kTogether = 16;
template <bool Right, class T, class At>
void places_of(int64_t* out, const T* values, int64_t n, int64_t m, At at) {
  T v[kTogether];
  int64_t begin[kTogether] = {};
  for (int64_t i = 0; i < kTogether; ++i) v[i] = values[i < n ? i : 0];
  const auto before = [&](T element, T value) -> int64_t { return Right ? !(element > value) : !(element >= value); };
  for (int64_t left = m; left > 1; left -= left / 2)
    for (int64_t i = 0; i < kTogether; ++i) begin[i] += left / 2 * before(at(begin[i] + left / 2 - 1), v[i]);
  if (m > 0)
    for (int64_t i = 0; i < kTogether; ++i) begin[i] += before(at(begin[i]), v[i]);
  for (int64_t i = 0; i < n; ++i) out[i] = begin[i];
}

template <class T, class At>
void places(int64_t* out, const T* values, int64_t n, int64_t m, bool right, At at) {
  for (int64_t i = 0; i < n; i += kTogether) {
    const int64_t k = std::min(kTogether, n - i);
    if (right) places_of<true>(out + i, values + i, k, m, at);
    else places_of<false>(out + i, values + i, k, m, at);
  }
}

template <class T>
void search_rows(int64_t* out, const T* sorted, const int64_t* sorter, const T* values, int64_t rows, int64_t m,
                 int64_t n, bool one_row, bool right) {
  parallel_for(rows * n, 4096, [&](int64_t begin, int64_t end) {
    while (begin < end) {
      const int64_t row = one_row ? 0 : begin / n, k = one_row ? end - begin : std::min(end, (row + 1) * n) - begin;
      const T* in = sorted + row * m;
      if (sorter) {
        const int64_t* order = sorter + row * m;
        places(out + begin, values + begin, k, m, right, [=](int64_t j) { return in[order[j]]; });
      } else {
        places(out + begin, values + begin, k, m, right, [=](int64_t j) { return in[j]; });
      }
      begin += k;
    }
  });
}

// Calls f with a null pointer of the compute type.
template <class F>
void with_computed(DType t, F&& f) {
  switch (t) {
    case DType::UInt8: return f(static_cast<uint8_t*>(nullptr));
    case DType::Int32: return f(static_cast<int32_t*>(nullptr));
    case DType::Int64: return f(static_cast<int64_t*>(nullptr));
    case DType::Float32: return f(static_cast<float*>(nullptr));
    case DType::Float64: return f(static_cast<double*>(nullptr));
    default: unsupported(t);
  }
}

struct HalfValue {
  Half bits;
  operator float() const { return to_float(bits); }
};
struct BFloat16Value {
  BFloat16 bits;
  operator float() const { return to_float(bits); }
};
// Calls f with a null pointer of a type that compares like the elements.
template <class F>
void with_comparable(DType t, F&& f) {
  switch (t) {
    case DType::Bool:
    case DType::UInt8: return f(static_cast<const uint8_t*>(nullptr));
    case DType::Int8: return f(static_cast<const int8_t*>(nullptr));
    case DType::Int16: return f(static_cast<const int16_t*>(nullptr));
    case DType::Int32: return f(static_cast<const int32_t*>(nullptr));
    case DType::Int64: return f(static_cast<const int64_t*>(nullptr));
    case DType::Float16: return f(static_cast<const HalfValue*>(nullptr));
    case DType::BFloat16: return f(static_cast<const BFloat16Value*>(nullptr));
    case DType::Float32: return f(static_cast<const float*>(nullptr));
    case DType::Float64: return f(static_cast<const double*>(nullptr));
    default: unsupported(t);
  }
}

// The sort order: NaN above everything.
template <class T>
bool before(const T& a, const T& b) {
  return a < b || (a == a && b != b);
}

}  // namespace

void searchsorted(int64_t* out, const void* sorted, const int64_t* sorter, const void* values, DType dtype,
                  int64_t rows, int64_t m, int64_t n, bool one_row, bool right) {
  with_computed(dtype, [&]<class T>(T*) {
    search_rows(out, static_cast<const T*>(sorted), sorter, static_cast<const T*>(values), rows, m, n, one_row, right);
  });
}
GENESIS_KERNEL(searchsorted)

void is_member(bool* out, const void* values, int64_t n, const void* sorted, int64_t m, DType dtype) {
  with_computed(dtype, [&]<class T>(T*) {
    const T *x = static_cast<const T*>(values), *among = static_cast<const T*>(sorted);
    while (m > 0 && among[m - 1] != among[m - 1]) --m;  // NaN equals nothing
    parallel_for(n, 4096, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; i += kTogether) {
        int64_t at[kTogether];
        const int64_t k = std::min(kTogether, end - i);
        places_of<false>(at, x + i, k, m, [=](int64_t j) { return among[j]; });
        for (int64_t j = 0; j < k; ++j) out[i + j] = at[j] < m && among[at[j]] == x[i + j];
      }
    });
  });
}
GENESIS_KERNEL(is_member)

int64_t label_runs(int64_t* group, const void* data, DType dtype, int64_t n) {
  if (n == 0) return 0;
  int64_t label = 0;
  with_comparable(dtype, [&]<class T>(const T*) {
    const T* x = static_cast<const T*>(data);
    group[0] = 0;
    for (int64_t i = 1; i < n; ++i) {
      label += !(x[i] == x[i - 1]);
      group[i] = label;
    }
  });
  return label + 1;
}
GENESIS_KERNEL(label_runs)

int64_t label_slices(int64_t* group, const int64_t* order, const void* data, DType dtype, int64_t n, int64_t width) {
  if (n == 0) return 0;
  int64_t label = 0;
  with_comparable(dtype, [&]<class T>(const T*) {
    const T* x = static_cast<const T*>(data);
    group[0] = 0;
    for (int64_t i = 1; i < n; ++i) {
      const T *a = x + order[i] * width, *b = x + order[i - 1] * width;
      label += !std::equal(a, a + width, b, [](const T& l, const T& r) { return l == r; });
      group[i] = label;
    }
  });
  return label + 1;
}
GENESIS_KERNEL(label_slices)

void sort_slices(int64_t* order, const void* data, DType dtype, int64_t n, int64_t width) {
  with_comparable(dtype, [&]<class T>(const T*) {
    const T* x = static_cast<const T*>(data);
    std::stable_sort(order, order + n, [&](int64_t a, int64_t b) {
      return std::lexicographical_compare(x + a * width, x + (a + 1) * width, x + b * width, x + (b + 1) * width,
                                          before<T>);
    });
  });
}
GENESIS_KERNEL(sort_slices)

void count_into(void* out, const int64_t* bins, int64_t n, const void* weights, DType dtype) {
  if (!weights) {
    for (int64_t i = 0; i < n; ++i) ++static_cast<int64_t*>(out)[bins[i]];
  } else if (dtype == DType::Float32) {
    for (int64_t i = 0; i < n; ++i) static_cast<float*>(out)[bins[i]] += static_cast<const float*>(weights)[i];
  } else {
    for (int64_t i = 0; i < n; ++i) static_cast<double*>(out)[bins[i]] += static_cast<const double*>(weights)[i];
  }
}
GENESIS_KERNEL(count_into)

void histogram_into(int64_t* out, const void* data, DType dtype, int64_t n, int64_t bins, double low, double high) {
  with_computed(dtype, [&]<class T>(T*) {
    const T* x = static_cast<const T*>(data);
    // In the dtype of the data, so that values at bin edges are counted as in PyTorch.
    const T first = static_cast<T>(low), last = static_cast<T>(high), count = static_cast<T>(bins);
    for (int64_t i = 0; i < n; ++i) {
      const T value = x[i];
      if (!(value >= first && value <= last)) continue;
      const auto bin = static_cast<int64_t>((value - first) * count / (last - first));
      ++out[std::min(bin, bins - 1)];
    }
  });
}
GENESIS_KERNEL(histogram_into)

}  // namespace genesis::kernels::GENESIS_ISA
