// The thread pool, and how work is split for it.
//
// [0, n) is always split into the same chunks, [k * grain, min(n, (k + 1) * grain)), for any number of threads: a
// reduction with one partial result per chunk is bitwise identical for 1, 2 or 7 threads. A single chunk runs inline,
// without overhead.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <type_traits>

namespace genesis {

/// Most threads the pool will run; set_num_threads refuses more.
inline constexpr int kMaxThreads = 512;

/// CPUs this process may use: affinity mask and cgroup quota (rounded up), at least 1.
int available_cpus();

/// Threads used by a parallel region, the caller included. The default is GENESIS_NUM_THREADS, or
/// else available_cpus().
int get_num_threads();
void set_num_threads(int n);

/// True inside parallel_for's body (if it was cut into several chunks) and on pool threads.
bool in_parallel_region();

// Access to the GIL, which the core does not know. `release` releases it and returns what `acquire` needs to reacquire
// it, or nullptr if this thread did not hold it (`acquire` is then not called). `interrupted`, called with the GIL
// held, returns whether the user requested an interrupt (Ctrl-C).
struct UnlockHooks {
  void* (*release)();
  void (*acquire)(void*);
  bool (*interrupted)() = nullptr;
};
/// Called once, at import, before other threads compute.
void set_unlock_hooks(UnlockHooks hooks);

/// Gives up the interpreter lock for a scope. Nested scopes, pool threads, and a core without an
/// interpreter do nothing. Inside the scope: no tensors, no reference counts, no allocate().
class Unlocked {
 public:
  Unlocked();
  ~Unlocked();
  Unlocked(const Unlocked&) = delete;
  Unlocked& operator=(const Unlocked&) = delete;

 private:
  void* state_ = nullptr;
};

/// Keeps the interpreter lock for a scope: what runs inside is atomic for other Python threads.
class KeepLocked {
 public:
  KeepLocked();
  ~KeepLocked();
  KeepLocked(const KeepLocked&) = delete;
  KeepLocked& operator=(const KeepLocked&) = delete;

 private:
  bool before_;
};

/// Thrown out of an operation that the user interrupted; what it had computed is dropped.
struct Interrupted : std::exception {
  const char* what() const noexcept override { return "interrupted"; }
};

/// Raises Interrupted if the user asked to stop. Cheap: it asks the interpreter five times a second. parallel_for calls
/// it between chunks; other long loops call it themselves.
void check_interrupt();

/// Whether check_interrupt() can raise in this thread and scope.
bool may_be_interrupted();

/// Calls check_interrupt() whenever so much work has been done: for loops whose steps are short.
class Pace {
 public:
  explicit Pace(int64_t every = int64_t{1} << 22) : every_(every), left_(every) {}
  void spend(int64_t work) {
    if ((left_ -= work) > 0) [[likely]]
      return;
    left_ = every_;
    check_interrupt();
  }

 private:
  int64_t every_, left_;
};

/// For a scope that changes data which exists, and so is not left half-way: check_interrupt() does nothing inside.
class Completes {
 public:
  Completes() { begin(); }
  explicit Completes(bool now) {
    if (now) begin();
  }
  ~Completes();
  Completes(const Completes&) = delete;
  Completes& operator=(const Completes&) = delete;
  void begin();

 private:
  bool begun_ = false;
};

/// Runs f(argument) when no kernel computes any more outside the interpreter lock: at once, if none does. Call it, and
/// it calls f, with the lock held.
void after_kernels(void (*f)(void*), void* argument);
/// Waits, with the lock held on return, until no kernel computes outside it.
void await_kernels();

namespace detail {
using ChunkFn = void (*)(void* f, int64_t begin, int64_t end);
void run_chunks(int64_t n, int64_t grain, ChunkFn call, void* f);
}  // namespace detail

/// Calls f(begin, end) for each chunk of [0, n), on any thread and in any order; returns when all
/// are done. Chunks run one after another on this thread if there is one chunk, one thread, an
/// enclosing region, or a pool busy with another submitter. The first exception is rethrown here,
/// and chunks not yet begun are dropped. With more than one chunk the interpreter lock is released.
template <class F>
inline void parallel_for(int64_t n, int64_t grain, F&& f) {
  if (n <= grain) {
    if (n > 0) f(int64_t{0}, n);
    return;
  }
  using Fn = std::remove_reference_t<F>;
  detail::run_chunks(
      n, grain, [](void* fn, int64_t begin, int64_t end) { (*static_cast<Fn*>(fn))(begin, end); },
      const_cast<void*>(static_cast<const void*>(std::addressof(f))));
}

}  // namespace genesis
