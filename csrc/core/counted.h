// Intrusive reference counts that Python can take over.
//
// A Counted object starts with its own count. Once a Python object is created for it, the count of the Python object is
// used instead, and the two objects stay together until they are destroyed. Counts change only with the GIL held, so
// they are plain integers; kernels and pool threads use raw views, never these objects.
#pragma once

#include <cstdint>
#include <utility>

namespace genesis {

// Set once by the bindings; how to change the count of a Python object.
inline void (*foreign_retain)(void* object) = nullptr;
inline void (*foreign_release)(void* object) = nullptr;

class Counted {
 public:
  Counted() = default;
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;

  void retain() {
    if (foreign_) foreign_retain(foreign_);
    else ++count_;
  }
  void release() {
    if (foreign_) foreign_release(foreign_);
    else if (--count_ == 0) destroy();
  }

  // The Python object that represents this one, if any.
  void* foreign() const { return foreign_; }
  // `object` takes over the count; returns the number of references that it now represents.
  intptr_t hand_over(void* object) {
    foreign_ = object;
    return std::exchange(count_, 0);
  }
  // Only meaningful without a Python object.
  intptr_t count() const { return count_; }

  virtual void destroy() noexcept = 0;  // called when the last reference is gone

 protected:
  virtual ~Counted() = default;

 private:
  intptr_t count_ = 0;
  void* foreign_ = nullptr;
};

template <class T>
class Ref {
 public:
  Ref() = default;
  explicit Ref(T* object) : object_(object) {
    if (object_) object_->retain();
  }
  Ref(const Ref& other) : Ref(other.object_) {}
  Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  template <class U>
  Ref(Ref<U> other) : object_(other.detach()) {}
  Ref& operator=(const Ref& other) { return *this = Ref(other); }
  Ref& operator=(Ref&& other) noexcept {
    T* old = std::exchange(object_, std::exchange(other.object_, nullptr));
    if (old) old->release();
    return *this;
  }
  ~Ref() {
    if (object_) object_->release();
  }

  T* get() const { return object_; }
  T* operator->() const { return object_; }
  T& operator*() const { return *object_; }
  explicit operator bool() const { return object_ != nullptr; }
  bool operator==(const Ref& other) const { return object_ == other.object_; }
  T* detach() { return std::exchange(object_, nullptr); }  // transfers the reference to the caller
  static Ref adopt(T* object) {                            // takes the caller's reference
    Ref r;
    r.object_ = object;
    return r;
  }

 private:
  T* object_ = nullptr;
};

}  // namespace genesis
