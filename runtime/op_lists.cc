#include "runtime/op.h"

namespace intaglio {

#define ITG_OP(name, kind) extern const OpDef k##name;
#include "runtime/op_list.inc"
#undef ITG_OP

namespace {

// What a line of each kind puts into each list.
#define ITG_INT8_LIST_int8(name) &name,
#define ITG_INT8_LIST_f32(name)
#define ITG_INT8_LIST_both(name) &name,
#define ITG_FLOAT_LIST_int8(name)
#define ITG_FLOAT_LIST_f32(name) &name,
#define ITG_FLOAT_LIST_both(name) &name,

const OpDef* const kInt8Ops[] = {
#define ITG_OP(name, kind) ITG_INT8_LIST_##kind(k##name)
#include "runtime/op_list.inc"
#undef ITG_OP
};

const OpDef* const kFloatOps[] = {
#define ITG_OP(name, kind) ITG_FLOAT_LIST_##kind(k##name)
#include "runtime/op_list.inc"
#undef ITG_OP
};

const OpDef* const kAllOps[] = {
#define ITG_OP(name, kind) &k##name,
#include "runtime/op_list.inc"
#undef ITG_OP
};

}  // namespace

OpList int8_ops() { return kInt8Ops; }
OpList float_ops() { return kFloatOps; }
OpList all_ops() { return kAllOps; }

}  // namespace intaglio
