// SPDX-License-Identifier: Apache-2.0
#include <sstream>

#include "decant/base/bytes.hpp"
#include "decant/base/text.hpp"
#include "decant/ui/ui.hpp"
#include "support/golden.hpp"
#include "width.hpp"

using namespace decant;
using namespace decant::test;
using plan::PartState;

namespace {

constexpr std::uint64_t k_gb = 1'000'000'000;
const std::string k_commit = "0123456789abcdef0123456789abcdef01234567";

plan::PlanInput sample() {
  plan::PlanInput input{.headline_source = "datasets/team/run17 at https://huggingface.co",
                        .release_id = "r1",
                        .commit = k_commit,
                        .requested_revision = "main"};
  const auto archive = [](std::string name, std::string path, std::uint64_t size, PartState state) {
    return plan::PartFacts{.name = std::move(name),
                           .shown_path = std::move(path),
                           .root = "bundle",
                           .size = size,
                           .state = state,
                           .unpacked_bytes = size * 3 / 2,
                           .entries = 20'000,
                           .has_list = true};
  };
  input.parts = {archive("data", "releases/r1/data.tar.zst", 1'234'567'890, PartState::missing),
                 archive("images_000", "images_000.tar.zst", 40 * k_gb, PartState::partial),
                 archive("images_001", "images_001.tar.zst", 40 * k_gb, PartState::cached),
                 archive("images_002", "images_002.tar.zst", 38 * k_gb, PartState::published),
                 archive("images_003", "images_003.tar.zst", 38 * k_gb, PartState::skipped),
                 archive("runtime", "releases/r1/environment/a-rather-long-directory/runtime.tar.zst",
                         3 * k_gb, PartState::missing),
                 {.name = "notes",
                  .shown_path = "releases/r1/NOTES.md",
                  .kind = model::PartKind::place,
                  .root = "bundle",
                  .size = 9,
                  .state = PartState::missing}};
  input.parts[1].present_bytes = 12'300'000'000;
  input.parts[5].root = "runtime";
  input.parts[5].unpacked_bytes.reset();
  input.parts[5].entries.reset();
  input.parts[5].has_list = false;
  input.root_disks["bundle"] = {
      .device = 1, .free_bytes = 900 * k_gb, .free_inodes = 50'000'000, .type = "ext4"};
  input.root_disks["runtime"] = {
      .device = 2, .free_bytes = 64 * k_gb, .free_inodes = 1'000'000, .type = "tmpfs", .is_memory = true};
  input.root_paths = {{"bundle", "/nvme/sft"}, {"runtime", "/tmp"}};
  input.cache_disk = input.root_disks["bundle"];
  input.cache_path = "/nvme/cache";
  input.memory_budget = 201'326'592;
  input.memory_available = 512 * k_gb;
  input.access = "granted";
  input.command_line = "decant restore team/run17 --release releases/r1 --revision " + k_commit +
                       " --bundle /nvme/sft --runtime-root /tmp --download-cache /nvme/cache";
  return input;
}

// Every line but the command itself fits a usual window.
void check_width(const std::string& text) {
  std::istringstream lines{text};
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("decant restore") && !line.starts_with("the release does not fit")) {
      INFO(line);
      CHECK((ui::display_width(line) <= 120));
    }
  }
}

void check(const std::string& name, const plan::PlanInput& input) {
  const plan::Plan made = plan::make_plan(input);
  const std::string text = ui::render_plan(made, false);
  check_golden("golden/" + name + ".txt", text);
  CHECK(text.find('\x1b') == std::string::npos);
  check_width(text);
}

}  // namespace

TEST_CASE("plan: a restore that would succeed") {
  check("plan_fits", sample());
}

TEST_CASE("plan: what stands in the way") {
  plan::PlanInput input = sample();
  input.root_disks["bundle"].free_bytes = 100 * k_gb;
  input.cache_disk = input.root_disks["bundle"];
  input.access = "refused";
  input.problems = {
      {.kind = ErrorKind::access,
       .thing = "the repo datasets/team/run17 is gated and this account has not accepted its terms",
       .hint = "open https://huggingface.co/datasets/team/run17 in a browser and accept, then run again"}};
  for (int i = 0; i < 25; ++i)
    input.conflicts.push_back("bundle: media/" + std::to_string(i) + ".jpg is another file");
  input.root_suggestions = {{"scratch", "/scratch"}};
  input.parts[0].window_log = 31;
  check("plan_blocked", input);
}

TEST_CASE("plan: loose files") {
  plan::PlanInput input = sample();
  input.loose = true;
  input.release_id.clear();
  input.parts = {{.name = "files",
                  .shown_path = "data",
                  .kind = model::PartKind::files,
                  .root = "bundle",
                  .size = 7 * k_gb,
                  .files = 4321,
                  .keeps_download = false}};
  input.root_disks.erase("runtime");
  input.cache_disk.reset();
  input.requested_revision = k_commit;
  check("plan_loose", input);
}

TEST_CASE("plan: further places, what they hold and what they say") {
  plan::PlanInput input = sample();
  input.places = {{"dir:/mnt/usb", "holds 3 GB of what is missing"}, {"http://m", "has a"}};
  input.parts[0].state = PartState::cached;
  input.parts[0].elsewhere = {"dir:/mnt/usb"};
  input.parts[0].elsewhere_bytes = input.parts[0].size;
  input.parts[1].state = PartState::partial;
  input.parts[1].present_bytes = k_gb;
  input.parts[1].elsewhere = {"dir:/mnt/usb"};
  input.parts[1].elsewhere_bytes = k_gb / 2;
  const std::string text = ui::render_plan(plan::make_plan(input), false);
  for (const std::string& line :
       {std::string{"  from    dir:/mnt/usb: holds 3 GB of what is missing\n"},
        std::string{"  from    http://m: has a\n"}, std::string{"read in place, dir:/mnt/usb"},
        format_size(k_gb / 2) + " of it in dir:/mnt/usb"}) {
    CAPTURE(line, text);
    CHECK(text.find(line) != std::string::npos);
  }
  CHECK(ui::render_plan_json(plan::make_plan(input)).find("\"plan_place\"") != std::string::npos);
}

TEST_CASE("plan: nothing to do") {
  plan::PlanInput input = sample();
  for (plan::PartFacts& part : input.parts) part.state = PartState::published;
  check("plan_done", input);
}

TEST_CASE("a plan never lets outside text act on the terminal") {
  plan::PlanInput input = sample();
  const std::string evil = "\x1b[31m\r\n\xe2\x80\xae";
  for (std::string* text : {&input.headline_source, &input.release_id, &input.access, &input.cache_path,
                            &input.parts[0].name, &input.parts[0].shown_path, &input.root_paths["bundle"]}) {
    *text += evil;
  }
  input.conflicts = {evil};
  const std::string text = ui::render_plan(plan::make_plan(input), false);
  CHECK(text.find('\x1b') == std::string::npos);
  CHECK(text.find('\r') == std::string::npos);
  CHECK(text.find("\xe2\x80\xae") == std::string::npos);
}

TEST_CASE("the plan as JSON has one object a line") {
  plan::PlanInput input = sample();
  input.conflicts = {"bundle: a"};
  input.root_suggestions = {{"scratch", "/scratch"}};
  const std::string text = ui::render_plan_json(plan::make_plan(input));
  check_golden("golden/plan.jsonl", text);
  for (const std::string& line : split(text, '\n'))
    CHECK((line.empty() || line.starts_with("{\"event\":\"")));
}
