// SPDX-License-Identifier: Apache-2.0
#include "symbols/symbol_cache.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "symbol_cache_generated.h"
#include "tensorscope/dump_format.h"

namespace tensorscope::analyzer {

namespace {

constexpr uintmax_t kMaxCacheBytes = uintmax_t{256} << 20;

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
  if (error || size < sizeof(uint64_t) || size > kMaxCacheBytes) return;
  std::vector<uint64_t> bytes(size / sizeof(uint64_t) + 1);  // aligned: the checksum, then the buffer
  std::ifstream file(path(), std::ios::binary);
  if (!file.read(reinterpret_cast<char*>(bytes.data()), std::streamsize(size))) return;
  const auto* buffer = reinterpret_cast<const uint8_t*>(bytes.data() + 1);
  const size_t length = size - sizeof(uint64_t);
  flatbuffers::Verifier verifier(buffer, length, 64, UINT32_MAX);
  if (bytes[0] != XXH3_64bits(buffer, length) || !symbols::VerifyCacheBuffer(verifier)) return;
  const symbols::Cache* cache = symbols::GetCache(buffer);
  if (!cache->source() || !cache->addresses()) return;
  const auto text = [](const flatbuffers::String* from) { return from ? from->str() : std::string(); };
  for (const symbols::Address* address : *cache->addresses()) {
    std::vector<CodePlace>& row = places_[address->address()];
    if (!address->places()) continue;
    for (const symbols::Place* place : *address->places()) {
      row.push_back({text(place->function()), text(place->file()), place->line(), place->inlined()});
    }
  }
  source_ = cache->source()->str();
}

void SymbolCache::save() {
  if (!changed_ || directory_.empty()) return;
  changed_ = false;
  flatbuffers::FlatBufferBuilder builder;
  std::vector<flatbuffers::Offset<symbols::Address>> addresses;
  for (const auto& [address, places] : places_) {
    std::vector<flatbuffers::Offset<symbols::Place>> row;
    for (const CodePlace& place : places) {
      row.push_back(symbols::CreatePlace(builder, builder.CreateSharedString(place.function),
                                         builder.CreateSharedString(place.file), place.line, place.inlined));
    }
    addresses.push_back(symbols::CreateAddress(builder, address, builder.CreateVector(row)));
  }
  const auto source = builder.CreateString(source_);
  symbols::FinishCacheBuffer(builder, symbols::CreateCache(builder, source, builder.CreateVector(addresses)));
  const uint64_t checksum = XXH3_64bits(builder.GetBufferPointer(), builder.GetSize());

  std::error_code error;
  const std::filesystem::path directory(directory_), parent = directory.parent_path();
  std::filesystem::create_directories(parent.parent_path(), error);
  mkdir(parent.c_str(), 0700);
  mkdir(directory.c_str(), 0700);
  std::string temporary = path() + ".XXXXXX";
  int fd = mkstemp(temporary.data());
  if (fd < 0) return;
  bool written = true;
  for (std::string_view part :
       {std::string_view(reinterpret_cast<const char*>(&checksum), sizeof checksum),
        std::string_view(reinterpret_cast<const char*>(builder.GetBufferPointer()), builder.GetSize())}) {
    while (written && !part.empty()) {
      ssize_t done = write(fd, part.data(), part.size());
      written = done > 0;
      if (written) part.remove_prefix(size_t(done));
    }
  }
  written = close(fd) == 0 && written;
  if (!written || rename(temporary.c_str(), path().c_str()) != 0) unlink(temporary.c_str());
}

}  // namespace tensorscope::analyzer
