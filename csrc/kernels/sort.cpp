// Elements travel as one number, Packed: the key in the upper half and the place in the row in the lower. Packed numbers
// are all different, and their order is the stable order of the values.
//
// A long row is cut by the highest digits of its keys into buckets, by all threads together; each bucket is then sorted
// in cache. In cache, few elements are merged from runs of 16, many are sorted digit by digit from the lowest up.
#include "kernels/sort.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/parallel.h"

namespace genesis::kernels::GENESIS_ISA {

namespace {

__extension__ typedef unsigned __int128 uint128_t;

// ---- keys --------------------------------------------------------------------------------------------------------

template <class T>
using UnsignedOf = std::conditional_t<sizeof(T) == 8, uint64_t,
                   std::conditional_t<sizeof(T) == 4, uint32_t, std::conditional_t<sizeof(T) == 2, uint16_t, uint8_t>>>;

// The bits of the largest number and of infinity: what lies between is NaN.
template <class T>
constexpr UnsignedOf<T> kInfinity = 0;
template <>
constexpr uint16_t kInfinity<Half> = 0x7c00;
template <>
constexpr uint16_t kInfinity<BFloat16> = 0x7f80;
template <>
constexpr uint32_t kInfinity<float> = 0x7f800000;
template <>
constexpr uint64_t kInfinity<double> = 0x7ff0000000000000;

template <class T>
struct Coding {
  using U = UnsignedOf<T>;
  static constexpr int kBits = 8 * sizeof(T);
  static constexpr U kSign = static_cast<U>(U(1) << (kBits - 1));
  static constexpr bool kFloating = kInfinity<T> != 0;
  static constexpr U kNaN = static_cast<U>(~U(0));

  [[gnu::always_inline]] static U encode(T x) {
    const U bits = std::bit_cast<U>(x);
    if constexpr (kFloating) {
      const U magnitude = static_cast<U>(bits & ~kSign);
      // A negative number grows as its magnitude falls: all its bits are turned over, else only the sign.
      const U negative = static_cast<U>(-static_cast<U>(bits >> (kBits - 1)));
      U key = static_cast<U>(bits ^ (negative | kSign));
      key = magnitude == 0 ? kSign : key;
      return magnitude > kInfinity<T> ? kNaN : key;
    } else if constexpr (std::is_signed_v<T>) {
      return static_cast<U>(bits ^ kSign);
    } else {
      return bits;
    }
  }
  [[gnu::always_inline]] static T decode(U key) {
    if constexpr (kFloating) {
      const U positive = static_cast<U>(-static_cast<U>(key >> (kBits - 1)));
      return std::bit_cast<T>(static_cast<U>(key ^ (static_cast<U>(~positive) | kSign)));  // kNaN becomes a NaN
    } else if constexpr (std::is_signed_v<T>) {
      return std::bit_cast<T>(static_cast<U>(key ^ kSign));
    } else {
      return std::bit_cast<T>(key);
    }
  }
};

// T's values, packed. `flip` is all ones where the order is descending: equal values then still keep their order.
template <class T>
struct Packing {
  using U = typename Coding<T>::U;
  using P = std::conditional_t<sizeof(T) == 8, uint128_t, uint64_t>;
  static constexpr int kShift = sizeof(P) * 4;  // where the key begins
  static constexpr int kBits = Coding<T>::kBits;

  [[gnu::always_inline]] static P pack(T x, int64_t place, U flip) {
    return static_cast<P>(static_cast<U>(Coding<T>::encode(x) ^ flip)) << kShift | static_cast<P>(static_cast<uint64_t>(place));
  }
  [[gnu::always_inline]] static U key(P p) { return static_cast<U>(p >> kShift); }
  [[gnu::always_inline]] static int64_t place(P p) {
    if constexpr (sizeof(P) == 8) return static_cast<int64_t>(static_cast<uint32_t>(p));
    else return static_cast<int64_t>(p);
  }
  [[gnu::always_inline]] static T value(P p, U flip) { return Coding<T>::decode(static_cast<U>(key(p) ^ flip)); }
};

// Where the results of a row go.
template <class T>
struct Sink {
  T* values;
  int64_t* indices;
  const T* x;
  typename Coding<T>::U flip;

