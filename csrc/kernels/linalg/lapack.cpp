// Read lu_factor() first: a struct holds the memory for one matrix, each() copies it for every chunk of the stack, and
// for every matrix reads it, computes and writes the results. LAPACK wants columns contiguous, so matrices go through
// load() and store(). The middle step touches that memory alone: if it is long, it runs in a thread that is left behind
// on Ctrl-C (core/abandon.h).
#include "kernels/linalg/lapack.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdlib.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/abandon.h"
#include "core/device.h"
#include "core/error.h"
#include "core/parallel.h"
#include "kernels/elementwise/elementwise.h"

namespace genesis::kernels {

// ---- the library ----------------------------------------------------------------------------------------------------

namespace {

#ifdef __APPLE__
constexpr const char* kLibrary = "/lib/libscipy_openblas.dylib";
#else
constexpr const char* kLibrary = "/lib/libscipy_openblas.so";
#endif

template <class T>
struct PartOf {
  using type = T;
};
template <class T>
struct PartOf<std::complex<T>> {
  using type = T;
};
// The type of the real and imaginary parts.
template <class T>
using Part = typename PartOf<T>::type;
template <class T>
inline constexpr bool kComplex = !std::is_same_v<T, Part<T>>;

// Fortran passes everything by address, and the lengths of strings by value at the end. Routines of complex matrices
// that have more arguments than those of real ones are called through `eigen`, `singular` and `general`.
template <class T>
struct Routines {
  using In = const int*;
  using P = Part<T>;
  void (*getrf)(In m, In n, T* a, In lda, int* pivots, int* info);
  void (*getrs)(const char* trans, In n, In nrhs, const T* a, In lda, In pivots, T* b, In ldb, int* info, size_t);
  void (*getri)(In n, T* a, In lda, In pivots, T* work, In lwork, int* info);
  void (*potrf)(const char* uplo, In n, T* a, In lda, int* info, size_t);
  void (*sytrf)(const char* uplo, In n, T* a, In lda, int* pivots, T* work, In lwork, int* info, size_t);
  void (*sytrs)(const char* uplo, In n, In nrhs, const T* a, In lda, In pivots, T* b, In ldb, int* info, size_t);
  void (*trsm)(const char* side, const char* uplo, const char* trans, const char* diag, In m, In n, const T* alpha,
               const T* a, In lda, T* b, In ldb, size_t, size_t, size_t, size_t);
  void (*geqrf)(In m, In n, T* a, In lda, T* tau, T* work, In lwork, int* info);
  void (*orgqr)(In m, In n, In k, T* a, In lda, const T* tau, T* work, In lwork, int* info);
  void (*syevd)();
  void (*gesdd)();
  void (*geev)();

