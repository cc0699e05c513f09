// SPDX-License-Identifier: Apache-2.0
#include "links.hpp"

#include <unistd.h>

#include <cerrno>
#include <utility>

#include "attributes.hpp"
#include "decant/base/error.hpp"
#include "decant/base/text.hpp"
#include "decant/fs/sys.hpp"
#include "decant/hash/hasher.hpp"

namespace decant::unpack {
namespace {

constexpr std::size_t k_copy_buffer = 256 * k_kib;
constexpr std::string_view k_taken = "its name is there already";

fs::RelPath below_root(const Finishing& work, const fs::RelPath& path) {
  return work.under.is_root() ? path : work.under / path;
}

// The file a hard link stands for: an earlier entry with content of its own.
std::size_t target_of(const Finishing& work, std::size_t position) {
  const auto target = work.ledger.find(work.ledger.entry(position).same_as);
  const auto words = "the hard link's target '" +
                     escape_for_display(work.ledger.entry(position).same_as.str()) +
                     "' is no earlier file of this archive";
  if (!target || *target > position) work.ledger.refuse(position, "S5", words);
  const auto& entry = work.ledger.entry(*target);
  if (entry.type != model::EntryType::file || !entry.same_as.is_root())
    work.ledger.refuse(position, "S5", words);
  return *target;
}

fs::Stamp stage_link(const Finishing& work, std::size_t position, const fs::RelPath& from,
                     const fs::RelPath& to) {
  const auto& stage = *work.target.stage;
  const auto from_dir = stage.open_dir(from.parent());
  const auto to_dir = stage.open_dir(to.parent());
  const std::string from_name{from.name()};
  const std::string to_name{to.name()};
  if (fs::sys::linkat(from_dir.fd(), from_name.c_str(), to_dir.fd(), to_name.c_str()) != 0) {
    if (errno == EEXIST) work.ledger.refuse(position, "S4", k_taken);
    throw_errno(errno, "make the hard link", stage.path_of(to));
  }
  const auto facts = stage.stat(to);
  if (!facts) throw_errno(ENOENT, "examine", stage.path_of(to));
  return fs::stamp_of(*facts);
}

// The destination's own file, if it has the entry's content.
std::optional<fs::Stamp> adopt(const Finishing& work, const model::IndexEntry& entry,
                               const fs::RelPath& path) {
  if (work.target.existing == nullptr) return std::nullopt;
  fs::EntryFacts facts;
  const auto file = work.target.existing->open_file_if_there(path, &facts);
  if (!file || facts.size != entry.size || facts.owner_executable() != entry.executable) return std::nullopt;
  const auto found = hash::hash_file(file->get(), entry.size, hash::Algorithm::sha256,
                                     work.target.existing->path_of(path), work.stop);
  if (found != entry.sha256) return std::nullopt;
  return fs::stamp_of(facts);
}

// Copies the adopted file `from` to a staged file of its own.
fs::Stamp stage_copy(const Finishing& work, std::size_t position, const fs::RelPath& from,
                     const fs::RelPath& to) {
  const auto& entry = work.ledger.entry(position);
  const auto source = work.target.existing->open_file(from);
  const auto source_path = work.target.existing->path_of(from);
  const auto path = work.target.stage->path_of(to);
  auto file = work.target.stage->create_file(to, 0600);
  if (!file) work.ledger.refuse(position, "S4", k_taken);
  hash::Hasher hasher;
  std::vector<std::byte> buffer(k_copy_buffer);
  for (;;) {
    work.stop.throw_if_requested();
    const auto got = ::read(source.get(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw_errno(errno, "read", source_path);
    if (got == 0) break;
    const auto bytes = std::span{buffer}.first(static_cast<std::size_t>(got));
    hasher.update(bytes);
    fs::sys::write_all(file->get(), bytes, path);
  }
  if (hasher.finish() != entry.sha256) {
    throw Error{ErrorKind::disk, escape_for_display(source_path) + " changed while it was read",
                "run the same command again"};
  }
  set_mode(file->get(), file_mode(entry.executable), path);
  set_mtime(file->get(), entry.mtime, path);
  const auto stamp = fs::stamp_of(fs::facts_of(file->get()));
  file->close();
  return stamp;
}

}  // namespace

std::uint64_t make_hard_links(const Finishing& work, const std::vector<WantedLink>& links) {
  std::uint64_t copied = 0;
  for (const auto& [position, wanted] : links) {
    work.stop.throw_if_requested();
    const auto target = target_of(work, position);
    auto& entry = work.ledger.entry(position);
    const auto& original = work.ledger.entry(target);
    entry.size = original.size;
    entry.sha256 = original.sha256;
    entry.executable = original.executable;
    entry.mtime = original.mtime;
    if (!wanted) continue;

    auto& state = work.ledger.state(position);
    const auto from = below_root(work, original.path);
    const auto to = below_root(work, entry.path);
    const auto landed = work.ledger.state(target).landed;
    if (landed == Landed::staged) {
      state = {.landed = Landed::staged, .stamp = stage_link(work, position, from, to)};
    } else if (const auto stamp = adopt(work, entry, to)) {
      state = {.landed = Landed::adopted, .stamp = *stamp};
    } else if (landed == Landed::adopted) {
      state = {.landed = Landed::staged, .stamp = stage_copy(work, position, from, to)};
      copied += entry.size;
    } else {
      throw Error{ErrorKind::usage,
                  "'" + escape_for_display(to.str()) + "' is a hard link to '" +
                      escape_for_display(from.str()) + "', which is not selected",
                  "select both with --only, or neither"};
    }
  }
  return copied;
}

void make_symlinks(const Finishing& work, const std::vector<std::size_t>& links) {
  const auto& stage = *work.target.stage;
  for (const auto position : links) {
    work.stop.throw_if_requested();
    const auto& entry = work.ledger.entry(position);
    const auto path = below_root(work, entry.path);
    const auto directory = stage.open_dir(path.parent());
    const std::string name{path.name()};
    if (fs::sys::symlinkat(entry.target.c_str(), directory.fd(), name.c_str()) != 0) {
      if (errno == EEXIST) work.ledger.refuse(position, "S4", k_taken);
      throw_errno(errno, "make the symbolic link", stage.path_of(path));
    }
    const auto facts = stage.stat(path);
    if (!facts) throw_errno(ENOENT, "examine", stage.path_of(path));
    work.ledger.state(position) = {.landed = Landed::staged, .stamp = fs::stamp_of(*facts)};
  }
}

// Setting a directory's time does not touch its parent, so the order among directories is free.
void set_directory_times(const Finishing& work, const std::vector<std::size_t>& directories) {
  const auto& stage = *work.target.stage;
  for (const auto position : directories) {
    if (work.ledger.dropped(position)) continue;
    work.stop.throw_if_requested();
    const auto& entry = work.ledger.entry(position);
    const auto path = below_root(work, entry.path);
    const auto directory = stage.open_dir(path);
    set_mtime(directory.fd(), entry.mtime, stage.path_of(path));
    work.ledger.state(position) = {.landed = Landed::staged,
                                   .stamp = fs::stamp_of(fs::facts_of(directory.fd()))};
  }
}

}  // namespace decant::unpack