  [[gnu::always_inline]] void put(int64_t at, typename Packing<T>::P p) const {
    if (values) values[at] = Packing<T>::value(p, flip);
    indices[at] = Packing<T>::place(p);
  }
  // Keys make +0 of -0: takes back what stood there. The results before `n` are in order.
  void restore_zeros(int64_t n) const {
    if constexpr (Coding<T>::kFloating) {
      if (!values) return;
      const auto key = [&](const T& v) { return static_cast<typename Coding<T>::U>(Coding<T>::encode(v) ^ flip); };
      const auto zero = static_cast<typename Coding<T>::U>(Coding<T>::kSign ^ flip);
      T* at = std::partition_point(values, values + n, [&](const T& v) { return key(v) < zero; });
      for (; at < values + n && key(*at) == zero; ++at) *at = x[indices[at - values]];
    }
  }
};

// ---- in cache ----------------------------------------------------------------------------------------------------

constexpr int64_t kRun = 16;

// Sorts up to N elements by counting, for each, how many come before it: no branches, and vectors of counters.
template <int N>
void sort_few(const uint64_t* a, uint64_t* out, int64_t n) {
  uint64_t v[N], rank[N] = {}, sorted[N + 1];
  for (int i = 0; i < N; ++i) v[i] = i < n ? a[i] : UINT64_MAX;
  for (int j = 0; j < N; ++j)
    for (int i = 0; i < N; ++i) rank[i] += v[j] < v[i];
  for (int i = 0; i < N; ++i) sorted[rank[i]] = v[i];  // what is beyond n all goes to sorted[n]
  for (int64_t i = 0; i < n; ++i) out[i] = sorted[i];
}
inline void sort_run(const uint64_t* a, uint64_t* out, int64_t n) {
  if (n <= 4) sort_few<4>(a, out, n);
  else if (n <= 8) sort_few<8>(a, out, n);
  else sort_few<kRun>(a, out, n);
}
inline void sort_run(const uint128_t* a, uint128_t* out, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    const uint128_t p = a[i];
    int64_t j = i;
    for (; j > 0 && out[j - 1] > p; --j) out[j] = out[j - 1];
    out[j] = p;
  }
}

// Merges a[0, m) and a[m, n) into out. Halves of one length are merged from both ends at once: neither end can run out
// of elements, and the two do not wait for each other.
template <class P>
void merge(const P* a, int64_t m, int64_t n, P* out) {
  if (a[m - 1] < a[m]) {
    std::memcpy(out, a, static_cast<size_t>(n) * sizeof(P));
    return;
  }
  if (n != 2 * m) {
    std::merge(a, a + m, a + m, a + n, out);
    return;
  }
  const P *l = a, *r = a + m, *le = a + m - 1, *re = a + n - 1;
  P *front = out, *back = out + n - 1;
  for (int64_t i = 0; i < m; ++i) {
    const bool right = *r < *l;
    *front++ = right ? *r : *l;
    r += right;
    l += !right;
    const bool left = *re < *le;
    *back-- = left ? *le : *re;
    le -= left;
    re -= !left;
  }
}

// Sorts a, with as much room in b; the result is where it returns.
template <class P>
P* merge_sort(P* a, P* b, int64_t n) {
  for (int64_t i = 0; i < n; i += kRun) sort_run(a + i, b + i, std::min(kRun, n - i));
  std::swap(a, b);
  for (int64_t width = kRun; width < n; width *= 2) {
    for (int64_t i = 0; i < n; i += 2 * width) {
      if (i + width < n) merge(a + i, width, std::min(2 * width, n - i), b + i);
      else std::memcpy(b + i, a + i, static_cast<size_t>(n - i) * sizeof(P));
    }
    std::swap(a, b);
  }
  return a;
}

// The same by digits, from the lowest up. `bits` of each element count, from `shift` on.
template <int Digit, class P>
P* radix_sort(P* a, P* b, int64_t n, int shift, int bits) {
  constexpr uint32_t kMask = (1u << Digit) - 1;
  constexpr int kMost = (sizeof(P) * 4 + Digit - 1) / Digit;
  const int digits = (bits + Digit - 1) / Digit;
  uint32_t counts[kMost][kMask + 1];
  std::memset(counts, 0, sizeof(counts[0]) * static_cast<size_t>(digits));
  const uint64_t used = bits == 64 ? ~uint64_t(0) : (uint64_t(1) << bits) - 1;
  for (int64_t i = 0; i < n; ++i) {
    uint64_t key = static_cast<uint64_t>(a[i] >> shift) & used;
    for (int d = 0; d < digits; ++d, key >>= Digit) ++counts[d][key & kMask];
  }
  for (int d = 0; d < digits; ++d) {
    uint32_t* count = counts[d];
    const int at = shift + Digit * d;
    const uint32_t mask = static_cast<uint32_t>(used >> (Digit * d)) & kMask;
    if (count[static_cast<uint32_t>(a[0] >> at) & mask] == static_cast<uint32_t>(n)) continue;  // the same for all
    uint32_t sum = 0;
    for (uint32_t v = 0; v <= mask; ++v) sum += std::exchange(count[v], sum);
    for (int64_t i = 0; i < n; ++i) {
      const P p = a[i];
      b[count[static_cast<uint32_t>(p >> at) & mask]++] = p;
    }
    std::swap(a, b);
  }
  return a;
}

// Elements that agree in the bits above `shift + bits` (and whose places rise) in order; `n` below 2^32.
template <class P>
P* sort_packed(P* a, P* b, int64_t n, int shift, int bits) {
  if (bits == 0) return a;
  // A pass over the digits costs about as much as a level of merging, plus its counters.
  if (n <= 48 * ((bits + 7) / 8)) return merge_sort(a, b, n);
  return n < 4096 ? radix_sort<8>(a, b, n, shift, bits) : radix_sort<11>(a, b, n, shift, bits);
}

template <class T>
void sort_short(const Sink<T>& to, const T* x, int64_t n, typename Packing<T>::P* a, typename Packing<T>::P* b) {
  using K = Packing<T>;
  bool zero = false;
  for (int64_t i = 0; i < n; ++i) {
    a[i] = K::pack(x[i], i, to.flip);
    if constexpr (Coding<T>::kFloating) zero |= std::bit_cast<typename K::U>(x[i]) == Coding<T>::kSign;
  }
  const auto* sorted = sort_packed(a, b, n, K::kShift, K::kBits);
  for (int64_t i = 0; i < n; ++i) to.put(i, sorted[i]);
  if (zero) to.restore_zeros(n);
}

// ---- long rows ---------------------------------------------------------------------------------------------------

constexpr int kDigit = 11;
constexpr int64_t kBuckets = int64_t(1) << kDigit;
constexpr int64_t kMaxChunks = 16;

// Cut by the highest digit that differs into buckets, which are then sorted one by one, in cache.
template <class T>
void sort_long(const Sink<T>& to, const T* x, int64_t n, typename Packing<T>::P* a, typename Packing<T>::P* b) {
  using K = Packing<T>;
  using P = typename K::P;
  using U = typename K::U;
  using Count = std::conditional_t<sizeof(P) == 8, uint32_t, uint64_t>;
  const int64_t chunks = std::clamp<int64_t>(n / (kLongRow / 2), 1, kMaxChunks), chunk = (n + chunks - 1) / chunks;
  const std::unique_ptr<Count[]> counts(new Count[static_cast<size_t>(chunks * kBuckets)]);  // [chunk][bucket]
  const auto key_of = [&](int64_t i) { return static_cast<U>(Coding<T>::encode(x[i]) ^ to.flip); };
  int low = std::max(K::kBits - kDigit, 0);  // where the digit begins
  const auto digit = [&](U key) { return static_cast<size_t>(key >> low) & static_cast<size_t>(kBuckets - 1); };
  const auto count = [&](Count* into, int64_t begin, int64_t end) {
    std::memset(into, 0, kBuckets * sizeof(Count));
    for (int64_t i = begin; i < end; ++i) ++into[digit(key_of(i))];
  };

  // Which bits differ at all, and whether there is a -0; with it, the counts that are right if the topmost do.
  struct Seen {
    U any = 0, all = static_cast<U>(~U(0));
    bool negative_zero = false;
  };
  std::vector<Seen> seen(static_cast<size_t>(chunks));
  parallel_for(n, chunk, [&](int64_t begin, int64_t end) {
    Seen here;
    for (int64_t i = begin; i < end; ++i) {
      const U key = key_of(i);
      here.any = static_cast<U>(here.any | key);
      here.all = static_cast<U>(here.all & key);
      if constexpr (Coding<T>::kFloating) here.negative_zero |= std::bit_cast<U>(x[i]) == Coding<T>::kSign;
    }
    seen[static_cast<size_t>(begin / chunk)] = here;
    count(counts.get() + begin / chunk * kBuckets, begin, end);
  });
  Seen whole;
  for (const Seen& s : seen) {
    whole.any = static_cast<U>(whole.any | s.any);
    whole.all = static_cast<U>(whole.all & s.all);
    whole.negative_zero |= s.negative_zero;
  }
  const int top = std::bit_width(static_cast<U>(whole.any ^ whole.all));  // bits from here on are the same for all
  if (low > 0 && top < K::kBits - 4) {
    low = std::max(top - kDigit, 0);
    parallel_for(n, chunk, [&](int64_t begin, int64_t end) { count(counts.get() + begin / chunk * kBuckets, begin, end); });
  }

  std::vector<int64_t> begins(static_cast<size_t>(kBuckets + 1), n);
  Count sum = 0;
  for (int64_t d = 0; d < kBuckets; ++d) {
    begins[static_cast<size_t>(d)] = static_cast<int64_t>(sum);
    for (int64_t c = 0; c < chunks; ++c) sum += std::exchange(counts[static_cast<size_t>(c * kBuckets + d)], sum);
  }
  parallel_for(n, chunk, [&](int64_t begin, int64_t end) {
    Count* at = counts.get() + begin / chunk * kBuckets;
    for (int64_t i = begin; i < end; ++i) a[at[digit(key_of(i))]++] = K::pack(x[i], i, to.flip);
  });
  parallel_for(kBuckets, 8, [&](int64_t first, int64_t last) {
    for (int64_t d = first; d < last; ++d) {
      const int64_t begin = begins[static_cast<size_t>(d)], m = begins[static_cast<size_t>(d + 1)] - begin;
      if (m == 0) continue;
      const P* sorted = sort_packed(a + begin, b + begin, m, K::kShift, low);
      for (int64_t i = 0; i < m; ++i) to.put(begin + i, sorted[i]);
    }
  });
  if (whole.negative_zero) to.restore_zeros(n);
}

template <class T>
void sort_rows(T* values, int64_t* indices, const T* x, int64_t rows, int64_t n, bool descending, void* scratch) {
  using P = typename Packing<T>::P;
  const auto flip = static_cast<typename Coding<T>::U>(descending ? ~typename Coding<T>::U(0) : 0);
  const auto sink = [&](int64_t r) {
    return Sink<T>{values ? values + r * n : nullptr, indices + r * n, x + r * n, flip};
  };
  if (n >= kLongRow) {
    P* a = static_cast<P*>(scratch);
    for (int64_t r = 0; r < rows; ++r) sort_long(sink(r), x + r * n, n, a, a + n);
    return;
  }
  parallel_for(rows, std::max<int64_t>(1, 8192 / std::max<int64_t>(n, 1)), [&](int64_t begin, int64_t end) {
    P small[512];
    std::unique_ptr<P[]> large(2 * n > 512 ? new P[static_cast<size_t>(2 * n)] : nullptr);
    P* a = large ? large.get() : small;
    for (int64_t r = begin; r < end; ++r) sort_short(sink(r), x + r * n, n, a, a + n);
  });
}

// ---- the first k -------------------------------------------------------------------------------------------------

// The first k, in no order, of n elements of which the first stands at `place`. Elements are looked at in blocks: once
// k have been found, few blocks hold one that belongs before the last of them.
template <class T>
class Best {
 public:
  using K = Packing<T>;
  using P = typename K::P;
  using U = typename K::U;

