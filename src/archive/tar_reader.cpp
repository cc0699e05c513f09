// SPDX-License-Identifier: Apache-2.0
#include "tar_reader.hpp"

#include <archive.h>
#include <archive_entry.h>

#include <array>
#include <clocale>
#include <string>
#include <string_view>

#include "decant/base/c_handle.hpp"
#include "decant/base/text.hpp"
#include "guard.hpp"

namespace decant::archive {
namespace {

using ReadArchive = CHandle<archive_read_free>;

// libarchive hands names out in the thread's character set. In a UTF-8 locale it also recomposes the names of
// PAX headers, silently; in the C locale they are the bytes of the archive, with a warning that we know. So
// for as long as libarchive runs, and in this thread only, the locale is C, whatever the environment says.
class BytesLocale {
 public:
  BytesLocale() : locale_{newlocale(LC_ALL_MASK, "C", nullptr)}, before_{uselocale(locale_)} {}
  ~BytesLocale() {
    uselocale(before_);
    if (locale_ != nullptr) freelocale(locale_);
  }
  BytesLocale(const BytesLocale&) = delete;
  BytesLocale& operator=(const BytesLocale&) = delete;

 private:
  locale_t locale_;
  locale_t before_;
};

std::string_view or_empty(const char* text) {
  return text == nullptr ? std::string_view{} : std::string_view{text};
}

// The warning for a PAX name outside ASCII in the C locale; the names themselves are compared afterwards.
bool is_locale_warning(std::string_view message) {
  static constexpr std::array k_fields{std::string_view{"Pathname"}, std::string_view{"Linkname"},
                                       std::string_view{"Uname"}, std::string_view{"Gname"}};
  for (const auto field : k_fields) {
    if (message == std::string{field} + " can't be converted from UTF-8 to current locale.") return true;
  }
  return false;
}

class TarReader {
 public:
  TarReader(BlockSource& decoded, const Rules& rules, EntrySink& sink, const Stop& stop)
      : decoded_{decoded}, guard_{rules}, sink_{sink}, stop_{stop} {}

  ArchiveSummary run() {
    struct archive* reader = archive_.get();
    check(archive_read_support_format_tar(reader), ARCHIVE_OK);
    check(archive_read_open(reader, this, nullptr, &TarReader::read_callback, nullptr), ARCHIVE_OK);
    for (;;) {
      archive_entry* entry = nullptr;
      const int result = archive_read_next_header(reader, &entry);
      callbacks_.rethrow_if_any();
      if (result == ARCHIVE_EOF) break;
      check(result, ARCHIVE_OK);
      agree(entry);
    }
    drain();
    return summary_;
  }

 private:
  static la_ssize_t read_callback(struct archive*, void* self, const void** buffer) {
    auto& reader = *static_cast<TarReader*>(self);
    return reader.callbacks_.run(la_ssize_t{-1}, [&] { return reader.read(buffer); });
  }

  // libarchive has copied what it still needs of the block before when it asks for the next one.
  la_ssize_t read(const void** buffer) {
    block_.reset();
    stop_.throw_if_requested();
    block_ = decoded_.next();
    if (!block_) {
      at_end_ = true;
      guard_.finish();
      return 0;
    }
    guard_.feed(block_);
    forward_content();
    *buffer = block_->filled().data();
    return static_cast<la_ssize_t>(block_->filled().size());
  }

  // Content that belongs to the entry agreed on last, up to the next entry.
  void forward_content() {
    auto& events = guard_.events();
    while (!events.empty()) {
      if (std::holds_alternative<GuardEntry>(events.front())) return;
      auto event = std::move(events.front());
      events.pop_front();
      if (auto* span = std::get_if<BlockSpan>(&event)) {
        sink_.data(std::move(*span));
      } else {
        sink_.entry_end();
      }
    }
  }

