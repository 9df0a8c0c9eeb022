// Lists of operators: whoever links this links them all. Firmware brings the list that export-c writes.
#include "c_api/c_handles.h"

using namespace intaglio;

namespace {

itg_op_list list(OpList ops) { return {reinterpret_cast<const itg_op* const*>(ops.data), ops.size}; }

}  // namespace

itg_op_list itg_int8_ops(void) { return list(int8_ops()); }
itg_op_list itg_float_ops(void) { return list(float_ops()); }
itg_op_list itg_all_ops(void) { return list(all_ops()); }
itg_op_list itg_compact_ops(void) { return list(compact_ops()); }
