// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>

#include "decant/source/mirror.hpp"

namespace decant::source {

// The bytes of a mirror's files.
class MirrorSource final : public Source {
 public:
  MirrorSource(MirrorBase base, net::Transport& transport, Clock& clock)
      : base_{std::move(base)}, transport_{transport}, clock_{clock} {}

  std::string name() const override { return base_.str(); }
  ReadOutcome read(const Object& object, ByteRange range, ByteSink& sink, const Stop& stop) override;

  const MirrorBase& base() const { return base_; }

 private:
  // The names under which an object may lie there.
  enum class Form : std::uint8_t { unknown, by_digest, by_path };
  // How one form answered.
  struct Attempt;
  class Reading;

  net::Url url_of(const Object& object, Form form) const;
  Attempt try_form(const Object& object, ByteRange range, ByteSink& sink, const Stop& stop, Form form);

  const MirrorBase base_;
  net::Transport& transport_;
  Clock& clock_;
  std::atomic<Form> answered_{Form::unknown};  // the form that brought bytes
};

}  // namespace decant::source
