// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <filesystem>
#include <functional>
#include <map>
#include <thread>

#include "decant/base/bytes.hpp"
#include "decant/base/threads.hpp"
#include "decant/hash/hasher.hpp"
#include "look.hpp"
#include "read.hpp"
#include "sheet.hpp"

namespace decant::verify {
namespace {

constexpr int k_fewest_readers = 4;
constexpr int k_most_readers = 32;  // a piece of 1 MiB each
constexpr std::size_t k_unit = 256;

// More than cores: cold small files wait for the device, and outstanding opens are what helps; warm ones do
// not mind.
int reader_count(const VerifyOptions& options) {
  if (options.readers > 0) return std::min(options.readers, k_most_readers);
  const unsigned cores = std::min(std::thread::hardware_concurrency(), static_cast<unsigned>(k_most_readers));
  return std::clamp(static_cast<int>(cores) * 4, k_fewest_readers, k_most_readers);
}

// Several threads at the same work; it takes its share from an atomic counter or a queue.
void in_parallel(int threads, const std::function<void()>& work, const std::function<void()>& on_failure) {
  ThreadGroup group;
  for (int i = 0; i < threads; ++i) group.start(work, on_failure);
  group.wait();
}

std::filesystem::path plain_path(const std::string& path) {
  std::error_code ignored;
  std::filesystem::path plain = std::filesystem::absolute(path, ignored).lexically_normal();
  return plain.has_filename() ? plain : plain.parent_path();
}

std::optional<fs::RelPath> below(const std::filesystem::path& inner, const std::filesystem::path& outer) {
  const std::string relative = inner.lexically_relative(outer).string();
  if (relative == ".") return fs::RelPath{};
  return relative.empty() ? std::nullopt : fs::RelPath::parse(relative);
}

// Where `inner` lies within `outer`; nullopt: elsewhere.
std::optional<fs::RelPath> place_within(const std::string& inner, const std::string& outer) {
  if (auto as_given = below(plain_path(inner), plain_path(outer))) return as_given;
  std::error_code failed;
  const auto real_inner = std::filesystem::weakly_canonical(plain_path(inner), failed);
  if (failed) return std::nullopt;
  const auto real_outer = std::filesystem::weakly_canonical(plain_path(outer), failed);
  return failed ? std::nullopt : below(real_inner, real_outer);
}

void count_origin(Origin origin, report::VerifyCounts& counts) {
  switch (origin) {
    case Origin::manifest:
      ++counts.from_manifest;
      break;
    case Origin::pinned_index:
      ++counts.from_pinned_index;
      break;
    case Origin::learned_index:
      ++counts.from_learned_index;
      break;
  }
}

class Proof {
 public:
  Proof(const std::vector<Tree>& trees, const VerifyOptions& options, progress::Reporter& reporter,
        const Stop& stop, report::Result& result)
      : readers_{reader_count(options)},
        reporter_{reporter},
        stop_{stop},
        result_{result},
        ledger_{result, reporter} {
    for (const Tree& tree : trees) sheets_.emplace_back(tree, options.level);
  }

  void run() {
    reporter_.phase("verify");
    for (Sheet& sheet : sheets_) sheet.open(ledger_);
    relate_trees();
    announce();
    report_unverifiable();
    look();
    look_for_strangers();
    read();
    for (Sheet& sheet : sheets_) sheet.counters->phase = progress::PartPhase::done;
    conclude();
  }

 private:
  void relate_trees() {
    for (Sheet& inner : sheets_) {
      for (Sheet& outer : sheets_) {
        if (&inner == &outer || inner.is_contained() || outer.tree().external || !outer.tree().is_root)
          continue;
        const auto under = place_within(inner.tree().path, outer.tree().path);
        if (!under) continue;
        if (!inner.tree().is_root && !inner.tree().external) {
          inner.share_from(outer, *under);
        } else if (!under->is_root()) {
          outer.foreign.push_back(*under);
        }
      }
    }
  }

