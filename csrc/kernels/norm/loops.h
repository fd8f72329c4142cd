// Shared by the normalizations: vectorized sums, and operands of other dtypes. Included by kernel files, which are
// compiled per instruction set.
#pragma once

#include <array>
#include <cmath>
#include <vector>

#include "kernels/elementwise/loops.h"
#include "kernels/reduce/loops.h"

namespace genesis::kernels::GENESIS_ISA {

// K sums over [0, n). terms(i) returns the K terms of elements i .. i + kLanes as vectors, term(i) those of one
// element. Blocks are summed in T, then in float64.
template <int K, class T, class Vectors, class Scalars>
[[gnu::always_inline]] inline std::array<double, K> sums(int64_t n, Vectors&& terms, Scalars&& term) {
  constexpr int w = kLanes<T>, chains = K == 1 ? 4 : 2;
  std::array<double, K> total{};
  for (int64_t begin = 0; begin < n; begin += kBlock) {
    const int64_t end = std::min(n, begin + kBlock);
    // Unrolled, and not cleared as one array, which the compiler would keep in memory.
    Vector<T> part[chains][K];
#pragma GCC unroll 4
    for (int c = 0; c < chains; ++c)
#pragma GCC unroll 4
      for (int k = 0; k < K; ++k) part[c][k] = Vector<T>{};
    int64_t i = begin;
    for (; i + chains * w <= end; i += chains * w)
#pragma GCC unroll 4
      for (int c = 0; c < chains; ++c) {
        const std::array<Vector<T>, K> v = terms(i + c * w);
#pragma GCC unroll 4
        for (int k = 0; k < K; ++k) part[c][k] += v[k];
      }
    for (; i + w <= end; i += w) {
      const std::array<Vector<T>, K> v = terms(i);
#pragma GCC unroll 4
      for (int k = 0; k < K; ++k) part[0][k] += v[k];
    }
    T tail[K] = {};
    for (; i < end; ++i) {
      const std::array<T, K> v = term(i);
      for (int k = 0; k < K; ++k) tail[k] += v[k];
    }
#pragma GCC unroll 4
    for (int k = 0; k < K; ++k) {
      Vector<T> all = part[0][k];
#pragma GCC unroll 4
      for (int c = 1; c < chains; ++c) all += part[c][k];
      total[k] += across<T>(all) + tail[k];
    }
  }
  return total;
}

template <class T>
double sum_of(const T* x, int64_t n) {
  using V = std::array<Vector<T>, 1>;
  return sums<1, T>(n, [x](int64_t i) { return V{load(x + i)}; }, [x](int64_t i) { return std::array<T, 1>{x[i]}; })[0];
}
// The sum of (x - center)^2.
template <class T>
double squares_of(const T* x, int64_t n, T center) {
  using V = std::array<Vector<T>, 1>;
  return sums<1, T>(
      n,
      [=](int64_t i) {
        const Vector<T> d = load(x + i) - center;
        return V{d * d};
      },
      [=](int64_t i) {
        const T d = x[i] - center;
        return std::array<T, 1>{d * d};
      })[0];
}

// Contiguous elements in T: in place, or converted into a buffer.
template <class T>
class Reader {
 public:
  Reader() = default;
  explicit Reader(const View& v, int64_t most = 0)
      : data_(static_cast<const char*>(v.data)), dtype_(v.dtype), buffer_(direct() ? 0 : static_cast<size_t>(most)) {}
  bool direct() const { return dtype_ == dtype_of<T>; }
  const T* at(int64_t offset, int64_t n) {
    const char* from = data_ + offset * itemsize(dtype_);
    if (direct()) return reinterpret_cast<const T*>(from);
    gather(buffer_.data(), dtype_of<T>, from, itemsize(dtype_), dtype_, n);
    return buffer_.data();
  }

 private:
  const char* data_ = nullptr;
  DType dtype_ = dtype_of<T>;
  std::vector<T> buffer_;
};

// The same for results: at() returns where to write n elements, done() converts them to their destination.
template <class T>
class Writer {
 public:
  explicit Writer(const View& v, int64_t most = 0)
      : data_(static_cast<char*>(v.data)),
        dtype_(v.dtype),
        buffer_(direct() || !data_ ? 0 : static_cast<size_t>(most)) {}
  explicit operator bool() const { return data_ != nullptr; }
  bool direct() const { return dtype_ == dtype_of<T>; }
  T* at(int64_t offset) { return direct() ? reinterpret_cast<T*>(data_) + offset : buffer_.data(); }
  void done(int64_t offset, int64_t n) {
    if (!direct()) scatter(data_ + offset * itemsize(dtype_), itemsize(dtype_), dtype_, buffer_.data(), dtype_of<T>, n);
  }

 private:
  char* data_;
  DType dtype_;
  std::vector<T> buffer_;
};

// All of a small operand, or `absent` everywhere if it does not exist.
template <class T>
class Whole {
 public:
  Whole(const View& v, int64_t n, T absent)
      : buffer_(v.data ? 0 : static_cast<size_t>(n), absent), reader_(v, v.data ? n : 0) {
    data_ = v.data ? reader_.at(0, n) : buffer_.data();
  }
  const T* data() const { return data_; }

 private:
  std::vector<T> buffer_;
  Reader<T> reader_;
  const T* data_;
};

// Writes results that were accumulated in float64.
inline void put_all(const View& v, const double* x, int64_t n) {
  if (v.data) scatter(v.data, itemsize(v.dtype), v.dtype, x, DType::Float64, n);
}

template <class T>
T reciprocal_std(double variance, double eps) {
  return static_cast<T>(1 / std::sqrt(variance + eps));
}

}  // namespace genesis::kernels::GENESIS_ISA
