// All threads together split a long row into buckets by the highest digits of its keys; each bucket is then sorted in
// the cache.
#include "kernels/sort/sort.h"

#include "core/parallel.h"
#include "kernels/sort/keys.h"
#include "kernels/work.h"

namespace genesis::kernels::GENESIS_ISA {

namespace {

// ---- long rows ---------------------------------------------------------------------------------------------------

constexpr int kDigit = 11;
constexpr int64_t kBuckets = int64_t(1) << kDigit;
constexpr int64_t kMaxChunks = 16;

// Splits a row into buckets by the highest digit that differs, and sorts each bucket in the cache. run() calls the
// stages in order.
template <class T>
class LongSort {
  using K = Packing<T>;
  using P = typename K::P;
  using U = typename K::U;
  using Count = std::conditional_t<sizeof(P) == 8, uint32_t, uint64_t>;

 public:
  LongSort(const Sink<T>& to, const T* x, int64_t n, P* a, P* b)
      : to_(to), keys_{x, to.flip, std::max(K::kBits - kDigit, 0)}, n_(n), a_(a), b_(b) {}
  void run() {
    const Seen seen = survey();
    const int top = std::bit_width(static_cast<U>(seen.any ^ seen.all));  // higher bits are equal for all keys
    if (keys_.low > 0 && top < K::kBits - 4) {
      keys_.low = std::max(top - kDigit, 0);
      parallel_for(n_, chunk_, [&](int64_t begin, int64_t end) { count(begin, end); });
    }
    distribute();
    sort_buckets();
    if (seen.negative_zero) to_.restore_zeros(n_);
  }

 private:
  struct Seen {
    U any = 0, all = static_cast<U>(~U(0));  // bits that are set in any, and in all keys
    bool negative_zero = false;
  };

  // Loops use their own copy, which the compiler can keep in registers.
  struct Keys {
    const T* x;
    U flip;
    int low;  // lowest bit of the digit
    U operator[](int64_t i) const { return static_cast<U>(Coding<T>::encode(x[i]) ^ flip); }
    size_t digit(int64_t i) const { return static_cast<size_t>((*this)[i] >> low) & static_cast<size_t>(kBuckets - 1); }
  };
  Count* counts_of(int64_t begin) const { return counts_.get() + begin / chunk_ * kBuckets; }

  void count(int64_t begin, int64_t end) const {
    Count* const into = counts_of(begin);
    const Keys keys = keys_;
    std::memset(into, 0, kBuckets * sizeof(Count));
    in_steps(begin, end, kStep, [&](int64_t from, int64_t until) {
      for (int64_t i = from; i < until; ++i) ++into[keys.digit(i)];
    });
  }

  // Scans all keys and counts them by their topmost digit, which is the right one if the topmost bits differ.
  Seen survey() const {
    std::vector<Seen> seen(static_cast<size_t>(chunks_));
    parallel_for(n_, chunk_, [&](int64_t begin, int64_t end) {
      Seen here;
      const Keys keys = keys_;
      in_steps(begin, end, kStep, [&](int64_t from, int64_t until) {
        for (int64_t i = from; i < until; ++i) {
          const U key = keys[i];
          here.any = static_cast<U>(here.any | key);
          here.all = static_cast<U>(here.all & key);
          if constexpr (Coding<T>::kFloating) here.negative_zero |= std::bit_cast<U>(keys.x[i]) == Coding<T>::kSign;
        }
      });
      seen[static_cast<size_t>(begin / chunk_)] = here;
      count(begin, end);
    });
    Seen whole;
    for (const Seen& s : seen) {
      whole.any = static_cast<U>(whole.any | s.any);
      whole.all = static_cast<U>(whole.all & s.all);
      whole.negative_zero |= s.negative_zero;
    }
    return whole;
  }

  // Converts counts to positions and writes the packed elements to their buckets.
  void distribute() {
    Count sum = 0;
    for (int64_t d = 0; d < kBuckets; ++d) {
      begins_[static_cast<size_t>(d)] = static_cast<int64_t>(sum);
      for (int64_t c = 0; c < chunks_; ++c) sum += std::exchange(counts_[static_cast<size_t>(c * kBuckets + d)], sum);
    }
    parallel_for(n_, chunk_, [&](int64_t begin, int64_t end) {
      Count* const at = counts_of(begin);
      P* const into = a_;
      const Keys keys = keys_;
      in_steps(begin, end, kScatterStep, [&](int64_t from, int64_t until) {
        for (int64_t i = from; i < until; ++i) into[at[keys.digit(i)]++] = K::pack(keys.x[i], i, keys.flip);
      });
    });
  }

