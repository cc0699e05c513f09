// SPDX-License-Identifier: Apache-2.0
#include "places.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "decant/base/text.hpp"
#include "decant/hash/hasher.hpp"

namespace decant::restore {

namespace {

struct Nowhere final : ByteSink {
  void write(Bytes) override {}
};

struct InMemory final : ByteSink {
  void write(Bytes bytes) override { text += as_text(bytes); }
  std::string text;
};

enum class Answer { has_it, has_not, unreachable };

Answer ask(Prepared& p, source::Source& place, const source::Object& object, std::string& words) {
  Nowhere sink;
  const auto outcome = place.read(object, {0, std::min<std::uint64_t>(object.size, 1)}, sink, p.stop());
  const std::string path = escape_for_display(object.path.str());
  Problem problem = outcome.problem;
  problem.hint.clear();  // it stands in a list, and there are other places
  switch (outcome.end) {
    case source::ReadEnd::complete:
      words = "has " + path;
      return Answer::has_it;
    case source::ReadEnd::range_ignored:
      words = fmt::format("has {}, whole files only", path);
      return Answer::has_it;
    case source::ReadEnd::absent:
      words = "has not " + path;
      return Answer::has_not;
    case source::ReadEnd::wrong_object:
      words = to_line(problem);
      return Answer::has_not;
    case source::ReadEnd::interrupted:
    case source::ReadEnd::failed:
      break;
  }
  words = to_line(problem);
  // Asked to wait is not gone.
  return outcome.server_wait ? Answer::has_not : Answer::unreachable;
}

}  // namespace

source::Source* local_holder(const Prepared& p, const source::Object& object) {
  for (auto* place : p.services.places)
    if (place->is_local() && place->open_in_place(object)) return place;
  return nullptr;
}

Access check_access(Prepared& p, const std::optional<source::Object>& object) {
  if (!object) return {.words = "not needed: nothing to fetch", .problem = {}};
  if (p.request.offline)
    return {.words = "not checked: offline",
            .problem =
                Problem{.kind = ErrorKind::incomplete,
                        .thing = "not everything is in the cache, and --offline forbids to fetch it",
                        .expected = "all parts in the cache",
                        .found = fmt::format("at least {} missing", escape_for_display(object->path.str())),
                        .hint = "run decant fetch where there is a network"}};
  std::string from;
  for (auto* place : p.services.places) {
    if (place->is_local() || object->size == 0) continue;
    std::string words;
    const auto answer = ask(p, *place, *object, words);
    if (answer == Answer::has_it && from.empty()) from = place->name();
    if (answer == Answer::unreachable) p.unreachable.push_back(place);
    p.place_facts.push_back({.place = place->name(), .answer = std::move(words)});
  }
  if (!from.empty()) return {.words = fmt::format("not asked: {} has it", from), .problem = {}};
  try {
    p.repository().probe(*object);
    return {.words = "granted", .problem = {}};
  } catch (const Error& error) {
    return {.words = "refused", .problem = error.problem()};
  }
}

void say_who_is_unreachable(const Prepared& p) {
  for (const auto* place : p.unreachable) {
    const auto facts = std::ranges::find(p.place_facts, place->name(), &plan::PlaceFacts::place);
    p.reporter().message(progress::Level::warning,
                         fmt::format("{} is not used in this run: {}", place->name(),
                                     facts == p.place_facts.end() ? "it does not answer" : facts->answer));
  }
}

std::optional<std::string> read_pinned(Prepared& p, const source::Object& object) {
  if (object.size == 0 || object.size > model::k_manifest_max_bytes) return std::nullopt;
  for (auto* place : p.services.places) {
    if (!place->is_local() && p.request.offline) continue;
    InMemory sink;
    if (place->read(object, {0, object.size}, sink, p.stop()).end != source::ReadEnd::complete) continue;
    hash::Hasher hasher{object.digest.algorithm(), object.size};
    hasher.update(as_bytes(sink.text));
    if (hasher.finish() == object.digest) return std::move(sink.text);
  }
  return std::nullopt;
}

}  // namespace decant::restore
