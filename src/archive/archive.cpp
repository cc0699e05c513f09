// SPDX-License-Identifier: Apache-2.0
#include "decant/archive/archive.hpp"

#include "decant/base/text.hpp"
#include "tar_reader.hpp"
#include "zstd_source.hpp"

namespace decant::archive {

void refuse_entry(std::uint64_t number, std::string_view name, std::string_view rule,
                  std::string_view words) {
  constexpr std::size_t k_longest_shown = 200;
  auto shown = escape_for_display(name.substr(0, k_longest_shown));
  if (name.size() > k_longest_shown) shown += "...";
  throw Error{ErrorKind::integrity, "entry " + std::to_string(number) +
                                        (name.empty() ? "" : " '" + shown + "'") + ": " + std::string{words} +
                                        " (rule " + std::string{rule} + ")"};
}

ArchiveSummary read_archive(BlockSource& compressed, const Rules& rules, EntrySink& sink, ByteBudget& budget,
                            const Stop& stop) {
  ZstdSource decoded{compressed, rules.max_window_log, budget, stop};
  return read_tar(decoded, rules, sink, stop);
}

}  // namespace decant::archive
