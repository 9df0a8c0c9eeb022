#include "c_api/c_handles.h"
#include "intaglio/model_store.h"

using namespace intaglio;

static_assert(ITG_MODEL_STORE_OVERHEAD == kModelStoreOverhead);

namespace {

Flash from_c(const itg_flash& flash) {
  Flash result;
  for (size_t i = 0; i < 2; ++i) result.slots[i] = flash.slots[i];
  result.slot_bytes = flash.slot_bytes;
  result.program_bytes = flash.program_bytes;
  result.erase = flash.erase;
  result.program = flash.program;
  result.context = flash.context;
  if (knows(&flash, &itg_flash::verify)) result.verify = flash.verify;
  return result;
}

}  // namespace

itg_bytes itg_stored_model(const itg_flash* flash) { return to_c(stored_model(from_c(*flash))); }
bool itg_store_model(const itg_flash* flash, itg_bytes file) {
  return store_model(from_c(*flash), intaglio::from_c(file));
}
itg_error itg_update_model(const itg_flash* flash, itg_bytes file, itg_op_list ops,
                           const itg_session_options* options) {
  return to_c(update_model(from_c(*flash), intaglio::from_c(file), intaglio::from_c(ops),
                           intaglio::from_c(take(options, itg_session_options_init))));
}
