// The transform of several lines at once, with one element of each per vector: Stockham's algorithm with radices up to
// 13.
#pragma once

#include <cmath>
#include <complex>
#include <memory>
#include <mutex>
#include <numbers>
#include <unordered_map>
#include <vector>

#include "kernels/fft/lanes.h"

namespace genesis::kernels::GENESIS_ISA {
namespace {

constexpr int kRadices[] = {4, 2, 3, 5, 7, 11, 13};

// exp(-2 pi i k / n), exact for multiples of 2 pi / 8.
inline std::complex<double> root(int64_t k, int64_t n) {
  k %= n;
  const int64_t eighth = 8 * k / n;
  const auto angle = [&](int64_t numerator) {
    return 2 * std::numbers::pi * static_cast<double>(numerator) / static_cast<double>(n);
  };
  // Subtract the nearest multiple of pi / 2 before the angle is rounded.
  const int64_t quarter = (eighth + 1) / 2;
  const double rest = angle(k) - static_cast<double>(quarter) * std::numbers::pi / 2;
  const double exact = 4 * k == quarter * n ? 0 : rest;
  const double c = std::cos(exact), s = std::sin(exact);
  switch (quarter % 4) {
    case 0: return {c, -s};
    case 1: return {-s, -c};
    case 2: return {-c, s};
    default: return {s, c};
  }
}

// The radices whose product is n; empty if n has a larger prime factor.
inline std::vector<int> factors_of(int64_t n) {
  std::vector<int> factors;
  for (const int p : kRadices)
    while (n % p == 0) {
      factors.push_back(p);
      n /= p;
    }
  if (n != 1) factors.clear();
  return factors;
}

template <class T>
struct Plan {
  int64_t n;
  std::vector<int> factors;
  std::vector<std::complex<T>> twiddles;  // of all passes, in order of use

  explicit Plan(int64_t n) : n(n), factors(factors_of(n)) {
    int64_t left = n;
    for (const int p : factors) {
      const int64_t m = left / p;
      for (int64_t j = 0; j < m; ++j)
        for (int r = 1; r < p; ++r) twiddles.push_back(std::complex<T>(root(j * r, left)));
      left = m;
    }
  }
};

// Plans are cached: they are few, and small compared to the data. The lock is only tried, because after a fork, the
// child may inherit a lock held by a thread that does not exist there; the plan is then created for this call only.
template <class P>
std::shared_ptr<const P> plan_of(int64_t n) {
  static constinit std::mutex mutex;
  static auto* const plans = new std::unordered_map<int64_t, std::shared_ptr<const P>>;
  if (const std::unique_lock lock(mutex, std::try_to_lock); lock)
    if (const auto found = plans->find(n); found != plans->end()) return found->second;
  auto plan = std::make_shared<const P>(n);
  if (const std::unique_lock lock(mutex, std::try_to_lock); lock) {
    if (plans->size() >= 64) plans->clear();
    plans->emplace(n, plan);
  }
  return plan;
}

// b = the transform of P numbers a.
template <class T, int P, bool Inverse>
[[gnu::always_inline]] inline void butterfly(const Z<T> (&a)[P], Z<T> (&b)[P]) {
  if constexpr (P == 2) {
    b[0] = a[0] + a[1];
    b[1] = a[0] - a[1];
  } else if constexpr (P == 4) {
    const Z<T> s = a[0] + a[2], d = a[0] - a[2], t = a[1] + a[3];
    const Z<T> e = (a[1] - a[3]).template rotated<Inverse>();
    b[0] = s + t;
    b[1] = d + e;
    b[2] = s - t;
    b[3] = d - e;
  } else {  // an odd prime: elements j and P - j have conjugate factors
    constexpr int half = P / 2;
    static const auto table = [] {
      std::pair<std::vector<T>, std::vector<T>> t;
      for (int k = 0; k < P; ++k) {
        t.first.push_back(static_cast<T>(root(k, P).real()));
        t.second.push_back(static_cast<T>(root(k, P).imag()));
      }
      return t;
    }();
    const T* const cosine = table.first.data();
    const T* const sine = table.second.data();
    Z<T> sums[half], differences[half];
    b[0] = a[0];
    for (int j = 0; j < half; ++j) {
      sums[j] = a[j + 1] + a[P - 1 - j];
      differences[j] = a[j + 1] - a[P - 1 - j];
      b[0] = b[0] + sums[j];
    }
    for (int k = 1; k <= half; ++k) {
      Z<T> even = a[0], odd = differences[0] * sine[k % P];
      even = even + sums[0] * cosine[k % P];
      for (int j = 1; j < half; ++j) {
        even = even + sums[j] * cosine[(j + 1) * k % P];
        odd = odd + differences[j] * sine[(j + 1) * k % P];
      }
      const Z<T> rotated = odd.template rotated<!Inverse>();  // i times the sum of sines
      b[k] = even + rotated;
      b[P - k] = even - rotated;
    }
  }
}

template <class T, int P, bool Inverse>
void pass(Z<T>* y, const Z<T>* x, int64_t m, int64_t s, const std::complex<T>* twiddles) {
  for (int64_t j = 0; j < m; ++j, twiddles += P - 1) {
    T re[P], im[P];
    for (int r = 1; r < P; ++r) {
      re[r] = twiddles[r - 1].real();
      im[r] = Inverse ? -twiddles[r - 1].imag() : twiddles[r - 1].imag();
    }
    const Z<T>* from = x + s * j;
    Z<T>* to = y + s * P * j;
    for (int64_t k = 0; k < s; ++k) {
      Z<T> a[P], b[P];
      for (int r = 0; r < P; ++r) a[r] = from[k + s * m * r];
      butterfly<T, P, Inverse>(a, b);
      to[k] = b[0];
      for (int r = 1; r < P; ++r) to[k + s * r] = b[r].times(re[r], im[r]);
    }
  }
}

// Transforms x, with `spare` as scratch memory of the same size. Returns the location of the result.
template <class T, bool Inverse>
Z<T>* transform(const Plan<T>& plan, Z<T>* x, Z<T>* spare) {
  const std::complex<T>* twiddles = plan.twiddles.data();
  int64_t left = plan.n, s = 1;
  for (const int p : plan.factors) {
    const int64_t m = left / p;
    switch (p) {
      case 2: pass<T, 2, Inverse>(spare, x, m, s, twiddles); break;
      case 3: pass<T, 3, Inverse>(spare, x, m, s, twiddles); break;
      case 4: pass<T, 4, Inverse>(spare, x, m, s, twiddles); break;
      case 5: pass<T, 5, Inverse>(spare, x, m, s, twiddles); break;
      case 7: pass<T, 7, Inverse>(spare, x, m, s, twiddles); break;
      case 11: pass<T, 11, Inverse>(spare, x, m, s, twiddles); break;
      default: pass<T, 13, Inverse>(spare, x, m, s, twiddles); break;
    }
    std::swap(x, spare);
    twiddles += m * (p - 1);
    left = m;
    s *= p;
  }
  return x;
}

}  // namespace
}  // namespace genesis::kernels::GENESIS_ISA