  Best(int64_t k, U flip) : k_(k), flip_(flip) { found_.reserve(static_cast<size_t>(4 * k + 32)); }

  void clear() {
    found_.clear();
    full_ = false;
  }
  void look(const T* x, int64_t place, int64_t n) {
    if (k_ <= 32 && n >= 256) guess<64>(x, n);
    else if (k_ <= 256 && n >= 8192) guess<512>(x, n);
    constexpr int64_t kWide = 64, kNarrow = 16;
    int64_t i = 0;
    while (i < n) {
      if (full_ && n - i >= kWide && !any_before<kWide>(x + i)) {
        i += kWide;
        continue;
      }
      for (const int64_t end = std::min(n, i + kWide); i < end;) {
        if (full_ && n - i >= kNarrow && !any_before<kNarrow>(x + i)) {
          i += kNarrow;
          continue;
        }
        for (const int64_t stop = std::min(n, i + kNarrow); i < stop; ++i) {
          const P p = K::pack(x[i], place + i, flip_);
          if (full_ && K::key(p) >= limit_) continue;  // an equal one further back comes later
          found_.push_back(p);
          if (found_.size() == found_.capacity()) shrink();
        }
      }
    }
  }
  std::vector<P>& take() {
    shrink();
    return found_;
  }

 private:
  // The first of each of N parts of x; k of them come no later than the k-th of those, so that the first k of all do.
  template <int64_t N>
  void guess(const T* x, int64_t n) {
    U first[N];
    std::fill_n(first, N, static_cast<U>(~U(0)));
    for (int64_t i = 0; i + N <= n; i += N)
      for (int64_t j = 0; j < N; ++j) first[j] = std::min(first[j], static_cast<U>(Coding<T>::encode(x[i + j]) ^ flip_));
    std::nth_element(first, first + (k_ - 1), first + N);
    limit_ = static_cast<U>(first[k_ - 1] + 1);
    full_ = limit_ != 0;
  }
  template <int64_t N>
  bool any_before(const T* x) const {
    U any = 0;
    for (int64_t i = 0; i < N; ++i)
      any = static_cast<U>(any | static_cast<U>(static_cast<U>(Coding<T>::encode(x[i]) ^ flip_) < limit_));
    return any != 0;
  }
  void shrink() {
    if (static_cast<int64_t>(found_.size()) <= k_) return;
    std::nth_element(found_.begin(), found_.begin() + (k_ - 1), found_.end());
    limit_ = K::key(found_[static_cast<size_t>(k_ - 1)]);
    found_.resize(static_cast<size_t>(k_));
    full_ = true;
  }

