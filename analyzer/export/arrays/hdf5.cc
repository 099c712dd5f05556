// SPDX-License-Identifier: Apache-2.0
// HDF5 through its own library: a group for each column, a data set for each array.
#include <fmt/format.h>
#include <hdf5.h>

#include <algorithm>
#include <stdexcept>

#include "dump/reader.h"
#include "dump/type_names.h"
#include "export/arrays/values_export.h"
#include "support/error.h"
#include "values/element_type.h"

namespace tensorscope::exports {

namespace {

constexpr ArrayFormat kHdf5 = {.texts = true};
constexpr uint64_t kChunkBytes = uint64_t{1} << 20;
constexpr size_t kAtOnce = size_t{4} << 20;  // bytes

[[noreturn]] void fail(const std::string& what) { throw analyzer::OutputError(what); }

// A handle that is closed at the end; negative ones are errors.
class Handle {
 public:
  Handle(hid_t id, herr_t (*close)(hid_t), const char* what) : id_(id), close_(close) {
    if (id < 0) fail(std::string("HDF5 cannot ") + what);
  }
  ~Handle() { close_(id_); }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  operator hid_t() const { return id_; }  // NOLINT(google-explicit-constructor): it is passed to C functions

 private:
  hid_t id_;
  herr_t (*close_)(hid_t);
};

void done(herr_t result, const char* what) {
  if (result < 0) fail(std::string("HDF5 cannot ") + what);
}

hid_t half_type() {
  const hid_t type = H5Tcopy(H5T_IEEE_F32LE);
  done(H5Tset_fields(type, 15, 10, 5, 0, 10), "make a type");
  done(H5Tset_size(type, 2), "make a type");
  done(H5Tset_ebias(type, 15), "make a type");
  return type;
}

// As h5py has it: False and True.
hid_t bool_type() {
  const hid_t type = H5Tenum_create(H5T_STD_I8LE);
  const int8_t values[] = {0, 1};
  done(H5Tenum_insert(type, "FALSE", &values[0]), "make a type");
  done(H5Tenum_insert(type, "TRUE", &values[1]), "make a type");
  return type;
}

hid_t complex_type(hid_t part) {
  const size_t size = H5Tget_size(part);
  const hid_t type = H5Tcreate(H5T_COMPOUND, 2 * size);
  done(H5Tinsert(type, "r", 0, part), "make a type");
  done(H5Tinsert(type, "i", size, part), "make a type");
  return type;
}

hid_t text_type() {
  const hid_t type = H5Tcopy(H5T_C_S1);
  done(H5Tset_size(type, H5T_VARIABLE), "make a type");
  done(H5Tset_cset(type, H5T_CSET_UTF8), "make a type");
  return type;
}

hid_t hdf5_type(int dtype) {
  switch (dtype) {
    case kTexts:
      return text_type();
    case values::kUint8:
      return H5Tcopy(H5T_STD_U8LE);
    case values::kInt8:
      return H5Tcopy(H5T_STD_I8LE);
    case values::kBool:
      return bool_type();
    case values::kInt16:
      return H5Tcopy(H5T_STD_I16LE);
    case values::kInt32:
      return H5Tcopy(H5T_STD_I32LE);
    case values::kInt64:
      return H5Tcopy(H5T_STD_I64LE);
    case values::kUint16:
      return H5Tcopy(H5T_STD_U16LE);
    case values::kUint32:
      return H5Tcopy(H5T_STD_U32LE);
    case values::kUint64:
      return H5Tcopy(H5T_STD_U64LE);
    case values::kFloat16:
      return half_type();
    case values::kFloat32:
      return H5Tcopy(H5T_IEEE_F32LE);
    case values::kFloat64:
      return H5Tcopy(H5T_IEEE_F64LE);
    case values::kComplex64:
      return complex_type(H5T_IEEE_F32LE);
    default:
      return complex_type(H5T_IEEE_F64LE);
  }
}

using Dims = std::vector<hsize_t>;

Dims chunk_of(const Dims& shape, uint64_t item, bool grows) {
  Dims chunk = shape;
  for (hsize_t& size : chunk) size = std::max<hsize_t>(size, 1);
  if (grows) chunk[0] = std::max<hsize_t>(chunk[0], 64);
  const auto bytes = [&] {
    uint64_t all = item;
    for (hsize_t size : chunk) all *= size;
    return all;
  };
  for (size_t i = 0; bytes() > kChunkBytes && i < chunk.size();) {
    if (chunk[i] > 1) {
      chunk[i] = (chunk[i] + 1) / 2;
    } else {
      ++i;
    }
  }
  return chunk;
}

class Hdf5Group {
 public:
  Hdf5Group(hid_t group, const Hdf5Export::Options& options) : group_(group), options_(options) {}

  void put(const ValueArray& array) {
    const std::string name = array_path(array.name);
    const Dims shape(array.shape.begin(), array.shape.end());
    const Handle type(hdf5_type(array.dtype), H5Tclose, "make a type");
    hsize_t first = 0;
    if (H5Lexists(group_, name.c_str(), H5P_DEFAULT) > 0) {
      first = extended(name, shape);
      if (first == 0) done(H5Ldelete(group_, name.c_str(), H5P_DEFAULT), "replace a data set");
    }
    if (first == 0) create(name, array, type, shape);
    const Handle set(H5Dopen2(group_, name.c_str(), H5P_DEFAULT), H5Dclose, "open a data set");
    if (array.dtype == kTexts) return put_texts(array, set, type, shape, first);
    Dims row = shape;
    row[0] = 1;
    uint64_t row_bytes = H5Tget_size(type);
    for (size_t i = 1; i < shape.size(); ++i) row_bytes *= shape[i];
    std::string waiting;
    const auto write = [&] {
      if (waiting.empty()) return;
      row[0] = waiting.size() / row_bytes;
      select_and_write(set, type, row, first, waiting.data());
      first += row[0];
      waiting.clear();
    };
    array.write(first, [&](std::string_view bytes) {
      waiting += bytes;
      if (waiting.size() >= kAtOnce) write();
    });
    write();
    if (row_bytes != 0 && first != shape[0]) fail("the elements of " + name + " are not as many as their shapes say");
  }

