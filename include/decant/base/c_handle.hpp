// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "decant/base/error.hpp"

namespace decant {

// Owns one C object and is never empty: when the library gave none, the constructor threw.
template <auto Release>
class CHandle;

template <class T, class R, R (*Release)(T*)>
class CHandle<Release> {
 public:
  CHandle(T* object, std::string_view maker) : object_{object} {
    if (object == nullptr) throw Error{ErrorKind::bug, std::string{maker} + " gave no object"};
  }
  T* get() const noexcept { return object_.get(); }

 private:
  struct Free {
    void operator()(T* object) const noexcept { Release(object); }
  };
  std::unique_ptr<T, Free> object_;
};

// No exception may cross C code: keep it, report failure the C way, rethrow after the call returns.
class CallbackGuard {
 public:
  template <class Fn>
  auto run(std::invoke_result_t<Fn&> on_failure, Fn fn) noexcept {
    try {
      return fn();
    } catch (...) {
      if (!caught_) caught_ = std::current_exception();
      return on_failure;
    }
  }
  void rethrow_if_any() {
    if (caught_) std::rethrow_exception(std::exchange(caught_, nullptr));
  }

 private:
  std::exception_ptr caught_;
};

}  // namespace decant
