// SPDX-License-Identifier: Apache-2.0
#include "decant/state/bundle.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <limits>

#include "claim.hpp"
#include "decant/base/error.hpp"
#include "decant/base/text.hpp"
#include "decant/hash/hasher.hpp"
#include "index_file.hpp"
#include "marks.hpp"
#include "sealed.hpp"
#include "staging.hpp"

namespace decant::state {
namespace {

constexpr std::string_view k_record_schema = "decant.part-record/1";
constexpr std::string_view k_roots_schema = "decant.roots/1";
constexpr std::string_view k_selection_schema = "decant.selection/1";
constexpr std::uint64_t k_lock_limit = 512ULL << 20;
constexpr std::uint64_t k_most_entries = 1ULL << 40;

fs::RelPath state_path(std::string_view name) {
  return fs::RelPath::require(name, "state file");
}

const fs::RelPath& state_dir_name() {
  static const fs::RelPath name = state_path(k_state_dir);
  return name;
}
const fs::RelPath& lock_name() {
  static const fs::RelPath name = state_path(model::k_lock_name);
  return name;
}

fs::RelPath index_path(const std::string& part) {
  return state_path(fmt::format("release/{}.index.jsonl.zst", part_file_name(part)));
}
fs::RelPath manifest_path() {
  return state_path(fmt::format("release/{}", model::k_manifest_name));
}
fs::RelPath record_path(const std::string& part) {
  return state_path(fmt::format("parts/{}.json", part_file_name(part)));
}

// Marks are written beside those that the present record names, so that a record is always whole: the old one
// until the new one has taken its place.
enum class Slot { a, b };
std::string marks_name(const std::string& part, Slot slot) {
  return fmt::format("{}.{}.marks", part_file_name(part), slot == Slot::a ? 'a' : 'b');
}
fs::RelPath marks_path(const std::string& part, Slot slot) {
  return state_path("parts/" + marks_name(part, slot));
}
Slot other(Slot slot) {
  return slot == Slot::a ? Slot::b : Slot::a;
}

struct MarksRef {
  Slot slot = Slot::a;
  std::uint64_t entries = 0;
  hash::Digest sha256;
};

Json to_json(const PartRecord& record, const MarksRef& marks, const hash::Digest& lock) {
  return {{"schema", k_record_schema},
          {"lock", lock.hex()},
          {"part", text_to_json(record.part)},
          {"stage", record.stage == Stage::staged ? "staged" : "published"},
          {"index_sha256", record.index_sha256.hex()},
          {"published_before", record.published_before},
          {"staging", text_to_json(record.staging)},
          {"finished", std::max<std::int64_t>(record.finished, 0)},
          {"marks",
           {{"file", marks_name(record.part, marks.slot)},
            {"entries", marks.entries},
            {"sha256", marks.sha256.hex()}}}};
}

std::optional<MarksRef> marks_ref(const Json& record, const std::string& part) {
  const auto found = record.find("marks");
  if (found == record.end() || !found->is_object()) return std::nullopt;
  const auto file = string_at(*found, "file");
  const auto entries = count_at(*found, "entries");
  const auto sha256 = sha256_at(*found, "sha256");
  if (!file || !entries || !sha256 || *entries > k_most_entries) return std::nullopt;
  for (const Slot slot : {Slot::a, Slot::b}) {
    if (*file == marks_name(part, slot)) return MarksRef{slot, *entries, *sha256};
  }
  return std::nullopt;
}

std::optional<std::string> text_at(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found == object.end() ? std::nullopt : text_from_json(*found);
}

// The record without its marks.
std::optional<PartRecord> record_from(const Json& json, const std::string& part, const hash::Digest& lock) {
  const auto stage = string_at(json, "stage");
  const auto index = sha256_at(json, "index_sha256");
  const auto pinned = bool_at(json, "published_before");
  const auto staging = text_at(json, "staging");
  const auto finished = count_at(json, "finished");
  if (sha256_at(json, "lock") != lock || text_at(json, "part") != part) return std::nullopt;
  if (stage != "staged" && stage != "published") return std::nullopt;
  if (!index || !pinned || !staging || !finished) return std::nullopt;
  if (*finished > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) return std::nullopt;
  return PartRecord{.part = part,
                    .stage = stage == "staged" ? Stage::staged : Stage::published,
                    .index_sha256 = *index,
                    .published_before = *pinned,
                    .staging = *staging,
                    .finished = static_cast<std::int64_t>(*finished),
                    .marks = {}};
}

Json words_to_json(const std::vector<std::string>& words) {
  Json list = Json::array();
  for (const std::string& word : words) list.push_back(text_to_json(word));
  return list;
}

std::optional<std::vector<std::string>> words_at(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_array()) return std::nullopt;
  std::vector<std::string> words;
  for (const Json& item : *found) {
    auto word = text_from_json(item);
    if (!word) return std::nullopt;
    words.push_back(*std::move(word));
  }
  return words;
}

// Without links, as far as it is there.
std::string real_path(const std::string& path) {
  std::error_code error;
  const auto real = std::filesystem::weakly_canonical(path, error);
  return error ? path : real.string();
}

bool is_stored_root(std::string_view value) {
  return value == "." || value.starts_with('/') || (!value.empty() && fs::RelPath::parse(value));
}

void refuse_other_than_directory(const std::string& path) {
  struct stat st {};
  if (::stat(path.c_str(), &st) != 0 || S_ISDIR(st.st_mode)) return;
  throw Error{Problem{.kind = ErrorKind::conflict,
                      .thing = "the bundle " + escape_for_display(path),
                      .expected = "a directory",
                      .found = "something else (a file)",
                      .hint = "choose another --bundle, or move away what is there"}};
}

}  // namespace

