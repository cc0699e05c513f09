// SPDX-License-Identifier: Apache-2.0
#include "ledger.hpp"

#include <algorithm>
#include <numeric>

namespace decant::unpack {
namespace {

// '/' sorts before every other byte, so that what lies below a path follows it at once.
int compare_paths(const std::string& a, const std::string& b) {
  const auto rank = [](char c) { return c == '/' ? 0 : static_cast<int>(static_cast<unsigned char>(c)); };
  const auto size = std::min(a.size(), b.size());
  const auto [in_a, in_b] =
      std::mismatch(a.begin(), a.begin() + static_cast<std::ptrdiff_t>(size), b.begin());
  if (in_a != a.begin() + static_cast<std::ptrdiff_t>(size)) return rank(*in_a) - rank(*in_b);
  if (a.size() == b.size()) return 0;
  return a.size() < b.size() ? -1 : 1;
}

bool is_plain_file(const model::IndexEntry& entry) {
  return entry.type == model::EntryType::file && entry.same_as.is_root();
}

}  // namespace

std::size_t Ledger::add(model::IndexEntry entry) {
  const std::lock_guard lock{mutex_};
  entries_.push_back(std::move(entry));
  states_.emplace_back();
  return entries_.size() - 1;
}

void Ledger::add_root() {
  roots_.push_back(entries_.size());
}

void Ledger::file_done(std::size_t position, const hash::Digest& sha256, const EntryState& state) {
  const std::lock_guard lock{mutex_};
  entries_[position].sha256 = sha256;
  states_[position] = state;
}

void Ledger::name_was_taken(std::size_t position) {
  const std::lock_guard lock{mutex_};
  taken_.push_back(position);
}

void Ledger::settle_names(Duplicates duplicates) {
  order_.resize(entries_.size());
  std::iota(order_.begin(), order_.end(), std::size_t{0});
  std::sort(order_.begin(), order_.end(), [&](std::size_t a, std::size_t b) {
    const int order = compare_paths(entries_[a].path.str(), entries_[b].path.str());
    return order != 0 ? order < 0 : a < b;
  });
  std::size_t first = 0;  // of the run of equal names that i is in, or follows
  for (std::size_t i = 1; i < order_.size(); ++i) {
    const auto& before = entries_[order_[first]];
    const auto& path = entries_[order_[i]].path;
    if (before.path == path) {
      settle_pair(order_[first], order_[i], duplicates);
      continue;
    }
    if (before.type != model::EntryType::dir && path.is_within(before.path)) {
      refuse(std::max(order_[first], order_[i]), "S5", "one name would be a directory and something else");
    }
    first = i;
  }
  std::sort(dropped_.begin(), dropped_.end());
  for (const auto position : taken_) {
    if (!dropped(position))
      refuse(position, "S4", "its name is there already, as this file system compares names");
  }
}

void Ledger::settle_pair(std::size_t before, std::size_t position, Duplicates duplicates) {
  auto& first = entries_[before];
  const auto& second = entries_[position];
  if (first.type == model::EntryType::dir && second.type == model::EntryType::dir) {
    first.mtime = second.mtime;
  } else if (!is_plain_file(first) || !is_plain_file(second)) {
    refuse(position, "S4", "an earlier entry has the same name");
  } else if (first.sha256 != second.sha256 || first.executable != second.executable) {
    refuse(position, "S4", "an earlier entry has the same name and other content");
  } else if (duplicates == Duplicates::refuse) {
    refuse(position, "S4", "an earlier entry has the same name and content (accept: dup-identical)");
  }
  dropped_.push_back(position);
}

std::optional<std::size_t> Ledger::find(const fs::RelPath& path) const {
  const auto at =
      std::lower_bound(order_.begin(), order_.end(), path, [&](std::size_t a, const fs::RelPath& wanted) {
        return compare_paths(entries_[a].path.str(), wanted.str()) < 0;
      });
  if (at == order_.end() || entries_[*at].path != path) return std::nullopt;
  return *at;
}

bool Ledger::dropped(std::size_t position) const {
  return std::binary_search(dropped_.begin(), dropped_.end(), position);
}

std::uint64_t Ledger::number(std::size_t position) const {
  const auto roots = std::upper_bound(roots_.begin(), roots_.end(), position) - roots_.begin();
  return position + 1 + static_cast<std::uint64_t>(roots);
}

void Ledger::refuse(std::size_t position, std::string_view rule, std::string_view words) const {
  archive::refuse_entry(number(position), entries_[position].path.str(), rule, words);
}

void Ledger::release(UnpackResult& result) {
  if (!dropped_.empty()) {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      if (dropped(i)) continue;
      if (kept != i) {
        entries_[kept] = std::move(entries_[i]);
        states_[kept] = states_[i];
      }
      ++kept;
    }
    entries_.resize(kept);
    states_.resize(kept);
  }
  result.index.entries = std::move(entries_);
  result.states = std::move(states_);
}

}  // namespace decant::unpack