 private:
  // Where the new rows begin; 0: the data set has another form and is written anew.
  hsize_t extended(const std::string& name, const Dims& shape) const {
    const Handle set(H5Dopen2(group_, name.c_str(), H5P_DEFAULT), H5Dclose, "open a data set");
    const Handle space(H5Dget_space(set), H5Sclose, "read a data set's shape");
    Dims before(size_t(std::max(H5Sget_simple_extent_ndims(space), 0)));
    if (before.size() != shape.size()) return 0;
    H5Sget_simple_extent_dims(space, before.data(), nullptr);
    for (size_t i = 0; i < shape.size(); ++i) {
      if (shape[i] < before[i]) return 0;
    }
    if (shape != before) done(H5Dset_extent(set, shape.data()), "extend a data set");
    return before[0];
  }

  void create(const std::string& name, const ValueArray& array, hid_t type, const Dims& shape) const {
    const bool chunked = options_.grows || (options_.compress > 0 && array.dtype != kTexts);
    const Dims most(shape.size(), H5S_UNLIMITED);
    const Handle space(H5Screate_simple(int(shape.size()), shape.data(), chunked ? most.data() : nullptr), H5Sclose,
                       "make a data set's shape");
    const Handle how(H5Pcreate(H5P_DATASET_CREATE), H5Pclose, "make a data set");
    if (chunked) {
      const Dims chunk = chunk_of(shape, H5Tget_size(type), options_.grows);
      done(H5Pset_chunk(how, int(chunk.size()), chunk.data()), "make chunks");
      if (options_.compress > 0 && array.dtype != kTexts) {
        done(H5Pset_shuffle(how), "shuffle");
        done(H5Pset_deflate(how, unsigned(options_.compress)), "compress");
      }
    }
    const Handle set(H5Dcreate2(group_, name.c_str(), type, space, H5P_DEFAULT, how, H5P_DEFAULT), H5Dclose,
                     "make a data set");
  }

  static void select_and_write(hid_t set, hid_t type, const Dims& count, hsize_t first, const void* data) {
    const Handle space(H5Dget_space(set), H5Sclose, "read a data set's shape");
    const Handle memory(H5Screate_simple(int(count.size()), count.data(), nullptr), H5Sclose, "select rows");
    Dims start(count.size(), 0);
    start[0] = first;
    done(H5Sselect_hyperslab(space, H5S_SELECT_SET, start.data(), nullptr, count.data(), nullptr), "select rows");
    done(H5Dwrite(set, type, memory, space, H5P_DEFAULT, data), "write elements");
  }

  static void put_texts(const ValueArray& array, hid_t set, hid_t type, const Dims& shape, hsize_t first) {
    std::vector<const char*> texts;
    for (size_t i = first; i < array.texts.size(); ++i) texts.push_back(array.texts[i].c_str());
    if (!texts.empty()) select_and_write(set, type, {shape[0] - first}, first, texts.data());
  }

  hid_t group_;
  const Hdf5Export::Options& options_;
};

void put_attribute(hid_t group, const char* name, const std::string& text) {
  if (text.empty() || H5Aexists(group, name) > 0) return;
  const Handle type(text_type(), H5Tclose, "make a type");
  const Handle space(H5Screate(H5S_SCALAR), H5Sclose, "make an attribute");
  const Handle attribute(H5Acreate2(group, name, type, space, H5P_DEFAULT, H5P_DEFAULT), H5Aclose, "make an attribute");
  const char* bytes = text.c_str();
  done(H5Awrite(attribute, type, &bytes), "write an attribute");
}

hid_t open_group(hid_t file, const std::string& path) {
  if (H5Lexists(file, path.c_str(), H5P_DEFAULT) > 0) return H5Gopen2(file, path.c_str(), H5P_DEFAULT);
  return H5Gcreate2(file, path.c_str(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
}

}  // namespace

void Hdf5Export::write(const values::ValueColumns& columns, ExportNotes& notes) {
  H5dont_atexit();
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);  // no stack of errors on standard error
  const Handle file(begun_ ? H5Fopen(path_.c_str(), H5F_ACC_RDWR, H5P_DEFAULT)
                           : H5Fcreate(path_.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT),
                    H5Fclose, "open the file");
  begun_ = true;
  for (const values::Column& column : columns.columns()) {
    const ColumnArrays arrays = arrays_of(columns, column, kHdf5);
    notes.take(column, arrays);
    const Handle group(open_group(file, array_path(column.key)), H5Gclose, "make a group");
    put_attribute(group, "name", std::string(column.name));
    put_attribute(group, "module", std::string(column.module));
    put_attribute(group, "operation", std::string(column.operation));
    if (column.dtype >= 0) put_attribute(group, "dtype", analyzer::dtype_name(column.dtype));
    Hdf5Group out(group, options_);
    for (const ValueArray& array : arrays.arrays) out.put(array);
  }
  done(H5Fflush(file, H5F_SCOPE_GLOBAL), "write the file");
}

}  // namespace tensorscope::exports