  void agree(archive_entry* theirs) {
    auto& events = guard_.events();
    if (events.empty() || !std::holds_alternative<GuardEntry>(events.front())) {
      disagree(or_empty(archive_entry_pathname(theirs)), "an entry that only libarchive sees");
    }
    const auto ours = std::get<GuardEntry>(std::move(events.front()));
    events.pop_front();
    compare(ours, theirs);
    ++summary_.entries;
    summary_.cleared_bits += ours.cleared_bits ? 1 : 0;
    summary_.external_links += ours.external_link ? 1 : 0;
    summary_.ignored_xattrs += ours.attributes;
    sink_.entry(ours.entry);
    forward_content();
  }

  void compare(const GuardEntry& ours, archive_entry* theirs) {
    const auto& entry = ours.entry;
    const auto differ = [&](std::string_view what) {
      disagree(ours.raw_name, "two readers understand its " + std::string{what} + " differently");
    };
    if (or_empty(archive_entry_pathname(theirs)) != ours.raw_name) differ("name");
    const bool is_hardlink = archive_entry_hardlink(theirs) != nullptr;
    if (is_hardlink != (entry.kind == EntryKind::hardlink)) differ("type");
    const auto type = archive_entry_filetype(theirs);
    if (entry.kind == EntryKind::file && type != AE_IFREG) differ("type");
    if (entry.kind == EntryKind::dir && type != AE_IFDIR) differ("type");
    if (entry.kind == EntryKind::symlink && type != AE_IFLNK) differ("type");
    if (is_hardlink && or_empty(archive_entry_hardlink(theirs)) != ours.raw_link) differ("link target");
    if (entry.kind == EntryKind::symlink && or_empty(archive_entry_symlink(theirs)) != ours.raw_link) {
      differ("link target");
    }
    const auto size = archive_entry_size(theirs);
    if (size < 0 || static_cast<std::uint64_t>(size) != entry.size) differ("size");
    const auto offset = archive_read_header_position(archive_.get());
    if (offset < 0 || static_cast<std::uint64_t>(offset) != entry.tar_offset) differ("place in the archive");
  }

  // libarchive has seen the end; the guard alone reads what follows.
  void drain() {
    if (!guard_.events().empty()) disagree({}, "an entry that libarchive does not see");
    block_.reset();
    while (!at_end_) {
      stop_.throw_if_requested();
      const auto block = decoded_.next();
      if (!block) break;
      guard_.feed(block);
      if (!guard_.events().empty()) disagree({}, "an entry that libarchive does not see");
    }
    guard_.finish();
    summary_.bytes = guard_.bytes();
    summary_.tar_bytes = guard_.offset();
  }

  void check(int result, int wanted) {
    callbacks_.rethrow_if_any();
    if (result == wanted) return;
    const auto message = or_empty(archive_error_string(archive_.get()));
    if (result == ARCHIVE_WARN && is_locale_warning(message)) return;
    refuse_entry(summary_.entries + 1, next_name(), "S8", "libarchive: " + escape_for_display(message));
  }

  std::string next_name() {
    const auto& events = guard_.events();
    if (events.empty()) return {};
    const auto* entry = std::get_if<GuardEntry>(&events.front());
    return entry == nullptr ? std::string{} : entry->raw_name;
  }

  [[noreturn]] void disagree(std::string_view name, std::string_view words) const {
    refuse_entry(summary_.entries + 1, name, "S8", words);
  }

  BlockSource& decoded_;
  Guard guard_;
  EntrySink& sink_;
  const Stop& stop_;
  CallbackGuard callbacks_;
  BlockPtr block_;  // libarchive reads in it until it asks for the next
  bool at_end_ = false;
  ArchiveSummary summary_;
  BytesLocale locale_;  // outlives libarchive's object
  ReadArchive archive_{archive_read_new(), "archive_read_new"};
};

}  // namespace

ArchiveSummary read_tar(BlockSource& decoded, const Rules& rules, EntrySink& sink, const Stop& stop) {
  return TarReader{decoded, rules, sink, stop}.run();
}

}  // namespace decant::archive
