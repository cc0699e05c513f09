// SPDX-License-Identifier: Apache-2.0
#include "object_supply.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "decant/base/text.hpp"

namespace decant::restore {

namespace {

std::string difference(const source::Object& object) {
  return object.digest.algorithm() == hash::Algorithm::sha256 ? "SHA-256 differs" : "git blob id differs";
}

// A place that cannot be read to the end is as good as one with other bytes: there are further places.
class ForgivingReader final : public fetch::ObjectReader {
 public:
  ForgivingReader(std::unique_ptr<fetch::ObjectReader> reader, std::optional<Problem>& problem)
      : reader_{std::move(reader)}, problem_{problem} {}

  BlockPtr next() override {
    if (problem_) return nullptr;
    try {
      return reader_->next();
    } catch (const Error& error) {
      problem_ = error.problem();
      return nullptr;
    }
  }
  hash::Digest digest() override { return problem_ ? hash::Digest{} : reader_->digest(); }

 private:
  std::unique_ptr<fetch::ObjectReader> reader_;
  std::optional<Problem>& problem_;
};

}  // namespace

ObjectSupply::ObjectSupply(Workshop& shop, source::Object object, const fs::DirHandle* private_dir, Keep keep,
                           std::shared_ptr<progress::PartCounters> counters, std::string label, Others others)
    : shop_{shop},
      object_{std::move(object)},
      private_dir_{private_dir},
      keep_{keep},
      counters_{std::move(counters)},
      label_{std::move(label)},
      others_{others} {}

fetch::ObjectReader& ObjectSupply::open() {
  auto& p = shop_.prepared;
  reader_.reset();
  if (!download_) {
    if (keep_ != Keep::only_in_cache && (open_cached() || open_in_place())) {
      read_file();
      return *reader_;
    }
    if (p.request.offline) throw_not_here();
    download_ = shop_.downloader().start(object_, begin(), counters_);
  }
  reader_ = fetch::read_download(download_, object_, shop_.budget, p.stop());
  return *reader_;
}

cache::Partial ObjectSupply::begin() {
  auto& p = shop_.prepared;
  if (keep_ == Keep::privately)
    return cache::Partial::claim_or_create(*private_dir_, object_.digest.hex(), object_.size, object_.digest,
                                           p.stop());
  if (others_ != Others::yield || skip_cached_)
    return p.cache->begin(object_.digest, object_.size, p.stop(),
                          others_ == Others::copy ? cache::Held::copy : cache::Held::leave);
  std::optional<cache::Claim> claim;
  auto partial = p.cache->begin_unless_claimed(object_.digest, object_.size, p.stop(), claim);
  if (!partial) throw ClaimedByOther{std::move(claim)};
  return *std::move(partial);
}

bool ObjectSupply::open_cached() {
  auto& cache = shop_.prepared.cache;
  if (!cache || skip_cached_) return false;
  auto fd = cache->open_final(object_.digest, object_.size);
  if (!fd) return false;
  cache->remove_leftovers(object_.digest, object_.size);
  fd_ = std::move(*fd);
  return true;
}

bool ObjectSupply::open_in_place() {
  for (;;) {
    auto* place = shop_.place_to_read(next_place_, next_place_);
    if (place == nullptr) return false;
    auto fd = place->open_in_place(object_);
    if (!fd) continue;
    fd_ = std::move(*fd);
    read_in_place_ = place;
    return true;
  }
}

void ObjectSupply::read_file() {
  reader_ = fetch::read_file(fd_.get(), object_.path.str(), object_, shop_.budget, counters_,
                             shop_.prepared.stop());
  unreadable_.reset();
  if (read_in_place_ != nullptr && !shop_.is_last(*read_in_place_))
    reader_ = std::make_unique<ForgivingReader>(std::move(reader_), unreadable_);
}

bool ObjectSupply::has_local_places() const {
  return std::ranges::any_of(shop_.prepared.services.places, &source::Source::is_local);
}

void ObjectSupply::throw_not_here() const {
  throw Error{Problem{
      .kind = ErrorKind::incomplete,
      .thing = fmt::format(
          "{} is {}, and --offline forbids to fetch it", escape_for_display(object_.path.str()),
          has_local_places() ? "neither in the cache nor, undamaged, in a local place" : "not in the cache"),
      .expected = fmt::format("{} {}", to_string(object_.digest.algorithm()), object_.digest.hex()),
      .found = "no such file",
      .hint = "run decant fetch where there is a network, then this line again"}};
}

std::vector<report::PlaceBytes> ObjectSupply::from() const {
  if (!download_)
    return {{.place = read_in_place_ != nullptr ? read_in_place_->name() : "cache", .bytes = object_.size}};
  std::vector<report::PlaceBytes> places;
  for (const auto& share : download_->shares())
    places.push_back({.place = share.source, .bytes = share.bytes});
  return places;
}

std::string ObjectSupply::place_words() const {
  if (download_) return download_->source_name().empty() ? "an earlier run" : download_->source_name();
  return read_in_place_ != nullptr ? read_in_place_->name() : "the cache " + shop_.prepared.cache->path();
}

void ObjectSupply::refuse(const hash::Digest& found) {
  Problem problem{.kind = ErrorKind::integrity,
                  .thing = fmt::format("{}: {}", escape_for_display(object_.path.str()), difference(object_)),
                  .expected = object_.digest.hex(),
                  .found = fmt::format("{} from {}", found.hex(), place_words()),
                  .hint = {}};
  if (download_) return refuse_download(std::move(problem), found);
  return read_in_place_ != nullptr ? refuse_in_place(std::move(problem)) : refuse_cached(std::move(problem));
}

void ObjectSupply::refuse_cached(Problem problem) {
  auto& p = shop_.prepared;
  say(p.request.offline ? "the cached file is damaged" : "the cached file is damaged; it is fetched again");
  p.cache->remove_bad_final(object_.digest, fd_.get());
  if (p.request.offline && !has_local_places()) {
    problem.hint = "run decant fetch where there is a network: it brings it anew";
    throw Error{std::move(problem)};
  }
  skip_cached_ = true;
}

void ObjectSupply::refuse_in_place(Problem problem) {
  const auto& place = *std::exchange(read_in_place_, nullptr);
  if (shop_.is_last(place)) {
    problem.hint = "the directory's copy is damaged or of another release; copy it anew";
    throw Error{std::move(problem)};
  }
  if (unreadable_) {
    say(fmt::format("the copy in {} cannot be read ({}); going on without it", place.name(),
                    unreadable_->thing));
  } else {
    say(fmt::format("the copy in {} is damaged or another file; going on without it", place.name()));
  }
  shop_.count_lie(place);
}

void ObjectSupply::refuse_download(Problem problem, const hash::Digest& found) {
  if (download_->refetch_all()) {
    say(difference(object_) + "; it is fetched once more");
    wrong_before_ = found;
    return;
  }
  const bool is_same = wrong_before_ == found;
  reader_.reset();
  download_->release().discard();
  problem.hint = is_same
                     ? "the source serves the same wrong bytes each time: tell the release's authors"
                     : "each try gave other bytes: suspect the line, a proxy, memory or disk; then run again";
  throw Error{std::move(problem)};
}

void ObjectSupply::say(const std::string& what) const {
  shop_.prepared.reporter().message(progress::Level::warning, fmt::format("{}: {}", label_, what));
}

void take_places(report::PartResult& result, const std::vector<report::PlaceBytes>& places) {
  for (const auto& one : places) report::add_place(result.from, one.place, one.bytes);
  result.source.clear();
  for (const auto& one : result.from) result.source += (result.source.empty() ? "" : ", ") + one.place;
}

hash::Digest drain(fetch::ObjectReader& reader) {
  while (reader.next()) {
  }
  return reader.digest();
}

}  // namespace decant::restore
