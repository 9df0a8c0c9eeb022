#include "runtime/op.h"

namespace intaglio {

#define ITG_OP(name, kind) extern const OpDef k##name;
#include "runtime/op_list.inc"
#undef ITG_OP
extern const OpDef kConv2dS8;

namespace {

// The entry of each kind of line in each list.
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

// A Cortex-M has one list of both.
#if defined(__ARM_ARCH_PROFILE) && __ARM_ARCH_PROFILE == 'M'
const auto& kCompactOps = kAllOps;
#else
#define ITG_COMPACT_OPS 1
const OpDef* const kCompactOps[] = {
#define ITG_OP(name, kind) &k##name,
#include "runtime/op_list.inc"
#undef ITG_OP
};
#undef ITG_COMPACT_OPS
#endif

}  // namespace

OpList int8_ops() { return kInt8Ops; }
OpList float_ops() { return kFloatOps; }
OpList all_ops() { return kAllOps; }
OpList compact_ops() { return kCompactOps; }

}  // namespace intaglio
