// SPDX-License-Identifier: Apache-2.0
#include "decant/model/index.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <unordered_map>
#include <utility>

#include "decant/base/error.hpp"
#include "decant/base/text.hpp"
#include "decant/model/json.hpp"
#include "decant/model/manifest.hpp"
#include "node.hpp"
#include "path_text.hpp"
#include "strict_json.hpp"

namespace decant::model {
namespace {

constexpr std::string_view k_schema_stem = "decant.index/";
constexpr std::string_view k_hint =
    "run restore again: an index that cannot be read is made anew from its part";
constexpr std::size_t k_piece = 64 * k_kib;
constexpr std::size_t k_min_line = 24;  // no entry's line is shorter

std::uint64_t total_bytes(const std::vector<IndexEntry>& entries) {
  std::uint64_t total = 0;
  for (const IndexEntry& entry : entries) total += entry.size;
  return total;
}

void append_entry(const IndexEntry& entry, std::string& out) {
  const auto at = std::back_inserter(out);
  switch (entry.type) {
    case EntryType::file:
      fmt::format_to(at, "{{\"type\":\"file\",{},\"size\":{},\"sha256\":\"{}\"",
                     byte_member("path", entry.path.str()), entry.size, entry.sha256.hex());
      if (entry.executable) out += ",\"executable\":true";
      if (!entry.same_as.is_root()) fmt::format_to(at, ",{}", byte_member("same_as", entry.same_as.str()));
      fmt::format_to(at, ",\"mtime\":{}}}\n", entry.mtime);
      return;
    case EntryType::dir:
      fmt::format_to(at, "{{\"type\":\"dir\",{},\"mtime\":{}}}\n", byte_member("path", entry.path.str()),
                     entry.mtime);
      return;
    case EntryType::symlink:
      fmt::format_to(at, "{{\"type\":\"symlink\",{},{}}}\n", byte_member("path", entry.path.str()),
                     byte_member("target", entry.target));
      return;
  }
}

class Parser {
 public:
  Parser(std::string_view text, std::string_view origin) : text_{text}, origin_{origin} {}
  PartIndex parse();

 private:
  // The next line without its newline; false at the end.
  bool next_line(std::string_view& line);
  TextOrigin line_origin() const { return {.name = origin_, .first_line = line_, .hint = k_hint}; }
  void read_header(std::string_view line);
  void read_record(std::string_view line);
  void read_frame(const Node& node);
  void read_entry(const Node& node, const std::string& type);
  void check_paths() const;
  [[noreturn]] void fail(std::string_view what, std::string expected, std::string found) const;