  void sort_buckets() const {
    parallel_for(kBuckets, 8, [&](int64_t first, int64_t last) {
      for (int64_t d = first; d < last; ++d) {
        const int64_t begin = begins_[static_cast<size_t>(d)], m = begins_[static_cast<size_t>(d + 1)] - begin;
        if (m == 0) continue;
        const P* sorted = sort_packed(a_ + begin, b_ + begin, m, K::kShift, keys_.low);
        in_steps(0, m, kStep, [&](int64_t from, int64_t until) {
          for (int64_t i = from; i < until; ++i) to_.put(begin + i, sorted[i]);
        });
      }
    });
  }

  const Sink<T> to_;
  Keys keys_;
  const int64_t n_;
  P *a_, *b_;
  const int64_t chunks_ = std::clamp<int64_t>(n_ / (kLongRow / 2), 1, kMaxChunks), chunk_ = ceil_div(n_, chunks_);
  const std::unique_ptr<Count[]> counts_{new Count[static_cast<size_t>(chunks_ * kBuckets)]};  // [chunk][bucket]
  std::vector<int64_t> begins_ = std::vector<int64_t>(static_cast<size_t>(kBuckets + 1), n_);
};

template <class T>
void sort_rows(T* values, int64_t* indices, const T* x, int64_t rows, int64_t n, bool descending, void* scratch) {
  using P = typename Packing<T>::P;
  const auto flip = static_cast<typename Coding<T>::U>(descending ? ~typename Coding<T>::U(0) : 0);
  const auto sink = [&](int64_t r) {
    return Sink<T>{values ? values + r * n : nullptr, indices + r * n, x + r * n, flip};
  };
  if (n >= kLongRow) {
    P* a = static_cast<P*>(scratch);
    for (int64_t r = 0; r < rows; ++r) LongSort<T>(sink(r), x + r * n, n, a, a + n).run();
    return;
  }
  parallel_for(rows, std::max<int64_t>(1, 8192 / std::max<int64_t>(n, 1)), [&](int64_t begin, int64_t end) {
    P small[512];
    std::unique_ptr<P[]> large(2 * n > 512 ? new P[static_cast<size_t>(2 * n)] : nullptr);
    P* a = large ? large.get() : small;
    for (int64_t r = begin; r < end; ++r) sort_short(sink(r), x + r * n, n, a, a + n);
  });
}

// ---- the k-th element --------------------------------------------------------------------------------------------

template <class T>
typename Packing<T>::P find_kth(const T* x, int64_t n, int64_t k, std::vector<typename Packing<T>::P>& room) {
  using K = Packing<T>;
  constexpr int kTop = std::min(kDigit, K::kBits), kRest = K::kBits - kTop;
  room.clear();
  if (n < 4096) {
    for (int64_t i = 0; i < n; ++i) room.push_back(K::pack(x[i], i, 0));
    if (n <= 64) {
      room.resize(static_cast<size_t>(2 * n));
      return merge_sort(room.data(), room.data() + n, n)[k];
    }
  } else {
    // Counting by the upper digits of the keys leaves only those that share the digits of the k-th.
    std::vector<int64_t> counts(size_t(1) << kTop, 0);
    in_steps(0, n, kStep, [&](int64_t from, int64_t until) {
      for (int64_t i = from; i < until; ++i) ++counts[static_cast<size_t>(Coding<T>::encode(x[i]) >> kRest)];
    });
    size_t bucket = 0;
    while (k >= counts[bucket]) k -= counts[bucket++];
    room.reserve(static_cast<size_t>(counts[bucket]));
    in_steps(0, n, kStep, [&](int64_t from, int64_t until) {
      for (int64_t i = from; i < until; ++i)
        if (static_cast<size_t>(Coding<T>::encode(x[i]) >> kRest) == bucket) room.push_back(K::pack(x[i], i, 0));
    });
  }
  nth_element_in_steps(room.begin(), room.begin() + k, room.end());
  return room[static_cast<size_t>(k)];
}

template <class T>
void kth_rows(T* values, int64_t* indices, const T* x, int64_t rows, int64_t n, int64_t k) {
  using K = Packing<T>;
  parallel_for(rows, std::max<int64_t>(1, 16384 / n), [&](int64_t begin, int64_t end) {
    std::vector<typename K::P> room;
    for (int64_t r = begin; r < end; ++r) {
      indices[r] = K::place(find_kth(x + r * n, n, k, room));
      values[r] = x[r * n + indices[r]];
    }
  });
}

}  // namespace

void sort(void* values, int64_t* indices, const void* x, DType dtype, int64_t rows, int64_t n, bool descending,
          void* scratch) {
  with_elements(dtype, [&]<class T>(T*) {
    sort_rows(static_cast<T*>(values), indices, static_cast<const T*>(x), rows, n, descending, scratch);
  });
}
GENESIS_KERNEL(sort)

void kth(void* values, int64_t* indices, const void* x, DType dtype, int64_t rows, int64_t n, int64_t k) {
  with_elements(dtype,
                [&]<class T>(T*) { kth_rows(static_cast<T*>(values), indices, static_cast<const T*>(x), rows, n, k); });
}
GENESIS_KERNEL(kth)

}  // namespace genesis::kernels::GENESIS_ISA
