#include "core/abandon.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <thread>

#include "core/parallel.h"

namespace genesis {

namespace {

struct Call {
  std::function<void()> f;
  std::mutex mutex;
  std::condition_variable ended;
  bool done = false, abandoned = false;
};

std::atomic<int> left_behind{0};

// A process that exits unloads libraries in which an abandoned thread may still compute. It therefore exits
// immediately; the interpreter has been finalized by now. Where the status of the exit is not known, it waits instead.
void leave_at_exit() {
#ifdef __GLIBC__
  static const bool registered = on_exit(
                                     [](int status, void*) {
                                       if (left_behind.load() == 0) return;
                                       std::fflush(nullptr);
                                       _exit(status);
                                     },
                                     nullptr) == 0;
#else
  const auto wait = [] {
    while (left_behind.load() != 0) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  };
  const auto forget = [] { left_behind.store(0); };  // the child of a fork does not have these threads
  static const bool registered = std::atexit(wait) == 0 && pthread_atfork(nullptr, nullptr, forget) == 0;
#endif
  static_cast<void>(registered);
}

void run(const std::shared_ptr<Call>& call) {
  call->f();
  call->f = nullptr;  // frees what it owns
  const std::lock_guard lock(call->mutex);
  call->done = true;
  if (call->abandoned) left_behind.fetch_sub(1);
  call->ended.notify_one();
}

}  // namespace

void run_abandonable(std::function<void()> f) {
  const auto call = std::make_shared<Call>();
  call->f = std::move(f);
  leave_at_exit();
  sigset_t all, before;  // signals are for the interpreter's threads
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    std::thread(run, call).detach();
  } catch (const std::exception&) {  // no more threads available: run it here
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return call->f();
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  std::unique_lock lock(call->mutex);
  while (!call->ended.wait_for(lock, std::chrono::milliseconds(50), [&] { return call->done; })) {
    lock.unlock();  // the check acquires the GIL, for which other threads may wait
    try {
      check_interrupt();
    } catch (...) {
      lock.lock();
      if (!call->done) {
        call->abandoned = true;
        left_behind.fetch_add(1);
      }
      throw;
    }
    lock.lock();
  }
}

}  // namespace genesis
