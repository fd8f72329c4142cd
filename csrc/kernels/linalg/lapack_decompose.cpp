// Decompositions: QR, eigenvalues, singular values.
#include "kernels/linalg/lapack.h"
#include "kernels/linalg/lapack_stack.h"

namespace genesis::kernels {

void qr(View a, View q, View r) {
  by_type(a, [&]<class T>(T) {
    const auto& routine = lapack<T>();
    const int m = rows(a), n = cols(a), k = std::min(m, n), q_cols = cols(q);
    if (k == 0) {
      for (int64_t i = 0; i < count(q); ++i) store_identity(matrix<T>(q, i));
      return;  // r is empty
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
          for (int64_t j = 0; j < n; ++j)  // in the triangle that is read
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

// LAPACK's result for a real matrix stores the real and the imaginary part of a conjugate pair in two columns.
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
