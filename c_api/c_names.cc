// Versions, names, texts: an object of its own, so that a program which never asks for words links none.
#include "c_api/c_handles.h"
#include "intaglio/describe.h"
#include "intaglio/version.h"

using namespace intaglio;

const char* itg_version(void) { return ITG_VERSION; }
uint32_t itg_format_version(void) { return kFormatVersion; }
const char* itg_op_name(int32_t op) {
  return op_name(op < 0 || op > 0xffff ? static_cast<Op>(0xffff) : static_cast<Op>(op));
}
const char* itg_dtype_name(int32_t dtype) {
  return dtype_name(dtype < 0 || dtype > 0xff ? static_cast<DType>(0xff) : static_cast<DType>(dtype));
}

const char* itg_status_name(int32_t status) {
  return status_name(status < 0 || status > 0xffff ? static_cast<Status>(0xffff)
                                                   : static_cast<Status>(status));
}

size_t itg_describe(const itg_error* error, const itg_model* model, char* text, size_t size) {
  const Error found{static_cast<Status>(error->status), error->node, error->tensor, error->value,
                    error->limit};
  return describe(found, model == nullptr ? nullptr : &model_in(model), text, size);
}

uint32_t itg_cpu_isa(void) { return cpu_isa(); }
int32_t itg_isa_count(void) { return static_cast<int32_t>(sizeof kIsaNames / sizeof kIsaNames[0]); }
const char* itg_isa_name(int32_t index) { return kIsaNames[index].name; }
uint32_t itg_isa_bit(int32_t index) { return kIsaNames[index].bit; }

static_assert(ITG_ISA_ALL == isa::kAll && ITG_ISA_SCALAR == isa::kScalar);