struct Bundle::Impl {
  fs::DirHandle dir;
  std::unique_ptr<Claim> claim;

  std::optional<fs::DirHandle> state_dir() const { return dir.open_dir_if_there(state_dir_name()); }

  // `.decant`, or a directory in it, made when missing.
  fs::DirHandle make_state_dir() const {
    if (auto there = state_dir()) return *std::move(there);
    fs::DirHandle made = dir.make_dirs(state_dir_name());
    dir.sync();
    return made;
  }

  std::optional<std::string> read(const fs::RelPath& path, std::uint64_t limit = k_small_limit) const {
    const auto state = state_dir();
    return state ? read_if_small(*state, path, limit) : std::nullopt;
  }
  std::optional<Json> read_sealed(const fs::RelPath& path, std::string_view schema) const {
    const auto text = read(path);
    return text ? unseal(*text, schema) : std::nullopt;
  }
  // `content`: text, or what writes it to a sink.
  template <class Content>
  void write(const fs::RelPath& path, const Content& content) const {
    const auto state = make_state_dir();
    if (!path.parent().is_root() && state.make_dir(path.parent(), 0755)) state.sync();
    state.write_file_atomically(path, content);
  }
};

Bundle::Bundle(std::unique_ptr<Impl> impl) : impl_{std::move(impl)} {}
Bundle::~Bundle() = default;
Bundle::Bundle(Bundle&&) noexcept = default;
Bundle& Bundle::operator=(Bundle&&) noexcept = default;

Bundle Bundle::open(const std::string& path, fs::Missing missing) {
  refuse_other_than_directory(path);
  return Bundle{std::make_unique<Impl>(Impl{fs::DirHandle::open(path, missing), nullptr})};
}

std::optional<Bundle> Bundle::open_if_there(const std::string& path) {
  refuse_other_than_directory(path);
  auto dir = fs::DirHandle::open_if_there(path);
  if (!dir) return std::nullopt;
  return Bundle{std::make_unique<Impl>(Impl{*std::move(dir), nullptr})};
}

const fs::DirHandle& Bundle::dir() const {
  return impl_->dir;
}
const std::string& Bundle::path() const {
  return impl_->dir.path();
}

Ownership Bundle::claim(std::string* holder) {
  if (impl_->claim) return Ownership::taken;
  auto claim = Claim::take(impl_->make_state_dir(), holder);
  if (!claim) return Ownership::busy;
  const auto state = impl_->make_state_dir();
  for (const char* name : {"parts", "release"}) {
    if (const auto below = state.open_dir_if_there(state_path(name))) remove_temporary_files(*below);
  }
  impl_->claim = std::move(claim);
  return Ownership::taken;
}

Problem busy_problem(const std::string& path, const std::string& holder) {
  return {.kind = ErrorKind::busy,
          .thing = fmt::format("{}: another process works on this bundle", escape_for_display(path)),
          .expected = "nobody",
          .found = holder,
          .hint = "run the same line again when it is done, or with --wait"};
}

