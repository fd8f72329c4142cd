// A vector with inline storage for its first N elements: shapes, strides and gradients of one node rarely need the
// heap.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

namespace genesis {

template <class T, int N>
class InlineVec {
 public:
  InlineVec() = default;
  InlineVec(std::initializer_list<T> values) { assign(values.begin(), values.end()); }
  template <class It>
    requires(!std::is_arithmetic_v<It>)
  InlineVec(It first, It last) {
    assign(first, last);
  }
  explicit InlineVec(int size, const T& value = T()) { resize(size, value); }
  InlineVec(const InlineVec& other) { copy(other); }
  InlineVec(InlineVec&& other) noexcept { take(other); }
  InlineVec& operator=(const InlineVec& other) {
    if (this != &other) {
      clear();
      copy(other);
    }
    return *this;
  }
  InlineVec& operator=(InlineVec&& other) noexcept {
    if (this != &other) {
      reset();
      take(other);
    }
    return *this;
  }
  ~InlineVec() {
    clear();
    if (heap_) [[unlikely]]
      ::operator delete(heap_);
  }

  int size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T* data() { return heap_ ? heap_ : inline_data(); }
  const T* data() const { return heap_ ? heap_ : inline_data(); }
  T* begin() { return data(); }
  T* end() { return data() + size_; }
  const T* begin() const { return data(); }
  const T* end() const { return data() + size_; }
  T& operator[](int i) { return data()[i]; }
  const T& operator[](int i) const { return data()[i]; }
  T& back() { return data()[size_ - 1]; }
  const T& back() const { return data()[size_ - 1]; }

  template <class It>
  void assign(It first, It last) {
    clear();
    for (; first != last; ++first) push_back(*first);
  }
  void clear() {
    if constexpr (!std::is_trivially_destructible_v<T>) std::destroy_n(data(), size_);
    size_ = 0;
  }
  void reserve(int capacity) {
    if (capacity > capacity_) grow(capacity);
  }
  void resize(int size, const T& value = T()) {
    reserve(size);
    T* const at = data();
    if (size < size_) std::destroy_n(at + size, size_ - size);
    else std::uninitialized_fill(at + size_, at + size, value);
    size_ = size;
  }
  template <class U>
  void push_back(U&& value) {
    if (size_ == capacity_) {
      T kept(std::forward<U>(value));  // value may be an element of this vector
      grow(2 * capacity_);
      new (data() + size_++) T(std::move(kept));
      return;
    }
    new (data() + size_++) T(std::forward<U>(value));
  }
  void pop_back() { std::destroy_at(data() + --size_); }
  void insert(int at, const T& value) {
    push_back(value);
    std::rotate(begin() + at, end() - 1, end());
  }
  void erase(int at) {
    std::move(begin() + at + 1, end(), begin() + at);
    pop_back();
  }
  bool operator==(const InlineVec& other) const {
    if (size_ != other.size_) return false;
    const T *x = data(), *y = other.data();
    for (int i = 0; i < size_; ++i)  // std::equal would call memcmp, which takes longer for a shape
      if (!(x[i] == y[i])) return false;
    return true;
  }

 private:
  // A small array of plain values is copied completely: a copy of a fixed size needs neither a loop nor a call.
  static constexpr bool kCopyWhole = std::is_trivially_copyable_v<T> && sizeof(T) * N <= 64;

  T* inline_data() { return std::launder(reinterpret_cast<T*>(space_)); }
  const T* inline_data() const { return std::launder(reinterpret_cast<const T*>(space_)); }
  void grow(int capacity) {
    T* fresh = static_cast<T*>(::operator new(sizeof(T) * static_cast<size_t>(capacity)));
    std::uninitialized_move_n(data(), size_, fresh);
    std::destroy_n(data(), size_);
    ::operator delete(heap_);
    heap_ = fresh;
    capacity_ = capacity;
  }
  void copy(const InlineVec& other) {
    if constexpr (kCopyWhole) {
      if (!heap_ && !other.heap_) [[likely]] {
        std::memcpy(space_, other.space_, sizeof(space_));
        size_ = other.size_;
        return;
      }
    }
    reserve(other.size_);
    std::uninitialized_copy_n(other.data(), other.size_, data());
    size_ = other.size_;
  }
  void take(InlineVec& other) {
    if (other.heap_) {
      heap_ = std::exchange(other.heap_, nullptr);
      capacity_ = std::exchange(other.capacity_, N);
      size_ = std::exchange(other.size_, 0);
      return;
    }
    if constexpr (kCopyWhole) std::memcpy(space_, other.space_, sizeof(space_));
    else std::uninitialized_move_n(other.inline_data(), other.size_, inline_data());
    size_ = other.size_;
    other.clear();
  }
  void reset() {
    clear();
    if (!heap_) [[likely]]
      return;
    ::operator delete(heap_);
    heap_ = nullptr;
    capacity_ = N;
  }

  T* heap_ = nullptr;
  int size_ = 0;
  int capacity_ = N;
  alignas(T) unsigned char space_[sizeof(T) * N];
};

using Dims = InlineVec<int64_t, 6>;

}  // namespace genesis