  int64_t k_;
  U flip_, limit_ = 0;
  bool full_ = false;
  std::vector<P> found_;
};

template <class T>
void top_rows(T* values, int64_t* indices, const T* x, int64_t rows, int64_t n, int64_t k, bool descending) {
  using P = typename Packing<T>::P;
  const auto flip = static_cast<typename Coding<T>::U>(descending ? ~typename Coding<T>::U(0) : 0);
  const auto write = [&](int64_t r, const P* sorted) {
    const Sink<T> to{values + r * k, indices + r * k, x + r * n, flip};
    for (int64_t i = 0; i < k; ++i) to.put(i, sorted[i]);
    to.restore_zeros(k);
  };
  if (n < kLongRow && (n <= 64 || (k <= 32 ? 8 : 16) * k >= n)) {  // looking for them takes longer than sorting all
    parallel_for(rows, std::max<int64_t>(1, 8192 / n), [&](int64_t begin, int64_t end) {
      std::vector<P> all(static_cast<size_t>(n)), room(all);
      for (int64_t r = begin; r < end; ++r) {
        for (int64_t i = 0; i < n; ++i) all[static_cast<size_t>(i)] = Packing<T>::pack(x[r * n + i], i, flip);
        write(r, sort_packed(all.data(), room.data(), n, Packing<T>::kShift, Packing<T>::kBits));
      }
    });
    return;
  }
  // What was looked for stands in no order, not even among equals: only merging sorts that.
  const auto finish = [&](int64_t r, std::vector<P>& best, std::vector<P>& room) {
    room.resize(best.size());
    write(r, merge_sort(best.data(), room.data(), static_cast<int64_t>(best.size())));
  };
  const int64_t piece = std::max<int64_t>(kLongRow, 16 * k);
  if (n <= piece) {
    parallel_for(rows, std::max<int64_t>(1, 16384 / n), [&](int64_t begin, int64_t end) {
      Best<T> best(k, flip);
      std::vector<P> room;
      for (int64_t r = begin; r < end; ++r) {
        best.clear();
        best.look(x + r * n, 0, n);
        finish(r, best.take(), room);
      }
    });
    return;
  }
  const int64_t pieces = (n + piece - 1) / piece;
  std::vector<std::vector<P>> found(static_cast<size_t>(pieces));
  for (int64_t r = 0; r < rows; ++r) {
    parallel_for(pieces, 1, [&](int64_t begin, int64_t end) {
      for (int64_t c = begin; c < end; ++c) {
        Best<T> best(k, flip);
        best.look(x + r * n + c * piece, c * piece, std::min(piece, n - c * piece));
        found[static_cast<size_t>(c)] = std::move(best.take());
      }
    });
    for (size_t c = 1; c < found.size(); ++c) found[0].insert(found[0].end(), found[c].begin(), found[c].end());
    std::vector<P> room;
    finish(r, found[0], room);
  }
}

// ---- the k-th ----------------------------------------------------------------------------------------------------

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
    // By the upper digits of the keys, only those with the digits of the k-th are of interest.
    std::vector<int64_t> counts(size_t(1) << kTop, 0);
    for (int64_t i = 0; i < n; ++i) ++counts[static_cast<size_t>(Coding<T>::encode(x[i]) >> kRest)];
    size_t bucket = 0;
    while (k >= counts[bucket]) k -= counts[bucket++];
    room.reserve(static_cast<size_t>(counts[bucket]));
    for (int64_t i = 0; i < n; ++i)
      if (static_cast<size_t>(Coding<T>::encode(x[i]) >> kRest) == bucket) room.push_back(K::pack(x[i], i, 0));
  }
  std::nth_element(room.begin(), room.begin() + k, room.end());
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