  void eigen(const char* jobz, const char* uplo, In n, T* a, T* w_work, In lwork, P* w, P* rwork, In lrwork, int* iwork,
             In liwork, int* info) const {
    if constexpr (kComplex<T>) {
      using F = void (*)(const char*, const char*, In, T*, In, P*, T*, In, P*, In, int*, In, int*, size_t, size_t);
      reinterpret_cast<F>(syevd)(jobz, uplo, n, a, n, w, w_work, lwork, rwork, lrwork, iwork, liwork, info, 1, 1);
    } else {
      using F = void (*)(const char*, const char*, In, T*, In, T*, T*, In, int*, In, int*, size_t, size_t);
      reinterpret_cast<F>(syevd)(jobz, uplo, n, a, n, w, w_work, lwork, iwork, liwork, info, 1, 1);
    }
  }
  void singular(const char* jobz, In m, In n, T* a, P* s, T* u, In ldu, T* vt, In ldvt, T* work, In lwork, P* rwork,
                int* iwork, int* info) const {
    if constexpr (kComplex<T>) {
      using F = void (*)(const char*, In, In, T*, In, P*, T*, In, T*, In, T*, In, P*, int*, int*, size_t);
      reinterpret_cast<F>(gesdd)(jobz, m, n, a, m, s, u, ldu, vt, ldvt, work, lwork, rwork, iwork, info, 1);
    } else {
      using F = void (*)(const char*, In, In, T*, In, T*, T*, In, T*, In, T*, In, int*, int*, size_t);
      reinterpret_cast<F>(gesdd)(jobz, m, n, a, m, s, u, ldu, vt, ldvt, work, lwork, iwork, info, 1);
    }
  }
  // `values` are the eigenvalues; of a real matrix, the real parts and then the imaginary ones.
  void general(const char* jobvr, In n, T* a, T* values, T* vectors, T* work, In lwork, P* rwork, int* info) const {
    const int one = 1;
    if constexpr (kComplex<T>) {
      using F = void (*)(const char*, const char*, In, T*, In, T*, T*, In, T*, In, T*, In, P*, int*, size_t, size_t);
      reinterpret_cast<F>(geev)("N", jobvr, n, a, n, values, nullptr, &one, vectors, n, work, lwork, rwork, info, 1, 1);
    } else {
      using F = void (*)(const char*, const char*, In, T*, In, T*, T*, T*, In, T*, In, T*, In, int*, size_t, size_t);
      reinterpret_cast<F>(geev)("N", jobvr, n, a, n, values, values + *n, nullptr, &one, vectors, n, work, lwork, info,
                                1, 1);
    }
  }
};

struct Library {
  Routines<float> single;
  Routines<double> wide;
  Routines<std::complex<float>> complex_single;
  Routines<std::complex<double>> complex_wide;

  Library() {
    Dl_info self;
    require<std::runtime_error>(dladdr(reinterpret_cast<const void*>(&require_lapack_size), &self) != 0,
                                "linalg: cannot find the folder of the genesis module");
    const std::unique_ptr<char, void (*)(void*)> real(realpath(self.dli_fname, nullptr), free);
    const std::string module = real ? real.get() : self.dli_fname;
    const std::string path = module.substr(0, module.rfind('/')) + kLibrary;
    handle_ = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!handle_) {
      const char* reason = dlerror();
      fail<std::runtime_error>("linalg: cannot open the OpenBLAS that comes with genesis, ", path, ": ",
                               reason ? reason : "no reason given", "; reinstall genesis");
    }
    fill(single, 's');
    fill(wide, 'd');
    fill(complex_single, 'c');
    fill(complex_wide, 'z');
    // Threads are ours: matrices of a stack run in parallel, and results do not depend on how many there are.
    void (*set_threads)(int);
    find(set_threads, "scipy_openblas_set_num_threads");
    set_threads(1);
  }

