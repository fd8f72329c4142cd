// The thread pool.
//
// There is one job at a time. A submitter acquires `busy` (if it cannot, it runs its chunks itself), fills in the job,
// opens the gate, signals workers, and then claims chunks like the workers: those of its own share first, so that the
// same part of a tensor is processed by the same CPU, and hence cache, in consecutive operations, then the remaining
// chunks of other shares. A worker joins by incrementing the gate's count while it is open, and leaves by decrementing
// it; the submitter closes the gate when no chunk is left and waits for the count to reach zero. It therefore never
// waits for a worker that has not woken up yet: a late worker finds the gate closed.
//
// There is no mutex, and all state is constant-initialized and trivially destroyed: nothing can be held across a fork,
// and workers (detached) may outlive static destructors. Start reading at run_chunks().
#include "core/parallel.h"

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <vector>
#ifdef __linux__
#include <sched.h>
#endif

namespace genesis {
namespace {

thread_local bool in_region = false;
thread_local bool is_pool_thread = false;
thread_local bool is_unlocked = false;
thread_local void* unlocked_state = nullptr;  // the state that Unlocked released
thread_local int completing = 0;              // number of scopes that must complete

// ----- number of CPUs -----

int affinity_cpus() {
#ifdef __linux__
  // The call fails with EINVAL until the set is as large as the kernel's.
  for (int cpus = 1024; cpus <= 1 << 18; cpus *= 2) {
    cpu_set_t* set = CPU_ALLOC(cpus);
    if (!set) break;
    const size_t bytes = CPU_ALLOC_SIZE(cpus);
    const bool ok = sched_getaffinity(0, bytes, set) == 0;
    const int count = ok ? CPU_COUNT_S(bytes, set) : 0;
    CPU_FREE(set);
    if (ok) return count;
  }
#endif
  return static_cast<int>(std::thread::hardware_concurrency());
}

// Quota over period, rounded up; 0 if there is no limit or no such file.
int cpus_of_quota(double quota, double period) {
  if (!(quota > 0) || !(period > 0)) return 0;
  const double cpus = quota / period;
  return cpus >= kMaxThreads ? 0 : static_cast<int>(cpus) + (cpus > static_cast<int>(cpus));
}

int limit_in(const std::string& folder) {
  double quota = 0, period = 0;
  std::ifstream v2(folder + "/cpu.max");  // "max 100000" does not parse: no limit
  if (v2 >> quota >> period) return cpus_of_quota(quota, period);
  std::ifstream v1_quota(folder + "/cpu.cfs_quota_us"), v1_period(folder + "/cpu.cfs_period_us");
  if (v1_quota >> quota && v1_period >> period) return cpus_of_quota(quota, period);
  return 0;
}

// Any ancestor may have a limit. In a container, the path is often that of the host and does not exist here; the search
// then ends at the mount, which is the container's own group.
int cgroup_cpus() {
  int least = 0;
  std::ifstream groups("/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first, second - first) + ',';  // ":a,b," or ":,"
    const bool v2 = controllers == ":,";
    if (!v2 && controllers.find(":cpu,") == std::string::npos && controllers.find(",cpu,") == std::string::npos) {
      continue;
    }
    const std::string mount = v2 ? "/sys/fs/cgroup" : "/sys/fs/cgroup/cpu";
    for (std::string path = line.substr(second + 1);;) {
      while (!path.empty() && path.back() == '/') path.pop_back();
      const int limit = limit_in(mount + path);
      if (limit > 0 && (least == 0 || limit < least)) least = limit;
      if (path.empty()) break;
      path.resize(path.rfind('/') == std::string::npos ? 0 : path.rfind('/'));
    }
  }
  return least;
}

int default_num_threads() {
  if (const char* text = std::getenv("GENESIS_NUM_THREADS")) {
    char* end = nullptr;
    const long n = std::strtol(text, &end, 10);
    if (end != text && *end == '\0' && n >= 1 && n <= kMaxThreads) return static_cast<int>(n);
  }
  return std::min(available_cpus(), kMaxThreads);
}

std::atomic<int> num_threads{0};  // 0: not determined yet. Not part of the pool, because it survives a fork.

// ----- the pool -----

constexpr auto kSpin = std::chrono::microseconds(80);

constexpr uint32_t kOpen = 1u << 31;     // gate: workers may join
constexpr uint32_t kWaiting = 1u << 30;  // gate: the submitter sleeps until the last worker leaves
constexpr uint32_t kJoined = kWaiting - 1;

// Consecutive chunks that one thread takes first.
struct alignas(64) Share {
  std::atomic<int64_t> next{0};
  int64_t end = 0;  // written together with the job
};

struct alignas(64) Worker {
  std::atomic<uint32_t> signal{0};  // bit 0: asleep. The other bits count submissions.
  pthread_t thread{};               // this and the next field: used by the submitter, guarded by busy
  int avoided_cpu = -1;             // see keep_off
};

struct Pool {
  alignas(64) std::atomic<bool> busy{false};
  // Written by the submitter while the gate is closed and empty, read by the threads that have joined.
  detail::ChunkFn call = nullptr;
  void* f = nullptr;
  int64_t n = 0, grain = 0, chunks = 0;
  int shares = 0;
  std::exception_ptr* error = nullptr;
  int started = 0;  // number of workers; guarded by busy