  std::string_view text_;
  std::string_view origin_;
  std::size_t line_ = 0;
  PartIndex index_;
  std::uint64_t entries_ = 0;  // as the header states
  std::uint64_t bytes_ = 0;
  std::uint64_t frames_ = 0;
  std::uint64_t read_bytes_ = 0;
};

void Parser::fail(std::string_view what, std::string expected, std::string found) const {
  throw Error{Problem{.kind = ErrorKind::state,
                      .thing = fmt::format("{}: line {}: {}", escape_for_display(origin_), line_, what),
                      .expected = std::move(expected),
                      .found = std::move(found),
                      .hint = std::string{k_hint}}};
}

bool Parser::next_line(std::string_view& line) {
  if (text_.empty()) return false;
  ++line_;
  const std::size_t end = text_.find('\n');
  if (end == std::string_view::npos) fail("the text ends too early", "a newline at the end", "none");
  line = text_.substr(0, end);
  text_.remove_prefix(end + 1);
  return true;
}

void Parser::read_header(std::string_view line) {
  const TextOrigin origin = line_origin();
  const Value value = parse_json(line, origin);
  Node node{value, origin};
  const auto schema = node.object().find("schema");
  const auto* name = schema ? schema->value().get<std::string>() : nullptr;
  if (!name || *name != k_index_schema) {
    const bool newer = name && name->starts_with(k_schema_stem);
    node.refuse(newer ? "the index is too new for this decant" : "not a part index",
                fmt::format("schema \"{}\"", k_index_schema),
                schema ? describe(schema->value()) : "no schema", newer ? "use a newer decant" : "");
  }
  const Node part = node.require("part", "the part's size and digest");
  index_.part_size = part.require("size", "the part's size in bytes").size_number();
  const auto git = part.find("git-sha1");
  index_.part_digest =
      git ? git->digest(hash::Algorithm::git_sha1) : part.require("sha256", "the part's digest").digest();
  entries_ = node.require("entries", "the number of entries").size_number();
  bytes_ = node.require("bytes", "the sum of file sizes").size_number();
  if (const auto frames = node.find("frames")) frames_ = frames->size_number();
  // What a header promises is not believed before its lines are there.
  index_.entries.reserve(std::min<std::uint64_t>(entries_, text_.size() / k_min_line));
}

void Parser::read_frame(const Node& node) {
  IndexFrame frame;
  frame.offset = node.require("offset", "where the frame begins in the part").size_number();
  frame.size = node.require("size", "the frame's compressed size").size_number();
  frame.sha256 = node.require("sha256", "the SHA-256 of the compressed bytes").digest();
  frame.tar_offset = node.require("tar_offset", "where its content begins in the tar stream").size_number();
  const bool first = index_.frames.empty();
  const std::uint64_t due = first ? 0 : index_.frames.back().offset + index_.frames.back().size;
  if (frame.offset != due || frame.size == 0 || frame.size > index_.part_size - due) {
    node.fail(fmt::format("a frame at {} within the part's {} bytes", due, index_.part_size),
              fmt::format("offset {}, size {}", frame.offset, frame.size));
  }
  if (first ? frame.tar_offset != 0 : frame.tar_offset < index_.frames.back().tar_offset) {
    node.require("tar_offset", "").fail(first ? "0 for the first frame" : "no step back");
  }
  index_.frames.push_back(frame);
}

void Parser::read_entry(const Node& node, const std::string& type) {
  IndexEntry entry;
  entry.path = read_path(node, "path");
  if (type == "file") {
    entry.size = node.require("size", "the file's size in bytes").size_number();
    entry.sha256 = node.require("sha256", "the file's SHA-256").digest();
    if (const auto flag = node.find("executable")) entry.executable = flag->boolean();
    if (node.find("same_as") || node.find("same_as_hex")) entry.same_as = read_path(node, "same_as");
  } else if (type == "dir") {
    entry.type = EntryType::dir;
  } else if (type == "symlink") {
    entry.type = EntryType::symlink;
    entry.target = decant::model::read_bytes(node, "target");
    if (entry.target.empty() || entry.target.find('\0') != std::string::npos) {
      node.fail("target: a link target", entry.target.empty() ? "an empty text" : "a NUL byte");
    }
  } else {
    node.require("type", "").fail("file, dir, symlink or frame");
  }
  if (entry.type != EntryType::symlink) {
    entry.mtime = node.require("mtime", "seconds since 1970").signed_number();
  }
  if (entry.size > k_max_size - read_bytes_) node.fail("file sizes that add up below 2^63", "more");
  read_bytes_ += entry.size;
  index_.entries.push_back(std::move(entry));
}

void Parser::read_record(std::string_view line) {
  const TextOrigin origin = line_origin();
  const Value value = parse_json(line, origin);
  Node node{value, origin};
  node.set_label(fmt::format("line {}", line_));
  const Node type = node.object().require("type", "file, dir, symlink or frame");
  if (type.text() == "frame") {
    read_frame(node);
  } else {
    read_entry(node, type.text());
  }
}

// Each path once, nothing below a path that is no directory, and hard links that point back to the same
// content.
void Parser::check_paths() const {
  const auto& entries = index_.entries;
  std::unordered_map<std::string_view, std::size_t> places;
  places.reserve(entries.size());
  const auto refuse = [&](std::size_t i, std::string expected, std::string found) {
    throw Error{Problem{.kind = ErrorKind::state,
                        .thing = fmt::format("{}: entry {} ({})", escape_for_display(origin_), i + 1,
                                             escape_for_display(entries[i].path.str())),
                        .expected = std::move(expected),
                        .found = std::move(found),
                        .hint = std::string{k_hint}}};
  };
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const IndexEntry& entry = entries[i];
    if (!places.emplace(entry.path.str(), i).second) refuse(i, "each path once", "the path again");
    if (entry.same_as.is_root()) continue;
    const auto at = places.find(entry.same_as.str());
    if (at == places.end() || at->second == i || entries[at->second].type != EntryType::file ||
        entries[at->second].sha256 != entry.sha256 || entries[at->second].size != entry.size) {
      refuse(i, "same_as: an earlier file with the same content", escape_for_display(entry.same_as.str()));
    }
  }
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const std::string_view path = entries[i].path.str();
    for (std::size_t at = path.find('/'); at != std::string_view::npos; at = path.find('/', at + 1)) {
      const auto parent = places.find(path.substr(0, at));
      if (parent != places.end() && entries[parent->second].type != EntryType::dir) {
        refuse(i, "directories above it", fmt::format("{} is none", escape_for_display(path.substr(0, at))));
      }
    }
  }
}

