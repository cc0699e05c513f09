// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "decant/report/report.hpp"

namespace decant::report {

void add_place(std::vector<PlaceBytes>& places, const std::string& place, std::uint64_t bytes) {
  const auto at =
      std::find_if(places.begin(), places.end(), [&](const PlaceBytes& one) { return one.place == place; });
  if (at == places.end()) {
    places.push_back({.place = place, .bytes = bytes});
  } else {
    at->bytes += bytes;
  }
}

std::vector<PlaceBytes> places_of(const Result& result) {
  std::vector<PlaceBytes> places;
  for (const PartResult& part : result.parts)
    for (const PlaceBytes& one : part.from) add_place(places, one.place, one.bytes);
  return places;
}

}  // namespace decant::report