std::optional<Problem> Bundle::obstacle() const {
  try {
    for (const std::string_view name :
         {k_state_dir, std::string_view{".decant/parts"}, std::string_view{".decant/release"}}) {
      const auto facts = impl_->dir.stat(state_path(name));
      if (!facts || facts->type == fs::FileType::dir) continue;
      return Problem{.kind = ErrorKind::conflict,
                     .thing = escape_for_display(impl_->dir.path_of(state_path(name))),
                     .expected = "a directory",
                     .found = "something else, which decant does not follow or replace",
                     .hint = "move it away, then run the same line again"};
    }
    const auto state = impl_->state_dir();
    const auto holder = state ? Claim::look(*state) : std::nullopt;
    if (holder) return busy_problem(path(), *holder);
  } catch (const Error& error) {
    return error.problem();
  }
  return std::nullopt;
}

std::optional<std::string> Bundle::holder() const {
  const auto state = impl_->state_dir();
  return state ? Claim::look(*state) : std::nullopt;
}

bool Bundle::ownership_lost() const {
  return impl_->claim && impl_->claim->lost();
}

bool Bundle::has_leftovers() const {
  const auto state = impl_->state_dir();
  if (!state) return false;
  const auto names = state->list();
  return std::any_of(names.begin(), names.end(), [](const std::string& name) {
    return name == "owner" || name == "staging.json" || name.starts_with(".tmp-");
  });
}

std::optional<model::RestoreLock> Bundle::read_lock() const {
  const auto facts = impl_->dir.stat(lock_name());
  if (!facts) return std::nullopt;
  const std::string path = impl_->dir.path_of(lock_name());
  if (facts->type != fs::FileType::file) {
    throw Error{Problem{.kind = ErrorKind::state,
                        .thing = escape_for_display(path),
                        .expected = "a regular file",
                        .found = "something else (a directory or a symbolic link)",
                        .hint = "move it away, or choose another --bundle"}};
  }
  const auto text = impl_->dir.read_small_file(lock_name(), k_lock_limit);
  if (!text) return std::nullopt;
  return model::parse_lock(*text, path);
}

// Through `.decant`, so that a process killed here leaves no temporary file among the user's own.
void Bundle::write_lock(const model::RestoreLock& lock) {
  static const fs::RelPath k_new = state_path("restore_lock.json.new");
  const std::string text = model::to_json(lock);
  if (impl_->dir.read_small_file(lock_name(), k_lock_limit) == text) return;
  impl_->write(k_new, text);
  impl_->make_state_dir().rename(k_new, impl_->dir, lock_name());
  impl_->dir.sync();
}

std::optional<std::string> Bundle::read_manifest(const hash::Digest& expected) const {
  auto text = impl_->read(manifest_path(), model::k_manifest_max_bytes);
  if (!text || hash::sha256(*text) != expected) return std::nullopt;
  return text;
}

void Bundle::write_manifest(std::string_view bytes) {
  impl_->write(manifest_path(), bytes);
}

std::optional<model::PartIndex> Bundle::read_index(const std::string& part,
                                                   const hash::Digest& expected) const {
  const auto state = impl_->state_dir();
  if (!state) return std::nullopt;
  const auto text = read_compressed_text(*state, index_path(part), expected);
  if (!text) return std::nullopt;
  try {
    return model::parse_index(*text, "index of part " + part);
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::state) return std::nullopt;  // of another version
    throw;
  }
}

hash::Digest Bundle::write_index(const std::string& part, const model::PartIndex& index) {
  hash::Digest digest;
  impl_->write(index_path(part), [&](ByteSink& file) {
    CompressingSink text{file};
    model::to_jsonl(index, text);
    text.finish();
    digest = text.digest();
  });
  return digest;
}

std::optional<PartRecord> Bundle::read_record(const std::string& part, const hash::Digest& lock) const {
  const auto json = impl_->read_sealed(record_path(part), k_record_schema);
  if (!json) return std::nullopt;
  auto record = record_from(*json, part, lock);
  const auto ref = marks_ref(*json, part);
  if (!record || !ref) return std::nullopt;
  const auto bytes = impl_->read(marks_path(part, ref->slot), encoded_marks_size(ref->entries));
  if (!bytes || hash::sha256(*bytes) != ref->sha256) return std::nullopt;
  auto marks = decode_marks(*bytes);
  if (!marks || marks->size() != ref->entries) return std::nullopt;
  record->marks = *std::move(marks);
  return record;
}

