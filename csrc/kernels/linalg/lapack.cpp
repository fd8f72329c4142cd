// Factorizations for linear systems: LU, Cholesky, LDL and triangular. Start reading at lu_factor() and lapack_stack.h.
#include "kernels/linalg/lapack.h"

#include "kernels/linalg/lapack_stack.h"

namespace genesis::kernels {

void require_lapack_size(const char* op, int64_t m, int64_t n, bool square_work) {
  const int64_t side = std::max(m, n), k = std::min(m, n);
  constexpr int64_t kSide = INT_MAX / 256, kSquare = 23000;  // gesdd needs 4 k^2 + 7 k, and a block for each row
  require(side <= kSide && (!square_work || k <= kSquare), op, ": matrices of shape (", m, ", ", n,
          ") are too large for the bundled LAPACK, which counts in 32 bits: at most ", square_work ? kSquare : kSide,
          square_work ? " in the smaller dimension" : " rows and columns");
}

// The result for matrices without elements.
static LapackFailure none_failed(const View& a, int* infos) {
  if (infos && !on_meta) std::fill_n(infos, count(a), 0);
  return {};
}

// ---- LU -------------------------------------------------------------------------------------------------------------

LapackFailure lu_factor(View a, View lu, View pivots, int* infos) {
  return by_type(a, [&]<class T>(T) {
    const auto& routine = lapack<T>();
    const int m = rows(a), n = cols(a), k = std::min(m, n);
    if (k == 0) return none_failed(a, infos);
    struct Memory {
      std::vector<T> factors;
      std::vector<int> pivots;
    };
    return each(
        count(a), cube(k), Memory{std::vector<T>(area(m, n)), std::vector<int>(area(k, 1))},
        [&](Memory& own, int64_t i) { load(own.factors.data(), matrix<T>(a, i)); },
        [&routine, m, n](Memory& own) {
          int info = 0;
          routine.getrf(&m, &n, own.factors.data(), &m, own.pivots.data(), &info);
          return info;
        },
        [&](Memory& own, int64_t i) {
          std::copy(own.factors.begin(), own.factors.end(), start<T>(lu, i));
          std::copy(own.pivots.begin(), own.pivots.end(), start<int>(pivots, i, 1));
        },
        infos);
  });
}

void lu_solve(View lu, View pivots, View b, View x, bool adjoint) {
  by_type(b, [&]<class T>(T) {
    const auto& routine = lapack<T>();
    const int n = rows(b), nrhs = cols(b);
    if (n == 0 || nrhs == 0) return;
    struct Memory {
      std::vector<T> right, factors;
      std::vector<int> pivots;
    };
    each(
        count(b), static_cast<double>(n) * n * nrhs, Memory{std::vector<T>(area(n, nrhs)), {}, {}},
        [&](Memory& own, int64_t i) {
          load(own.right.data(), matrix<T>(b, i));
          const T* from = start<T>(lu, i);
          const int* swaps = start<int>(pivots, i, 1);
          own.factors.assign(from, from + area(n, n));
          own.pivots.assign(swaps, swaps + n);
        },
        [&routine, n, nrhs, adjoint](Memory& own) {
          int info = 0;
          routine.getrs(adjoint ? "C" : "N", &n, &nrhs, own.factors.data(), &n, own.pivots.data(), own.right.data(), &n,
                        &info, 1);
          return info;
        },
        [&](Memory& own, int64_t i) { store(matrix<T>(x, i), own.right.data(), n); });
  });
}

void lu_determinant(View lu, View pivots, View determinant, View logarithm) {
  capture::interrupt("a determinant is computed");
  if (on_meta) return;
  by_type(lu, [&]<class T>(T) {
    const int64_t n = rows(lu);
    for (int64_t i = 0; i < count(lu); ++i) {
      const T* factors = start<T>(lu, i);
      const int* swaps = start<int>(pivots, i, 1);
      T product = 1;
      Part<T> log = 0;
      for (int64_t k = 0; k < n; ++k) {
        const T pivot = factors[k * (n + 1)];
        if (swaps[k] != k + 1) product = -product;
        if (!logarithm.data) {
          product *= pivot;
        } else {
          product *= std::abs(pivot) > 0 ? pivot / std::abs(pivot) : pivot;  // keeps zero and NaN
          log += std::log(std::abs(pivot));
        }
      }
      *start<T>(determinant, i, 0) = product;
      if (logarithm.data) *start<Part<T>>(logarithm, i, 0) = log;
    }
  });
}

double lu_pivot_ratio(View lu) {
  capture::interrupt("an operation reads values outside a kernel");
  if (on_meta) return 1;
  return by_type(lu, [&]<class T>(T) {
    const int64_t n = rows(lu);
    double worst = 1;
    for (int64_t i = 0; i < count(lu); ++i) {
      const T* factors = start<T>(lu, i);
      double least = std::numeric_limits<double>::infinity(), most = 0;
      for (int64_t k = 0; k < n; ++k) {
        const double pivot = static_cast<double>(std::abs(factors[k * (n + 1)]));
        least = std::min(least, pivot);
        most = std::max(most, pivot);
      }
      if (n > 0) worst = std::min(worst, most > 0 ? least / most : 0);
    }
    return worst;
  });
}

LapackFailure inverse(View a, View y, int* infos) {
  return by_type(a, [&]<class T>(T) {
    const auto& routine = lapack<T>();
    const int n = rows(a);
    if (n == 0) return none_failed(a, infos);
    T answer = 0;
    int info = 0;
    routine.getri(&n, nullptr, &n, nullptr, &answer, &kQuery, &info);
    const int lwork = work_size(answer, n);
    struct Memory {
      std::vector<T> m, work;
      std::vector<int> pivots;
    };
    return each(
        count(a), 2 * cube(n),
        Memory{std::vector<T>(area(n, n)), std::vector<T>(area(lwork, 1)), std::vector<int>(area(n, 1))},
        [&](Memory& own, int64_t i) { load(own.m.data(), matrix<T>(a, i)); },
        [&routine, n, lwork](Memory& own) {
          int info = 0;
          routine.getrf(&n, &n, own.m.data(), &n, own.pivots.data(), &info);
          if (info == 0) routine.getri(&n, own.m.data(), &n, own.pivots.data(), own.work.data(), &lwork, &info);
          else std::fill(own.m.begin(), own.m.end(), T(std::numeric_limits<Part<T>>::quiet_NaN()));
          return info;
        },
        [&](Memory& own, int64_t i) { store(matrix<T>(y, i), own.m.data(), n); }, infos);
  });
}

// ---- triangles ------------------------------------------------------------------------------------------------------

LapackFailure cholesky(View a, View l, int* infos) {
  return by_type(a, [&]<class T>(T) {
    const auto& routine = lapack<T>();
    const int n = rows(a);
    if (n == 0) return none_failed(a, infos);
    return each(
        count(a), cube(n) / 3, std::vector<T>(area(n, n)),
        [&](std::vector<T>& m, int64_t i) { load(m.data(), matrix<T>(a, i)); },
        [&routine, n](std::vector<T>& m) {
          int info = 0;
          routine.potrf("L", &n, m.data(), &n, &info, 1);
          for (int64_t j = 1; j < n; ++j) std::fill_n(m.begin() + j * n, j, T(0));
          return info;
        },
        [&](std::vector<T>& m, int64_t i) { store(matrix<T>(l, i), m.data(), n); }, infos);
  });
}

LapackFailure ldl_factor(View a, View factors, View pivots, bool hermitian, int* infos) {
  return by_type(a, [&]<class T>(T) {
    const auto& routine = lapack<T>();
    const int n = rows(a);
    if (n == 0) return none_failed(a, infos);
    const auto factor = hermitian ? routine.hetrf : routine.sytrf;
    T answer = 0;
    int info = 0;
    factor("L", &n, nullptr, &n, nullptr, &answer, &kQuery, &info, 1);
    const int lwork = work_size(answer, n);
    struct Memory {
      std::vector<T> m, work;
      std::vector<int> pivots;
    };
    return each(
        count(a), cube(n) / 3,
        Memory{std::vector<T>(area(n, n)), std::vector<T>(area(lwork, 1)), std::vector<int>(area(n, 1))},
        [&](Memory& own, int64_t i) {
          load(own.m.data(), matrix<T>(a, i));
          for (int64_t j = 1; j < n; ++j) std::fill_n(own.m.begin() + j * n, j, T(0));
        },
        [factor, n, lwork](Memory& own) {
          int info = 0;
          factor("L", &n, own.m.data(), &n, own.pivots.data(), own.work.data(), &lwork, &info, 1);
          return info;
        },
        [&](Memory& own, int64_t i) {
          std::copy(own.m.begin(), own.m.end(), start<T>(factors, i));
          std::copy(own.pivots.begin(), own.pivots.end(), start<int>(pivots, i, 1));
        },
        infos);
  });
}

void ldl_solve(View factors, View pivots, View b, View x, bool hermitian) {
  by_type(b, [&]<class T>(T) {
    const auto& routine = lapack<T>();
    const int n = rows(b), nrhs = cols(b);
    if (n == 0 || nrhs == 0) return;
    struct Memory {
      std::vector<T> m, right;
      std::vector<int> pivots;
    };
    each(
        count(b), static_cast<double>(n) * n * nrhs,
        Memory{std::vector<T>(area(n, n)), std::vector<T>(area(n, nrhs)), std::vector<int>(area(n, 1))},
        [&](Memory& own, int64_t i) {
          load(own.m.data(), matrix<T>(factors, i));
          load(own.right.data(), matrix<T>(b, i));
          std::copy_n(start<int>(pivots, i, 1), n, own.pivots.begin());
        },
        [solve = hermitian ? routine.hetrs : routine.sytrs, n, nrhs](Memory& own) {
          int info = 0;
          solve("L", &n, &nrhs, own.m.data(), &n, own.pivots.data(), own.right.data(), &n, &info, 1);
          return info;
        },
        [&](Memory& own, int64_t i) { store(matrix<T>(x, i), own.right.data(), n); });
  });
}

void solve_triangular(View a, View b, View x, bool upper, bool unit) {
  by_type(a, [&]<class T>(T) {
    const auto& routine = lapack<T>();
    const int n = rows(b), nrhs = cols(b);
    if (n == 0 || nrhs == 0) return;
    struct Memory {
      std::vector<T> m, right;
    };
    each(
        count(b), static_cast<double>(n) * n * nrhs, Memory{std::vector<T>(area(n, n)), std::vector<T>(area(n, nrhs))},
        [&](Memory& own, int64_t i) {
          load(own.m.data(), matrix<T>(a, i));
          load(own.right.data(), matrix<T>(b, i));
        },
        [&routine, n, nrhs, upper, unit](Memory& own) {
          const T one = 1;
          routine.trsm("L", upper ? "U" : "L", "N", unit ? "U" : "N", &n, &nrhs, &one, own.m.data(), &n,
                       own.right.data(), &n, 1, 1, 1, 1);
          return 0;
        },
        [&](Memory& own, int64_t i) { store(matrix<T>(x, i), own.right.data(), n); });
  });
}

}  // namespace genesis::kernels
