// SPDX-License-Identifier: Apache-2.0
// pprof's profile.proto, compressed by gzip: a sample a site, with live blocks and live bytes. The few kinds of fields
// are written by code of ours, as the values of Parquet's are: a message of protobuf is a row of numbered fields.
#include <zlib.h>

#include <map>
#include <stdexcept>

#include "export/export.h"
#include "export/profiles/frame_table.h"
#include "export/profiles/site_sums.h"

namespace tensorscope::exports {

namespace {

// One message. Fields of value 0 are left out, as protobuf does.
class Message {
 public:
  void number(uint32_t field, uint64_t value) {
    if (value == 0) return;
    varint(uint64_t(field) << 3);
    varint(value);
  }
  void bytes(uint32_t field, std::string_view text) {
    varint(uint64_t(field) << 3 | 2);
    varint(text.size());
    text_ += text;
  }
  void message(uint32_t field, const Message& inner) { bytes(field, inner.text_); }
  void numbers(uint32_t field, const std::vector<uint64_t>& values) {
    Message packed;
    for (const uint64_t value : values) packed.varint(value);
    message(field, packed);
  }
  const std::string& text() const { return text_; }

 private:
  void varint(uint64_t value) {
    for (; value >= 128; value >>= 7) text_ += char(uint8_t(value | 128));
    text_ += char(uint8_t(value));
  }
  std::string text_;
};

// Numbers of the fields of profile.proto.
namespace profile {
constexpr uint32_t kSampleType = 1, kSample = 2, kMapping = 3, kLocation = 4, kFunction = 5, kStrings = 6, kTime = 9,
                   kDefaultSampleType = 14;
}

class Profile {
 public:
  Profile() { string(""); }

  std::string text(const analyzer::Dump& dump, analyzer::Symbols& symbols, const ExportOptions& options) {
    sample_type("inuse_objects", "count");
    sample_type("inuse_space", "bytes");
    for (const auto& [site, sum] : live_by_site(dump)) {
      Message sample;
      std::vector<uint64_t> locations;
      for (const analyzer::Frame& frame : symbols.shown(dump.sites[site], options.full_stacks)) {
        locations.push_back(table_.add(frame) + 1);
      }
      sample.numbers(1, locations);
      sample.numbers(2, {sum.blocks, sum.bytes});
      out_.message(profile::kSample, sample);
    }
    Message mapping;
    mapping.number(1, 1);
    mapping.number(5, string(dump.process.executable));
    for (const uint32_t has : {7u, 8u, 9u}) mapping.number(has, 1);  // functions, files, lines: all are resolved
    out_.message(profile::kMapping, mapping);
    for (size_t i = 0; i < table_.frames().size(); ++i) location(table_.frames()[i], i + 1);
    for (const std::string* text : in_order_) out_.bytes(profile::kStrings, *text);
    out_.number(profile::kTime, dump.process.dump_unix_ns);
    out_.number(profile::kDefaultSampleType, string("inuse_space"));
    return out_.text();
  }

 private:
  uint64_t string(const std::string& text) {
    const auto [at, fresh] = strings_.try_emplace(text, strings_.size());
    if (fresh) in_order_.push_back(&at->first);
    return at->second;
  }
  void sample_type(const char* type, const char* unit) {
    Message value;
    value.number(1, string(type));
    value.number(2, string(unit));
    out_.message(profile::kSampleType, value);
  }
  // A location and the function it is in, by the same number.
  void location(const TableFrame& frame, uint64_t id) {
    Message function, line, location;
    function.number(1, id);
    function.number(2, string(frame.name));
    function.number(3, string(frame.name));
    function.number(4, string(frame.file));
    out_.message(profile::kFunction, function);
    line.number(1, id);
    line.number(2, uint64_t(frame.line));
    location.number(1, id);
    location.number(2, 1);
    location.message(4, line);
    out_.message(profile::kLocation, location);
  }

  Message out_;
  FrameTable table_;
  std::map<std::string, uint64_t> strings_;
  std::vector<const std::string*> in_order_;
};

std::string gzip(const std::string& text) {
  z_stream stream{};
  constexpr int kWindow = 15, kGzip = 16, kMemory = 8;
  if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, kWindow + kGzip, kMemory, Z_DEFAULT_STRATEGY) != Z_OK) {
    throw std::bad_alloc();
  }
  std::string out(deflateBound(&stream, text.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = uInt(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = uInt(out.size());
  const int done = deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  if (done != Z_STREAM_END) throw std::runtime_error("zlib did not compress the profile");
  return out;
}

}  // namespace

void export_pprof(const analyzer::Dump& dump, analyzer::Symbols& symbols, std::ostream& out,
                  const ExportOptions& options) {
  out << gzip(Profile().text(dump, symbols, options));
}

}  // namespace tensorscope::exports