void Bundle::write_record(const PartRecord& record, const hash::Digest& lock) {
  const auto present = impl_->read_sealed(record_path(record.part), k_record_schema);
  const auto present_marks = present ? marks_ref(*present, record.part) : std::nullopt;
  const Slot old = present_marks ? present_marks->slot : Slot::b;
  const std::string bytes = encode_marks(record.marks);
  const MarksRef ref{other(old), record.marks.size(), hash::sha256(bytes)};
  impl_->write(marks_path(record.part, ref.slot), bytes);
  impl_->write(record_path(record.part), seal(to_json(record, ref, lock)));
  impl_->make_state_dir().remove_file(marks_path(record.part, old));
}

std::optional<RootMap> Bundle::read_roots() const {
  const auto json = impl_->read_sealed(state_path("roots.json"), k_roots_schema);
  const auto list = json ? json->find("roots") : Json::const_iterator{};
  if (!json || list == json->end() || !list->is_array()) return std::nullopt;
  RootMap roots;
  for (const Json& item : *list) {
    const auto name = item.is_object() ? text_at(item, "name") : std::nullopt;
    const auto where = item.is_object() ? text_at(item, "path") : std::nullopt;
    if (!name || !where || !is_stored_root(*where) || !roots.emplace(*name, *where).second)
      return std::nullopt;
  }
  return roots;
}

void Bundle::write_roots(const RootMap& roots) {
  Json list = Json::array();
  for (const auto& [name, where] : roots) {
    list.push_back({{"name", text_to_json(name)}, {"path", text_to_json(stored_root(where))}});
  }
  impl_->write(state_path("roots.json"), seal({{"schema", k_roots_schema}, {"roots", list}}));
}

std::string Bundle::stored_root(const std::string& where) const {
  if (!where.starts_with('/')) return where;
  const std::string bundle = real_path(path());
  const std::string real = real_path(where);
  if (real == bundle) return ".";
  const std::string prefix = bundle.ends_with('/') ? bundle : bundle + '/';
  return real.starts_with(prefix) ? real.substr(prefix.size()) : where;
}

std::string Bundle::root_path(const std::string& stored) const {
  if (stored == ".") return path();
  return stored.starts_with('/') ? stored : impl_->dir.path_of(fs::RelPath::require(stored, "root"));
}

std::optional<SelectionWords> Bundle::read_selection(const hash::Digest& lock) const {
  const auto json = impl_->read_sealed(state_path("selection.json"), k_selection_schema);
  if (!json || sha256_at(*json, "lock") != lock) return std::nullopt;
  auto only = words_at(*json, "only");
  auto skip = words_at(*json, "skip");
  if (!only || !skip) return std::nullopt;
  return SelectionWords{*std::move(only), *std::move(skip)};
}

void Bundle::write_selection(const SelectionWords& words, const hash::Digest& lock) {
  impl_->write(state_path("selection.json"), seal({{"schema", k_selection_schema},
                                                   {"lock", lock.hex()},
                                                   {"only", words_to_json(words.only)},
                                                   {"skip", words_to_json(words.skip)}}));
}

fs::DirHandle Bundle::open_staging(const std::string& root_name, const fs::DirHandle& root_dir,
                                   const hash::Digest& lock, std::string* relative_name) {
  return state::open_staging(impl_->make_state_dir(), root_name, root_dir, lock, relative_name);
}

std::optional<fs::DirHandle> Bundle::find_staging(const std::string& root_name, const fs::DirHandle& root_dir,
                                                  const hash::Digest& lock,
                                                  std::string* relative_name) const {
  const auto state = impl_->state_dir();
  if (!state) return std::nullopt;
  return state::find_staging(*state, root_name, root_dir, lock, relative_name);
}

void Bundle::remove_staging(const std::string& root_name, const fs::DirHandle& root_dir,
                            const hash::Digest& lock) {
  if (const auto state = impl_->state_dir()) state::remove_staging(*state, root_name, root_dir, lock);
}

}  // namespace decant::state
