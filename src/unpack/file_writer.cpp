// SPDX-License-Identifier: Apache-2.0
#include "file_writer.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "attributes.hpp"
#include "decant/base/error.hpp"
#include "decant/base/text.hpp"
#include "decant/fs/read.hpp"
#include "decant/fs/sys.hpp"

namespace decant::unpack {
namespace {

constexpr std::size_t k_buffer = 256 * k_kib;

[[noreturn]] void changed_meanwhile(const std::string& path) {
  throw Error{ErrorKind::disk, escape_for_display(path) + " changed while it was read",
              "run the same command again"};
}

}  // namespace

FileWriter::FileWriter(const Target& target, Ledger& ledger, progress::PartCounters* counters,
                       const Stop& stop)
    : target_{target}, ledger_{ledger}, counters_{counters}, stop_{stop} {}

void FileWriter::begin(FileJob job) {
  job_ = std::move(job);
  hasher_.reset();
  offset_ = 0;
  read_back_ = false;
  way_ = Way::hash_only;
  if (!job_.wanted) return;
  if (open_existing()) {
    way_ = Way::compare;
  } else {
    create();
  }
}

bool FileWriter::open_existing() {
  if (target_.existing == nullptr) return false;
  fs::EntryFacts facts;
  auto file = target_.existing->open_file_if_there(job_.path, &facts);
  if (!file || facts.size != job_.size || facts.owner_executable() != job_.executable) return false;
  existing_ = *std::move(file);
  return true;
}

void FileWriter::create() {
  const auto parent = job_.path.parent();
  if (!directory_ || directory_path_ != parent) {
    directory_ = target_.stage->open_dir(parent);
    directory_path_ = parent;
  }
  auto file = directory_->create_file(*fs::RelPath::parse(job_.path.name()), 0600);
  if (file) {
    staged_ = *std::move(file);
    way_ = Way::write;
    return;
  }
  way_ = Way::hash_only;
  ledger_.name_was_taken(job_.position);
}

void FileWriter::data(Bytes bytes) {
  hasher_.update(bytes);
  if (way_ == Way::compare && !is_same(bytes)) diverge();
  if (way_ == Way::write) write(bytes);
  offset_ += bytes.size();
  if (counters_ != nullptr) counters_->bytes_unpacked.fetch_add(bytes.size(), std::memory_order_relaxed);
}

bool FileWriter::is_same(Bytes bytes) {
  buffer_.resize(k_buffer);
  for (std::size_t done = 0; done < bytes.size();) {
    const auto piece = bytes.subspan(done, std::min(k_buffer, bytes.size() - done));
    const auto got = fs::pread_all(existing_.get(), std::span{buffer_}.first(piece.size()), offset_ + done,
                                   target_.existing->path_of(job_.path));
    if (got != piece.size() || std::memcmp(buffer_.data(), piece.data(), got) != 0) return false;
    done += got;
  }
  return true;
}

// What was equal so far is in the existing file only.
void FileWriter::diverge() {
  create();
  if (way_ == Way::write && offset_ > 0) {
    read_back_ = true;
    const auto path = target_.existing->path_of(job_.path);
    for (std::uint64_t done = 0; done < offset_;) {
      stop_.throw_if_requested();
      const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(k_buffer, offset_ - done));
      const auto got = fs::pread_all(existing_.get(), std::span{buffer_}.first(wanted), done, path);
      if (got != wanted) changed_meanwhile(path);
      write(std::span{buffer_}.first(got));
      done += got;
    }
  }
  existing_.reset();
}

void FileWriter::write(Bytes bytes) {
  fs::sys::write_all(staged_.get(), bytes, staged_path());
  bytes_written_ += bytes.size();
}

void FileWriter::end() {
  const auto sha256 = hasher_.finish();
  EntryState state;
  if (way_ == Way::write) state = finish_staged(sha256);
  if (way_ == Way::compare) state = finish_adopted();
  ledger_.file_done(job_.position, sha256, state);
  if (counters_ != nullptr) counters_->entries_done.fetch_add(1, std::memory_order_relaxed);
}

EntryState FileWriter::finish_staged(const hash::Digest& sha256) {
  const auto path = staged_path();
  if (read_back_ &&
      hash::hash_file(staged_.get(), job_.size, hash::Algorithm::sha256, path, stop_) != sha256) {
    changed_meanwhile(target_.existing->path_of(job_.path));
  }
  set_mode(staged_.get(), file_mode(job_.executable), path);
  set_mtime(staged_.get(), job_.mtime, path);
  const auto stamp = fs::stamp_of(fs::facts_of(staged_.get()));
  staged_.close();
  return {.landed = Landed::staged, .stamp = stamp};
}

EntryState FileWriter::finish_adopted() {
  const auto facts = fs::facts_of(existing_.get());
  if (facts.size != job_.size) changed_meanwhile(target_.existing->path_of(job_.path));
  existing_.reset();
  return {.landed = Landed::adopted, .stamp = fs::stamp_of(facts)};
}

}  // namespace decant::unpack
