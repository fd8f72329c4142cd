// Tests of csrc/core that need no Python: the thread pool, the allocators, the random numbers.
// `test_core` runs them and says "N passed, M failed"; `test_core bench` prints what things cost.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/allocator.h"
#include "core/parallel.h"
#include "core/pool.h"
#include "core/random.h"

using namespace genesis;

namespace {

int passed = 0, failed = 0;

#define CHECK(condition)                                                  \
  do {                                                                    \
    if (condition) {                                                      \
      ++passed;                                                           \
    } else {                                                              \
      ++failed;                                                           \
      std::printf("%s:%d: failed: %s\n", __FILE__, __LINE__, #condition); \
    }                                                                     \
  } while (0)

template <class Error, class F>
std::string message_of(F f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

// ----- parallel -----

std::set<std::pair<int64_t, int64_t>> chunks_of(int64_t n, int64_t grain) {
  std::mutex mutex;
  std::set<std::pair<int64_t, int64_t>> chunks;
  parallel_for(n, grain, [&](int64_t begin, int64_t end) {
    std::lock_guard lock(mutex);
    if (!chunks.emplace(begin, end).second) std::abort();
  });
  return chunks;
}

float chunked_sum(const std::vector<float>& x, int64_t grain) {
  const int64_t n = static_cast<int64_t>(x.size());
  std::vector<float> partial((n + grain - 1) / grain);
  parallel_for(n, grain, [&](int64_t begin, int64_t end) {
    float sum = 0;
    for (int64_t i = begin; i < end; ++i) sum += x[i];
    partial[begin / grain] = sum;
  });
  float sum = 0;
  for (float p : partial) sum += p;
  return sum;
}

void test_chunks_do_not_depend_on_threads() {
  std::vector<float> x(100003);
  for (size_t i = 0; i < x.size(); ++i) x[i] = uniform_float(philox(1, i)[0]) - 0.4f;
  const int64_t cases[][2] = {{0, 4}, {-3, 4},  {1, 4},     {4, 4},  {5, 4},  {8, 4},  {9, 4},
                              {7, 1}, {7, 100}, {1000, 37}, {10, 0}, {3, -5}, {0, -1}, {-3, -8}};
  for (auto [n, grain] : cases) {
    std::set<std::pair<int64_t, int64_t>> expected;
    const int64_t step = grain < 1 ? 1 : grain;
    for (int64_t b = 0; b < n; b += step) expected.emplace(b, std::min(n, b + step));
    for (int threads : {1, 2, 7}) {
      set_num_threads(threads);
      CHECK(chunks_of(n, grain) == expected);
    }
  }
  set_num_threads(1);
  const float one = chunked_sum(x, 97);
  for (int threads : {2, 7, 3}) {
    set_num_threads(threads);
    for (int repeat = 0; repeat < 50; ++repeat) CHECK(chunked_sum(x, 97) == one);
  }
  // No overflow at the end of the range.
  const int64_t huge = INT64_MAX;
  std::atomic<int64_t> last{0}, calls{0};
  parallel_for(huge, huge / 3, [&](int64_t, int64_t end) {
    ++calls;
    if (end == huge) last = end;
  });
  CHECK(last == huge && calls == 4);
}

void test_number_of_threads() {
  CHECK(available_cpus() >= 1);
  CHECK(message_of<std::invalid_argument>([] { set_num_threads(0); }).find("got 0") != std::string::npos);
  CHECK(!message_of<std::invalid_argument>([] { set_num_threads(kMaxThreads + 1); }).empty());
  for (int threads : {2, 5}) {
    set_num_threads(threads);
    CHECK(get_num_threads() == threads);
    std::atomic<int> inside{0};
    std::set<std::thread::id> ids;
    std::mutex mutex;
    // Each chunk waits for all the others: passes only if that many threads really take part.
    parallel_for(threads, 1, [&](int64_t, int64_t) {
      ++inside;
      while (inside < threads) std::this_thread::yield();
      std::lock_guard lock(mutex);
      ids.insert(std::this_thread::get_id());
    });
    CHECK(static_cast<int>(ids.size()) == threads);
  }
  set_num_threads(2);  // fewer again: those beyond do not take part
  std::set<std::thread::id> ids;
  std::mutex mutex;
  for (int repeat = 0; repeat < 100; ++repeat) {
    parallel_for(16, 1, [&](int64_t, int64_t) {
      std::lock_guard lock(mutex);
      ids.insert(std::this_thread::get_id());
    });
  }
  CHECK(ids.size() <= 2);
}

void test_exceptions_reach_the_caller() {
  for (int threads : {1, 2, 7}) {
    set_num_threads(threads);
    for (int repeat = 0; repeat < 50; ++repeat) {
      const auto run = [](int64_t bad) {
        parallel_for(64, 1, [bad](int64_t begin, int64_t) {
          if (begin == bad || bad < 0) throw std::runtime_error("chunk failed");
        });
      };
      CHECK(message_of<std::runtime_error>([&] { run(repeat); }) == "chunk failed");
      CHECK(message_of<std::runtime_error>([&] { run(-1); }) == "chunk failed");
      CHECK(!in_parallel_region());
      CHECK(chunks_of(64, 1).size() == 64);  // and the pool is whole
    }
  }
}

void test_nested_regions_run_inline() {
  for (int threads : {1, 2, 7}) {
    set_num_threads(threads);
    std::atomic<int64_t> sum{0};
    std::atomic<int> strayed{0};
    parallel_for(20, 1, [&](int64_t outer, int64_t) {
      const auto self = std::this_thread::get_id();
      parallel_for(100, 7, [&](int64_t begin, int64_t end) {
        if (std::this_thread::get_id() != self || !in_parallel_region()) ++strayed;
        sum += outer * (end - begin);
      });
    });
    CHECK(sum == 190 * 100);
    CHECK(strayed == 0);
  }
}

void test_concurrent_submitters() {
  set_num_threads(3);
  std::atomic<int> wrong{0};
  std::vector<std::thread> submitters;
  for (int t = 0; t < 4; ++t) {
    submitters.emplace_back([&] {
      for (int repeat = 0; repeat < 500; ++repeat) {
        std::atomic<int64_t> sum{0};
        parallel_for(100, 9, [&](int64_t begin, int64_t end) { sum += end - begin; });
        if (sum != 100) ++wrong;
      }
    });
  }
  for (auto& thread : submitters) thread.join();
  CHECK(wrong == 0);
}

// Runs f in a forked child and says whether it returned true. A hang is killed by the alarm.
template <class F>
bool in_child(F f) {
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    _exit(f() ? 0 : 1);
  }
  int status = 1;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

void test_fork() {
#ifdef __SANITIZE_THREAD__
  return;  // it does not support threads in a child: "dup thread with used id"
#endif
  const auto meets = [] {  // needs a live second thread, in whichever process
    std::atomic<int> inside{0};
    parallel_for(2, 1, [&](int64_t, int64_t) {
      ++inside;
      while (inside < 2) std::this_thread::yield();
    });
    return get_num_threads() == 2;
  };
  set_num_threads(2);
  CHECK(meets());
  for (int repeat = 0; repeat < 5; ++repeat) {
    CHECK(in_child([&] { return meets() && in_child(meets); }));
    CHECK(meets());
  }
  // While another thread keeps the pool busy.
  std::atomic<bool> stop{false};
  std::thread busy([&] {
    while (!stop) chunks_of(1000, 10);
  });
  for (int repeat = 0; repeat < 20; ++repeat) CHECK(in_child(meets));
  stop = true;
  busy.join();
}

// A stand-in for the interpreter lock that notices misuse.
struct FakeLock {
  static inline std::mutex mutex;
  static inline thread_local bool held = false;
  static inline int releases = 0;

  static void* release() {
    if (!held) return nullptr;
    held = false;
    ++releases;
    mutex.unlock();
    return &mutex;
  }
  static void acquire(void*) {
    mutex.lock();
    if (held) std::abort();
    held = true;
  }
};

void test_interpreter_lock() {
  set_unlock_hooks({FakeLock::release, FakeLock::acquire});
  FakeLock::acquire(nullptr);
  for (int threads : {1, 2}) {
    set_num_threads(threads);
    FakeLock::releases = 0;
    std::atomic<int> held{0};
    parallel_for(8, 8, [&](int64_t, int64_t) { held += FakeLock::held; });
    CHECK(held == 1 && FakeLock::releases == 0);  // one chunk: not worth it
    held = 0;
    parallel_for(8, 1, [&](int64_t, int64_t) {
      held += FakeLock::held;
      parallel_for(8, 1, [&](int64_t, int64_t) { held += FakeLock::held; });
    });
    CHECK(held == 0 && FakeLock::releases == 1 && FakeLock::held);
    CHECK(!message_of<std::runtime_error>([] {
             parallel_for(8, 1, [](int64_t, int64_t) { throw std::runtime_error("x"); });
           }).empty());
    CHECK(FakeLock::releases == 2 && FakeLock::held);
    {
      Unlocked outer;
      CHECK(!FakeLock::held);
      {
        Unlocked inner;
        parallel_for(8, 1, [](int64_t, int64_t) {});
      }
      CHECK(!FakeLock::held);
    }
    CHECK(FakeLock::releases == 3 && FakeLock::held);
  }
  // Several interpreter threads, each computing and then wanting the lock back.
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([] {
      for (int repeat = 0; repeat < 300; ++repeat) {
        FakeLock::acquire(nullptr);
        parallel_for(16, 1, [](int64_t, int64_t) {});
        FakeLock::release();
      }
    });
  }
  FakeLock::release();
  for (auto& thread : threads) thread.join();
  parallel_for(16, 1, [](int64_t, int64_t) {});  // without the lock: nothing to give back
  CHECK(!FakeLock::held);
  set_unlock_hooks({nullptr, nullptr});
}

// ----- memory -----

void test_blocks_are_aligned_and_apart() {
  std::vector<std::pair<char*, size_t>> blocks;
  for (size_t bytes = 0; bytes < 200000; bytes += bytes / 7 + 1) {
    for (int copy = 0; copy < 3; ++copy) {
      char* p = static_cast<char*>(allocate(bytes));
      std::memset(p, static_cast<int>(blocks.size() & 127), bytes);
      blocks.emplace_back(p, bytes);
    }
  }
  bool aligned = true, intact = true;
  std::set<char*> distinct;
  for (size_t i = 0; i < blocks.size(); ++i) {
    auto [p, bytes] = blocks[i];
    distinct.insert(p);
    aligned &= reinterpret_cast<uintptr_t>(p) % kAlignment == 0;
    for (size_t j = 0; j < bytes; ++j) intact &= p[j] == static_cast<char>(i & 127);
  }
  CHECK(aligned);
  CHECK(intact);
  CHECK(distinct.size() == blocks.size());
  for (auto [p, bytes] : blocks) deallocate(p, bytes);
  deallocate(nullptr, 0);
  deallocate(nullptr, 1 << 20);
  CHECK(memory_allocated() == 0);
}

void test_blocks_are_reused() {
  for (size_t bytes : {0ul, 1ul, 64ul, 65ul, 1024ul, 1025ul, 5000ul, 8192ul, 8193ul, 100000ul, 1ul << 20,
                       (4ul << 20) + 1, 33ul << 20}) {
    void* p = allocate(bytes);
    deallocate(p, bytes);
    void* q = allocate(bytes);
    CHECK(p == q || !kCacheMemory);
    deallocate(q, bytes);
  }
}

void test_statistics() {
  empty_cache();
  reset_memory_peak();
  CHECK(memory_allocated() == 0 && memory_peak() == 0);
  void* a = allocate(100);
  void* b = allocate(3000000);
  CHECK(memory_allocated() == 3000100 && memory_peak() == 3000100);
  const size_t cached = memory_cached();
  deallocate(b, 3000000);
  CHECK(memory_allocated() == 100 && memory_peak() == 3000100);
  CHECK(memory_cached() >= cached + 3000000 || !kCacheMemory);
  reset_memory_peak();
  CHECK(memory_peak() == 100);
  empty_cache();
  CHECK(memory_cached() == cached);
  deallocate(a, 100);
  CHECK(memory_allocated() == 0 && memory_peak() == 100);
}

void test_cache_is_bounded() {
  if (!kCacheMemory) return;
  empty_cache();
  const size_t mb = 1 << 20;
  // A training step frees all it used: all of it stays, beyond the 256 MB that always do.
  std::vector<void*> blocks;
  const auto step = [&] {
    for (int i = 0; i < 100; ++i) blocks.push_back(allocate(8 * mb));
    std::set<void*> used(blocks.begin(), blocks.end());
    for (void* p : blocks) deallocate(p, 8 * mb);
    blocks.clear();
    return used;
  };
  const auto first = step();
  CHECK(memory_cached() >= 800 * mb);
  CHECK(step() == first);
  // Sizes that creep up do not pile up: at most 5/4 of the recent peak of 800 MB is kept.
  for (size_t size = 10; size < 400; size += 10) deallocate(allocate(size * mb), size * mb);
  CHECK(memory_cached() <= 1010 * mb);
  // The peak fades when it is long past.
  for (int i = 0; i < 10000; ++i) deallocate(allocate(64 * mb), 64 * mb);
  CHECK(memory_cached() <= 260 * mb);
  empty_cache();
}

void test_spans_are_given_back() {
  if (!kCacheMemory) return;
  empty_cache();
  const size_t before = memory_cached(), sizes[] = {1, 64, 1000, 5000, 8192};
  std::vector<void*> blocks;
  for (int round = 0; round < 3; ++round) {
    for (size_t bytes : sizes)
      for (int i = 0; i < 1000; ++i) {
        blocks.push_back(allocate(bytes));
        std::memset(blocks.back(), 255, bytes);
      }
    std::set<void*> pooled;
    for (int i = 0; i < 5000; ++i) pooled.insert(std::memset(Pool<200>::take(), 255, 200));
    CHECK(pooled.size() == 5000 && std::set<void*>(blocks.begin(), blocks.end()).size() == blocks.size());
    for (void* p : pooled) Pool<200>::give(p);
    // One block of each size is kept, and so are the spans that they are in.
    for (size_t i = 0; i < blocks.size(); ++i)
      if (i % 1000) deallocate(blocks[i], sizes[i / 1000]);
    CHECK(memory_cached() > 13 * 1000 * 1000);
    empty_cache();
    CHECK(memory_cached() <= before + std::size(sizes) * (64 << 10));
    empty_cache();
    for (size_t i = 0; i < blocks.size(); i += 1000) {
      CHECK(static_cast<unsigned char*>(blocks[i])[0] == 255);
      deallocate(blocks[i], sizes[i / 1000]);
    }
    blocks.clear();
  }
  empty_cache();
  CHECK(memory_cached() <= before);
}

void test_impossible_sizes_throw() {
  void* p = allocate(1000);
  const size_t most = size_t{1} << 47;
  for (size_t bytes : {SIZE_MAX, SIZE_MAX - 1, SIZE_MAX - 63, SIZE_MAX / 2, most + 1}) {
    const std::string text = message_of<std::bad_alloc>([&] { allocate(bytes); });
    CHECK(text.find(std::to_string(bytes) + " bytes") != std::string::npos);
    CHECK(text.find("1000 bytes are allocated") != std::string::npos);
  }
  if (kCacheMemory) {  // fits the arithmetic, not the machine
    CHECK(message_of<OutOfMemory>([&] { allocate(most); }).find("out of memory") == 0);
  }
  CHECK(memory_allocated() == 1000);
  deallocate(p, 1000);
}

void test_pool() {
  std::vector<char*> blocks;
  for (int i = 0; i < 30000; ++i) {
    blocks.push_back(static_cast<char*>(Pool<72>::take()));
    std::memset(blocks.back(), i & 127, 72);
  }
  bool intact = true;
  for (size_t i = 0; i < blocks.size(); ++i) {
    intact &= blocks[i][0] == static_cast<char>(i & 127) && blocks[i][71] == blocks[i][0];
    intact &= reinterpret_cast<uintptr_t>(blocks[i]) % 16 == 0;
  }
  CHECK(intact);
  for (char* p : blocks) Pool<72>::give(p);
  void* p = Pool<72>::take();
  CHECK(p == blocks.back() || !kCacheMemory);
  Pool<72>::give(p);
  if (kCacheMemory) {
    void* q = Pool<80>::take();  // the same multiple of 16
    CHECK(q == p);
    Pool<80>::give(q);
    CHECK(Pool<1>::kBytes == 16 && Pool<1024>::kBytes == 1024);
  }
}

// ----- random -----

void test_philox_known_answers() {  // kat_vectors of Random123
  using Words = std::array<uint32_t, 4>;
  CHECK((philox4x32(0, 0, 0, 0, 0, 0) == Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  const uint32_t f = 0xffffffff;
  CHECK((philox4x32(f, f, f, f, f, f) == Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  CHECK((philox4x32(0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344, 0xa4093822, 0x299f31d0) ==
         Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
  CHECK(philox(0x0000000200000001, 0x0000000400000003) == philox4x32(3, 4, 0, 0, 1, 2));
  Philox stream(5, 10);
  CHECK(stream.next() == philox(5, 10));
  CHECK(stream.next() == philox(5, 11));
}

void test_conversions() {
  CHECK(uniform_float(0) == 0 && uniform_float(UINT32_MAX) == 1 - 0x1p-24f);
  CHECK(uniform_double(0) == 0 && uniform_double(UINT64_MAX) == 1 - 0x1p-53);
  CHECK(uniform_open(uint32_t{0}) == 0x1p-32f && uniform_open(UINT32_MAX) == 1);
  CHECK(uniform_open(uint64_t{0}) == 0x1p-53 && uniform_open(UINT64_MAX) == 1);
  const int n = 1 << 18;
  double u = 0, uu = 0, z = 0, zz = 0, zzzz = 0, d = 0, dd = 0;
  for (int i = 0; i < n; ++i) {
    const auto w = philox(42, i);
    const double x = uniform_float(w[0]);
    u += x, uu += x * x;
    for (double y : normal_pair(w[0], w[1])) z += y, zz += y * y, zzzz += y * y * y * y;
    const uint64_t a = join_words(w[0], w[1]), b = join_words(w[2], w[3]);
    for (double y : normal_pair(a, b)) d += y, dd += y * y;
  }
  CHECK(std::abs(u / n - 0.5) < 3e-3 && std::abs(uu / n - 1.0 / 3) < 3e-3);
  CHECK(std::abs(z / n / 2) < 6e-3 && std::abs(zz / n / 2 - 1) < 1e-2);
  CHECK(std::abs(zzzz / n / 2 - 3) < 6e-2);
  CHECK(std::abs(d / n / 2) < 6e-3 && std::abs(dd / n / 2 - 1) < 1e-2);
  const auto far = normal_pair(uint32_t{0}, uint32_t{0});
  CHECK(far[0] > 6.6f && far[0] < 6.7f && far[1] == 0);
  CHECK(normal_pair(UINT32_MAX, uint32_t{77})[0] == 0);
}

void test_generator() {
  Generator g{7};
  CHECK(g.reserve(10) == 0 && g.reserve(1) == 10 && g.offset == 11);
  g.manual_seed(8);
  CHECK(g.seed == 8 && g.reserve(3) == 0);
  CHECK(&default_generator() == &default_generator());
  CHECK(random_seed() != random_seed());
}

// ----- what things cost -----

template <class F>
void report(const char* what, int repeats, F f) {
  double best = 1e30;
  for (int round = 0; round < 7; ++round) {
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < repeats; ++i) f();
    const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - start;
    best = std::min(best, took.count() / repeats);
  }
  std::printf("%-56s %12.1f ns\n", what, best);
}

void bench() {
  volatile int64_t sink = 0;
  const auto tiny = [&](int64_t begin, int64_t end) { sink = sink + end - begin; };
  const auto none = [](int64_t, int64_t) { asm volatile("" ::: "memory"); };
  volatile int64_t n = 100;
  report("parallel_for, one chunk", 1000000, [&] { parallel_for(n, 1000, tiny); });
  set_num_threads(1);
  report("parallel_for, 2 chunks, 1 thread", 1000000, [&] { parallel_for(n, 50, none); });
  set_num_threads(2);
  report("parallel_for, 2 chunks, 2 threads, back to back", 100000, [&] { parallel_for(n, 50, none); });
  report("parallel_for, 16 chunks, 2 threads, back to back", 100000, [&] { parallel_for(n, 7, none); });
  report("both threads really meet, back to back", 20000, [&] {
    std::atomic<int> inside{0};
    parallel_for(2, 1, [&](int64_t, int64_t) {
      ++inside;
      while (inside.load(std::memory_order_relaxed) < 2) {
      }
    });
  });
  std::vector<double> took;
  for (int i = 0; i < 200; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    const auto start = std::chrono::steady_clock::now();
    std::atomic<int> inside{0};
    parallel_for(2, 1, [&](int64_t, int64_t) {
      ++inside;
      while (inside.load(std::memory_order_relaxed) < 2) {
      }
    });
    const auto met = std::chrono::steady_clock::now();
    took.push_back(std::chrono::duration<double, std::nano>(met - start).count());
  }
  std::sort(took.begin(), took.end());
  std::printf("%-56s %12.1f ns (9 in 10 below %.1f)\n", "both threads meet, worker asleep", took[100], took[180]);
  for (size_t bytes : {64ul, 256ul, 4096ul, 65536ul, 4ul << 20, 64ul << 20}) {
    volatile size_t size = bytes;
    const std::string what = "allocate + deallocate " + std::to_string(bytes) + " B";
    report(what.c_str(), 1000000, [&] { deallocate(allocate(size), size); });
  }
  report("first touch of a fresh 4 MB block", 20, [&] {
    char* p = static_cast<char*>(allocate(4 << 20));
    for (size_t i = 0; i < size_t{4} << 20; i += 4096) p[i] = 1;
    deallocate(p, 4 << 20);
    empty_cache();
  });
  report("the same, reused", 20, [&] {
    char* p = static_cast<char*>(allocate(4 << 20));
    for (size_t i = 0; i < size_t{4} << 20; i += 4096) p[i] = 1;
    deallocate(p, 4 << 20);
  });
  report("Pool<128> take + give", 1000000, [&] {
    void* p = Pool<128>::take();
    asm volatile("" ::"r"(p) : "memory");
    Pool<128>::give(p);
  });
  std::vector<float> x(1 << 16);
  report("65536 uniform floats", 200, [&] {
    for (size_t i = 0; i < x.size() / 4; ++i) {
      const auto w = philox(3, i);
      for (int j = 0; j < 4; ++j) x[4 * i + j] = uniform_float(w[j]);
    }
    asm volatile("" ::: "memory");
  });
  report("65536 normal floats", 20, [&] {
    for (size_t i = 0; i < x.size() / 4; ++i) {
      const auto w = philox(3, i);
      const auto a = normal_pair(w[0], w[1]), b = normal_pair(w[2], w[3]);
      x[4 * i] = a[0], x[4 * i + 1] = a[1], x[4 * i + 2] = b[0], x[4 * i + 3] = b[1];
    }
    asm volatile("" ::: "memory");
  });
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && std::strcmp(argv[1], "bench") == 0) {
    bench();
    return 0;
  }
  test_chunks_do_not_depend_on_threads();
  test_number_of_threads();
  test_exceptions_reach_the_caller();
  test_nested_regions_run_inline();
  test_concurrent_submitters();
  test_fork();
  test_interpreter_lock();
  test_blocks_are_aligned_and_apart();
  test_blocks_are_reused();
  test_statistics();
  test_cache_is_bounded();
  test_spans_are_given_back();
  test_impossible_sizes_throw();
  test_pool();
  test_philox_known_answers();
  test_conversions();
  test_generator();
  std::printf("%d passed, %d failed\n", passed, failed);
  return failed ? 1 : 0;
}
