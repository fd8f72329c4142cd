// Shared by the LAPACK kernels: matrices of a stack, and the loop over them.
//
// A struct holds the memory for one matrix. each() copies the struct for every chunk of the stack; for every matrix it
// reads the input, computes, and writes the results. LAPACK expects contiguous columns, so matrices are converted by
// load() and store(). The compute step accesses that memory only: if it is long, it runs in a thread that is abandoned
// on Ctrl-C (core/abandon.h).
#pragma once

#include <limits.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <memory>
#include <mutex>
#include <vector>

#include "core/abandon.h"
#include "core/capture.h"
#include "core/device.h"
#include "core/error.h"
#include "core/parallel.h"
#include "kernels/elementwise/elementwise.h"
#include "kernels/linalg/lapack.h"
#include "kernels/linalg/lapack_library.h"

namespace genesis::kernels {
namespace {

template <class T>
struct Matrix {
  T* data;
  int64_t rows, cols, row_step, col_step;
};

int64_t count(const View& stack, int matrix_dims = 2) {
  int64_t n = 1;
  for (int d = 0; d < stack.ndim - matrix_dims; ++d) n *= stack.shape[d];
  return n;
}

// The first element of the i-th matrix (or vector).
template <class T>
T* start(const View& stack, int64_t i, int matrix_dims = 2) {
  T* at = stack.as<T>();
  for (int d = stack.ndim - matrix_dims - 1; d >= 0; --d) {
    at += i % stack.shape[d] * stack.strides[d];
    i /= stack.shape[d];
  }
  return at;
}
template <class T>
Matrix<T> matrix(const View& stack, int64_t i) {
  const int d = stack.ndim - 2;
  return {start<T>(stack, i), stack.shape[d], stack.shape[d + 1], stack.strides[d], stack.strides[d + 1]};
}
int rows(const View& stack) { return static_cast<int>(stack.shape[stack.ndim - 2]); }
int cols(const View& stack) { return static_cast<int>(stack.shape[stack.ndim - 1]); }

// In tiles, because one side of the copy is strided.
template <class T, class F>
void tiles(const Matrix<T>& m, F f) {
  constexpr int64_t kTile = 16;
  Pace pace;
  for (int64_t jb = 0; jb < m.cols; jb += kTile, pace.spend(kTile * m.rows))
    for (int64_t ib = 0; ib < m.rows; ib += kTile)
      for (int64_t j = jb; j < std::min(jb + kTile, m.cols); ++j)
        for (int64_t i = ib; i < std::min(ib + kTile, m.rows); ++i) f(i, j, m.data[i * m.row_step + j * m.col_step]);
}
template <class T>
void load(T* to, const Matrix<T>& m) {
  tiles(m, [to, ld = m.rows](int64_t i, int64_t j, T value) { to[i + j * ld] = value; });
}
template <class T>
void store(const Matrix<T>& m, const T* from, int64_t ld) {
  tiles(m, [from, ld](int64_t i, int64_t j, T& value) { value = from[i + j * ld]; });
}
template <class T>
void store_identity(const Matrix<T>& m) {
  tiles(m, [](int64_t i, int64_t j, T& value) { value = T(i == j); });
}
template <class T>
bool finite(const T* values, int64_t n) {
  return std::all_of(values, values + n,
                     [](T v) { return std::isfinite(std::real(v)) && std::isfinite(std::imag(v)); });
}

size_t area(int64_t a, int64_t b) { return static_cast<size_t>(a * b); }

// For every matrix of a stack, calls read(memory, i), compute(memory), which returns LAPACK's info, and write(memory,
// i). Releases the GIL: nothing here accesses a tensor.
template <class Memory, class Read, class Compute, class Write>
LapackFailure each(int64_t n, double operations, Memory memory, Read read, Compute compute, Write write,
                   int* infos = nullptr) {
  constexpr double kLong = 1e9;  // operations: 0.1 s or more
  LapackFailure first;
  if (on_meta) return first;
  capture::interrupt("a routine of LAPACK runs");
  std::mutex mutex;
  const auto grain = static_cast<int64_t>(std::max(1.0, 2e5 / (operations + 100)));
  const bool abandonable = operations >= kLong && may_be_interrupted();
  const Unlocked unlocked;
  parallel_for(n, grain, [&](int64_t begin, int64_t end) {
    auto own = n == 1 ? std::make_shared<Memory>(std::move(memory)) : std::make_shared<Memory>(memory);
    for (int64_t i = begin; i < end; ++i) {
      int info;
      read(*own, i);
      if (abandonable) {
        const auto result = std::make_shared<int>(0);
        run_abandonable([own, result, compute] { *result = compute(*own); });
        info = *result;
      } else {
        info = compute(*own);
      }
      write(*own, i);
      if (infos) infos[i] = info;
      if (info == 0) continue;
      const std::lock_guard lock(mutex);
      if (first.matrix < 0 || i < first.matrix) first = {i, info};
    }
  });
  return first;
}

// Converts the workspace size that a routine reports in work[0]; float32 may have rounded it down.
template <class T>
int work_size(T answer, int64_t least) {
  const double eps = static_cast<double>(std::numeric_limits<Part<T>>::epsilon());
  const double wanted = static_cast<double>(std::real(answer)) * (1 + 2 * eps);
  return static_cast<int>(
      std::clamp<int64_t>(static_cast<int64_t>(std::ceil(wanted)), std::max<int64_t>(least, 1), INT_MAX));
}

template <class F>
auto by_type(const View& a, F f) {
  switch (a.dtype) {
    case DType::Float32: return f(float{});
    case DType::Float64: return f(double{});
    case DType::Complex64: return f(std::complex<float>{});
    case DType::Complex128: return f(std::complex<double>{});
    default: unsupported(a.dtype);
  }
}

double cube(int n) { return static_cast<double>(n) * n * n; }

constexpr int kQuery = -1;

}  // namespace
}  // namespace genesis::kernels