PartIndex Parser::parse() {
  std::string_view line;
  if (!next_line(line)) fail("the index is empty", "a header line", "nothing");
  read_header(line);
  while (next_line(line)) read_record(line);
  if (index_.entries.size() != entries_) {
    fail("entries are missing or too many", counted(entries_, "entry", "entries") + ", as the header says",
         std::to_string(index_.entries.size()));
  }
  if (read_bytes_ != bytes_) {
    fail("file sizes do not add up", fmt::format("{} bytes, as the header says", bytes_),
         std::to_string(read_bytes_));
  }
  const auto& frames = index_.frames;
  const std::uint64_t covered = frames.empty() ? 0 : frames.back().offset + frames.back().size;
  if (frames.size() != frames_ || (!frames.empty() && covered != index_.part_size)) {
    fail("frames do not tile the part", fmt::format("{} frames, {} bytes", frames_, index_.part_size),
         fmt::format("{} frames, {} bytes", frames.size(), covered));
  }
  check_paths();
  return std::move(index_);
}

}  // namespace

void to_jsonl(const PartIndex& index, ByteSink& sink) {
  std::string out;
  out.reserve(k_piece + k_piece / 4);
  const auto at = std::back_inserter(out);
  const auto flush = [&](std::size_t least) {
    if (out.size() < least) return;
    sink.write(as_bytes(out));
    out.clear();
  };
  fmt::format_to(at, "{{\"schema\":\"{}\",\"part\":{{\"size\":{},\"{}\":\"{}\"}},\"entries\":{},\"bytes\":{}",
                 k_index_schema, index.part_size, hash::to_string(index.part_digest.algorithm()),
                 index.part_digest.hex(), index.entries.size(), total_bytes(index.entries));
  if (!index.frames.empty()) fmt::format_to(at, ",\"frames\":{}", index.frames.size());
  out += "}\n";
  for (const IndexFrame& frame : index.frames) {
    fmt::format_to(at,
                   "{{\"type\":\"frame\",\"offset\":{},\"size\":{},\"sha256\":\"{}\",\"tar_offset\":{}}}\n",
                   frame.offset, frame.size, frame.sha256.hex(), frame.tar_offset);
    flush(k_piece);
  }
  for (const IndexEntry& entry : index.entries) {
    append_entry(entry, out);
    flush(k_piece);
  }
  flush(1);
}

std::string to_jsonl(const PartIndex& index) {
  class Text final : public ByteSink {
   public:
    void write(Bytes bytes) override { text += as_text(bytes); }
    std::string text;
  } sink;
  to_jsonl(index, sink);
  return std::move(sink.text);
}

PartIndex parse_index(std::string_view jsonl, std::string_view origin) {
  return Parser{jsonl, origin}.parse();
}

}  // namespace decant::model