 private:
  template <class F>
  void find(F& pointer, const std::string& name) {
    void* symbol = dlsym(handle_, name.c_str());
    require<std::runtime_error>(symbol != nullptr, "linalg: the OpenBLAS that comes with genesis has no ", name,
                                "; reinstall genesis");
    pointer = reinterpret_cast<F>(symbol);
  }
  template <class T>
  void fill(Routines<T>& r, char type) {
    const std::string prefix = std::string("scipy_") + type;
    find(r.getrf, prefix + "getrf_");
    find(r.getrs, prefix + "getrs_");
    find(r.getri, prefix + "getri_");
    find(r.potrf, prefix + "potrf_");
    find(r.sytrf, prefix + "sytrf_");
    find(r.sytrs, prefix + "sytrs_");
    find(r.trsm, prefix + "trsm_");
    find(r.geqrf, prefix + "geqrf_");
    find(r.orgqr, prefix + (kComplex<T> ? "ungqr_" : "orgqr_"));
    find(r.syevd, prefix + (kComplex<T> ? "heevd_" : "syevd_"));
    find(r.gesdd, prefix + "gesdd_");
    find(r.geev, prefix + "geev_");
  }
  void* handle_;
};

template <class T>
const Routines<T>& lapack() {
  static const Library library;
  if constexpr (std::is_same_v<T, float>) return library.single;
  else if constexpr (std::is_same_v<T, double>) return library.wide;
  else if constexpr (std::is_same_v<T, std::complex<float>>) return library.complex_single;
  else return library.complex_wide;
}

// ---- stacks of matrices ---------------------------------------------------------------------------------------------

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

// In tiles: one side of the copy runs against the grain of its memory.
template <class T, class F>
void tiles(const Matrix<T>& m, F f) {
  constexpr int64_t kTile = 16;
  for (int64_t jb = 0; jb < m.cols; jb += kTile)
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

// For every matrix of a stack: read(memory, i), compute(memory), which returns LAPACK's info, and write(memory, i). The
// interpreter lock is given up: nothing here touches a tensor.
template <class Memory, class Read, class Compute, class Write>
LapackFailure each(int64_t n, double operations, Memory memory, Read read, Compute compute, Write write,
                   int* infos = nullptr) {
  constexpr double kLong = 1e9;  // operations: a tenth of a second or more
  LapackFailure first;
  if (on_meta) return first;
  std::mutex mutex;
  const auto grain = static_cast<int64_t>(std::max(1.0, 2e5 / (operations + 100)));
  const bool abandonable = operations >= kLong && may_be_interrupted();
  const Unlocked unlocked;
  parallel_for(n, grain, [&](int64_t begin, int64_t end) {
    auto own = std::make_shared<Memory>(memory);
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

// A routine told how much work space it wants, as a number in work[0]; float32 may have rounded it down.
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

// Of matrices without elements.
LapackFailure none_failed(const View& a, int* infos) {
  if (infos && !on_meta) std::fill_n(infos, count(a), 0);
  return {};
}

}  // namespace

void require_lapack_size(const char* op, int64_t m, int64_t n, bool square_work) {
  const int64_t side = std::max(m, n), k = std::min(m, n);
  constexpr int64_t kSide = INT_MAX / 256, kSquare = 23000;  // gesdd wants 4 k^2 + 7 k, and a block for each row
  require(side <= kSide && (!square_work || k <= kSquare), op, ": matrices of shape (", m, ", ", n,
          ") are too large for the bundled LAPACK, which counts in 32 bits: at most ", square_work ? kSquare : kSide,
          square_work ? " in the smaller dimension" : " rows and columns");
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
          product *= std::abs(pivot) > 0 ? pivot / std::abs(pivot) : pivot;  // a zero or nan stays
          log += std::log(std::abs(pivot));
        }
      }
      *start<T>(determinant, i, 0) = product;
      if (logarithm.data) *start<Part<T>>(logarithm, i, 0) = log;
    }
  });
}

double lu_pivot_ratio(View lu) {
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

LapackFailure ldl_factor(View a, View factors, View pivots, int* infos) {
  return by_type(a, [&]<class T>(T) {
    const auto& routine = lapack<T>();
    const int n = rows(a);
    if (n == 0) return none_failed(a, infos);
    T answer = 0;
    int info = 0;
    routine.sytrf("L", &n, nullptr, &n, nullptr, &answer, &kQuery, &info, 1);
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
        [&routine, n, lwork](Memory& own) {
          int info = 0;
          routine.sytrf("L", &n, own.m.data(), &n, own.pivots.data(), own.work.data(), &lwork, &info, 1);
          return info;
        },
        [&](Memory& own, int64_t i) {
          std::copy(own.m.begin(), own.m.end(), start<T>(factors, i));
          std::copy(own.pivots.begin(), own.pivots.end(), start<int>(pivots, i, 1));
        },
        infos);
  });
}

