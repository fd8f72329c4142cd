// Long library calls that cannot be interrupted.
#pragma once

#include <functional>

namespace genesis {

/// Runs f() in a thread of its own while this one waits for it and for Ctrl-C. On Ctrl-C it raises Interrupted and
/// leaves the thread to end by itself, so f must own everything that it touches, and must not throw.
void run_abandonable(std::function<void()> f);

}  // namespace genesis
