// SPDX-License-Identifier: Apache-2.0
#include "from_places.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>

#include "decant/base/text.hpp"
#include "decant/source/mirror.hpp"
#include "decant/source/store.hpp"
#include "environment.hpp"
#include "modelscope_place.hpp"

namespace decant::cli {

namespace {

constexpr std::string_view k_hf_cache = "hf-cache";

[[noreturn]] void refuse(const std::string& word, std::string found, std::string hint) {
  throw Error{
      Problem{.kind = ErrorKind::usage,
              .thing = fmt::format("--from '{}': no place that decant knows", escape_for_display(word)),
              .expected = "an http(s):// address of a mirror, dir:PATH, a path that begins with /, ./ or "
                          "../, hf-cache, or modelscope:ORG/NAME",
              .found = std::move(found),
              .hint = std::move(hint)}};
}

// nullptr: there is none.
std::unique_ptr<source::Source> open_hf_cache(Session& session) {
  const std::string path = hf_cache_directory(session);
  struct stat facts {};
  std::string missing;
  if (path.empty()) {
    missing = "neither HF_HOME nor HOME is set";
  } else if (::stat(path.c_str(), &facts) != 0) {
    missing = escape_for_display(path) + " is not there";
  } else {
    try {
      return source::open_store(path, std::string{k_hf_cache});
    } catch (const Error& error) {
      missing = error.problem().found;
    }
  }
  session.reporter().message(progress::Level::info, fmt::format("--from hf-cache is left out: {}", missing));
  return nullptr;
}

// One word of --from as a place; nullptr: nothing is there, which was said. Further kinds of places are added
// here.
std::unique_ptr<source::Source> open_place(const std::string& word, const AskedRepo& asked, Session& session,
                                           net::Transport& transport) {
  if (word.starts_with("http://") || word.starts_with("https://"))
    return source::open_mirror(source::parse_mirror_base(word, "--from"), transport, session.clock());
  if (const auto path = directory_in(word)) {
    if (path->empty()) refuse(word, "an empty path", "name a directory: dir:PATH");
    return source::open_store(*path, "dir:" + escape_for_display(*path));
  }
  if (word == k_hf_cache || word == "hf-cache:") return open_hf_cache(session);
  if (hub::is_modelscope(word))
    return hub::open_modelscope(modelscope_place(word, asked.repo, asked.type, session), transport,
                                session.clock(), session.stop());
  refuse(word, escape_for_display(word), "a relative directory is written ./PATH or dir:PATH");
}

}  // namespace

std::optional<std::string> directory_in(const std::string& text) {
  if (text.starts_with("dir:")) return text.substr(4);
  const bool is_path = text.starts_with("/") || text.starts_with("./") || text.starts_with("../") ||
                       text == "." || text == "..";
  return is_path ? std::optional{text} : std::nullopt;
}

std::vector<std::unique_ptr<source::Source>> open_places(const std::vector<std::string>& words,
                                                         const AskedRepo& asked, Session& session,
                                                         net::Transport& transport) {
  std::vector<std::unique_ptr<source::Source>> places;
  for (const auto& word : words) {
    auto place = open_place(word, asked, session, transport);
    const bool is_new =
        place && std::ranges::none_of(places, [&](const auto& one) { return one->name() == place->name(); });
    if (is_new) places.push_back(std::move(place));
  }
  return places;
}

std::string hf_cache_directory(const Session& session) {
  for (const auto* name : {"HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"})
    if (const auto path = session.env(name)) return expand_path(*path, session);
  if (const auto home = session.env("HF_HOME")) return expand_path(*home, session) + "/hub";
  if (const auto cache = session.env("XDG_CACHE_HOME"))
    return expand_path(*cache, session) + "/huggingface/hub";
  if (const auto home = session.env("HOME")) return *home + "/.cache/huggingface/hub";
  return {};
}

}  // namespace decant::cli
