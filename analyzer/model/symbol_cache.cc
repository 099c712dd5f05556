#include "model/symbol_cache.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <system_error>

#include "tensorscope/dump_format.h"

namespace tensorscope::model {

namespace {

// file := magic, XXH3-64 of the body, body; body := source, count of texts, texts, then rows of
// {address, count, {function, file, line, inlined} ...} with texts as indexes. Numbers are 32-bit but for addresses.
constexpr char kMagic[8] = {'T', 'S', 'S', 'Y', 'M', 'S', '0', '1'};
constexpr uintmax_t kMostCacheBytes = uintmax_t{256} << 20;

class Writer {
 public:
  void number(uint32_t value) { bytes.append(reinterpret_cast<const char*>(&value), sizeof value); }
  void address(uint64_t value) { bytes.append(reinterpret_cast<const char*>(&value), sizeof value); }
  void text(const std::string& value) {
    number(uint32_t(value.size()));
    bytes += value;
  }
  std::string bytes;
};

class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}
  bool ok() const { return ok_; }
  bool at_end() const { return bytes_.empty(); }
  uint32_t number() { return take<uint32_t>(); }
  uint64_t address() { return take<uint64_t>(); }
  std::string text() {
    uint32_t size = number();
    if (size > bytes_.size()) return ok_ = false, "";
    std::string out(bytes_.substr(0, size));
    bytes_.remove_prefix(size);
    return out;
  }

 private:
  template <typename T>
  T take() {
    T value{};
    if (bytes_.size() < sizeof value) return ok_ = false, value;
    std::memcpy(&value, bytes_.data(), sizeof value);
    bytes_.remove_prefix(sizeof value);
    return value;
  }
  std::string_view bytes_;
  bool ok_ = true;
};

}  // namespace

std::string default_cache_directory() {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  if (cache && cache[0] == '/') return std::string(cache) + "/tensorscope/symbols";
  const char* home = std::getenv("HOME");
  if (home && home[0] == '/') return std::string(home) + "/.cache/tensorscope/symbols";
  return "";
}

SymbolCache::SymbolCache(std::string directory, std::string build_id)
    : directory_(std::move(directory)), build_id_(std::move(build_id)) {
  if (build_id_.empty()) directory_.clear();
  load();
}

std::string SymbolCache::path() const { return directory_ + "/" + build_id_; }

void SymbolCache::set_source(const std::string& source) {
  if (source == source_) return;
  places_.clear();
  source_ = source;
}

const std::vector<CodePlace>* SymbolCache::find(uint64_t address) const {
  auto found = places_.find(address);
  return found == places_.end() ? nullptr : &found->second;
}

const std::vector<CodePlace>& SymbolCache::add(uint64_t address, std::vector<CodePlace> places) {
  changed_ = true;
  return places_[address] = std::move(places);
}

void SymbolCache::load() {
  if (directory_.empty()) return;
  std::error_code error;
  uintmax_t size = std::filesystem::file_size(path(), error);
  if (error || size < sizeof kMagic + 8 || size > kMostCacheBytes) return;
  std::string bytes(size, '\0');
  std::ifstream file(path(), std::ios::binary);
  if (!file.read(bytes.data(), std::streamsize(size))) return;
  std::string_view body = std::string_view(bytes).substr(sizeof kMagic + 8);
  uint64_t checksum = 0;
  std::memcpy(&checksum, bytes.data() + sizeof kMagic, sizeof checksum);
  if (std::memcmp(bytes.data(), kMagic, sizeof kMagic) != 0 || checksum != XXH3_64bits(body.data(), body.size()))
    return;

  Reader in(body);
  std::string source = in.text();
  std::vector<std::string> texts;
  for (uint32_t left = in.number(); left > 0 && in.ok(); left--) texts.push_back(in.text());
  std::unordered_map<uint64_t, std::vector<CodePlace>> places;
  while (in.ok() && !in.at_end()) {
    std::vector<CodePlace>& row = places[in.address()];
    for (uint32_t left = in.number(); left > 0 && in.ok(); left--) {
      uint32_t function = in.number(), name = in.number(), line = in.number(), inlined = in.number();
      if (function >= texts.size() || name >= texts.size()) return;
      row.push_back({texts[function], texts[name], int(line), inlined != 0});
    }
  }
  if (!in.ok()) return;
  source_ = std::move(source);
  places_ = std::move(places);
}

void SymbolCache::save() {
  if (!changed_ || directory_.empty()) return;
  changed_ = false;
  std::map<std::string, uint32_t> ids;
  std::vector<const std::string*> texts;
  Writer rows;
  auto id = [&](const std::string& text) {
    auto [found, fresh] = ids.try_emplace(text, uint32_t(ids.size()));
    if (fresh) texts.push_back(&found->first);
    return found->second;
  };
  for (const auto& [address, places] : places_) {
    rows.address(address);
    rows.number(uint32_t(places.size()));
    for (const CodePlace& place : places) {
      rows.number(id(place.function));
      rows.number(id(place.file));
      rows.number(uint32_t(place.line));
      rows.number(place.inlined);
    }
  }
  Writer body;
  body.text(source_);
  body.number(uint32_t(texts.size()));
  for (const std::string* text : texts) body.text(*text);
  body.bytes += rows.bytes;

  std::error_code error;
  const std::filesystem::path directory(directory_), parent = directory.parent_path();
  std::filesystem::create_directories(parent.parent_path(), error);
  mkdir(parent.c_str(), 0700);
  mkdir(directory.c_str(), 0700);
  std::string temporary = path() + ".XXXXXX";
  int fd = mkstemp(temporary.data());
  if (fd < 0) return;
  const uint64_t checksum = XXH3_64bits(body.bytes.data(), body.bytes.size());
  std::string head(kMagic, sizeof kMagic);
  head.append(reinterpret_cast<const char*>(&checksum), sizeof checksum);
  bool written = true;
  for (std::string_view part : {std::string_view(head), std::string_view(body.bytes)}) {
    while (written && !part.empty()) {
      ssize_t done = write(fd, part.data(), part.size());
      written = done > 0;
      if (written) part.remove_prefix(size_t(done));
    }
  }
  written = close(fd) == 0 && written;
  if (!written || rename(temporary.c_str(), path().c_str()) != 0) unlink(temporary.c_str());
}

}  // namespace tensorscope::model
