// SPDX-License-Identifier: Apache-2.0
#include "decant/plan/plan.hpp"
#include "support/catch.hpp"

using namespace decant;
using plan::PartFacts;
using plan::PartState;
using plan::PlanInput;

namespace {

constexpr std::uint64_t k_gb = 1'000'000'000;

fs::DiskFacts disk(std::uint64_t device, std::uint64_t free_gb) {
  return {.device = device,
          .path = "/disk" + std::to_string(device),
          .free_bytes = free_gb * k_gb,
          .total_bytes = 1000 * k_gb,
          .free_inodes = 1'000'000,
          .type = "ext4"};
}

PartFacts archive(const std::string& name, std::uint64_t gb, std::optional<std::uint64_t> unpacked_gb) {
  PartFacts part{.name = name, .shown_path = name + ".tar.zst", .root = "bundle", .size = gb * k_gb};
  if (unpacked_gb) {
    part.unpacked_bytes = *unpacked_gb * k_gb;
    part.entries = 100;
  }
  return part;
}

PartFacts placed(const std::string& name, std::uint64_t gb) {
  return {
      .name = name, .shown_path = name, .kind = model::PartKind::place, .root = "bundle", .size = gb * k_gb};
}

// Bundle and cache on one file system with `free_gb`.
PlanInput shared(std::uint64_t free_gb, std::vector<PartFacts> parts) {
  return {.parts = std::move(parts),
          .root_disks = {{"bundle", disk(1, free_gb)}},
          .root_paths = {{"bundle", "/nvme/sft"}},
          .cache_disk = disk(1, free_gb),
          .cache_path = "/nvme/cache"};
}

PartFacts in_state(PartFacts part, PartState state, std::uint64_t present_gb = 0) {
  part.state = state;
  part.present_bytes = present_gb * k_gb;
  return part;
}

PartFacts not_kept(PartFacts part) {
  part.keeps_download = false;
  return part;
}

}  // namespace

TEST_CASE("files that lie in a local place are written, not fetched") {
  PlanInput input = shared(100, {not_kept(in_state(placed("data", 10), PartState::partial, 6))});
  input.parts[0].elsewhere_bytes = 6 * k_gb;
  const auto plan = plan::make_plan(input);
  REQUIRE(plan.file_systems.size() == 1);
  CHECK(plan.fetch_total == 4 * k_gb);
  CHECK(plan.file_systems[0].to_fetch == 4 * k_gb);
  CHECK(plan.file_systems[0].to_write == 6 * k_gb);
  CHECK(plan.file_systems[0].peak == 10 * k_gb);
}

TEST_CASE("what a part adds depends on its state and on where its bytes stay") {
  struct Row {
    const char* name;
    PartFacts part;
    std::uint64_t fetch, write, peak;  // GB
    bool at_least;
  };
  PartFacts glob = archive("g", 10, std::nullopt);
  glob.partial_selection = true;
  const std::vector<Row> rows{
      {"missing archive", archive("a", 10, 30), 10, 30, 40, false},
      {"partly landed", in_state(archive("a", 10, 30), PartState::partial, 4), 6, 30, 36, false},
      {"more landed than there is", in_state(archive("a", 10, 30), PartState::partial, 11), 0, 30, 30, false},
      {"in the cache", in_state(archive("a", 10, 30), PartState::cached, 10), 0, 30, 30, false},
      {"read in place", not_kept(in_state(archive("a", 10, 30), PartState::cached, 10)), 0, 30, 30, false},
      {"staged", in_state(archive("a", 10, 30), PartState::staged), 0, 0, 0, false},
      {"published", in_state(archive("a", 10, 30), PartState::published), 0, 0, 0, false},
      {"not selected", in_state(archive("a", 10, 30), PartState::skipped), 0, 0, 0, false},
      {"unpacked size not stated", archive("a", 10, std::nullopt), 10, 10, 20, true},
      {"some entries of an archive", glob, 10, 0, 10, true},
      {"archive without cache", not_kept(archive("a", 10, 30)), 10, 30, 40, false},
      {"placed file through the cache", placed("f", 5), 5, 5, 10, false},
      {"placed file straight to staging", not_kept(placed("f", 5)), 5, 0, 5, false},
      {"placed file read in place", not_kept(in_state(placed("f", 5), PartState::cached, 5)), 0, 5, 5, false},
  };
  for (const Row& row : rows) {
    DYNAMIC_SECTION(row.name) {
      const plan::Plan made = plan::make_plan(shared(1000, {row.part}));
      REQUIRE(made.file_systems.size() == 1);
      const plan::FileSystemPlan& file_system = made.file_systems[0];
      CHECK(file_system.to_fetch == row.fetch * k_gb);
      CHECK(file_system.to_write == row.write * k_gb);
      CHECK(file_system.peak == row.peak * k_gb);
      CHECK(file_system.at_least == row.at_least);
      CHECK(made.fetch_total == row.fetch * k_gb);
      CHECK(made.exit_code == 0);
    }
  }
}

TEST_CASE("places on one file system are summed, others apart") {
  PlanInput input = shared(100, {archive("a", 10, 30), archive("r", 5, 20)});
  input.parts[1].root = "runtime";
  SECTION("all on one") {
    input.root_disks["runtime"] = disk(1, 100);
    const plan::Plan made = plan::make_plan(input);
    REQUIRE(made.file_systems.size() == 1);
    CHECK(made.file_systems[0].uses ==
          std::vector<std::string>{"bundle /nvme/sft", "runtime /disk1", "cache /nvme/cache"});
    CHECK(made.file_systems[0].peak == 65 * k_gb);
  }
  SECTION("the runtime elsewhere") {
    input.root_disks["runtime"] = disk(2, 100);
    const plan::Plan made = plan::make_plan(input);
    REQUIRE(made.file_systems.size() == 2);
    CHECK(made.file_systems[0].peak == 45 * k_gb);  // both archives lie in the cache
    CHECK(made.file_systems[1].peak == 20 * k_gb);
  }
}