  alignas(64) std::atomic<uint32_t> gate{0};
  alignas(64) std::atomic<bool> failed{false};
  std::atomic<bool> spin{false};
  Share share[kMaxThreads];  // the submitter's, followed by the workers'
  Worker workers[kMaxThreads];
};
constinit Pool pool;

void relax() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Returns true as soon as done() does; false after kSpin, or immediately if spinning would only take CPU time from the
// awaited thread.
template <class Done>
bool spin_until(Done done) {
  if (done()) return true;
  if (!pool.spin.load(std::memory_order_relaxed)) return false;
  const auto start = std::chrono::steady_clock::now();
  do {
    for (int i = 0; i < 32; ++i) {
      if (done()) return true;
      relax();
    }
  } while (std::chrono::steady_clock::now() - start < kSpin);
  return false;
}

// The exception being handled ends the job: chunks that have not started are skipped.
void stop_job() {
  if (!pool.failed.exchange(true)) *pool.error = std::current_exception();
  for (int i = 0; i < pool.shares; ++i) pool.share[i].next.store(pool.share[i].end, std::memory_order_relaxed);
}

void run_chunk(int64_t k) {
  const int64_t begin = k * pool.grain;
  try {
    pool.call(pool.f, begin, k + 1 == pool.chunks ? pool.n : begin + pool.grain);
  } catch (...) {
    stop_job();
  }
}

void check_between_chunks() {
  try {
    check_interrupt();
  } catch (...) {
    stop_job();
  }
}

void claim_chunks(int own) {
  for (int i = 0; i < pool.shares; ++i) {
    Share& share = pool.share[(own + i) % pool.shares];
    if (share.next.load(std::memory_order_relaxed) >= share.end) continue;
    for (int64_t k; (k = share.next.fetch_add(1, std::memory_order_relaxed)) < share.end;) {
      run_chunk(k);
      if (own == 0) check_between_chunks();
    }
  }
}

bool join() {
  uint32_t gate = pool.gate.load(std::memory_order_relaxed);
  while (gate & kOpen) {
    if (pool.gate.compare_exchange_weak(gate, gate + 1, std::memory_order_acquire, std::memory_order_relaxed)) {
      return true;
    }
  }
  return false;
}

// Sequentially consistent, like wake_workers: notify_one() checks for waiting threads and must not do so before the
// value has changed.
void leave() {
  if (pool.gate.fetch_sub(1) == (kWaiting | 1)) pool.gate.notify_one();
}

void close_gate() {
  pool.gate.fetch_and(~kOpen, std::memory_order_acq_rel);
  const auto empty = [] { return (pool.gate.load(std::memory_order_acquire) & kJoined) == 0; };
  if (spin_until(empty)) return;
  uint32_t gate = pool.gate.fetch_or(kWaiting, std::memory_order_acq_rel) | kWaiting;
  while (gate & kJoined) {
    pool.gate.wait(gate, std::memory_order_acquire);
    gate = pool.gate.load(std::memory_order_acquire);
  }
  pool.gate.store(0, std::memory_order_relaxed);
}

// The word itself says that the worker sleeps, so waking a worker that spins needs no system call.
uint32_t wait_for_signal(std::atomic<uint32_t>& signal, uint32_t seen) {
  const auto changed = [&] { return signal.load(std::memory_order_acquire) != seen; };
  if (!spin_until(changed)) {
    uint32_t expected = seen;
    if (signal.compare_exchange_strong(expected, seen | 1)) {
      signal.wait(seen | 1, std::memory_order_acquire);
      return signal.fetch_and(~1u) & ~1u;
    }
  }
  return signal.load(std::memory_order_acquire);
}

// Linux tends to wake a thread on the waker's CPU, or where it last ran. There it waits behind the submitter, which
// computes, until the scheduler rebalances: 3 ms instead of 0.03 in a third of the cases measured. We therefore first
// exclude the submitter's CPU for a sleeping worker.
void keep_off([[maybe_unused]] Worker& worker, [[maybe_unused]] int cpu) {
#ifdef __linux__
  if (cpu < 0 || cpu == worker.avoided_cpu || cpu >= CPU_SETSIZE) return;
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return;
  CPU_CLR(cpu, &set);
  if (CPU_COUNT(&set) == 0) return;
  pthread_setaffinity_np(worker.thread, sizeof set, &set);
  worker.avoided_cpu = cpu;
#endif
}

void wake_workers(int64_t count) {
  int cpu = -1;
#ifdef __linux__
  if (pool.spin.load(std::memory_order_relaxed)) cpu = sched_getcpu();  // otherwise every CPU is needed
#endif
  for (int64_t i = 0; i < count; ++i) {
    Worker& worker = pool.workers[i];
    if (worker.signal.load(std::memory_order_relaxed) & 1) keep_off(worker, cpu);
    if (worker.signal.fetch_add(2) & 1) worker.signal.notify_one();
  }
}

void work(int index) {
  Worker& worker = pool.workers[index];
  in_region = is_pool_thread = true;
  for (uint32_t seen = 0;;) {
    seen = wait_for_signal(worker.signal, seen);
    if (join()) {
      claim_chunks(index + 1);
      leave();
    }
  }
}

// In the child of a fork, neither the workers nor the thread that held the pool exist.
void forget_workers() {
  for (int i = 0; i < pool.started; ++i) {
    pool.workers[i].signal = 0;
    pool.workers[i].avoided_cpu = -1;
  }
  pool.started = 0;
  pool.gate = 0;
  pool.failed = false;
  pool.busy = false;
}

void start_workers(int count) {
  static constinit bool handles_fork = false;
  if (!handles_fork) handles_fork = pthread_atfork(nullptr, nullptr, forget_workers) == 0;
  sigset_t all, before;  // signals are handled by the interpreter's threads
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    for (; pool.started < count; ++pool.started) {
      Worker& worker = pool.workers[pool.started];
      std::thread thread(work, pool.started);
      worker.thread = thread.native_handle();
      thread.detach();
    }
  } catch (const std::exception&) {  // no more threads, or no memory for one: continue with the existing ones
    num_threads.store(pool.started + 1, std::memory_order_relaxed);
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void run_serial(int64_t n, int64_t grain, detail::ChunkFn call, void* f) {
  int64_t begin = 0;
  for (; n - begin > grain; begin += grain) {
    call(f, begin, begin + grain);
    if (!is_pool_thread) check_interrupt();
  }
  call(f, begin, n);
}

struct Region {
  Region() { in_region = true; }
  ~Region() { in_region = false; }
};

UnlockHooks unlock_hooks;

// ----- kernels that run without the GIL -----

// The number of Unlocked scopes that released the GIL. It is incremented with the GIL held, and decremented before the
// GIL is acquired again.
std::atomic<int> kernels{0};

struct Postponed {
  void (*f)(void*);
  void* argument;
};
std::vector<Postponed>& postponed() {
  static auto* list = new std::vector<Postponed>;  // never destroyed: threads may outlive static destructors
  return *list;
}
// With the GIL held, so that no kernel starts meanwhile.
void run_postponed() {
  while (!postponed().empty() && kernels.load(std::memory_order_acquire) == 0) {
    const Postponed next = postponed().back();
    postponed().pop_back();
    next.f(next.argument);
  }
}

}  // namespace

namespace detail {

void run_chunks(int64_t n, int64_t grain, ChunkFn call, void* f) {
  if (n <= 0) return;  // only called with a grain below n
  if (grain < 1) grain = 1;
  if (in_region) return run_serial(n, grain, call, f);

  // Outermost, so that the pool is free before this thread waits for the GIL: the thread that holds the GIL may need
  // the pool.
  Unlocked unlocked;
  Region region;
  const int threads = get_num_threads();
  if (threads == 1 || pool.busy.load(std::memory_order_relaxed) ||
      pool.busy.exchange(true, std::memory_order_acquire)) {
    return run_serial(n, grain, call, f);
  }

  std::exception_ptr error;
  pool.call = call;
  pool.f = f;
  pool.n = n;
  pool.grain = grain;
  pool.chunks = (n - 1) / grain + 1;
  pool.error = &error;
  pool.failed.store(false, std::memory_order_relaxed);
  pool.spin.store(threads <= available_cpus(), std::memory_order_relaxed);
  if (pool.started < threads - 1) start_workers(threads - 1);
  const int64_t helpers = std::min<int64_t>(std::min(threads - 1, pool.started), pool.chunks - 1);
  pool.shares = static_cast<int>(helpers) + 1;
  for (int i = 0; i < pool.shares; ++i) {
    pool.share[i].next.store(pool.chunks * i / pool.shares, std::memory_order_relaxed);
    pool.share[i].end = pool.chunks * (i + 1) / pool.shares;
  }

  pool.gate.store(kOpen, std::memory_order_release);
  wake_workers(helpers);
  claim_chunks(0);
  close_gate();
  pool.busy.store(false, std::memory_order_release);
  if (error) std::rethrow_exception(std::move(error));
}

}  // namespace detail

int available_cpus() {
  static constinit std::atomic<int> cached{0};
  int cpus = cached.load(std::memory_order_relaxed);
  if (cpus == 0) {
    cpus = std::max(affinity_cpus(), 1);
    if (const int limit = cgroup_cpus(); limit > 0) cpus = std::min(cpus, limit);
    cached.store(cpus, std::memory_order_relaxed);
  }
  return cpus;
}

int get_num_threads() {
  int n = num_threads.load(std::memory_order_relaxed);
  if (n == 0) {
    int unset = 0;
    n = default_num_threads();
    if (!num_threads.compare_exchange_strong(unset, n)) n = unset;
  }
  return n;
}

void set_num_threads(int n) {
  if (n < 1 || n > kMaxThreads) {
    throw std::invalid_argument("set_num_threads: n must be in 1.." + std::to_string(kMaxThreads) + ", got " +
                                std::to_string(n) + "; use 1 for no parallelism");
  }
  num_threads.store(n, std::memory_order_relaxed);
}

bool in_parallel_region() { return in_region; }

void set_unlock_hooks(UnlockHooks hooks) {
  unlock_hooks = hooks;
  // Threads that were computing do not exist in the child of a fork.
  pthread_atfork(nullptr, nullptr, [] { kernels.store(0, std::memory_order_relaxed); });
}

Unlocked::Unlocked() {
  if (is_pool_thread || is_unlocked || !unlock_hooks.release) return;
  kernels.fetch_add(1, std::memory_order_relaxed);
  state_ = unlock_hooks.release();
  if (!state_) kernels.fetch_sub(1, std::memory_order_relaxed);
  unlocked_state = state_;
  is_unlocked = state_ != nullptr;
}

Unlocked::~Unlocked() {
  if (!state_) return;
  is_unlocked = false;
  kernels.fetch_sub(1, std::memory_order_release);
  unlock_hooks.acquire(unlocked_state);
  unlocked_state = nullptr;
  run_postponed();
}

// For Unlocked, the GIL appears to be released already.
KeepLocked::KeepLocked() : before_(is_unlocked) { is_unlocked = true; }
KeepLocked::~KeepLocked() { is_unlocked = before_; }

void check_interrupt() {
  using Clock = std::chrono::steady_clock;
  constexpr auto kEvery = std::chrono::milliseconds(200);
  static thread_local Clock::time_point next;
  if (is_pool_thread) {  // the submitter checks, and the others follow
    if (pool.failed.load(std::memory_order_relaxed)) throw Interrupted();
    return;
  }
  if (completing > 0 || !unlock_hooks.interrupted) return;
  const bool locked = !is_unlocked;
  if (!locked && !unlocked_state) return;  // the GIL must stay held, or is not ours
  const Clock::time_point now = Clock::now();
  if (now < next) return;
  next = now + kEvery;
  if (!locked) unlock_hooks.acquire(unlocked_state);
  const bool stop = unlock_hooks.interrupted();
  if (!locked) unlocked_state = unlock_hooks.release();
  if (stop) throw Interrupted();
}

bool may_be_interrupted() {
  return !is_pool_thread && completing == 0 && unlock_hooks.interrupted && (!is_unlocked || unlocked_state);
}

void Completes::begin() {
  if (!begun_) ++completing;
  begun_ = true;
}
Completes::~Completes() {
  if (begun_) --completing;
}

void after_kernels(void (*f)(void*), void* argument) {
  if (kernels.load(std::memory_order_acquire) > 0) {
    try {
      return postponed().push_back({f, argument});
    } catch (const std::bad_alloc&) {
      await_kernels();
    }
  }
  f(argument);
}

// A thread that computes acquires the GIL only to start the next kernel. We therefore hold the GIL while waiting, in
// turns: long enough for a kernel to end, and released in between for threads that need it to finish.
void await_kernels() {
  using Clock = std::chrono::steady_clock;
  while (kernels.load(std::memory_order_acquire) > 0) {
    const auto until = Clock::now() + std::chrono::milliseconds(20);
    while (kernels.load(std::memory_order_acquire) > 0 && Clock::now() < until)
      std::this_thread::sleep_for(std::chrono::microseconds(20));
    if (kernels.load(std::memory_order_acquire) == 0) break;
    void* state = unlock_hooks.release();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    if (state) unlock_hooks.acquire(state);
  }
}

}  // namespace genesis