void ldl_solve(View factors, View pivots, View b, View x) {
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
        [&routine, n, nrhs](Memory& own) {
          int info = 0;
          routine.sytrs("L", &n, &nrhs, own.m.data(), &n, own.pivots.data(), own.right.data(), &n, &info, 1);
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

// ---- decompositions -------------------------------------------------------------------------------------------------

void qr(View a, View q, View r) {
  by_type(a, [&]<class T>(T) {
    const auto& routine = lapack<T>();
    const int m = rows(a), n = cols(a), k = std::min(m, n), q_cols = cols(q);
    if (k == 0) {
      for (int64_t i = 0; i < count(q); ++i) store_identity(matrix<T>(q, i));
      return;  // r has no elements
    }
    T first = 0, second = 0;
    int info = 0;
    routine.geqrf(&m, &n, nullptr, &m, nullptr, &first, &kQuery, &info);
    routine.orgqr(&m, &q_cols, &k, nullptr, &m, nullptr, &second, &kQuery, &info);
    const int lwork = work_size(std::max(std::real(first), std::real(second)), std::max(n, q_cols));
    struct Memory {
      std::vector<T> f, r, tau, work;
    };
    each(
        count(a), 4.0 * m * n * k,
        Memory{std::vector<T>(area(m, std::max(n, q_cols))), std::vector<T>(area(m, n)), std::vector<T>(area(k, 1)),
               std::vector<T>(area(lwork, 1))},
        [&](Memory& own, int64_t i) { load(own.f.data(), matrix<T>(a, i)); },
        [&routine, m, n, k, q_cols, lwork](Memory& own) {
          int info = 0;
          routine.geqrf(&m, &n, own.f.data(), &m, own.tau.data(), own.work.data(), &lwork, &info);
          std::copy_n(own.f.begin(), own.r.size(), own.r.begin());
          routine.orgqr(&m, &q_cols, &k, own.f.data(), &m, own.tau.data(), own.work.data(), &lwork, &info);
          return 0;
        },
        [&](Memory& own, int64_t i) {
          tiles(matrix<T>(r, i),
                [&](int64_t row, int64_t col, T& value) { value = row <= col ? own.r[area(m, col) + row] : T(0); });
          store(matrix<T>(q, i), own.f.data(), m);
        });
  });
}

void reflections(View a, View factors, View tau) {
  by_type(a, [&]<class T>(T) {
    const auto& routine = lapack<T>();
    const int m = rows(a), n = cols(a), k = std::min(m, n);
    if (k == 0) return;
    T answer = 0;
    int info = 0;
    routine.geqrf(&m, &n, nullptr, &m, nullptr, &answer, &kQuery, &info);
    const int lwork = work_size(answer, n);
    struct Memory {
      std::vector<T> f, tau, work;
    };
    each(
        count(a), 2.0 * m * n * k,
        Memory{std::vector<T>(area(m, n)), std::vector<T>(area(k, 1)), std::vector<T>(area(lwork, 1))},
        [&](Memory& own, int64_t i) { load(own.f.data(), matrix<T>(a, i)); },
        [&routine, m, n, lwork](Memory& own) {
          int info = 0;
          routine.geqrf(&m, &n, own.f.data(), &m, own.tau.data(), own.work.data(), &lwork, &info);
          return 0;
        },
        [&](Memory& own, int64_t i) {
          std::copy(own.tau.begin(), own.tau.end(), tau.as<T>() + i * k);
          store(matrix<T>(factors, i), own.f.data(), m);
        });
  });
}

LapackFailure eigh(View a, View w, View v, bool upper) {
  return by_type(a, [&]<class T>(T) {
    const auto& routine = lapack<T>();
    const int n = rows(a);
    if (n == 0) return LapackFailure{};
    const bool vectors = v.data != nullptr;
    const char *jobz = vectors ? "V" : "N", *uplo = upper ? "U" : "L";
    T answer = 0;
    Part<T> real_answer = 0;
    int int_answer = 0, info = 0;
    routine.eigen(jobz, uplo, &n, nullptr, &answer, &kQuery, nullptr, &real_answer, &kQuery, &int_answer, &kQuery,
                  &info);
    const int64_t wide = n, most = 1 + 6 * wide + 2 * wide * wide;
    const int lwork = work_size(answer, vectors ? most : 2 * wide + 1);
    const int lrwork = kComplex<T> ? work_size(real_answer, vectors ? most : wide) : 1;
    const int liwork = std::max(int_answer, vectors ? 3 + 5 * n : 1);
    struct Memory {
      std::vector<T> m, work;
      std::vector<Part<T>> values, rwork;
      std::vector<int> iwork;
    };
    return each(
        count(a), (vectors ? 9 : 2) * cube(n),
        Memory{std::vector<T>(area(n, n)), std::vector<T>(area(lwork, 1)), std::vector<Part<T>>(area(n, 1)),
               std::vector<Part<T>>(area(lrwork, 1)), std::vector<int>(area(liwork, 1))},
        [&](Memory& own, int64_t i) { load(own.m.data(), matrix<T>(a, i)); },
        [&routine, jobz, uplo, upper, n, lwork, lrwork, liwork](Memory& own) {
          for (int64_t j = 0; j < n; ++j)  // of the triangle that is read
            if (!finite(own.m.data() + j * n + (upper ? 0 : j), upper ? j + 1 : n - j))
              return static_cast<int>(LapackFailure::kNotFinite);
          int info = 0;
          routine.eigen(jobz, uplo, &n, own.m.data(), own.work.data(), &lwork, own.values.data(), own.rwork.data(),
                        &lrwork, own.iwork.data(), &liwork, &info);
          return info;
        },
        [&](Memory& own, int64_t i) {
          Part<T>* to = start<Part<T>>(w, i, 1);
          for (int k = 0; k < n; ++k) to[k * w.strides[w.ndim - 1]] = own.values[static_cast<size_t>(k)];
          if (vectors) store(matrix<T>(v, i), own.m.data(), n);
        });
  });
}

// From the columns of LAPACK's answer for a real matrix: of a conjugate pair, the real part and the imaginary part.
template <class T>
static void store_vectors(const Matrix<std::complex<T>>& m, const T* imaginary, const T* from) {
  const int64_t n = m.rows;
  for (int64_t j = 0; j < n; ++j) {
    const bool pair = imaginary[j] != 0;
    for (int64_t i = 0; i < n; ++i) {
      const T re = from[i + j * n], im = pair ? from[i + (j + 1) * n] : T(0);
      m.data[i * m.row_step + j * m.col_step] = {re, im};
      if (pair) m.data[i * m.row_step + (j + 1) * m.col_step] = {re, -im};
    }
    j += pair;
  }
}

LapackFailure eig(View a, View w, View v) {
  return by_type(a, [&]<class T>(T) {
    using Z = std::complex<Part<T>>;
    const auto& routine = lapack<T>();
    const int n = rows(a);
    if (n == 0) return LapackFailure{};
    const bool vectors = v.data != nullptr;
    const char* jobvr = vectors ? "V" : "N";
    T answer = 0;
    Part<T> real_answer = 0;
    int info = 0;
    routine.general(jobvr, &n, nullptr, &answer, nullptr, &answer, &kQuery, &real_answer, &info);
    const int lwork = work_size(answer, 4 * int64_t{n});
    struct Memory {
      std::vector<T> m, values, columns, work;
      std::vector<Part<T>> rwork;
    };
    return each(
        count(a), (vectors ? 25 : 10) * cube(n),
        Memory{std::vector<T>(area(n, n)), std::vector<T>(area(n, 2)), std::vector<T>(area(n, vectors ? n : 1)),
               std::vector<T>(area(lwork, 1)), std::vector<Part<T>>(area(n, 2))},
        [&](Memory& own, int64_t i) { load(own.m.data(), matrix<T>(a, i)); },
        [&routine, jobvr, n, lwork](Memory& own) {
          if (!finite(own.m.data(), int64_t{n} * n)) return static_cast<int>(LapackFailure::kNotFinite);
          int info = 0;
          routine.general(jobvr, &n, own.m.data(), own.values.data(), own.columns.data(), own.work.data(), &lwork,
                          own.rwork.data(), &info);
          return info;
        },
        [&](Memory& own, int64_t i) {
          Z* to = start<Z>(w, i, 1);
          for (int64_t k = 0; k < n; ++k) {
            Z& value = to[k * w.strides[w.ndim - 1]];
            if constexpr (kComplex<T>) value = own.values[area(k, 1)];
            else value = Z(own.values[area(k, 1)], own.values[area(n + k, 1)]);
          }
          if (!vectors) return;
          if constexpr (kComplex<T>) store(matrix<T>(v, i), own.columns.data(), n);
          else store_vectors(matrix<Z>(v, i), own.values.data() + n, own.columns.data());
        });
  });
}

LapackFailure svd(View a, View s, View u, View vh) {
  return by_type(a, [&]<class T>(T) {
    const auto& routine = lapack<T>();
    const int m = rows(a), n = cols(a), k = std::min(m, n);
    const bool vectors = u.data != nullptr;
    if (k == 0) {
      for (int64_t i = 0; vectors && i < count(a); ++i) {
        store_identity(matrix<T>(u, i));
        store_identity(matrix<T>(vh, i));
      }
      return LapackFailure{};
    }
    const int u_cols = vectors ? cols(u) : 1, vh_rows = vectors ? rows(vh) : 1;
    const char* jobz = !vectors ? "N" : u_cols == k && vh_rows == k ? "S" : "A";
    const int ldu = vectors ? m : 1;
    T answer = 0;
    int info = 0;
    routine.singular(jobz, &m, &n, nullptr, nullptr, nullptr, &ldu, nullptr, &vh_rows, &answer, &kQuery, nullptr,
                     nullptr, &info);
    const int64_t side = k, least = 4 * side * side + 7 * side + std::max(m, n);
    const int lwork = work_size(answer, least);
    const int64_t lrwork = kComplex<T> ? side * std::max(5 * side + 7, 2 * std::max<int64_t>(m, n) + 2 * side + 1) : 1;
    struct Memory {
      std::vector<T> f, left, right, work;
      std::vector<Part<T>> values, rwork;
      std::vector<int> iwork;
    };
    return each(
        count(a), (vectors ? 20.0 : 4.0) * m * n * k,
        Memory{std::vector<T>(area(m, n)), std::vector<T>(area(ldu, u_cols)),
               std::vector<T>(area(vh_rows, vectors ? n : 1)), std::vector<T>(area(lwork, 1)),
               std::vector<Part<T>>(area(k, 1)), std::vector<Part<T>>(area(lrwork, 1)), std::vector<int>(area(8, k))},
        [&](Memory& own, int64_t i) { load(own.f.data(), matrix<T>(a, i)); },
        [&routine, jobz, m, n, ldu, vh_rows, lwork](Memory& own) {
          if (!finite(own.f.data(), m * int64_t{n})) return static_cast<int>(LapackFailure::kNotFinite);
          int info = 0;
          routine.singular(jobz, &m, &n, own.f.data(), own.values.data(), own.left.data(), &ldu, own.right.data(),
                           &vh_rows, own.work.data(), &lwork, own.rwork.data(), own.iwork.data(), &info);
          return info;
        },
        [&](Memory& own, int64_t i) {
          Part<T>* to = start<Part<T>>(s, i, 1);
          for (int j = 0; j < k; ++j) to[j * s.strides[s.ndim - 1]] = own.values[static_cast<size_t>(j)];
          if (vectors) {
            store(matrix<T>(u, i), own.left.data(), m);
            store(matrix<T>(vh, i), own.right.data(), vh_rows);
          }
        });
  });
}

}  // namespace genesis::kernels