TEST_CASE("what does not fit is exit 6, with the missing amount and the ways out") {
  const plan::Plan made = plan::make_plan(shared(50, {archive("a", 10, 20), archive("b", 15, 20)}));
  CHECK(made.exit_code == 6);
  CHECK(made.file_systems[0].peak == 65 * k_gb);
  CHECK(made.file_systems[0].short_by == 15 * k_gb);
  CHECK(made.file_systems[0].peak_discarding == 55 * k_gb);
  CHECK(made.file_systems[0].peak_cache_elsewhere == 40 * k_gb);
  REQUIRE(made.problems.size() == 1);
  CHECK(made.problems[0].kind == ErrorKind::disk);
  CHECK(
      made.problems[0].thing ==
      "the release does not fit on the file system of bundle /nvme/sft, cache /nvme/cache, short by 15.0 GB");
  CHECK(made.problems[0].hint == "free space there; peak with --download-cache elsewhere: 40.0 GB");
}

TEST_CASE("what nobody states refuses nothing, what is known does") {
  const plan::Plan made = plan::make_plan(shared(19, {archive("a", 10, std::nullopt)}));
  CHECK(made.exit_code == 0);
  CHECK(made.file_systems[0].at_least);
  CHECK(made.file_systems[0].peak == 20 * k_gb);
  CHECK(plan::make_plan(shared(9, {archive("a", 10, std::nullopt)})).exit_code == 6);
}

TEST_CASE("tmpfs counts as memory") {
  PlanInput input = shared(100, {archive("a", 10, 30)});
  input.root_disks["bundle"].type = "tmpfs";
  input.root_disks["bundle"].is_memory = true;
  input.memory_budget = k_gb;
  input.memory_available = 41 * k_gb;
  CHECK(plan::make_plan(input).exit_code == 0);
  input.memory_available = 40 * k_gb;
  const plan::Plan made = plan::make_plan(input);
  CHECK(made.exit_code == 6);
  CHECK(made.file_systems[0].short_by == k_gb);
  CHECK(made.problems.at(0).found == "40.0 GB of memory available: tmpfs lies in memory");
  input.memory_available = 0;  // not known
  CHECK(plan::make_plan(input).exit_code == 0);
}

TEST_CASE("inodes are counted where the file system counts them") {
  PlanInput input = shared(100, {archive("a", 10, 30)});
  input.root_disks["bundle"].free_inodes = 100;  // 100 entries and the archive itself
  const plan::Plan made = plan::make_plan(input);
  CHECK(made.file_systems[0].inodes_needed == 101);
  CHECK(made.exit_code == 6);
  input.root_disks["bundle"].counts_inodes = false;
  CHECK(plan::make_plan(input).exit_code == 0);
}

TEST_CASE("a place without permission is a problem only when something goes there") {
  PlanInput input = shared(100, {archive("a", 10, 30)});
  input.root_disks["bundle"].writable = false;
  CHECK(plan::make_plan(input).exit_code == 6);
  input.parts[0].state = PartState::published;
  CHECK(plan::make_plan(input).exit_code == 0);
}

TEST_CASE("the exit code is what restore would run into") {
  struct Row {
    const char* name;
    std::vector<Problem> problems;
    std::vector<std::string> conflicts;
    std::uint64_t free_gb;
    int exit_code;
  };
  const Problem access{.kind = ErrorKind::access, .thing = "no access"};
  const std::vector<Row> rows{
      {"nothing", {}, {}, 100, 0},
      {"access", {access}, {}, 100, 5},
      {"conflict", {}, {"bundle: a"}, 100, 7},
      {"access and no space", {access}, {}, 1, 6},
      {"conflict and no space", {}, {"bundle: a"}, 1, 7},
  };
  for (const Row& row : rows) {
    DYNAMIC_SECTION(row.name) {
      PlanInput input = shared(row.free_gb, {archive("a", 10, 30)});
      input.problems = row.problems;
      input.conflicts = row.conflicts;
      CHECK(plan::make_plan(input).exit_code == row.exit_code);
    }
  }
}

TEST_CASE("there is nothing to do when every selected part is published") {
  const PartFacts done = in_state(archive("a", 10, 30), PartState::published);
  const PartFacts skipped = in_state(archive("b", 10, 30), PartState::skipped);
  CHECK(plan::make_plan(shared(100, {done, skipped})).nothing_to_do);
  CHECK_FALSE(plan::make_plan(shared(100, {done, archive("c", 1, 1)})).nothing_to_do);
  CHECK_FALSE(plan::make_plan(shared(100, {in_state(archive("c", 1, 1), PartState::staged)})).nothing_to_do);
}

TEST_CASE("parts without a list and wide windows are told") {
  PartFacts wide = archive("wide", 10, 30);
  wide.window_log = 31;
  wide.has_list = true;
  PartFacts usual = archive("usual", 10, 30);
  usual.window_log = 27;
  const plan::Plan made = plan::make_plan(shared(100, {wide, usual, placed("f", 1)}));
  CHECK(made.parts_without_list == 1);
  CHECK(made.window_memory == std::uint64_t{1} << 31);
  CHECK(made.window_part == "wide");
}
