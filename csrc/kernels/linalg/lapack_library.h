// The LAPACK routines that the kernels call, from the OpenBLAS that is bundled with the module.
#pragma once

#include <complex>
#include <cstddef>
#include <type_traits>

namespace genesis::kernels {

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

// Fortran passes all arguments by address, and the lengths of strings by value at the end. Routines for complex
// matrices with additional arguments are called through `eigen`, `singular` and `general`.
template <class T>
struct Routines {
  using In = const int*;
  using P = Part<T>;
  void (*getrf)(In m, In n, T* a, In lda, int* pivots, int* info);
  void (*getrs)(const char* trans, In n, In nrhs, const T* a, In lda, In pivots, T* b, In ldb, int* info, size_t);
  void (*getri)(In n, T* a, In lda, In pivots, T* work, In lwork, int* info);
  void (*potrf)(const char* uplo, In n, T* a, In lda, int* info, size_t);
  void (*sytrf)(const char* uplo, In n, T* a, In lda, int* pivots, T* work, In lwork, int* info, size_t);
  void (*hetrf)(const char* uplo, In n, T* a, In lda, int* pivots, T* work, In lwork, int* info, size_t);
  void (*sytrs)(const char* uplo, In n, In nrhs, const T* a, In lda, In pivots, T* b, In ldb, int* info, size_t);
  void (*hetrs)(const char* uplo, In n, In nrhs, const T* a, In lda, In pivots, T* b, In ldb, int* info, size_t);
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
  // `values` are the eigenvalues; for a real matrix, the real parts followed by the imaginary parts.
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

// Loads the library at the first call.
template <class T>
const Routines<T>& lapack();
template <>
const Routines<float>& lapack();
template <>
const Routines<double>& lapack();
template <>
const Routines<std::complex<float>>& lapack();
template <>
const Routines<std::complex<double>>& lapack();

}  // namespace genesis::kernels
