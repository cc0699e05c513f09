// SPDX-License-Identifier: Apache-2.0
#include "decant/fetch/downloader.hpp"

#include <utility>

#include "download.hpp"
#include "engine.hpp"

namespace decant::fetch {

struct Downloader::Impl {
  explicit Impl(std::shared_ptr<Shared> all) : shared{std::move(all)}, engine{shared} {}
  std::shared_ptr<Shared> shared;
  Engine engine;
};

Downloader::Downloader(std::vector<source::Source*> sources, FetchOptions options, Clock& clock,
                       progress::Reporter& reporter, const Stop& stop)
    : impl_{std::make_unique<Impl>(
          std::make_shared<Shared>(std::move(sources), options, clock, reporter, stop))} {}

Downloader::~Downloader() = default;

std::vector<std::string> Downloader::dropped() const {
  const std::lock_guard lock{impl_->shared->mutex};
  std::vector<std::string> names;
  for (std::size_t i = 0; i < impl_->shared->dropped.size(); ++i) {
    if (impl_->shared->dropped[i]) names.push_back(impl_->shared->names[i]);
  }
  return names;
}

std::shared_ptr<Download> Downloader::start(source::Object object, cache::Partial partial,
                                            std::shared_ptr<progress::PartCounters> counters) {
  Shared& shared = *impl_->shared;
  auto download = std::make_shared<ActiveDownload>(impl_->shared, std::move(object), std::move(partial),
                                                   std::move(counters));
  impl_->engine.start_threads();
  const std::lock_guard lock{shared.mutex};
  shared.all.push_back(download);
  download->begin_locked(shared.started++);
  return download;
}

}  // namespace decant::fetch