  void announce() {
    std::uint64_t sum = 0;
    for (Sheet& sheet : sheets_) {
      std::uint64_t bytes = 0;
      bool has_own = false;
      for (std::size_t i = 0; i < sheet.entries().size(); ++i) {
        if (sheet.is_shared(i)) continue;
        has_own = true;
        if (sheet.wants_hash(sheet.entries()[i])) bytes += sheet.entries()[i].size;
      }
      sheet.counters =
          has_own ? reporter_.part(sheet.tree().name, bytes) : std::make_shared<progress::PartCounters>();
      sheet.counters->phase = progress::PartPhase::fetching;
      planned_.push_back(bytes);
      sum += bytes;
    }
    reporter_.totals(sum, 0);
  }

  // One finding a part: a list of names without digests would give one for each name.
  void report_unverifiable() {
    for (const Sheet& sheet : sheets_) {
      std::map<std::uint32_t, std::vector<const Expected*>> by_part;
      for (std::size_t i = 0; i < sheet.entries().size(); ++i) {
        const Expected& entry = sheet.entries()[i];
        if (entry.type != ExpectedType::file || entry.digest.valid() || sheet.is_shared(i)) continue;
        by_part[entry.part].push_back(&entry);
      }
      for (const auto& [part, files] : by_part) {
        report::Finding finding = sheet.finding(report::FindingKind::unverifiable, *files.front());
        if (files.size() > 1) {
          finding.path.clear();
          finding.found = format_count(files.size()) + " files";
        }
        finding.note = "nothing states what the content should be";
        ledger_.add(std::move(finding));
      }
    }
  }

  void look() {
    struct Unit {
      Sheet* sheet;
      std::size_t begin;
      std::size_t end;
    };
    std::vector<Unit> units;
    for (Sheet& sheet : sheets_) {
      const auto& entries = sheet.entries();
      const auto parent_of = [&](std::size_t i) {
        const std::string_view path = entries[i].path.str();
        const std::size_t slash = path.rfind('/');
        return slash == std::string_view::npos ? std::string_view{} : path.substr(0, slash);
      };
      for (std::size_t begin = 0; begin < entries.size();) {
        std::size_t end = begin + 1;
        while (end < entries.size() && end - begin < k_unit && parent_of(end) == parent_of(begin)) ++end;
        units.push_back({&sheet, begin, end});
        begin = end;
      }
    }
    std::atomic<std::size_t> next{0};
    in_parallel(
        readers_,
        [&] {
          for (std::size_t i = next++; i < units.size(); i = next++) {
            look_at(*units[i].sheet, units[i].begin, units[i].end, ledger_, stop_);
          }
        },
        [&] { next = units.size(); });
  }

  void look_for_strangers() {
    std::vector<std::pair<Sheet*, fs::RelPath>> directories;
    for (Sheet& sheet : sheets_) {
      if (sheet.is_contained()) continue;  // its container lists them
      const bool lists_top = sheet.tree().external ||
                             std::any_of(sheet.closed.begin(), sheet.closed.end(),
                                         [](const fs::RelPath& directory) { return directory.is_root(); });
      if (lists_top) directories.emplace_back(&sheet, fs::RelPath{});
      for (std::size_t i = 0; i < sheet.entries().size(); ++i) {
        const Expected& entry = sheet.entries()[i];
        if (entry.type == ExpectedType::dir && sheet.seen(i) == Seen::as_expected) {
          directories.emplace_back(&sheet, entry.path);
        }
      }
    }
    std::atomic<std::size_t> next{0};
    in_parallel(
        readers_,
        [&] {
          for (std::size_t i = next++; i < directories.size(); i = next++) {
            stop_.throw_if_requested();
            look_for_extras(*directories[i].first, directories[i].second, ledger_);
          }
        },
        [&] { next = directories.size(); });
  }

  void read() {
    ReadQueue queue{sheets_, readers_};
    for (std::size_t s = 0; s < sheets_.size(); ++s) {
      // What the first look settled needs no reading.
      Sheet& sheet = sheets_[s];
      std::uint64_t to_read = 0;
      for (std::size_t i = 0; i < sheet.entries().size(); ++i) {
        if (!sheet.is_shared(i) && sheet.seen(i) == Seen::to_read) to_read += sheet.entries()[i].size;
      }
      sheet.counters->bytes_done.fetch_add(planned_[s] - std::min(to_read, planned_[s]));
    }
    in_parallel(
        readers_, [&] { read_files(sheets_, queue, ledger_, stop_); }, [&] { queue.close(); });
  }