// Calls f with a null pointer of the element type.
template <class F>
void with_elements(DType t, F&& f) {
  switch (t) {
    case DType::Bool: case DType::UInt8: return f(static_cast<uint8_t*>(nullptr));
    case DType::Int8: return f(static_cast<int8_t*>(nullptr));
    case DType::Int16: return f(static_cast<int16_t*>(nullptr));
    case DType::Int32: return f(static_cast<int32_t*>(nullptr));
    case DType::Int64: return f(static_cast<int64_t*>(nullptr));
    case DType::Float16: return f(static_cast<Half*>(nullptr));
    case DType::BFloat16: return f(static_cast<BFloat16*>(nullptr));
    case DType::Float32: return f(static_cast<float*>(nullptr));
    case DType::Float64: return f(static_cast<double*>(nullptr));
  }
}

}  // namespace

void sort(void* values, int64_t* indices, const void* x, DType dtype, int64_t rows, int64_t n, bool descending,
          void* scratch) {
  with_elements(dtype, [&]<class T>(T*) {
    sort_rows(static_cast<T*>(values), indices, static_cast<const T*>(x), rows, n, descending, scratch);
  });
}
GENESIS_KERNEL(sort)

void top(void* values, int64_t* indices, const void* x, DType dtype, int64_t rows, int64_t n, int64_t k, bool descending) {
  with_elements(dtype, [&]<class T>(T*) {
    top_rows(static_cast<T*>(values), indices, static_cast<const T*>(x), rows, n, k, descending);
  });
}
GENESIS_KERNEL(top)

void kth(void* values, int64_t* indices, const void* x, DType dtype, int64_t rows, int64_t n, int64_t k) {
  with_elements(dtype, [&]<class T>(T*) {
    kth_rows(static_cast<T*>(values), indices, static_cast<const T*>(x), rows, n, k);
  });
}
GENESIS_KERNEL(kth)

}  // namespace genesis::kernels::GENESIS_ISA
