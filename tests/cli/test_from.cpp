// SPDX-License-Identifier: Apache-2.0
#include <filesystem>

#include "cli_world.hpp"
#include "support/catch.hpp"
#include "support/static_mirror.hpp"

// Further places with the same bytes (--from), and a mirror as SOURCE.
namespace decant::test {
namespace {

namespace stdfs = std::filesystem;

std::string flipped(std::string bytes) {
  bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
  return bytes;
}

// The release as a Hugging Face cache holds it: blobs, and a snapshot of links.
void write_hf_cache(const SmallRelease& release, const std::string& hub) {
  const std::string repo = hub + "/datasets--org--release";
  const std::string snapshot = repo + "/snapshots/" + std::string(40, 'c');
  for (const auto& file : release.commit_files()) {
    const auto blob = file.store == Store::lfs ? file.content.sha256() : file.content.git_sha1();
    write_file(repo + "/blobs/" + blob, file.content.text());
    const stdfs::path link = snapshot + "/" + file.path;
    stdfs::create_directories(link.parent_path());
    stdfs::create_symlink(stdfs::path{repo + "/blobs/" + blob}.lexically_relative(link.parent_path()), link);
  }
}

// Requests to the CDN, and to the hub for a file's bytes.
std::uint64_t object_requests(const World& world) {
  std::uint64_t count = 0;
  for (const auto& request : world.hub.requests())
    if (request.target.find("/resolve/") != std::string::npos &&
        request.target.find("release_manifest.json") == std::string::npos)
      ++count;
  return count;
}

nlohmann::json summary_of(const Ran& ran) {
  return json_lines(ran.out).back();
}

// A bundle that is locked and holds one small file of the release.
void lock_only(World& world) {
  REQUIRE(world.restore({"--only", "notes"}).code == 0);
  world.hub.clear_log();
}

}  // namespace

TEST_CASE("each kind of local place is read in place, and nothing but the manifest is asked of the hub") {
  World world;
  const auto place = world.dir / "place";
  std::string where = "dir:" + place;
  SECTION("a repo tree") {
    world.release.write_to(place);
  }
  SECTION("a repo tree, as a path") {
    world.release.write_to(place);
    where = place;
  }
  SECTION("a decant cache") {
    REQUIRE(world.fetch().code == 0);
    where = "dir:" + world.cache();
  }
  SECTION("a Hugging Face cache") {
    write_hf_cache(world.release, place);
  }
  SECTION("a home of Hugging Face") {
    write_hf_cache(world.release, place + "/hub");
  }
  SECTION("the user's Hugging Face cache, by HOME") {
    write_hf_cache(world.release, world.dir / "home/.cache/huggingface/hub");
    where = "hf-cache";
  }
  SECTION("the user's Hugging Face cache, by HF_HUB_CACHE") {
    write_hf_cache(world.release, place);
    world.env["HF_HUB_CACHE"] = place;
    where = "hf-cache:";
  }
  world.hub.clear_log();
  const auto before = exists(place) ? stamps_of(place) : Tree{};
  const auto plan = world.plan({"--from", where});
  INFO(plan);
  CHECK(plan.code == 0);
  CHECK(has(plan.out, {"To fetch: 0 B", "not needed: nothing to fetch", "read in place, ", "--from "}));
  const auto ran = world.restore({"--from", where});
  INFO(ran);
  REQUIRE(ran.code == 0);
  CHECK(world.is_restored());
  CHECK(object_requests(world) == 0);
  CHECK(world.bytes_from_cdn() == 0);
  CHECK(has(ran.out, {" from " + (where == "hf-cache:" ? "hf-cache"
                                  : where == place     ? "dir:" + place
                                                       : where)}));
  CHECK(world.verify({"--hash-media"}).code == 0);
  if (exists(place)) CHECK(stamps_of(place) == before);
}

TEST_CASE("a mirror, of a cache and of a repo tree, brings what it has and is never sent a token") {
  World world;
  std::string served = world.dir / "tree";
  SECTION("a repo tree") {
    world.release.write_to(served);
  }
  SECTION("a decant cache") {
    REQUIRE(world.fetch().code == 0);
    served = world.cache();
  }
  StaticMirror mirror{served};
  world.hub.clear_log();
  const auto ran = world.restore({"--from", mirror.address(), "--json"});
  INFO(ran);
  REQUIRE(ran.code == 0);
  CHECK(world.is_restored());
  CHECK(object_requests(world) == 0);
  CHECK_FALSE(mirror.saw_a_token());
  const auto summary = summary_of(ran);
  REQUIRE(summary["from"].size() == 1);
  CHECK(summary["from"][0]["place"] == mirror.address());
  CHECK(summary["from"][0]["bytes"] == summary["bytes"]["from_network"]);
  CHECK_FALSE(summary.contains("dropped_places"));
}

TEST_CASE("places are tried in order, each brings what it has, and the summary counts them") {
  World world;
  const auto place = world.dir / "usb";
  const auto data = world.release.bytes_of("data");
  write_file(place + "/releases/r1/data.tar.zst", data);
  const auto tree = world.dir / "tree";
  world.release.write_to(tree);
  stdfs::remove(tree + "/releases/r1/media/images_001.tar.zst");
  StaticMirror mirror{tree};
  const auto ran = world.restore({"--from", mirror.address(), "--from", "dir:" + place, "--json"});
  INFO(ran);
  REQUIRE(ran.code == 0);
  CHECK(world.is_restored());
  std::map<std::string, std::string> from;
  for (const auto& line : json_lines(ran.out))
    if (line["event"] == "part") from[line["name"]] = line["source"];
  CHECK(from["data"] == "dir:" + place);
  CHECK(from["images_000"] == mirror.address());
  CHECK(from["images_001"] == "hub");
  std::map<std::string, std::uint64_t> bytes;
  const auto summary = summary_of(ran);
  for (const auto& one : summary["from"]) bytes[one["place"]] = one["bytes"];
  CHECK(bytes["dir:" + place] == data.size());
  CHECK(bytes["hub"] == world.release.bytes_of("images_001").size());
  CHECK(bytes.size() == 3);
  CHECK(ran.err.find("not on the mirror") == std::string::npos);  // that one lacks an object is no trouble
}

TEST_CASE("places come from the environment, several apart by blanks, and a flag wins") {
  World world;
  const auto place = world.dir / "place";
  world.release.write_to(place);
  stdfs::create_directories(world.dir / "empty");
  world.env["DECANT_FROM"] = "dir:" + (world.dir / "empty") + "  " + place;
  SECTION("taken") {
    const auto ran = world.restore();
    INFO(ran);
    CHECK(ran.code == 0);
    CHECK(world.bytes_from_cdn() == 0);
    CHECK(has(ran.out, {"from dir:" + place}));
  }
  SECTION("a flag wins") {
    const auto ran = world.restore({"--from", world.dir / "empty"});
    INFO(ran);
    CHECK(ran.code == 0);
    CHECK(world.bytes_from_cdn() > 0);
  }
  SECTION("a wrong word there") {
    world.env["DECANT_FROM"] = "dir:" + place + " nowhere";
    const auto ran = world.restore();
    CHECK(ran.code == 2);
    CHECK(has(ran, {"nowhere"}));
  }
}

TEST_CASE("a damaged copy in a local place is named, and the next place has the part") {
  World world;
  const auto place = world.dir / "place";
  world.release.write_to(place);
  write_file(place + "/releases/r1/media/images_000.tar.zst", flipped(world.release.bytes_of("images_000")));
  SECTION("restore") {
    const auto ran = world.restore({"--from", "dir:" + place});
    INFO(ran);
    CHECK(ran.code == 0);
    CHECK(world.is_restored());
    CHECK(has(ran.err, {"images_000", "dir:" + place, "going on without it"}));
  }
  SECTION("fetch") {
    const auto ran = world.fetch({"--from", "dir:" + place});
    INFO(ran);
    CHECK(ran.code == 0);
    CHECK(has(ran.err, {"images_000", "dir:" + place, "going on without it"}));
    CHECK(has(ran.out, {"from dir:" + place, "from the hub"}));
  }
  SECTION("two of them: that place is used no more") {
    write_file(place + "/releases/r1/media/images_001.tar.zst",
               flipped(world.release.bytes_of("images_001")));
    const auto ran = world.restore({"--from", "dir:" + place, "--jobs", "1"});
    INFO(ran);
    CHECK(ran.code == 0);
    CHECK(world.is_restored());
    CHECK(has(ran.err, {"wrong bytes twice"}));
    CHECK(has(ran.out, {"Not used to the end: dir:" + place}));
  }
  SECTION("offline there is no next place") {
    lock_only(world);
    const auto ran = world.restore({"--from", "dir:" + place, "--offline"});
    INFO(ran);
    CHECK(ran.code == 3);
    CHECK(has(ran, {"images_000", "dir:" + place}));
    CHECK(world.requests() == 0);
  }
}

TEST_CASE("a mirror that lies twice is dropped, and named") {
  World world;
  const auto tree = world.dir / "tree";
  world.release.write_to(tree);
  StaticMirror mirror{tree};
  mirror.change = [](const std::string&, std::string bytes) { return flipped(std::move(bytes)); };
  const auto ran = world.restore({"--from", mirror.address(), "--jobs", "1"});
  INFO(ran);
  CHECK(ran.code == 0);
  CHECK(world.is_restored());
  CHECK(has(ran.err, {mirror.address(), "wrong bytes twice"}));
  CHECK(has(ran.out, {"Not used to the end: " + mirror.address()}));
}

TEST_CASE("a mirror without ranges is read from the start of each file") {
  World world;
  const auto tree = world.dir / "tree";
  world.release.write_to(tree);
  StaticMirror mirror{tree};
  mirror.ignores_range = true;
  const auto ran = world.restore({"--from", mirror.address()});
  INFO(ran);
  CHECK(ran.code == 0);
  CHECK(world.is_restored());
  CHECK(world.bytes_from_cdn() == 0);
}

TEST_CASE("a mirror that does not answer is said once, and costs no part a wait") {
  World world;
  const auto tree = world.dir / "tree";
  world.release.write_to(tree);
  StaticMirror mirror{tree};
  mirror.refuse();
  const auto plan = world.plan({"--from", mirror.address()});
  INFO(plan);
  CHECK(plan.code == 0);
  CHECK(has(plan.out, {"from    " + mirror.address(), "cannot be read", "access  granted"}));
  const auto ran = world.restore({"--from", mirror.address()});
  INFO(ran);
  CHECK(ran.code == 0);
  CHECK(world.is_restored());
  CHECK(has(ran.err, {mirror.address() + " is not used in this run"}));
  CHECK(has(ran.out, {"Not used to the end: " + mirror.address()}));
}

TEST_CASE("with a lock and all objects elsewhere, the hub is not asked, and need not be there") {
  World world;
  const auto tree = world.dir / "tree";
  world.release.write_to(tree);
  lock_only(world);
  SECTION("a directory") {
    const auto ran = world.restore({"--from", tree});
    INFO(ran);
    CHECK(ran.code == 0);
    CHECK(world.requests() == 0);
  }
  SECTION("a directory, offline") {
    const auto ran = world.restore({"--from", tree, "--offline"});
    INFO(ran);
    CHECK(ran.code == 0);
    CHECK(world.requests() == 0);
  }
  SECTION("a mirror") {
    StaticMirror mirror{tree};
    const auto ran = world.restore({"--from", mirror.address()});
    INFO(ran);
    CHECK(ran.code == 0);
    CHECK(world.requests() == 0);
  }
  SECTION("no hub at all") {
    world.hub.refuse(Where::hub);
    world.hub.refuse(Where::cdn);
    StaticMirror mirror{tree};
    const auto ran = world.restore({"--from", mirror.address()});
    INFO(ran);
    CHECK(ran.code == 0);
  }
  CHECK(world.is_restored());
}

TEST_CASE("a lock that was copied here finds its manifest elsewhere, too") {
  World world;
  REQUIRE(world.restore().code == 0);
  REQUIRE(world.fetch().code == 0);
  const auto lock = read_file(world.bundle() + "/restore_lock.json");
  stdfs::remove_all(world.bundle());
  stdfs::remove_all(world.runtime());
  write_file(world.bundle() + "/restore_lock.json", lock);
  const auto tree = world.dir / "tree";
  world.release.write_to(tree);
  world.hub.clear_log();
  world.hub.refuse(Where::hub);
  std::string where = tree;
  SECTION("a repo tree") {}
  SECTION("a decant cache") {
    where = world.cache();
  }
  const auto ran = world.restore({"--from", where});
  INFO(ran);
  CHECK(ran.code == 0);
  CHECK(world.is_restored());
}

TEST_CASE("with --offline no mirror is asked") {
  World world;
  const auto tree = world.dir / "tree";
  world.release.write_to(tree);
  StaticMirror mirror{tree};
  lock_only(world);
  const auto ran = world.restore({"--from", mirror.address(), "--offline"});
  INFO(ran);
  CHECK(ran.code == 3);
  CHECK(mirror.asked().empty());
  CHECK(world.requests() == 0);
}

TEST_CASE("fetch copies from a local place into the cache, and never links") {
  World world;
  const auto place = world.dir / "place";
  world.release.write_to(place);
  const auto before = stamps_of(place);
  const auto ran = world.fetch({"--from", place});
  INFO(ran);
  REQUIRE(ran.code == 0);
  CHECK(world.bytes_from_cdn() == 0);
  CHECK(stamps_of(place) == before);  // no link count has grown
  for (const auto& [path, stamp] : stamps_of(world.cache()))
    if (path.starts_with("sha256/") && path.size() > 64) CHECK(stamp.find("links 1 ") != std::string::npos);
  const auto offline = world.restore({"--offline", "--download-cache", world.cache()});
  INFO(offline);
  CHECK(offline.code == 0);
  CHECK(world.is_restored());
}

TEST_CASE("words of --from that name no place are refused before any request") {
  World world;
  write_file(world.dir / "file", "x");
  struct Row {
    std::string word;
    std::string said;
  };
  const std::vector<Row> rows{
      {"dir:" + (world.dir / "nothing"), "nothing"},
      {world.dir / "file", "directory"},
      {"dir:", "empty path"},
      {"place", "./PATH"},
      {"http://", "http"},
      {"http://user:secret@mirror/x", "user or password"},
      {"https://mirror/x?sig=secret", "query"},
      {"ftp://mirror/x", "ftp"},
      {"modelscope:", "modelscope:ORG/NAME"},
      {"modelscope:org", "modelscope:ORG/NAME"},
      {"ms://org/name", "modelscope:ORG/NAME"},
  };
  for (std::size_t i = 0; i < rows.size(); ++i) {
    DYNAMIC_SECTION("word " << i) {
      const auto& row = rows[i];
      world.forbid_writes();
      for (const auto& ran : {world.restore({"--from", row.word}), world.plan({"--from", row.word})}) {
        INFO(ran);
        CHECK(ran.code == 2);
        CHECK(has(ran, {row.said, "next:"}));
        CHECK(ran.all().find("secret") == std::string::npos);
      }
      CHECK(world.requests() == 0);
    }
  }
}

TEST_CASE(
    "equal files come from ModelScope, under the repo's own name or another, and the token stays there") {
  World world;
  world.env["MODELSCOPE_ENDPOINT"] = world.hub.endpoint();
  world.env["MODELSCOPE_API_TOKEN"] = world.token;
  for (const std::string word : {"modelscope", "modelscope:datasets/org/release@main"}) {
    const auto ran = world.restore({"--from", word, "--json"});
    INFO(ran);
    REQUIRE(ran.code == 0);
    CHECK(world.is_restored());
    std::map<std::string, std::string> from;
    for (const auto& line : json_lines(ran.out))
      if (line["event"] == "part") from[line["name"]] = line["source"];
    CHECK(from["data"] == "modelscope:org/release");
    CHECK(from["images_000"] == "modelscope:org/release");
    stdfs::remove_all(world.bundle());
    stdfs::remove_all(world.runtime());
  }
  for (const auto& request : world.hub.requests())
    if (request.where == Where::cdn) CHECK_FALSE(request.has_authorization);
}

TEST_CASE("a Hugging Face cache that is not there is said, and is no error") {
  World world;
  const auto ran = world.restore({"--from", "hf-cache"});
  INFO(ran);
  CHECK(ran.code == 0);
  CHECK(has(ran.err, {"hf-cache is left out"}));
}

TEST_CASE("a mirror as SOURCE: restored, locked to it, and gone back to without SOURCE") {
  World world;
  const auto tree = world.dir / "tree";
  world.release.write_to(tree);
  StaticMirror mirror{tree};
  const Args line{"restore",  mirror.address() + "/", "--release",      "releases/r1",
                  "--bundle", world.bundle(),         "--runtime-root", world.runtime()};
  const auto ran = world.run(line);
  INFO(ran);
  REQUIRE(ran.code == 0);
  CHECK(world.is_restored());
  CHECK(world.requests() == 0);
  CHECK_FALSE(mirror.saw_a_token());
  CHECK(has(read_file(world.bundle() + "/restore_lock.json"),
            {"\"kind\": \"mirror\"", "\"" + mirror.address() + "\""}));
  const auto asked = mirror.asked().size();
  CHECK(world.run(line).code == 0);
  CHECK(world.restore_again().code == 0);
  CHECK(mirror.asked().size() == asked);

  stdfs::remove_all(world.runtime() + "/qwen_env");
  stdfs::remove_all(world.bundle() + "/.decant/cache");
  const auto again = world.restore_again();
  INFO(again);
  CHECK(again.code == 0);
  CHECK(mirror.asked().size() > asked);
  CHECK(world.is_restored());
  CHECK(world.verify({"--hash-media"}).code == 0);
}

TEST_CASE("what a mirror as SOURCE cannot do is told") {
  World world;
  const auto tree = world.dir / "tree";
  world.release.write_to(tree);
  StaticMirror mirror{tree};
  const auto run = [&](Args more) {
    Args args{"restore", mirror.address(), "--bundle", world.bundle(), "--runtime-root", world.runtime()};
    args.insert(args.end(), more.begin(), more.end());
    return world.run(args);
  };
  world.forbid_writes();
  SECTION("loose files") {
    const auto ran = run({"--loose"});
    INFO(ran);
    CHECK(ran.code == 2);
    CHECK(has(ran, {"no listing"}));
  }
  SECTION("no manifest there") {
    const auto ran = run({});
    INFO(ran);
    CHECK(ran.code == 5);
    CHECK(has(ran, {"release_manifest.json", "--release"}));
  }
  SECTION("a revision") {
    const auto ran = run({"--release", "releases/r1", "--revision", "main"});
    INFO(ran);
    CHECK(ran.code == 2);
  }
  SECTION("a part that is not there") {
    world.forbid_writes(false);
    stdfs::remove(tree + "/releases/r1/media/images_001.tar.zst");
    const auto ran = run({"--release", "releases/r1"});
    INFO(ran);
    CHECK(ran.code == 5);
    CHECK(has(ran, {"images_001", "is not on the mirror", "HTTP 404"}));
  }
  SECTION("a manifest that lacks figures") {
    world.forbid_writes(false);
    auto own = world.release.manifest;
    own["parts"][0].erase("size");
    write_file(world.dir / "own.json", own.dump());
    const auto ran = run({"--manifest", world.dir / "own.json"});
    INFO(ran);
    CHECK(ran.code == 10);
    CHECK(has(ran, {"part data", "no size"}));
  }
}

TEST_CASE(
    "a mirror's redirect is followed with no token, and not from one host to another without encryption") {
  World world;
  const auto tree = world.dir / "tree";
  world.release.write_to(tree);
  StaticMirror storage{tree};
  StaticMirror mirror{world.dir / "nothing"};
  bool to_other_host = false;
  mirror.redirect = [&](const std::string& path) {
    if (to_other_host) return "http://other.invalid" + path;
    return storage.address() + path;  // another port of the same host
  };
  SECTION("same host") {
    const auto ran = world.restore({"--from", mirror.address()});
    INFO(ran);
    CHECK(ran.code == 0);
    CHECK(world.bytes_from_cdn() == 0);
    CHECK_FALSE(storage.saw_a_token());
  }
  SECTION("another host") {
    to_other_host = true;
    const auto ran = world.restore({"--from", mirror.address()});
    INFO(ran);
    CHECK(ran.code == 0);
    CHECK(has(ran.err, {"redirect", "without encryption"}));
  }
  CHECK(world.is_restored());
}

}  // namespace decant::test