  report::TreeDigest digest_of(const Sheet& sheet, report::VerifyCounts& counts) {
    const bool is_root = sheet.tree().is_root && !sheet.tree().external;
    report::TreeDigest digest{.name = sheet.tree().name,
                              .full = true,
                              .hex = {},
                              .scope = is_root ? report::DigestScope::root : report::DigestScope::tree};
    hash::Hasher hasher;
    for (std::size_t i = 0; i < sheet.entries().size(); ++i) {
      const Expected& entry = sheet.entries()[i];
      const Observed observed = sheet.observed(i);
      hasher.update(as_bytes(tree_line(observed, entry.path)));
      const bool is_file = !observed.missing && observed.type == ExpectedType::file;
      const bool is_hashed = is_file && observed.hex != "size-only";
      if (is_file && !is_hashed) digest.full = false;
      if (sheet.is_shared(i)) continue;  // counted where it was read
      ++counts.expected;
      if (sheet.seen(i) == Seen::size_only) ++counts.size_only;
      if (is_hashed) {
        ++counts.hashed;
        counts.bytes_hashed += observed.size;
      }
      if (entry.type == ExpectedType::file) count_origin(entry.origin, counts);
    }
    digest.hex = hasher.finish().hex();
    return digest;
  }

  void conclude() {
    std::vector<report::TreeDigest> of_bundle;
    for (const Sheet& sheet : sheets_) {
      report::VerifyCounts counts{.extra = sheet.extra, .generated = sheet.generated};
      counts.skipped = sheet.is_contained() ? 0 : sheet.tree().skipped;
      report::TreeDigest digest = digest_of(sheet, counts);
      if (!sheet.is_contained() || counts.expected > 0) {
        // A declared tree may share its root's name; external trees may not (the bundle's digest is over
        // names).
        const bool own_name = sheet.tree().is_root || sheet.tree().external;
        result_.trees[own_name ? sheet.tree().name : "tree " + sheet.tree().name] = counts;
      }
      if (sheet.tree().is_root || sheet.tree().external) of_bundle.push_back(digest);
      result_.digests.push_back(std::move(digest));
    }
    result_.bundle_digest = bundle_digest(std::move(of_bundle));
    report::sort_findings(result_.findings);
    std::sort(result_.notes.begin(), result_.notes.end(), [](const report::Note& a, const report::Note& b) {
      return std::tie(a.kind, a.tree, a.path) < std::tie(b.kind, b.tree, b.path);
    });
  }

  const int readers_;
  progress::Reporter& reporter_;
  const Stop& stop_;
  report::Result& result_;
  Ledger ledger_;
  std::deque<Sheet> sheets_;  // in place: other sheets and threads point to them
  std::vector<std::uint64_t> planned_;
};

std::string size_only_words(const report::Result& result) {
  std::uint64_t hashed = 0;
  std::uint64_t size_only = 0;
  for (const auto& [name, counts] : result.trees) {
    hashed += counts.hashed;
    size_only += counts.size_only;
  }
  if (size_only == 0) return ", every byte hashed";
  if (hashed == 0) return " by presence, type and size only; no byte was hashed";
  return fmt::format("; {} by size only", counted(size_only, "media file", "media files"));
}

}  // namespace

void prove(const std::vector<Tree>& trees, const VerifyOptions& options, progress::Reporter& reporter,
           const Stop& stop, report::Result& result) {
  Proof{trees, options, reporter, stop, result}.run();
}

std::string verdict(const report::Result& result) {
  const std::size_t count = result.findings.size();
  std::string text;
  const bool is_nothing = std::all_of(result.trees.begin(), result.trees.end(),
                                      [](const auto& tree) { return tree.second.expected == 0; });
  if (count == 0 && is_nothing) {
    text = "nothing was verified: no entry is expected";
  } else if (count == 0) {
    text = "verified" + size_only_words(result);
  } else {
    text = "NOT verified: " + counted(count, "finding", "findings");
  }
  return result.subset ? text + "; subset: only what the selection wants" : text;
}

}  // namespace decant::verify
