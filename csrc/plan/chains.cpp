#include "plan/chains.h"

#include <algorithm>
#include <utility>

#include "kernels/elementwise/arithmetic.h"
#include "kernels/elementwise/chain.h"

namespace genesis::plan {

namespace {

namespace chain = kernels::chain;

// The arithmetic operation of a call, or Load if it is none.
chain::Code code_of(const Call& call) {
  const auto is = [&](const auto& kernel) { return call.fn == reinterpret_cast<void (*)()>(kernel.fn); };
  if (is(kernels::add)) return chain::Add;
  if (is(kernels::sub)) return chain::Sub;
  if (is(kernels::mul)) return chain::Mul;
  if (is(kernels::div)) return chain::Div;
  if (is(kernels::neg)) return chain::Negate;
  return chain::Load;
}
chain::Code reversed(chain::Code code) {
  return code == chain::Sub ? chain::SubReversed : code == chain::Div ? chain::DivReversed : code;
}
uint8_t with(chain::Code code, const TileOperand& o) {
  return static_cast<uint8_t>(code | (o.kind == TileOperand::Single ? chain::kSingle : 0));
}
bool same(const Place& a, const Place& b) { return a.block != kNoBlock && a.block == b.block && a.offset == b.offset; }

}  // namespace

void Chain::add(const Call& call, Instruction code, bool ends) {
  for (const TileOperand& o : code.operands) code.converts |= o.dtype != o.compute;
  code.type = code.operands[0].compute;
  bool arithmetic =
      code_of(call) != chain::Load && !code.converts && (code.type == DType::Float32 || code.type == DType::Float64);
  for (const TileOperand& o : code.operands) arithmetic &= o.dtype == code.type;
  if (!arithmetic || (length_ > 0 && !extend(call, code, ends))) close();
  if (length_ == 0 && !(arithmetic && start(call, code))) return push(std::move(code));
  result_ = code.operands[0];
  place_ = call.loop->operands[0].place;
  if (++length_ == 1) single_ = std::move(code);
}

bool Chain::start(const Call& call, const Instruction& code) {
  const TileOperand& a = code.operands[1];
  chain_ = Instruction();
  chain_.type = code.type;
  const chain::Code op = code_of(call);
  if (op == chain::Negate) {
    if (a.kind == TileOperand::Single) return false;
    chain_.operands = {a, a};
    chain_.chain = {chain::Load, chain::Negate};
    return true;
  }
  const TileOperand& b = code.operands[2];
  const bool swapped = a.kind == TileOperand::Single;
  if (swapped && b.kind == TileOperand::Single) return false;
  chain_.operands = {swapped ? b : a, swapped ? a : b};
  chain_.chain = {chain::Load, with(swapped ? reversed(op) : op, chain_.operands[1])};
  return true;
}

bool Chain::extend(const Call& call, const Instruction& code, bool ends) {
  const auto takes = [&](size_t k) {
    return code.operands[k].kind != TileOperand::Single && same(call.loop->operands[k].place, place_);
  };
  const chain::Code op = code_of(call);
  const bool unary = op == chain::Negate;
  const bool left = takes(1), right = !unary && takes(2);
  if (code.type != chain_.type || !(left || right)) return false;
  if (left && right && op != chain::Add && op != chain::Mul) return false;
  if (!ends || result_.kind != TileOperand::Slot) {
    chain_.operands.push_back(result_);
    chain_.chain.push_back(chain::Store);
  }
  if (left && right) {
    chain_.operands.push_back(result_);
    chain_.chain.push_back(op == chain::Add ? chain::Double : chain::Square);
  } else if (unary) {
    chain_.operands.push_back(result_);
    chain_.chain.push_back(op);
  } else {
    const TileOperand& other = code.operands[left ? 2 : 1];
    chain_.operands.push_back(other);
    chain_.chain.push_back(with(left ? op : reversed(op), other));
  }
  return true;
}

void Chain::push(Instruction code) {
  group_.order.push_back(static_cast<int>(group_.code.size()));
  group_.code.push_back(std::move(code));
}

void Chain::close() {
  if (length_ == 1) push(std::move(single_));
  if (length_ > 1) {
    chain_.operands.push_back(result_);
    chain_.chain.push_back(chain::Store);
    push(std::move(chain_));
  }
  length_ = 0;
}

std::vector<uint32_t> chained_order(const Recording& recording, const std::vector<uint32_t>& calls) {
  const size_t n = calls.size();
  const auto depends = [&](const Call& later, const Call& earlier) {
    for (const Reference& a : later.references)
      for (const Reference& b : earlier.references)
        if (a.place.block == b.place.block && (a.written || b.written)) return true;
    return false;
  };
  // From the last call to the first, so that a value is computed right before it is used.
  std::vector<int> waits(n, 0);  // number of calls that must come after
  std::vector<std::vector<size_t>> needs(n);
  for (size_t j = 0; j < n; ++j)
    for (size_t i = 0; i < j; ++i)
      if (depends(recording.calls[calls[j]], recording.calls[calls[i]])) {
        ++waits[i];
        needs[j].push_back(i);
      }
  const auto arithmetic = [&](size_t i) { return code_of(recording.calls[calls[i]]) != chain::Load; };
  std::vector<uint32_t> order;
  std::vector<char> done(n, 0);
  size_t last = n;
  while (order.size() < n) {
    size_t next = n;
    if (last < n && arithmetic(last))
      for (const size_t i : needs[last])
        if (!done[i] && waits[i] == 0 && arithmetic(i)) next = i;
    for (size_t i = n; i-- > 0 && next == n;)
      if (!done[i] && waits[i] == 0) next = i;
    done[next] = 1;
    order.push_back(calls[next]);
    for (const size_t i : needs[next]) --waits[i];
    last = next;
  }
  std::reverse(order.begin(), order.end());
  return order;
}

}  // namespace genesis::plan
